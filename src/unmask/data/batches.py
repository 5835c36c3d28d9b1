"""Endless shuffled batches without state: a batch is a function of its step.

One permutation of the pictures for each epoch, laid end to end, is a stream of positions. Each step takes the
next world×batch positions of it, and each rank its own ``batch`` of these. So every epoch shows each picture
exactly once whatever the sizes, and a training that goes on at step n reads exactly what it would have read.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor

from unmask import rng
from unmask.data.pixels import Indices, PixelSet
from unmask.data.transforms import to_tensor
from unmask.data.views import any_view


def positions(step: int, *, batch: int, rank: int = 0, world: int = 1) -> range:
    """The places in the endless stream that one rank takes at one step."""
    start = (step * world + rank) * batch
    return range(start, start + batch)


def batch_indices(step: int, *, count: int, batch: int, seed: int, rank: int = 0, world: int = 1) -> Indices:
    """The pictures, of ``count``, that one rank sees at one step: (batch,)."""
    places = positions(step, batch=batch, rank=rank, world=world)
    pieces = []
    for epoch in range(places[0] // count, places[-1] // count + 1):
        begin = epoch * count
        order = _permutation(count, seed, epoch)
        pieces.append(order[max(places.start - begin, 0) : places.stop - begin])
    return np.concatenate(pieces)


@lru_cache(maxsize=4)
def _permutation(count: int, seed: int, epoch: int) -> Indices:
    return torch.randperm(count, generator=rng.generator(seed, "epoch", epoch)).numpy()


class Batches:
    """The batches of one rank; the next is read in the background while the caller uses the last."""

    def __init__(
        self,
        pixels: PixelSet,
        *,
        batch: int,
        seed: int,
        flip: bool = False,
        shift: int = 0,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        assert len(pixels) > 0
        assert batch > 0
        assert 0 <= rank < world
        self._pixels = pixels
        self._seed = seed
        self._view = partial(any_view, flip=flip, shift=shift, seed=seed)
        self._place = {"batch": batch, "rank": rank, "world": world}
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="read-ahead")
        self._ahead: dict[int, Future[Tensor]] = {}

    def at(self, step: int) -> Tensor:
        """The batch of a step: (B, 3, S, S) float32 in [0, 1]. Steps may come in any order."""
        images = self._ahead.get(step) or self._reader.submit(self._read, step)
        self._ahead = {step + 1: self._reader.submit(self._read, step + 1)}
        return images.result()

    def _read(self, step: int) -> Tensor:
        indices = batch_indices(step, count=len(self._pixels), seed=self._seed, **self._place)
        places = positions(step, **self._place)
        shown = zip(self._pixels.read(indices, self._seed, step), places, strict=True)
        return to_tensor(np.stack([self._view(picture, position=position) for picture, position in shown]))
