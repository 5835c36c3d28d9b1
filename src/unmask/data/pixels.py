"""Squares of pixels, ready to be read by number: from a memory-mapped file, or decoded on access."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from unmask.data.base import SUFFIXES, Source, combined_hash
from unmask.data.cache import is_usable, open_cache
from unmask.data.captions import Caption, read_captions
from unmask.data.config import ImagesConfig
from unmask.data.crops import Crop
from unmask.data.prepare import Unusable, decoders, prepare
from unmask.data.sources import open_source
from unmask.data.splits import Part, split
from unmask.data.transforms import Pixels8
from unmask.distributed import ALONE, Group
from unmask.errors import ConfigError, DataError
from unmask.progress import Report, bar
from unmask.storage.arrays import Line
from unmask.storage.files import cache_folder

Indices = npt.NDArray[np.int64]


def open_pixels(
    source: Source,
    config: ImagesConfig,
    cache: Path | None = None,
    *,
    progress: Report | None = None,
    processes: Group = ALONE,
) -> "Pixels":
    """Every usable picture of ``source`` as a square; the first time, all of them are decoded.

    ``cache`` is the folder that remembers them (``cache_folder()`` unless given). While pictures are being
    decoded, by all ``processes``, ``progress(done, total)`` is called, or a bar is shown on stderr.
    """
    if progress is None:
        with bar(f"preparing {source.name}", visible=processes.is_first) as report:
            return open_pixels(source, config, cache, progress=report, processes=processes)
    if config.fast_decode and find_spec("simplejpeg") is None:
        raise ConfigError("images.fast-decode needs a library", hint="pip install 'unmask[fast]'")
    lines, array = open_cache(cache or cache_folder(), source, config, progress, processes)
    if not any(map(is_usable, lines)):
        raise nothing_usable(source, [Unusable(*line) for line in lines])
    stored = config.cache == "prepared"
    read = (lambda rows: np.asarray(array[rows])) if stored else _live(source, config, lines)
    pairs = {number for number, entry in enumerate(source.entries) if entry.pair}
    captions = [] if config.captions == "none" else read_captions(source, config.captions).texts
    return Pixels(lines, read, config, pairs, captions)


def open_set(
    data: str,
    config: ImagesConfig,
    split: Part | None = None,
    *,
    keep: bool = True,
    processes: Group = ALONE,
) -> "PixelSet":
    """A data set, or a part of it; what is decoded is kept on disk, or else while the set is used."""
    source, place = open_source(data), cache_folder()
    if keep:
        pixels = open_pixels(source, config, processes=processes)
    else:
        place.mkdir(parents=True, exist_ok=True)
        # What is mapped stays there until nobody reads it, though its folder is gone.
        with TemporaryDirectory(dir=place) as folder:
            pixels = open_pixels(source, replace(config, cache="prepared"), Path(folder))
    return pixels.split(split) if split else pixels.whole()


def nothing_usable(source: Source, unusable: Sequence[Unusable]) -> DataError:
    """The error for a source without a single usable picture: what is there instead."""
    if unusable:
        first = unusable[0]
        return DataError(
            f"none of the {len(unusable)} images in {source.name} can be used; "
            f"the first, {first.name}: {first.reason}"
        )
    others = ", ".join(f"{count} {suffix}" for suffix, count in source.others.most_common(5)) or "nothing"
    return DataError(f"{source.name} holds no images but {others}; wanted {' '.join(sorted(SUFFIXES))}")


class Pixels:
    """All usable pictures of a source, and what was left out."""

    def __init__(
        self,
        lines: Sequence[Line],
        read: "Reader",
        config: ImagesConfig,
        pairs: Collection[int],
        captions: Sequence[Caption] = (),
    ) -> None:
        self.unusable = [Unusable(*line) for line in lines if not is_usable(line)]
        places = [number for number, line in enumerate(lines) if is_usable(line)]
        names, groups, digests = zip(*(lines[number] for number in places), strict=True)
        usable_pairs = {row for row, number in enumerate(places) if number in pairs}
        self._rows = split(groups, config.validation, usable_pairs)
        captions = [captions[number] for number in places] if captions else ()
        rows = np.arange(len(places))
        self._whole = PixelSet(list(names), rows, read, digests, captions, Crop.of(config))

    def __len__(self) -> int:
        return len(self._whole)

    def split(self, name: Part) -> "PixelSet":
        """The pictures to train on, those of validation (none of them when that is 0), or the pairs."""
        return self._whole.take(self._rows[name])

    def whole(self) -> "PixelSet":
        """All pictures, of whatever part."""
        return self._whole

    @property
    def fingerprints(self) -> tuple[str, str]:
        """Those of both sides, training first: they identify a set and its split."""
        return self.split("train").fingerprint, self.split("validation").fingerprint


def spread(count: int, total: int) -> list[int]:
    """At most ``count`` of the numbers below ``total``, evenly from the first to the last."""
    count = min(count, total)
    return [place * total // count for place in range(count)]


class PixelSet:
    """The pictures of one split, numbered from 0 in the order of their source."""

    def __init__(
        self,
        names: list[str],
        rows: Indices,
        read: "Reader",
        digests: Sequence[str],
        captions: Sequence[Caption] = (),
        crop: Crop | None = None,
    ) -> None:
        self.names = names
        self.captions: Sequence[Caption] = captions or [None] * len(names)
        self._rows = rows
        self._read = read
        self._digests = digests
        self._crop = crop

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, some: slice) -> "PixelSet":
        """A part of them, numbered from 0."""
        return self.take(range(len(self))[some])

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the pixels of all pictures, in order; the same wherever and however they are stored."""
        return combined_hash([*self._digests, self._crop] if self._crop else self._digests)

    def spread(self, count: int) -> list[int]:
        """At most ``count`` numbers, evenly from the first image to the last, to show a set."""
        return spread(count, len(self))

    def batches(self, size: int) -> Iterator[Pixels8]:
        """All pictures in order, so many at a time."""
        return (self.read(range(len(self))[start : start + size]) for start in range(0, len(self), size))

    def take(self, numbers: Sequence[int]) -> "PixelSet":
        """The pictures of these numbers as a set of their own."""
        names, digests = ([column[number] for number in numbers] for column in (self.names, self._digests))
        captions = [self.captions[number] for number in numbers]
        return PixelSet(names, self._rows[[*numbers]], self._read, digests, captions, self._crop)

    def read(self, indices: npt.ArrayLike, *draw: int) -> Pixels8:
        """The pictures of these numbers: (B, S, S, 3).

        Of random crops it is the one that ``draw`` names, or else the one that stands for the picture.
        """
        indices = np.asarray(indices, np.int64)
        pixels = self._read(self._rows[indices])
        if self._crop is None:
            return pixels
        digests = (self._digests[index] for index in indices)
        crops = [self._crop(one, digest, *draw or (0,)) for one, digest in zip(pixels, digests, strict=True)]
        return np.stack(crops) if crops else pixels


Reader = Callable[[Indices], Pixels8]
"""Rows of the cache, or of the source's usable pictures, to (B, S, S, 3)."""


def _live(source: Source, config: ImagesConfig, lines: Sequence[Line]) -> Reader:
    pool = decoders(config)
    indices = [index for index, line in enumerate(lines) if is_usable(line)]

    def one(row: int) -> Pixels8:
        item = prepare(source, indices[row], config)
        if isinstance(item, Unusable):
            raise DataError(
                f"{item.name} could be read when {source.name} was first looked at: {item.reason}"
            )
        return item.pixels

    def read(rows: Indices) -> Pixels8:
        pixels = np.empty((len(rows), config.stored_size, config.stored_size, 3), np.uint8)
        for place, square in enumerate(pool.map(one, rows.tolist())):
            pixels[place] = square
        return pixels

    return read
