"""Running a demo: chapter after chapter into a folder, and the page, which grows with them."""

from collections.abc import Sequence
from pathlib import Path

from unmask.demo.chapters import CHAPTERS
from unmask.demo.page import duration, page
from unmask.demo.story import Chapter, Demo
from unmask.errors import DataError
from unmask.storage.files import accessing, check_folder, remove_folder, write_bytes

PAGE = "index.html"
MARK = b"<title>Unmask"
"""Marks the page of a demo."""


def run_demo(demo: Demo, *, train: bool = True) -> Path:
    """Type the commands of every chapter and write what came of them; return the page."""
    check_room(demo.out)  # before the images are prepared, which takes a while
    demo.check()
    chapters, target = CHAPTERS if train else CHAPTERS[:-1], demo.out / PAGE
    make_room(demo.out, CHAPTERS)
    for number, chapter in enumerate(chapters, start=1):
        write_bytes(target, page(demo).encode())  # also before the first: it marks the folder as a demo's
        demo.say(f"\n{number}/{len(chapters)}  {chapter.title}", "bold")
        demo.tell(chapter)
    write_bytes(target, page(demo).encode())
    demo.say(f"\nthe page of all this, {duration(demo.seconds)}: {target}", "bold")
    return target


def check_room(out: Path) -> None:
    """Refuse a place that cannot hold a demo, or that holds something else."""
    page = out / PAGE
    check_folder(out, "hold a demo", hint="name another:  --out FOLDER")
    with accessing(out, "hold a demo"):
        if out.exists() and any(out.iterdir()) and not (page.exists() and MARK in page.read_bytes()):
            raise DataError(f"{out} holds something else than a demo", hint="name another:  --out FOLDER")


def make_room(out: Path, chapters: Sequence[Chapter]) -> None:
    """Make the folder, or take from it what an earlier demo left there."""
    check_room(out)
    with accessing(out, "hold a demo"):
        out.mkdir(parents=True, exist_ok=True)
        for chapter in chapters:
            if (out / chapter.folder).exists():
                remove_folder(out / chapter.folder)
