"""Prepared pixels on disk: every image is decoded once, and a kill loses none of the work.

    <key>.pixels/   pixels.npy   uint8 (pictures, S, S, 3), to be memory-mapped
                    index.jsonl  a line for each picture of the source, in its order:
                                 [name, group, hash of the pixels], or [name, reason] of one left out
                    about.json   for people: which source, which settings
    <key>.index/    the same without the pixels

The key is a hash of the source's fingerprint and of every setting that changes pixels, so a folder is right
or has another name. How it is filled, verified and made again: ``storage.arrays``.
"""

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from unmask.data.base import Source, combined_hash
from unmask.data.config import ImagesConfig
from unmask.data.prepare import Prepared, prepare_all
from unmask.distributed import ALONE, Group
from unmask.errors import DataError
from unmask.progress import Report
from unmask.storage import files
from unmask.storage.arrays import Growing, Item, Layout, Line, Rows, open_rows

RECIPE = 1  # to be raised when the same file and settings come to give other pixels
BATCH = 256  # pictures that a process decodes by itself before it shares them
ELSEWHERE = "UNMASK_CACHE=/a/larger/disk, or store no pixels:  --images.cache off"


def cache_key(source: Source, config: ImagesConfig) -> str:
    """A name for the squares that these settings cut from these pictures, and for no others."""
    settings = (config.stored_size, config.background, config.min_side, config.fast_decode)
    return combined_hash([RECIPE, source.fingerprint, settings])


def is_usable(line: Line) -> bool:
    """Whether a line of the index is of a picture that was not left out."""
    return len(line) == 3


def is_prepared(source: Source, config: ImagesConfig) -> bool:
    """Whether the pixels are on disk already."""
    return files.cache_folder().joinpath(f"{cache_key(source, config)}.pixels").is_dir()


def open_cache(
    cache: Path, source: Source, config: ImagesConfig, report: Report, processes: Group = ALONE
) -> Rows:
    """The lines of all pictures, and the pixels of those that can be used unless ``cache`` is off."""
    kind = "pixels" if config.cache == "prepared" else "index"
    file = "pixels.npy" if kind == "pixels" else None
    size = config.stored_size
    layout = Layout(file=file, shape=(size, size, 3), dtype=np.dtype(np.uint8), num_labels=2)

    def begin(rows: Growing) -> None:
        if file:
            _check_room(rows.folder, len(source) - len(rows.lines), layout)
        about = {"source": source.name, "pictures": len(source)}
        settings = {"size": size, "background": config.background, "min_side": config.min_side}
        files.write_json(rows.folder / "about.json", about | settings)

    def make(numbers: range) -> Iterator[Item]:
        for item in prepare_all(source, config, numbers):
            if isinstance(item, Prepared):
                yield (item.name, item.group), item.pixels
            else:
                yield (item.name, item.reason), None

    place = cache / f"{cache_key(source, config)}.{kind}"
    try:
        return open_rows(
            place, layout, make, len(source), batch=BATCH, begin=begin, processes=processes, report=report
        )
    except OSError as error:
        if error.errno == errno.ENOSPC:
            message = f"the disk of {cache} is full; what was prepared so far is kept there"
        else:
            message = f"{cache} cannot hold prepared images: {error.strerror}"
        raise DataError(message, hint=ELSEWHERE) from error


def _check_room(folder: Path, num_pictures: int, layout: Layout) -> None:
    """Fail now rather than hours later."""
    needed, free = num_pictures * layout.row_bytes, shutil.disk_usage(folder).free
    if needed > free:
        raise DataError(
            f"{num_pictures:,} images take {needed / 1e6:,.0f} MB, "
            f"and {folder.parent} has {free / 1e6:,.0f} MB left",
            hint=ELSEWHERE,
        )
