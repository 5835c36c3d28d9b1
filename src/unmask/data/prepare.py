"""From an entry of a source to a square of pixels, or to the reason why there is none."""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from unmask.data.base import Source, content_hash
from unmask.data.config import ImagesConfig
from unmask.data.transforms import Pixels8, decoding, identify, square, upright, upright_jpeg
from unmask.errors import DataError

AHEAD = 64  # pictures that may wait, as squares, for one that takes longer


@dataclass(frozen=True, slots=True)
class Prepared:
    """A usable picture."""

    name: str
    group: str
    """Pictures of one group fall on one side of the split."""
    content: str
    """Hash of the encoded bytes: copies share it."""
    format: str
    mode: str
    size: tuple[int, int]
    """Width and height of the original, in pixels."""
    pixels: Pixels8
    """(S, S, 3), S being the stored size."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """A picture that is left out, and why."""

    name: str
    reason: str


def prepare(source: Source, index: int, config: ImagesConfig) -> Prepared | Unusable:
    """One picture of a source, decoded and cut to a square."""
    entry, size = source.entry(index), config.stored_size
    try:
        data = source.read(index)
        header = identify(data)
        width, height = header.size
        if min(width, height) < config.min_side:
            raise DataError(f"{width}×{height} pixels; the shorter side must have {config.min_side}")
        kind, mode = header.format or "", header.mode
        scalable = config.fast_decode and kind == "JPEG" and mode in ("L", "RGB")
        with decoding(width, height):
            image = upright_jpeg(header, data, size) if scalable else upright(header, config.background)
            pixels = np.array(square(image, size))
            del image, header  # before their room is given back
    except DataError as error:
        return Unusable(entry.name, str(error))
    content = content_hash(data)
    return Prepared(
        name=entry.name,
        group=entry.group or content,
        content=content,
        format=kind,
        mode=mode,
        size=(width, height),
        pixels=pixels,
    )


def prepare_all(
    source: Source, config: ImagesConfig, numbers: range | None = None
) -> Iterator[Prepared | Unusable]:
    """The pictures of these numbers, or all; a pool of threads decodes a little ahead of the caller."""
    ahead: deque[Future[Prepared | Unusable]] = deque()
    pool = decoders(config)
    try:
        for index in range(len(source)) if numbers is None else numbers:
            ahead.append(pool.submit(prepare, source, index, config))
            if len(ahead) > AHEAD:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def decoders(config: ImagesConfig) -> ThreadPoolExecutor:
    """A pool of as many threads as are to decode; Pillow lets them run side by side."""
    return ThreadPoolExecutor(config.workers or os.cpu_count(), thread_name_prefix="decode")
