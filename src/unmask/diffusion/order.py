"""Which position comes when: orders of a grid's positions, each image with one of its own.

An order is (N,) integers: the place of each position in the sequence, 0 the first. Positions count row by
row.
"""

from collections.abc import Callable

import torch
from torch import Tensor

MakeOrder = Callable[[tuple[int, int], torch.Generator], Tensor]
"""An (h, w) grid and a source of randomness to an order of its positions."""


def random_order(grid: tuple[int, int], rng: torch.Generator) -> Tensor:
    """Any order, all of them equally likely: the paper's."""
    return torch.randperm(grid[0] * grid[1], generator=rng)


def raster_order(grid: tuple[int, int], rng: torch.Generator) -> Tensor:
    """Row by row, as one reads."""
    return torch.arange(grid[0] * grid[1])


def halton_order(grid: tuple[int, int], rng: torch.Generator) -> Tensor:
    """The order in which a Halton sequence, shifted by a random vector, first meets the cells of the grid.

    However early it is stopped, what it has met is spread evenly: codes that are revealed together, and so
    without knowledge of each other, lie far apart.
    """
    h, w = grid
    shift = torch.rand(2, 1, generator=rng, dtype=torch.float64)
    count = 4 * h * w
    while True:
        number = torch.arange(count)
        points = torch.stack([radical_inverse(number, 2), radical_inverse(number, 3)])
        row, column = ((points + shift) % 1 * torch.tensor([[h], [w]])).long()
        met = torch.full((h * w,), count).scatter_reduce(0, row * w + column, number, "amin")
        if (met < count).all():  # the sequence is dense, so that some length meets every cell
            return met.argsort().argsort()
        count *= 2


def radical_inverse(numbers: Tensor, base: int) -> Tensor:
    """The digits of integers in a base, mirrored at the point: 6 = 110₂ becomes 0.011₂; float64 in [0, 1)."""
    mirrored, scale = torch.zeros(numbers.shape, dtype=torch.float64), 1.0
    while numbers.any():
        scale /= base
        mirrored += numbers % base * scale
        numbers = numbers // base
    return mirrored


ORDERS: dict[str, MakeOrder] = {"random": random_order, "halton": halton_order, "raster": raster_order}
