"""Pictures inside one file: ``.zip``, ``.tar``, ``.tar.gz``, and the sets that come with the package."""

import gzip
import os
import tarfile
import tempfile
import threading
import weakref
import zipfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import IO, Any

from unmask.data.base import MAX_FILE_BYTES, Entry, Source, combined_hash, reading, stat_hash
from unmask.errors import DataError
from unmask.reading import DamagedError, Readable, parse_json, parsing, printable, read_json, reason
from unmask.storage.files import cache_folder, write_json
from unmask.storage.seals import sealed, unsealed

CHUNK = 1 << 20
LONG = 1000  # files of an archive that are not listed anew each time
MAX_UNPACKED = 1 << 30
MAX_RATIO = 64  # of what a compressed archive holds beyond that; pictures hardly shrink at all


class ZipSource(Source):
    """The pictures of a zip archive, in the order of their names."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        super().__init__(name or str(path))
        with reading(self.name):
            self._zip = zipfile.ZipFile(path)
        self._lock = threading.Lock()  # the handle has one position in the file

    def _identify(self) -> str:
        # the archive's own checksums know its contents, and do not mind a copy of the archive
        return combined_hash((info.filename, info.CRC, info.file_size) for info in self._zip.infolist())

    @cached_property
    def _members(self) -> list[zipfile.ZipInfo]:
        files = [info for info in self._zip.infolist() if not info.filename.endswith("/")]  # may be empty
        members = [info for info in files if self._wanted(info.filename)]
        return sorted(members, key=lambda info: info.filename)

    def _list(self) -> Sequence[Entry]:
        return [Entry(printable(info.filename), info.file_size) for info in self._members]

    def _read(self, index: int) -> bytes:
        return self._extract(self._members[index])

    def _read_beside(self, name: str) -> bytes:
        return self._extract(self._zip.getinfo(name))

    def _extract(self, member: zipfile.ZipInfo) -> bytes:
        if member.file_size > MAX_FILE_BYTES:
            raise DamagedError(f"{member.file_size:,} bytes are more than {MAX_FILE_BYTES:,}")
        with self._lock:
            return self._zip.read(member)


class BuiltinSource(ZipSource):
    """A set that comes with the package, or one style of it: ``emoji``, ``emoji-3d``.

    In its zip ``index.json`` gives each picture a style, a name, a group and a caption, and ``styles.json``
    each style a title, an author, a licence and an address. A style by itself has no pairs: there is nothing
    from which what they depict could be known.
    """

    def __init__(self, name: str) -> None:
        stem, _, style = name.partition("-")
        super().__init__(Path(str(resources.files("unmask.data") / "builtin" / f"{stem}.zip")), name)
        self._style = style
        self._index = [item for item in self._json("index.json") if style in ("", item["style"])]
        self.about = _styles_and_licences(
            Counter(item["style"] for item in self._index), self._json("styles.json")
        )

    def _json(self, file: str) -> Any:
        return parse_json(self._extract(self._zip.getinfo(file)))

    def _identify(self) -> str:
        return combined_hash([super()._identify(), self._style])

    @cached_property
    def _members(self) -> list[zipfile.ZipInfo]:
        return [self._zip.getinfo(item["file"]) for item in self._index]

    def _list(self) -> Sequence[Entry]:
        return [
            Entry(
                item["name"] if self._style else f"{item['style']}/{item['name']}",
                group=item["group"],
                caption=item["caption"],
                pair=item["pair"] and not self._style,
            )
            for item in self._index
        ]


def _styles_and_licences(counts: Counter[str], credits: dict[str, list[str]]) -> dict[str, str]:
    licences = {
        f"{title} by {author}, {licence}: {address}"
        for title, author, licence, address in (credits[style] for style in counts)
    }
    return {
        "styles": ", ".join(f"{style} {count:,}" for style, count in counts.most_common()),
        "licences": "\n".join(sorted(licences)),
    }


class TarSource(Source):
    """The pictures of a tar archive, in the order of their names.

    A compressed archive can only be read from its beginning, so it is unpacked once into an unnamed temporary
    file, when the first of its images is read.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path
        self._lock = threading.Lock()  # threads that read at once open it once
        self._opened: IO[bytes] | None = None

    def _identify(self) -> str:
        return stat_hash(self._path)

    @cached_property
    def _members(self) -> list[tuple[str, int, int]]:
        """Name, place and length of each picture in the archive."""
        files = self._index()
        self._places = {name: (place, length) for name, place, length in files}
        return sorted(file for file in files if self._wanted(file[0]))

    def _index(self) -> list[tuple[str, int, int]]:
        """Name, place and length of every file; cached for a long archive, whose headers lie far apart."""
        known = cache_folder() / f"{self.fingerprint}.tar.json"
        with suppress(OSError, DamagedError), parsing():
            return [(name, place, length) for name, place, length in unsealed(read_json(known), ())["files"]]
        with tarfile.open(fileobj=self._file, mode="r:") as tar:
            files = [(m.name, m.offset_data, m.size) for m in tar if m.isreg() and not m.issparse()]
        if len(files) >= LONG:
            with suppress(OSError):  # reading goes on without the cached listing
                known.parent.mkdir(parents=True, exist_ok=True)
                write_json(known, sealed({"files": [list(file) for file in files]}))
        return files

    def _list(self) -> Sequence[Entry]:
        return [Entry(printable(name), length) for name, _, length in self._members]

    def _read(self, index: int) -> bytes:
        _, place, length = self._members[index]
        return os.pread(self._file.fileno(), length, place)  # no position to share: safe from any thread

    def _read_beside(self, name: str) -> bytes:
        place, length = self._places[name]
        if length > MAX_FILE_BYTES:
            raise DamagedError(f"{length:,} bytes are more than {MAX_FILE_BYTES:,}")
        return os.pread(self._file.fileno(), length, place)

    @property
    def _file(self) -> IO[bytes]:
        with self._lock:
            if self._opened is None:
                self._opened = self._path.open("rb") if self._path.suffix == ".tar" else self._unpacked()
                weakref.finalize(self, self._opened.close)
            return self._opened

    def _unpacked(self) -> IO[bytes]:
        plain = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the source)
        try:
            with parsing(), gzip.open(self._path) as packed:
                _unpack(packed, plain, MAX_UNPACKED + MAX_RATIO * self._path.stat().st_size)
            plain.seek(0)
        except (OSError, DamagedError) as error:
            plain.close()
            raise DataError(
                f"{self._path} cannot be unpacked into {tempfile.gettempdir()}: {reason(error)}",
                hint=f"unpack it where there is room and give that folder:  tar xf {self._path}",
            ) from error
        return plain


def _unpack(packed: Readable, plain: IO[bytes], most: int) -> None:
    """Copy one file to the other, unless it comes to more than so many bytes."""
    while chunk := packed.read(CHUNK):
        if (most := most - len(chunk)) < 0:
            raise DamagedError("too few bytes for so many: it is no archive of images")
        plain.write(chunk)
