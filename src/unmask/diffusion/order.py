"""Which position comes when: orders of a grid's positions, each image with one of its own.

Orders of B images are (B, N) integers: the place of each position in the sequence, 0 the first. Positions
count row by row.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from unmask.rng import integers, uniform

MakeOrder = Callable[[tuple[int, int], Tensor, int], Tensor]
"""An (h, w) grid, the (B,) numbers of the images and a seed to orders of its positions."""


def random_order(grid: tuple[int, int], images: Tensor, seed: int) -> Tensor:
    """Any order, all of them equally likely: the paper's."""
    positions = torch.arange(grid[0] * grid[1])
    return integers(seed, "order", images[:, None], positions).argsort(dim=1)


def raster_order(grid: tuple[int, int], images: Tensor, seed: int) -> Tensor:
    """Row by row, as one reads."""
    return torch.arange(grid[0] * grid[1]).expand(len(images), -1)


def halton_order(grid: tuple[int, int], images: Tensor, seed: int) -> Tensor:
    """The order in which a Halton sequence, shifted by a random vector, first meets the cells of the grid.

    However early it is stopped, what it has met is spread evenly: codes that are revealed together, and so
    without knowledge of each other, lie far apart.
    """
    (h, w), B = grid, len(images)
    shift = uniform(seed, "order", images[:, None], torch.arange(2)).double()[:, :, None]
    count = 4 * h * w
    while True:
        number = torch.arange(count)
        points = torch.stack([radical_inverse(number, 2), radical_inverse(number, 3)])
        row, column = ((points + shift) % 1 * torch.tensor([[h], [w]])).long().unbind(1)  # (B, count) each
        cells = torch.full((B, h * w), count)
        met = cells.scatter_reduce(1, row * w + column, number.expand(B, -1), "amin")
        if (met < count).all():  # the sequence is dense, so that some length meets every cell
            return met.argsort(dim=1).argsort(dim=1)
        count *= 2


def radical_inverse(numbers: Tensor, base: int) -> Tensor:
    """The digits of integers in a base, mirrored at the point: 6 = 110₂ becomes 0.011₂; float64 in [0, 1)."""
    mirrored, scale = torch.zeros(numbers.shape, dtype=torch.float64), 1.0
    while numbers.any():
        scale /= base
        mirrored += numbers % base * scale
        numbers = numbers // base
    return mirrored


MAKE_ORDERS: dict[str, MakeOrder] = {"random": random_order, "halton": halton_order, "raster": raster_order}
