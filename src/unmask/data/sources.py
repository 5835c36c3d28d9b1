"""Where pictures come from: a folder, an archive, arrays, an LSUN database, or the package itself."""

import os
import re
import stat
import weakref
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from unmask.data import lmdb
from unmask.data.archives import BuiltinSource, TarSource, ZipSource
from unmask.data.base import MAX_FILE_BYTES, Entry, Source, combined_hash, reading, stat_hash
from unmask.data.captions import read_list
from unmask.data.idx import IdxSource, idx_files, is_idx
from unmask.errors import DataError
from unmask.reading import expanded, map_array, printable, read_bytes

EMOJI_STYLES = ("3d", "flat", "noto", "twemoji", "firefox", "emojione")
BUILTIN_SETS = ("emoji", *(f"emoji-{style}" for style in EMOJI_STYLES))
SHARDS = re.compile(r"\{(\d+)\.\.(\d+)\}")  # WebDataset's notation: pictures-{000..017}.tar
LABELS = (".labels.npy", ".labels.txt", ".txt")  # in place of an array's .npy


def open_source(spec: str) -> Source:
    """The pictures that ``spec`` names: a built-in set, or a path (``./emoji`` is always a path)."""
    if spec in BUILTIN_SETS:
        return BuiltinSource(spec)
    try:
        if SHARDS.search(spec) and not expanded(spec).exists():
            return ShardsSource(spec, [_open_path(expanded(shard)) for shard in shards_of(spec)])
        return _open_path(expanded(spec))
    except OSError as error:
        raise DataError(f"{spec} cannot be opened: {error.strerror}") from error


def _open_path(path: Path) -> Source:
    if path.is_dir():
        if (path / "data.mdb").is_file():
            return LmdbSource(path)
        return IdxSource(path, files) if (files := idx_files(path)) else FolderSource(path)
    if not path.exists():
        raise DataError(
            f"{path} does not exist; wanted a folder, an archive or an array of images, or a built-in set",
            hint=f"what is built in:  {', '.join(BUILTIN_SETS)}",
        )
    if not path.is_file():
        raise DataError(f"{path} is neither a folder nor a file: images are read from any place in it")
    if path.suffix == ".zip":
        return ZipSource(path)
    if path.name.endswith((".tar", ".tar.gz", ".tgz")):
        return TarSource(path)
    if path.suffix == ".npy":
        return NpySource(path)
    if is_idx(path):
        return IdxSource(path, [path])
    raise DataError(
        f"{path} is neither a folder nor a .zip, .tar, .tar.gz, .npy or -idx3-ubyte of images",
        hint=f"the folder it is in:  {path.parent}",
    )


def shards_of(spec: str) -> Iterator[str]:
    """The names that one with a range such as ``{000..017}`` in it stands for."""
    found = SHARDS.search(spec)
    assert found, "asked for where there is a range"
    first, last = found.groups()
    if int(first) > int(last):
        raise DataError(f"{spec} names no files: {first} is beyond {last}")
    for number in range(int(first), int(last) + 1):
        yield f"{spec[: found.start()]}{number:0{len(first)}}{spec[found.end() :]}"


class ShardsSource(Source):
    """Several sources as one, such as the shards of a WebDataset, in their order."""

    def __init__(self, name: str, shards: Sequence[Source]) -> None:
        super().__init__(name)
        self._shards = shards
        self._holders: dict[str, Source] = {}  # by the names of what they hold

    def _identify(self) -> str:
        return combined_hash(shard.fingerprint for shard in self._shards)

    @cached_property
    def _ends(self) -> list[int]:
        """How many pictures there are up to the end of each shard."""
        return list(accumulate(map(len, self._shards)))

    def _list(self) -> Sequence[Entry]:
        entries = [entry for shard in self._shards for entry in shard.entries]
        for shard in self._shards:
            self.others += shard.others
            self.beside += shard.beside
            for name in (*(entry.name for entry in shard.entries), *shard.beside):
                if (other := self._holders.setdefault(name, shard)) is not shard:
                    both = f"{other.name} and {shard.name} both hold {printable(name)}"
                    raise DataError(f"{both}; in shards of one set all names differ")
        return entries

    def _read(self, index: int) -> bytes:
        number = bisect_right(self._ends, index)
        shard = self._shards[number]
        return shard.read(index - self._ends[number] + len(shard))

    def _read_beside(self, name: str) -> bytes:
        return self._holders[name].read_beside(name)

    def captions(self) -> Sequence[str | None]:
        """Those of the shards, in their order."""
        return [caption for shard in self._shards for caption in shard.captions()]


