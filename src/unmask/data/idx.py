"""MNIST's format: grey pictures in ``NAME-images-idx3-ubyte.gz``, labels in ``NAME-labels-idx1-ubyte.gz``."""

import gzip
import math
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from unmask.data.base import Entry, Source, combined_hash, reading, stat_hash
from unmask.errors import DataError
from unmask.reading import read_at_most

IMAGES = re.compile(r"images([-.])idx3-ubyte(\.gz)?$")
MAX_BYTES = 1 << 30  # of a file, which is held in memory
Bytes = npt.NDArray[np.uint8]


def is_idx(path: Path) -> bool:
    """Whether a file holds pictures by its name."""
    return IMAGES.search(path.name) is not None


def idx_files(folder: Path) -> list[Path]:
    """The files of pictures in a folder, in the order of their names."""
    return sorted(path for path in folder.iterdir() if is_idx(path))


class IdxSource(Source):
    """The pictures of some IDX files, one after the other, with the labels beside them as captions."""

    def __init__(self, path: Path, files: Sequence[Path]) -> None:
        super().__init__(str(path))
        self._files = files

    def _identify(self) -> str:
        return combined_hash(stat_hash(file) for file in self._files)

    @cached_property
    def _arrays(self) -> list[Bytes]:
        return [_read_idx(file, num_axes=3) for file in self._files]  # (n, H, W) each

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        return [(file, row) for file, images in enumerate(self._arrays) for row in range(len(images))]

    def _list(self) -> Sequence[Entry]:
        return [Entry(f"{self._files[file].name}[{row}]") for file, row in self._places]

    def _read(self, index: int) -> bytes:
        file, row = self._places[index]
        image = self._arrays[file][row]
        return b"P5 %d %d 255\n%b" % (image.shape[1], image.shape[0], image.tobytes())  # the PGM format

    def captions(self) -> Sequence[str | None]:
        """The label of each picture, a number; none where a file of labels is absent."""
        captions: list[str | None] = []
        for file, images in zip(self._files, self._arrays, strict=True):
            path = file.with_name(IMAGES.sub(r"labels\1idx1-ubyte\2", file.name))
            labels = _read_idx(path, num_axes=1).tolist() if path.exists() else [None] * len(images)
            if len(labels) != len(images):
                raise DataError(f"{path} labels {len(labels):,} images, but {file} holds {len(images):,}")
            captions += [None if label is None else str(label) for label in labels]
        return captions


def _read_idx(path: Path, num_axes: int) -> Bytes:
    """The array of unsigned bytes in an IDX file, packed or not."""
    with reading(path), (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        data = read_at_most(file, MAX_BYTES)
    header = 4 + 4 * num_axes
    if len(data) < header or data[:4] != bytes([0, 0, 8, num_axes]):
        raise DataError(f"{path} is not an IDX file of unsigned bytes along {num_axes} axes")
    shape = np.frombuffer(data, ">u4", num_axes, 4).tolist()
    if len(data) != header + (wanted := math.prod(shape)):
        raise DataError(f"{path} holds {len(data) - header:,} bytes, but should {wanted:,}: it is cut off")
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape)
