"""Rows on disk that grow: whole or absent, made by one process at a time, and made again where damaged.

    NAME/  FILE.npy     (rows, *shape), to be memory-mapped
           index.jsonl  a line for each row, in order: [label, …, hash of its bytes], and the line's checksum;
                        one without a hash speaks of something that has no row
           whole.json   how many lines there are, and what FILE.npy looked like when they were last compared

A row is written before its line, so what a kill leaves is kept up to the first line that does not fit. Rows
are compared with their hashes when the file is not as it was at the last comparison: after any writing to it,
or elsewhere.
"""

import hashlib
import io
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unmask.distributed import ALONE, Group
from unmask.progress import Report, silent
from unmask.reading import DamagedError, parse_json, parsing, read_json
from unmask.storage import files, locks

INDEX, WHOLE = "index.jsonl", "whole.json"
Line = list[str]
Item = tuple[Sequence[str], npt.NDArray[Any] | None]
"""Labels and a row, or a line that speaks of none."""
Make = Callable[[range], Iterable[Item]]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What is in a folder."""

    file: str | None
    """None: the index alone is kept."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    num_labels: int = 0
    """Labels of a row, before its hash."""
    key: bytes = b""
    """Whatever else the hashes cover: rows that were begun for another key are not gone on with."""

    @property
    def row_bytes(self) -> int:
        """Bytes a row takes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def has_row(self, line: Line) -> bool:
        """Whether a line of the index speaks of a row."""
        return len(line) == self.num_labels + 1

    def hash(self, row: bytes) -> str:
        """32 hexadecimal digits that stand for the bytes of a row."""
        return hashlib.blake2b(row, digest_size=16, key=self.key).hexdigest()

    def indexed(self, made: Iterable[Item]) -> Iterator[tuple[Line, npt.NDArray[Any] | None]]:
        """The line of each item and, where a file keeps rows, its row."""
        for labels, row in made:
            line = list(labels)
            if row is not None:
                assert (row.shape, row.dtype) == (self.shape, self.dtype)
                line.append(self.hash(row.tobytes()))
            assert self.has_row(line) == (row is not None), "a line tells by its length"
            yield line, row if self.file else None

    def header(self, num_rows: int) -> bytes:
        """The beginning of the .npy; numpy leaves room in it, so its length is the same for any number."""
        header = io.BytesIO()
        descr = np.lib.format.dtype_to_descr(self.dtype)
        about = {"descr": descr, "fortran_order": False, "shape": (num_rows, *self.shape)}
        np.lib.format.write_array_header_1_0(header, about)
        return header.getvalue()


class Rows(NamedTuple):
    """A folder that is whole."""

    lines: list[Line]
    array: npt.NDArray[Any]
    """(rows, *shape), memory-mapped; none where only the index is kept."""


def open_rows(
    folder: Path,
    layout: Layout,
    make: Make,
    total: int,
    *,
    batch: int = 1,
    begin: Callable[["Growing"], None] = lambda rows: None,
    processes: Group = ALONE,
    report: Report = silent,
) -> Rows:
    """The rows at ``folder``; where they are absent or damaged, one process writes them while others wait.

    ``make`` turns some of the numbers below ``total`` into what there is to append for each, ``batch`` of
    them at a time. ``processes`` share that, and all of them call this; the first writes, after ``begin``.
    Where the index alone is kept, rows stay with the process that made them: only lines reach the first.
    """
    found = load_rows(folder, layout)
    if processes.agreed(lambda: found is not None):
        return found or _whole(folder, layout)
    with _made(folder, layout) if processes.is_first else nullcontext() as rows:
        if rows:
            begin(rows)
        start = processes.agreed(lambda: len(rows.lines) if rows else total)
        indexed = processes.share(lambda numbers: layout.indexed(make(numbers)), range(start, total), batch)
        for line, row in indexed:
            assert rows, "only the first process is given anything"
            rows.append(line, row)
            report(len(rows.lines), total)
    processes.barrier()
    return _whole(folder, layout)


@contextmanager
def _made(folder: Path, layout: Layout) -> "Iterator[Growing | None]":
    """What is to become the folder, for one process alone; None where another has made it meanwhile."""
    with locks.alone(folder):
        if load_rows(folder, layout):
            yield None
            return
        if folder.exists():
            files.remove_folder(folder)
        with files.grow_folder(folder) as partial, _grow(partial, layout) as rows:
            yield rows


def _whole(folder: Path, layout: Layout) -> Rows:
    found = load_rows(folder, layout)
    assert found is not None, "what was just made is whole"
    return found


def load_rows(folder: Path, layout: Layout) -> Rows | None:
    """The rows at ``folder``; None where there are none, or a bit of them is not as it was written."""
    file = folder / layout.file if layout.file else None
    try:
        lines = [_parse(line) for line in (folder / INDEX).read_bytes().splitlines(keepends=True)]
        hashes = [line[-1] for line in lines if layout.has_row(line)]
        before, now = _read_whole(folder), {"lines": len(lines), "file": file and _look(file)}
        if before.get("lines", len(lines)) != len(lines):
            return None
        if file and not _fits(file, layout, hashes, compare=before != now):
            return None
        array = np.empty((0, *layout.shape), layout.dtype)
        if file and hashes:
            array = np.load(file, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError):
        return None
    if before != now:
        with suppress(OSError):  # somebody else's, that we may only read: compared again the next time
            files.write_json(folder / WHOLE, now)
    return Rows(lines, array)


class Growing:
    """A folder in the making: what an earlier process left of it is kept as far as it is whole."""

    def __init__(self, folder: Path, layout: Layout, index: IO[bytes], rows: IO[bytes] | None) -> None:
        self.folder, self._layout, self._index, self._rows = folder, layout, index, rows
        self.lines: list[Line] = []
        if rows:
            rows.write(layout.header(0))  # true at the end
        self._salvage()

    def append(self, line: Line, row: npt.NDArray[Any] | None) -> None:
        """Write one more row, or its line alone; from here on a kill does not lose it."""
        if self._rows and row is not None:
            self._rows.write(row.tobytes())
            self._rows.flush()
        text = json.dumps(line).encode()
        self._index.write(b"%s\t%08x\n" % (text, zlib.crc32(text)))
        self._index.flush()
        self.lines.append(line)

    def finish(self) -> None:
        """Make the header true, and say that all is there."""
        file = None
        if self._rows and self._layout.file:
            self._rows.seek(0)
            self._rows.write(self._layout.header(sum(map(self._layout.has_row, self.lines))))
            self._rows.flush()
            file = _look(self.folder / self._layout.file)
        files.write_json(self.folder / WHOLE, {"lines": len(self.lines), "file": file})

    def _salvage(self) -> None:
        """Take over the lines up to the first that is cut off or does not fit its row; drop the rest."""
        end = 0
        for text in self._index:
            try:
                line = _parse(text)
            except ValueError:
                break
            has_row = self._layout.has_row(line)
            if self._rows and has_row:
                row = self._rows.read(self._layout.row_bytes)
                if self._layout.hash(row) != line[-1]:
                    break
            self.lines.append(line)
            end += len(text)
        for file, place in ((self._index, end), (self._rows, self._end_of_rows())):
            if file:
                file.seek(place)
                file.truncate()

    def _end_of_rows(self) -> int:
        num_rows = sum(map(self._layout.has_row, self.lines))
        return len(self._layout.header(0)) + num_rows * self._layout.row_bytes


@contextmanager
def _grow(folder: Path, layout: Layout) -> Iterator[Growing]:
    with ExitStack() as stack:
        index, *rows = (
            stack.enter_context((folder / name).open("r+b" if (folder / name).exists() else "w+b"))
            for name in (INDEX, layout.file)
            if name
        )
        growing = Growing(folder, layout, index, rows[0] if rows else None)
        yield growing
        growing.finish()


def _parse(line: bytes) -> Line:
    """A line of the index; ValueError for anything else. Older ones have no checksum."""
    text, tab, checksum = line.partition(b"\t")
    if not line.endswith(b"\n") or (tab and checksum != b"%08x\n" % zlib.crc32(text)):
        raise ValueError("cut off or altered")
    with parsing():
        return list(map(str, parse_json(text)))


def _fits(file: Path, layout: Layout, hashes: list[str], *, compare: bool) -> bool:
    header, size = layout.header(len(hashes)), layout.row_bytes
    with file.open("rb") as rows:
        if rows.read(len(header)) != header or file.stat().st_size != len(header) + len(hashes) * size:
            return False
        return not compare or all(layout.hash(rows.read(size)) == hash for hash in hashes)


def _read_whole(folder: Path) -> dict[str, Any]:
    """What is known of the folder since the last comparison; nothing if that cannot be read."""
    with suppress(OSError, DamagedError), parsing():
        return dict(read_json(folder / WHOLE))
    return {}


def _look(file: Path) -> list[int]:
    """What changes when a file is written, replaced or moved to another disk."""
    status = file.stat()
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
