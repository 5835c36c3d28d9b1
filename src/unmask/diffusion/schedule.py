"""Plans: which codes are revealed at which step, drawn before any network call.

A plan is (B, N) integers: the step at which each position is revealed, counted down from S to 1. It is made
of a schedule, which says how many positions each step reveals, and an order, which says which ones.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.polynomial import Polynomial
from torch import Tensor

from unmask.diffusion.order import MAKE_ORDERS, random_order
from unmask.diffusion.settings import Settings
from unmask.errors import ConfigError
from unmask.rng import integers

Curve = Mapping[str, Sequence[float]]
"""h(r): the mean ``nats`` of a masked code, and their standard ``error``, by ``ratio`` of codes masked."""
TRIFLE = 1e-3  # nats
SMOOTH_DEGREE = 6
LEVELS = 1024  # of codes masked in an optimal schedule, whose cost grows with their square


def make_plan(
    images: range,
    grid: tuple[int, int],
    settings: Settings,
    *,
    seed: int,
    masked: Tensor | None = None,
    curve: Curve | None = None,
) -> Tensor:
    """(B, N) steps of the settings' schedule and order; even × random is the paper's chain.

    ``images`` are the numbers of the pictures within a request: each has a plan of its own, whatever batch it
    is in. It covers the positions that are ``masked``, (N,) bool or (B, N), as many in each, or all; a rule
    finds the order later, and begins with a random one. ``optimal`` wants the model's curve.
    """
    every = torch.ones(grid[0] * grid[1], dtype=torch.bool)
    rows = (every if masked is None else masked.cpu()).expand(len(images), -1)
    num_masked = int(rows[0].sum())
    num_steps, make_order = settings.steps or num_masked, MAKE_ORDERS.get(settings.order, random_order)
    numbers = torch.arange(images.start, images.stop)
    if settings.schedule == "even":
        steps = even_steps(num_masked, num_steps, numbers, seed)
    else:
        share = num_masked / len(every)
        steps = _repeat(_counts(settings.schedule, num_masked, num_steps, share, curve))
    places = make_order(grid, numbers, seed).expand(rows.shape)[rows].view(len(images), num_masked)
    order = places.argsort(dim=1).argsort(dim=1)  # of those alone
    planned = steps.expand_as(order).gather(1, order)
    return torch.zeros(rows.shape, dtype=torch.int64).masked_scatter(rows, planned)


def even_plan(images: range, num_positions: int, num_steps: int, *, seed: int) -> Tensor:
    """The paper's chain with its steps evenly skipped to S: (B, N) steps, each uniform on 1..S."""
    return make_plan(images, (1, num_positions), Settings(steps=num_steps), seed=seed)


def even_steps(num_positions: int, num_steps: int, images: Tensor, seed: int) -> Tensor:
    """(B, N) steps of the (B,) images in the paper's chain, the first ones first.

    Revealing every masked position with probability 1/t at t = S, …, 1 makes a position's step uniform and
    independent of all else, the network included; so it can be drawn beforehand.
    """
    draws = integers(seed, "steps", images[:, None], torch.arange(num_positions)) % num_steps + 1
    return draws.sort(dim=1, descending=True).values


def shaped_counts(left: Callable[[float], float], num_positions: int, num_steps: int) -> Tensor:
    """(S,) positions that each step reveals when a share ``left(k/S)`` is to stay masked after step k.

    As in MaskGIT every step reveals at least one; hence there are no more steps than positions.
    """
    S = min(num_steps, num_positions)
    masked = [num_positions]
    for k in range(1, S + 1):
        wanted = math.floor(num_positions * left(k / S))
        masked.append(max(S - k, min(wanted, masked[-1] - 1)))
    return -torch.tensor(masked).diff()


def cosine(progress: float) -> float:
    """Few codes first, when little is known, many at the end."""
    return math.cos(math.pi / 2 * progress)


def arccos(progress: float) -> float:
    """An even pace at first, and many at the very end."""
    return math.acos(progress) * 2 / math.pi


def optimal_counts(costs: Tensor, num_steps: int) -> Tensor:
    """(S,) positions that each step reveals, in the plan that costs least among all of at most S passes.

    ``costs`` holds h(1), …, h(N): the mean nats of a code drawn while n are masked. Codes drawn together do
    not see each other and cost alike, so that a plan which leaves n_1 > n_2 > … masked costs
    Σ (n_k − n_{k+1})·h(n_k): the bound of that plan. Dynamic programming over (pass, codes masked).
    """
    h = np.concatenate([[0.0], costs.double().numpy()])
    masked = np.arange(len(h))
    pass_cost = np.where(masked >= masked[:, None], (masked - masked[:, None]) * h, np.inf)  # (to, from)
    cheapest = np.where(masked == masked[-1], 0.0, np.inf)  # to have n masked, after the passes so far
    origins = []
    for _ in range(min(num_steps, masked[-1])):
        totals = cheapest + pass_cost
        origins.append(totals.argmin(1))
        cheapest = totals.min(1)
    path = [0]
    for origin in reversed(origins):
        path.append(origin[path[-1]])
    return torch.tensor(path).diff().flip(0)


def costs_by_count(curve: Curve, num_positions: int, share: float = 1.0) -> Tensor:
    """(N,) values h(1), …, h(N) between the points of a measured curve, smoothed; N is that share of a grid.

    Noise is not worth planning for. A curve need not rise: a network that has seldom seen nearly everything
    may make less of it, and the last codes then cost less drawn together than one after the other. A tiny
    slope breaks ties in favour of the most even plan; digits that may differ between machines are cut
    off, so that all plan alike.
    """
    ratios = share * np.arange(1, num_positions + 1) / num_positions
    costs = np.interp(ratios, curve["ratio"], smoothed(curve)).round(6)
    return torch.from_numpy(costs + TRIFLE * ratios)


def smoothed(curve: Curve) -> list[float]:
    """The nats of a curve's points on a polynomial over their numbers: points lie close where it is steep.

    Points are weighted by their errors; equally in older bundles, which have none.
    """
    number = np.arange(len(curve["nats"]))
    error = np.array(curve.get("error", np.ones(len(number))))
    weights, degree = 1 / error if error.all() else None, min(SMOOTH_DEGREE, len(number) - 1)
    values: list[float] = Polynomial.fit(number, curve["nats"], degree, w=weights)(number).tolist()
    return values


SHAPES = {"cosine": cosine, "arccos": arccos}


def _counts(schedule: str, num_positions: int, num_steps: int, share: float, curve: Curve | None) -> Tensor:
    if schedule != "optimal":
        return shaped_counts(SHAPES[schedule], num_positions, num_steps)
    if not curve:
        raise ConfigError(
            "this model has no curve of costs to find the optimal schedule with: it was imported, or nothing "
            "was left for validation when it was trained",
            hint="take another:  --schedule cosine",
        )
    levels = min(num_positions, LEVELS)
    counts = optimal_counts(costs_by_count(curve, levels, share), num_steps)
    ends = counts.cumsum(0) * num_positions // levels
    return ends.diff(prepend=ends.new_zeros(1))


def _repeat(counts: Tensor) -> Tensor:
    """(S,) counts to (N,) steps S, …, 1, each as often as it reveals a position."""
    return torch.arange(len(counts), 0, -1).repeat_interleave(counts)
