"""Exact distances between many features, a block at a time and never all at once.

Products of float32 rows are fast and nearly right: they tell which pairs cannot matter. The few that can are
measured again in float64, as sums of squared differences. So results are those of exact distances, at the
price of the fast ones.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

CHUNK = 2048  # rows of a block, and its columns, unless rows are too wide for so many
BLOCK = 2**24  # values of a block: 64 MB
CANDIDATES = 2**20  # values of pairs that are measured exactly at once: few enough for the processor's cache
SPARE = 4  # candidates beyond k that are measured exactly
# Rounding errors of a sum of D products grow like √D; this is many times their usual size.
DOUBT = 8 * torch.finfo(torch.float32).eps


class Nearest(NamedTuple):
    """The k rows of a set that are nearest to each query, nearest first."""

    squares: Tensor  # (n, k) float64, of their Euclidean distances
    indices: Tensor  # (n, k) int64


class Block(NamedTuple):
    """Some rows of a set, prepared for fast products: from a common centre, which keeps numbers small."""

    rows: slice
    features: Tensor  # (rows, D) as they came
    near: Tensor  # (rows, D) float32
    norms: Tensor  # (rows,) squared


def blocks(features: Tensor, centre: Tensor, start: int = 0) -> Iterator[Block]:
    """The rows of (n, D) features from ``start`` on, a block at a time."""
    count, width = features.shape
    for rows in chunks(count, width, start):
        near = features[rows].float() - centre
        yield Block(rows, features[rows], near, near.square().sum(1))


def chunks(count: int, width: int, start: int = 0) -> Iterator[slice]:
    """Slices that cover the rows from ``start`` up to ``count``, each of ``width`` values."""
    step = max(1, min(CHUNK, BLOCK // width))
    return (slice(first, min(first + step, count)) for first in range(start, count, step))


def centre_of(features: Tensor) -> Tensor:
    """(D,) mean of features."""
    total = torch.zeros(features.shape[1])
    for rows in chunks(*features.shape):
        total += features[rows].float().sum(0)
    return total / len(features)


def screen(a: Block, b: Block) -> tuple[Tensor, float]:
    """(rows, columns) squared distances, nearly right, and by how much they may be wrong."""
    fast = (a.norms[:, None] + b.norms).addmm_(a.near, b.near.T, alpha=-2)
    largest = a.norms.max().item() + b.norms.max().item()
    return fast, DOUBT * math.sqrt(a.near.shape[1]) * largest


def between(a: Tensor, i: Tensor, b: Tensor, j: Tensor) -> Tensor:
    """(n,) exact squared distances, float64, of rows i of ``a`` from rows j of ``b``."""
    at_once = max(1, CANDIDATES // a.shape[1])
    pairs = zip(torch.split(i, at_once), torch.split(j, at_once), strict=True)
    return torch.cat([(a[i].double() - b[j].double()).square().sum(1) for i, j in pairs])


def nearest(queries: Tensor, base: Tensor, k: int) -> Nearest:
    """The k rows of ``base`` nearest to each query; of a set among itself, each row is its own nearest.

    queries: (n, D).  base: (m, D), m of at least k; it may lie on the disk, memory-mapped.
    """
    assert len(base) >= k, f"{len(base)} features have no {k} nearest"
    centre, within = centre_of(base), queries is base
    found = _Candidates(len(queries), min(k + SPARE, len(base)))
    for a in blocks(queries, centre):
        for b in blocks(base, centre, start=a.rows.start if within else 0):
            fast, doubt = screen(a, b)
            found.offer(a.rows, b.rows, fast, doubt)
            if within and a.rows != b.rows:  # a distance is the same from both ends
                found.offer(b.rows, a.rows, fast.T, doubt)
    return found.measured(queries, base, k)


class _Candidates:
    """The rows of a set that look nearest to each query so far."""

    def __init__(self, num_queries: int, width: int) -> None:
        self._best = torch.full((num_queries, width), torch.inf)
        self._index = torch.zeros(num_queries, width, dtype=torch.int64)
        self._doubt = 0.0

    def offer(self, rows: slice, columns: slice, fast: Tensor, doubt: float) -> None:
        """Look at (rows, columns) nearly right squared distances."""
        width = self._best.shape[1]
        values, places = fast.topk(min(width, fast.shape[1]), largest=False)
        values = torch.cat([self._best[rows], values], dim=1)
        places = torch.cat([self._index[rows], places + columns.start], dim=1)
        self._best[rows], kept = values.topk(width, largest=False)
        self._index[rows] = places.gather(1, kept)
        self._doubt = max(self._doubt, doubt)

    def measured(self, queries: Tensor, base: Tensor, k: int) -> Nearest:
        """The k nearest by exact distances."""
        rows = torch.arange(len(queries)).repeat_interleave(self._index.shape[1])
        exact = between(queries, rows, base, self._index.flatten()).view(self._index.shape)
        exact, order = exact.sort(dim=1, stable=True)
        exact, index = exact[:, :k].contiguous(), self._index.gather(1, order)[:, :k].contiguous()
        if len(base) > self._index.shape[1]:  # one that was left out may be nearer than the k-th here
            everything = torch.arange(len(base))
            for i in (self._best[:, -1] - 2 * self._doubt <= exact[:, -1]).nonzero().flatten():
                every = between(queries, i.expand_as(everything), base, everything)
                exact[i], index[i] = every.topk(k, largest=False, sorted=True)
        return Nearest(exact, index)
