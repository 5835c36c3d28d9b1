"""Results that last: a folder of PNG files, each of which says itself how it was drawn.

The files are all there is, beside a list of stars; what is in memory is read from them at the start. A file
is written whole or not at all, so a kill loses nothing that was shown. A request names a picture by its id,
which is looked up; it never becomes a path.
"""

import re
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from unmask.config import to_json
from unmask.data.provenance import MAX_BYTES, Provenance, read
from unmask.errors import DataError
from unmask.reading import fit, read_json, reason
from unmask.samples import write_picture
from unmask.storage.files import accessing, write_json
from unmask.storage.locks import alone, working_in
from unmask.studio.jobs import Outcome, Reporter, Task
from unmask.studio.limits import MAX_GALLERY_BYTES, MAX_GALLERY_PICTURES

STARS = "stars.json"
ID = re.compile(r"[0-9]{13}-[0-9a-f]{8}")  # milliseconds since 1970, and what tells those of one apart
HEAD_BYTES = MAX_BYTES + 4096  # of a file: what says how it was drawn stands before the pixels


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A picture of the gallery."""

    id: str
    bytes: int
    origin: Provenance | None
    starred: bool = False

    @cached_property
    def words(self) -> str:
        """What a search looks through."""
        said = to_json(self.origin) if self.origin else {}
        told = (said.get(name) for name in ("task", "model", "seed", "prompt", "negative", "fingerprint"))
        return " ".join(str(one) for one in told if one is not None).casefold()


class Gallery:
    """The pictures in a folder, which has room for so many bytes of them."""

    def __init__(self, folder: Path, most: int = MAX_GALLERY_BYTES) -> None:
        self.folder, self._most, self._lock = folder, most, threading.Lock()
        with accessing(folder, "hold a gallery", hint="--keep FOLDER"):
            folder.mkdir(parents=True, exist_ok=True)
            with working_in(folder, lambda: None):  # the first to come sweeps what kills left
                files = [path for path in folder.glob("*.png") if ID.fullmatch(path.stem)]
            stars = set(self._stars())
            self._kept = {path.stem: _open(path, starred=path.stem in stars) for path in files}

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, name: str) -> Kept | None:
        """The picture of that id, if there is one."""
        return self._kept.get(name)

    def path(self, kept: Kept) -> Path:
        """The file of a picture."""
        return self.folder / f"{kept.id}.png"

    def search(self, text: str = "", *, starred: bool = False, before: str | None = None) -> Iterator[Kept]:
        """The pictures that have all words of a text, the newest first."""
        words = text.casefold().split()
        with self._lock:
            newest = [self._kept[name] for name in sorted(self._kept, reverse=True)]
        for kept in newest:
            if before is not None and kept.id >= before:
                continue
            if (kept.starred or not starred) and all(word in kept.words for word in words):
                yield kept

    def keeping(self, task: Task) -> Task:
        """A task whose pictures are kept as well; if they cannot be, they are given all the same."""

        def run(report: Reporter) -> Outcome:
            outcome = task(report)
            try:
                return replace(outcome, kept=self.add(outcome.pictures))
            except DataError as error:
                return replace(outcome, unkept=str(error))

        return run

    def add(self, pictures: Sequence[bytes]) -> list[str]:
        """The ids of pictures that are in the folder from now on, if there is room for all."""
        with self._lock:
            used = sum(one.bytes for one in self._kept.values())
            room, places = self._most - used, MAX_GALLERY_PICTURES - len(self._kept)
            if sum(map(len, pictures)) > room or len(pictures) > places:
                raise DataError(
                    f"the gallery is full: {len(self._kept):,} images, {used / 2**20:,.0f} MiB",
                    hint="delete some, or begin another:  unmask studio --keep FOLDER",
                )
            return [self._add(data) for data in pictures]

    def _add(self, data: bytes) -> str:
        name = f"{time.time_ns() // 10**6:013d}-{secrets.token_hex(4)}"
        kept = Kept(id=name, bytes=len(data), origin=read(data))
        write_picture(self.path(kept), data)
        self._kept[name] = kept
        return name

    def star(self, kept: Kept, starred: bool) -> Kept:
        """The picture with a star, or without."""
        with self._lock:
            now = replace(kept, starred=starred)
            if kept.id in self._kept:  # not deleted meanwhile
                self._write_star(now)
                self._kept[kept.id] = now
        return now

    def remove(self, kept: Kept) -> None:
        """Delete a picture and its file."""
        with self._lock:
            with accessing(self.path(kept), "be deleted"):
                self.path(kept).unlink(missing_ok=True)
            self._kept.pop(kept.id, None)
            if kept.starred:
                self._write_star(replace(kept, starred=False))

    def _write_star(self, kept: Kept) -> None:
        """Change one star among those on the disk, which other Studios may have changed as well."""
        path = self.folder / STARS
        with accessing(path), alone(path):
            others = [name for name in self._stars() if name != kept.id]
            write_json(path, [*others, kept.id] if kept.starred else others)

    def _stars(self) -> list[str]:
        path = self.folder / STARS
        try:
            return list(fit(read_json(path), list[str], STARS)) if path.exists() else []
        except ValueError as error:
            raise DataError(f"{path} is damaged: {reason(error)}", hint=f"rm {path}") from error


def _open(path: Path, *, starred: bool) -> Kept:
    with path.open("rb") as file:
        return Kept(
            id=path.stem, bytes=path.stat().st_size, origin=read(file.read(HEAD_BYTES)), starred=starred
        )
