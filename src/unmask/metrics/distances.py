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

CHUNK = 2048  # rows of a block, and its columns
CANDIDATES = 512  # pairs that are measured exactly at once: few enough for the processor's cache
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


def blocks(features: Tensor, centre: Tensor) -> Iterator[Block]:
    """All rows of (n, D) features, a block at a time."""
    for rows in chunks(len(features)):
        near = features[rows].float() - centre
        yield Block(rows, features[rows], near, near.square().sum(1))


def chunks(count: int) -> Iterator[slice]:
    """Slices that cover ``count`` rows."""
    return (slice(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK))


def centre_of(features: Tensor) -> Tensor:
    """(D,) mean of features."""
    total = torch.zeros(features.shape[1])
    for rows in chunks(len(features)):
        total += features[rows].float().sum(0)
    return total / len(features)


def screen(a: Block, b: Block) -> tuple[Tensor, float]:
    """(rows, columns) squared distances, nearly right, and by how much they may be wrong."""
    fast = (a.norms[:, None] + b.norms).addmm_(a.near, b.near.T, alpha=-2)
    largest = a.norms.max().item() + b.norms.max().item()
    return fast, DOUBT * math.sqrt(a.near.shape[1]) * largest


def between(a: Tensor, i: Tensor, b: Tensor, j: Tensor) -> Tensor:
    """(n,) exact squared distances, float64, of rows i of ``a`` from rows j of ``b``."""
    pairs = zip(torch.split(i, CANDIDATES), torch.split(j, CANDIDATES), strict=True)
    return torch.cat([(a[i].double() - b[j].double()).square().sum(1) for i, j in pairs])


def nearest(queries: Tensor, base: Tensor, k: int) -> Nearest:
    """The k rows of ``base`` nearest to each query.

    queries: (n, D).  base: (m, D), m of at least k; it may lie on the disk, memory-mapped.
    """
    assert len(base) >= k, f"{len(base)} features have no {k} nearest"
    centre = centre_of(base)
    found = [_nearest(block, base, centre, k) for block in blocks(queries, centre)]
    return Nearest(*(torch.cat(parts) for parts in zip(*found, strict=True)))


def _nearest(queries: Block, base: Tensor, centre: Tensor, k: int) -> Nearest:
    """The same for some of the queries."""
    fast, index, doubt = _candidates(queries, base, centre, min(k + SPARE, len(base)))
    rows = torch.arange(len(index)).repeat_interleave(index.shape[1])
    exact = between(queries.features, rows, base, index.flatten()).view(index.shape)
    exact, order = exact.sort(dim=1, stable=True)
    exact, index = exact[:, :k].contiguous(), index.gather(1, order)[:, :k].contiguous()
    if len(base) > k + SPARE:  # one that was left out may be nearer than the k-th that was found
        everything = torch.arange(len(base))
        for i in (fast[:, -1] - 2 * doubt <= exact[:, -1]).nonzero().flatten():
            every = between(queries.features, i.expand_as(everything), base, everything)
            exact[i], index[i] = every.topk(k, largest=False, sorted=True)
    return Nearest(exact, index)


def _candidates(queries: Block, base: Tensor, centre: Tensor, width: int) -> tuple[Tensor, Tensor, float]:
    """(rows, width) smallest distances by the fast products, their indices, and how wrong they may be."""
    best, index, doubt = torch.empty(len(queries.near), 0), torch.empty(len(queries.near), 0).long(), 0.0
    for block in blocks(base, centre):
        fast, wrong = screen(queries, block)
        doubt = max(doubt, wrong)
        values, places = fast.topk(min(width, fast.shape[1]), largest=False)
        values, places = torch.cat([best, values], 1), torch.cat([index, places + block.rows.start], 1)
        best, kept = values.topk(min(width, values.shape[1]), largest=False)
        index = places.gather(1, kept)
    return best, index, doubt
