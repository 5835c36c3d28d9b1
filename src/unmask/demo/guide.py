"""Taking the tour: chapter after chapter into a folder, and the page at its end."""

import time
from collections.abc import Sequence
from pathlib import Path

from unmask import __version__
from unmask.demo.chapters import CHAPTERS
from unmask.demo.page import Told, duration, page
from unmask.demo.story import Chapter, Tour
from unmask.errors import DataError
from unmask.storage.files import remove_folder, write_bytes, write_json

STAMP, PAGE = "tour.json", "index.html"


def take_tour(tour: Tour, *, train: bool = True) -> Path:
    """Type the commands of every chapter and write what came of them; return the page."""
    tour.check()
    chapters, out = CHAPTERS if train else CHAPTERS[:-1], tour.out
    make_room(out, chapters)
    told = [_tell(tour, chapter, f"{n}/{len(chapters)}") for n, chapter in enumerate(chapters, start=1)]
    write_bytes(out / PAGE, page(tour, told).encode())
    write_json(out / STAMP, _record(tour, told))
    tour.say(f"\nthe page of all this, {duration(sum(part.seconds for part in told))}: {out / PAGE}", "bold")
    return out / PAGE


def make_room(out: Path, chapters: Sequence[Chapter]) -> None:
    """Make the folder, or take from it what an earlier tour left there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()) and not (out / STAMP).exists():
            raise DataError(f"{out} holds something else than a tour", hint="name another:  --out FOLDER")
        write_json(out / STAMP, {})
        (out / PAGE).unlink(missing_ok=True)
        for chapter in CHAPTERS:
            if (out / chapter.folder).exists():
                remove_folder(out / chapter.folder)
        for chapter in chapters:
            (out / chapter.folder).mkdir()
    except OSError as error:
        raise DataError(f"{out} cannot hold a tour: {error.strerror}") from error


def _tell(tour: Tour, chapter: Chapter, number: str) -> Told:
    tour.say(f"\n{number}  {chapter.title}", "bold")
    start = time.perf_counter()
    figures = chapter.make(tour)
    seconds = time.perf_counter() - start
    tour.say(duration(seconds), "dim")
    return Told(chapter, figures, seconds)


def _record(tour: Tour, told: Sequence[Told]) -> dict[str, object]:
    """The tour for programs: what was typed, what it said, how long it took."""
    return {
        "unmask": __version__,
        "model": tour.pipeline.fingerprint,
        "chapters": [
            {
                "title": chapter.title,
                "seconds": seconds,
                "commands": [vars(typed) for figure in figures for typed in figure.commands],
            }
            for chapter, figures, seconds in told
        ],
    }
