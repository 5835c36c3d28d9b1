"""The interface of a source of images: a list of entries, and the encoded bytes of each."""

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from unmask.errors import DataError
from unmask.reading import DamagedError, parsing, printable, reason

SUFFIXES = frozenset({".jpg", ".jpeg", ".jfif", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"})
NOTES = frozenset({".txt", ".cls", ".json", ".jsonl", ".csv"})  # files that may hold captions
MAX_FILE_BYTES = 1 << 30  # no picture within the pixel limit needs more


@dataclass(frozen=True, slots=True)
class Entry:
    """One picture of a source, before anyone has tried to decode it."""

    name: str
    """Where it is within its source; printable whatever the file system holds."""
    size_bytes: int = 0
    group: str | None = None
    """Pictures of one group fall on one side of the split. None: the hash of the picture's bytes."""
    problem: str | None = None
    """Why it cannot be read, where the listing already shows it."""
    caption: str | None = None
    """Its caption, where the source has one."""
    pair: bool = False
    """Held out although its group is trained on: what it depicts is known, but not in this style."""


class Source(ABC):
    """Pictures in a fixed order, readable one by one from any thread."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.others: Counter[str] = Counter()  # suffixes of the files that were left aside when listing
        self.about: dict[str, str] = {}  # what else a person should know of it: styles, licences
        self.beside: list[str] = []  # names of those of them that may hold captions

    @abstractmethod
    def _identify(self) -> str: ...

    @abstractmethod
    def _list(self) -> Sequence[Entry]: ...

    @abstractmethod
    def _read(self, index: int) -> bytes: ...

    @cached_property
    def fingerprint(self) -> str:
        """A hash that changes whenever the contents may have changed; found without reading them."""
        with reading(self.name):
            return self._identify()

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """All pictures, in the order of their names unless the source has an order of its own."""
        with reading(self.name):
            return self._list()

    def __len__(self) -> int:
        return len(self.entries)

    def entry(self, index: int) -> Entry:
        """The entry of an image, without reading it."""
        return self.entries[index]

    def read(self, index: int) -> bytes:
        """The encoded picture; a DataError says in a few words why there is none."""
        entry = self.entries[index]
        if entry.problem is not None:
            raise DataError(entry.problem)
        if entry.size_bytes > MAX_FILE_BYTES:
            raise DataError(f"{entry.size_bytes / 1e9:.1f} GB is more than an image may have")
        with reading():
            return self._read(index)

    def captions(self) -> Sequence[str | None]:
        """Captions that are part of the source, not of files ``beside`` the images."""
        return [entry.caption for entry in self.entries]

    def read_beside(self, name: str) -> bytes:
        """The content of one of the files ``beside`` the pictures."""
        with reading(printable(name)):
            return self._read_beside(name)

    def _read_beside(self, name: str) -> bytes:
        raise AssertionError("only sources that list files have files beside")

    def _wanted(self, name: str) -> bool:
        """Whether a file is a picture by its name; others are counted, unless they are hidden."""
        path = PurePosixPath(name)
        if any(part.startswith(".") for part in path.parts):
            return False
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            self.others[suffix or path.name] += 1
            self.beside += [name] if suffix in NOTES else []
        return suffix in SUFFIXES


@contextmanager
def reading(what: object = "", how: str = "", *, hint: str | None = None) -> Iterator[None]:
    """Turn whatever the block raises on reading ``what`` into a DataError; ``how`` is the format."""
    try:
        with parsing():
            yield
    except (OSError, DamagedError) as error:
        raise DataError(f"{what} cannot be read{how}: {reason(error)}".strip(), hint=hint) from error


def content_hash(data: bytes) -> str:
    """32 hexadecimal digits that stand for these bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def combined_hash(parts: Iterable[object]) -> str:
    """32 hexadecimal digits that stand for this sequence of values."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(repr(part).encode())
        state.update(b"\n")
    return state.hexdigest()


def stat_hash(path: Path) -> str:
    """A hash that changes when a file is written, replaced, or given other permissions."""
    info = path.stat()
    return combined_hash([info.st_size, info.st_mtime_ns, info.st_ctime_ns])
