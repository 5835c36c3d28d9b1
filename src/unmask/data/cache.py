"""Prepared pixels at rest: every picture is decoded once, and a kill at any instant costs none of the work.

    <key>.pixels/   pixels.npy   uint8 (pictures, S, S, 3), to be memory-mapped
                    index.jsonl  a line for each picture of the source, in its order:
                                 [name, group, hash of the pixels], or [name, reason] of one left out
                    about.json   for people: which source, which settings
    <key>.index/    the same without the pixels

The key is a hash of the source's fingerprint and of every setting that changes pixels, so a folder is right
or has another name. It is filled beside its place, by one process at a time, and renamed when it is whole.
"""

import errno
import json
import shutil
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

import numpy as np

from unmask.data.base import Source, combined_hash, content_hash
from unmask.data.config import ImagesConfig
from unmask.data.prepare import Prepared, Unusable, prepare_all
from unmask.errors import DataError
from unmask.progress import Report
from unmask.storage import files
from unmask.storage.arrays import Rows, grow_array

PIXELS, INDEX = "pixels.npy", "index.jsonl"
RECIPE = 1  # to be raised when the same file and settings come to give other pixels
ELSEWHERE = "UNMASK_CACHE=/a/larger/disk, or store no pixels:  --images.cache off"

Record = list[str]
"""[name, group, hash of the pixels], or [name, reason]."""


def cache_key(source: Source, config: ImagesConfig) -> str:
    """A name for the squares that these settings cut from these pictures, and for no others."""
    settings = (config.size, config.background, config.min_side, config.fast_decode)
    return combined_hash([RECIPE, source.fingerprint, settings])


def is_usable(record: Record) -> bool:
    """Whether the record is of a picture that was not left out."""
    return len(record) == 3


def load_cache(folder: Path, config: ImagesConfig) -> list[Record] | None:
    """The records of a whole cache; None where there is none, or what there is has been damaged."""
    try:
        lines = (folder / INDEX).read_bytes().splitlines()
        records: list[Record] = [json.loads(line) for line in lines]
        if config.cache == "prepared":
            wanted = (sum(map(is_usable, records)), config.size, config.size, 3)
            if np.load(folder / PIXELS, mmap_mode="r", allow_pickle=False).shape != wanted:
                return None
    except (OSError, EOFError, ValueError):
        return None
    return records


def build_cache(folder: Path, source: Source, config: ImagesConfig, report: Report) -> list[Record]:
    """Prepare every picture into ``folder``, or wait while another process does; return the records."""
    try:
        with files.alone(folder):
            return load_cache(folder, config) or _build(folder, source, config, report)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            message = f"the disk of {folder.parent} is full; what was prepared so far is kept there"
        else:
            message = f"{folder.parent} cannot hold prepared pictures: {error.strerror}"
        raise DataError(message, hint=ELSEWHERE) from error


def _build(folder: Path, source: Source, config: ImagesConfig, report: Report) -> list[Record]:
    if folder.exists():
        files.remove_folder(folder)  # damaged
    with files.grow_folder(folder) as partial:
        with _open(partial / INDEX) as index, _grow_pixels(partial, config) as pixels:
            writer = _Writer(index, pixels)
            _check_room(partial, len(source) - len(writer.records), config)
            for item in prepare_all(source, config, start=len(writer.records)):
                writer.add(item)
                report(len(writer.records), len(source))
        about = {"source": source.name, "pictures": len(writer.records)}
        settings = {"size": config.size, "background": config.background, "min_side": config.min_side}
        files.write_json(partial / "about.json", about | settings)
    return writer.records


def _open(path: Path) -> IO[bytes]:
    path.touch()
    return path.open("r+b")


def _grow_pixels(folder: Path, config: ImagesConfig) -> AbstractContextManager[Rows | None]:
    if config.cache == "off":
        return nullcontext()
    return grow_array(folder / PIXELS, (config.size, config.size, 3), np.dtype(np.uint8))


def _check_room(folder: Path, num_pictures: int, config: ImagesConfig) -> None:
    """Fail now rather than hours later."""
    needed = num_pictures * 3 * config.size**2 if config.cache == "prepared" else 0
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DataError(
            f"{num_pictures:,} pictures take {needed / 1e6:,.0f} MB, "
            f"and {folder.parent} has {free / 1e6:,.0f} MB left",
            hint=ELSEWHERE,
        )


class _Writer:
    """A cache in the making: what an earlier process left of it is checked and kept."""

    def __init__(self, index: IO[bytes], pixels: Rows | None) -> None:
        self.records: list[Record] = []
        self._index, self._pixels = index, pixels
        self._salvage()

    def add(self, item: Prepared | Unusable) -> None:
        """Write one picture: its pixels, then the line that speaks of them."""
        if isinstance(item, Unusable):
            record = [item.name, item.reason]
        else:
            record = [item.name, item.group, content_hash(item.pixels.tobytes())]
            if self._pixels is not None:
                self._pixels.append(item.pixels[None])
        self._index.write(json.dumps(record).encode() + b"\n")
        self._index.flush()
        self.records.append(record)

    def _salvage(self) -> None:
        """Take over the records up to the first that is cut off or does not fit its pixels; drop the rest."""
        end = num_usable = 0
        for line in self._index:
            record = _parse(line)
            if record is None or not self._fits(record, num_usable):
                break
            self.records.append(record)
            end += len(line)
            num_usable += is_usable(record)
        self._index.seek(end)
        self._index.truncate()
        if self._pixels is not None:
            self._pixels.cut(num_usable)

    def _fits(self, record: Record, row: int) -> bool:
        if self._pixels is None or not is_usable(record):
            return True
        return content_hash(self._pixels.read(row)) == record[2]


def _parse(line: bytes) -> Record | None:
    """A line of the index; None for what a kill or a loss of power left of one."""
    try:
        return list(map(str, json.loads(line))) if line.endswith(b"\n") else None
    except ValueError:
        return None