class _File(NamedTuple):
    name: str
    size_bytes: int = 0
    times: tuple[int, ...] = ()
    problem: str | None = None


class FolderSource(Source):
    """The pictures in a folder and all folders below it, in the order of their paths."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self._root = root

    @cached_property
    def _files(self) -> list[_File]:
        return sorted(self._walk("", frozenset()))

    def _identify(self) -> str:
        return combined_hash(self._files)

    def _list(self) -> Sequence[Entry]:
        return [Entry(printable(file.name), file.size_bytes, problem=file.problem) for file in self._files]

    def _read(self, index: int) -> bytes:
        return self._read_beside(self._files[index].name)

    def _read_beside(self, name: str) -> bytes:
        return read_bytes(self._root / name, MAX_FILE_BYTES)

    def _walk(self, folder: str, above: frozenset[tuple[int, int]]) -> Iterator[_File]:
        """Every picture below ``folder``; a link back to one of the folders ``above`` is not followed."""
        try:
            status = (self._root / folder).stat()
            children = list(os.scandir(self._root / folder))
        except OSError as error:
            yield _File(folder or ".", problem=error.strerror)
            return
        identity = (status.st_dev, status.st_ino)
        for child in children if identity not in above else ():
            if not child.name.startswith("."):
                name = f"{folder}/{child.name}" if folder else child.name
                yield from self._look(name, child, above | {identity})

    def _look(self, name: str, file: os.DirEntry[str], above: frozenset[tuple[int, int]]) -> Iterator[_File]:
        try:
            status = file.stat()
        except OSError as error:
            yield _File(name, problem=error.strerror)
            return
        if stat.S_ISDIR(status.st_mode):
            yield from self._walk(name, above)
        elif self._wanted(name):
            problem = None if stat.S_ISREG(status.st_mode) else "not a regular file"
            # the time of modification can be set by hand; the time of the last change is the system's own
            yield _File(name, status.st_size, (status.st_mtime_ns, status.st_ctime_ns), problem)


class NpySource(Source):
    """The rows of a uint8 array of N×H×W×3, each as an uncompressed picture."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path
        with reading(self.name):
            self._rows = map_array(path)
        if self._rows.dtype != np.uint8 or self._rows.ndim != 4 or self._rows.shape[3] != 3:
            raise DataError(
                f"{path} holds {self._rows.dtype} of shape {self._rows.shape}; wanted uint8 of N×H×W×3"
            )

    def _identify(self) -> str:
        return stat_hash(self._path)

    def _list(self) -> Sequence[Entry]:
        return [Entry(f"[{row}]") for row in range(len(self._rows))]

    def captions(self) -> Sequence[str | None]:
        """Those of a labels file beside the array."""
        for suffix in LABELS:
            if (labels := self._path.with_suffix(suffix)).exists():
                return read_list(labels, len(self))
        return super().captions()

    def _read(self, index: int) -> bytes:
        _, height, width, _ = self._rows.shape
        return b"P6 %d %d 255\n%b" % (width, height, self._rows[index].tobytes())  # the PPM format


class LmdbSource(Source):
    """The pictures of an LSUN database as it is shipped, in the order of its keys.

    Groups are hashes of the values, as everywhere. The keys would save nothing, since every value is read
    once to be checked, and that they follow from the content is LSUN's habit, not a property of the format.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        self._data = folder / "data.mdb"

    def _identify(self) -> str:
        return stat_hash(self._data)

    @cached_property
    def _places(self) -> list[lmdb.Place]:
        return lmdb.places(self._data)

    @cached_property
    def _file(self) -> IO[bytes]:
        file = self._data.open("rb")
        weakref.finalize(self, file.close)
        return file

    def _list(self) -> Sequence[Entry]:
        names = (printable(place.key.decode("utf-8", "surrogateescape")) for place in self._places)
        return [Entry(name, place.length) for name, place in zip(names, self._places, strict=True)]

    def _read(self, index: int) -> bytes:
        _, offset, length = self._places[index]
        return os.pread(self._file.fileno(), length, offset)
