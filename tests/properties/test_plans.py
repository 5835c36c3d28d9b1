"""Plans: every position once, counts that add up, orders that spread, schedules that cost least."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unmask.diffusion.order import MAKE_ORDERS, halton_order, radical_inverse, random_order
from unmask.diffusion.process import bound_from_curve
from unmask.diffusion.schedule import (
    arccos,
    cosine,
    costs_by_count,
    even_plan,
    even_steps,
    make_plan,
    optimal_counts,
    shaped_counts,
)
from unmask.diffusion.settings import SCHEDULES, Settings
from unmask.errors import ConfigError
from unmask.rng import generator

CURVE = {"ratio": [0.1, 0.4, 1.0], "nats": [1.0, 2.5, 5.0]}
grids = st.tuples(st.integers(1, 9), st.integers(1, 9))
monotone = st.lists(st.floats(0, 5), min_size=1, max_size=12).map(
    lambda rises: torch.tensor(rises).double().cumsum(0)
)


def cost(counts, costs):
    """Σ (n_k − n_{k+1})·h(n_k) in nats."""
    total, masked = 0.0, len(costs)
    for count in counts.tolist():
        total += count * (costs[masked - 1].item() if masked else 0.0)
        masked -= count
    assert masked == 0
    return total


@given(
    grids, st.integers(1, 90), st.sampled_from(["even", "cosine", "arccos", "optimal"]), st.integers(0, 99)
)
def test_every_schedule_in_every_order_reveals_each_position_once(grid, num_steps, schedule, seed):
    """One step for each position, none out of range; but for the paper's chain, none that reveals nothing."""
    N = grid[0] * grid[1]
    for order in MAKE_ORDERS:
        settings = Settings(steps=num_steps, schedule=schedule, order=order)
        plan = make_plan(range(2), grid, settings, curve=CURVE, seed=seed)
        assert plan.shape == (2, N)
        assert plan.min() >= 1
        assert plan.max() <= num_steps
        if schedule in ("cosine", "arccos"):
            assert all(row.unique().numel() == min(num_steps, N) for row in plan)


@given(grids, st.sampled_from([*MAKE_ORDERS]), st.integers(0, 99))
def test_every_order_is_a_permutation_of_any_grid(grid, order, seed):
    for places in MAKE_ORDERS[order](grid, torch.arange(3), seed):
        assert sorted(places.tolist()) == list(range(grid[0] * grid[1]))


@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from([cosine, arccos]))
def test_counts_add_up_and_every_step_reveals_something(num_positions, num_steps, shape):
    counts = shaped_counts(shape, num_positions, num_steps)
    assert counts.sum() == num_positions
    assert len(counts) == min(num_positions, num_steps)
    assert counts.min() >= 1


def test_shaped_schedules_are_maskgits():
    """⌊N·γ(k/S)⌋ codes stay masked after step k of S."""
    shapes = {cosine: lambda r: math.cos(math.pi / 2 * r), arccos: lambda r: math.acos(r) / (math.pi / 2)}
    for shape, gamma in shapes.items():
        masked = [256 - n for n in shaped_counts(shape, 256, 8).cumsum(0).tolist()]
        assert masked == [math.floor(256 * gamma(k / 8)) for k in range(1, 8)] + [0]


@pytest.mark.parametrize("schedule", ["cosine", "arccos", "optimal"])
def test_steps_come_in_the_order_asked_for(schedule):
    settings = Settings(steps=5, schedule=schedule, order="raster")
    plan = make_plan(range(1), (4, 4), settings, curve=CURVE, seed=0)[0]
    assert (plan.diff() <= 0).all()
    assert plan[0] == 5


def test_even_in_random_order_makes_every_plan_equally_likely():
    """χ² over all 27 plans of 3 positions and 3 steps; its 99.99 % point at 26 degrees of freedom is 62."""
    count = 5400
    seen = Counter(map(tuple, even_plan(range(count), 3, 3, seed=0).tolist()))
    expected = count / 27
    plans = itertools.product((1, 2, 3), repeat=3)
    assert sum((seen[plan] - expected) ** 2 / expected for plan in plans) < 62


def test_the_paper_s_chain_takes_162_passes_for_256_steps():
    """256 positions fall on 256 steps like balls into urns: 256·(1 − (1 − 1/256)^256) = 162.1 are hit."""
    distinct = [len(steps.unique()) for steps in even_steps(256, 256, torch.arange(64), seed=0)]
    assert sum(distinct) / len(distinct) == pytest.approx(162, abs=4)


@pytest.mark.parametrize("order", ["random", "halton"])
def test_a_plan_is_its_image_s_and_its_seed_s(order):
    settings = Settings(steps=8, order=order)
    plans = make_plan(range(6), (4, 4), settings, seed=0)
    assert torch.equal(plans[4:], make_plan(range(4, 6), (4, 4), settings, seed=0))
    assert not torch.equal(plans[0], plans[1])
    assert not torch.equal(plans, make_plan(range(6), (4, 4), settings, seed=1))


@given(grids, st.integers(1, 90), st.sampled_from(sorted(SCHEDULES)), st.integers(0, 99))
def test_a_plan_of_a_part_reveals_all_of_it_as_a_plan_of_a_whole_would(grid, num_steps, schedule, seed):
    """Counts of an edit are those of a picture of as many codes; what is known has no step."""
    masked = torch.rand(grid[0] * grid[1], generator=generator(seed)) < 0.6
    masked[0] = True
    settings = Settings(steps=num_steps, schedule=schedule, order="raster")
    (plan,) = make_plan(range(1), grid, settings, masked=masked, curve=CURVE, seed=seed)
    assert torch.equal(plan > 0, masked)
    assert (plan[masked].diff() <= 0).all()
    if schedule in ("cosine", "arccos"):
        (whole,) = make_plan(range(1), (1, int(masked.sum())), settings, seed=seed)
        assert torch.equal(plan[masked], whole)


def test_an_edit_is_planned_by_that_part_of_the_curve_that_it_goes_through():
    """A quarter of a grid masked: its codes cost h(1/N), …, h(N/4)."""
    whole, part = costs_by_count(CURVE, 256), costs_by_count(CURVE, 64, share=0.25)
    assert part.tolist() == pytest.approx(whole[:64].tolist(), abs=2e-6)


def test_large_canvases_are_planned_in_the_proportions_of_smaller_ones():
    settings = Settings(steps=8, schedule="optimal", order="raster")
    large, small = (
        make_plan(range(1), (32, width), settings, curve=CURVE, seed=0)[0].bincount(minlength=9)[1:]
        for width in (32 * 5, 32)
    )
    assert large.sum() == 32 * 32 * 5
    assert ((large - 5 * small).abs() <= 5).all()


def compositions(total, most):
    """All ways to write a number as a sum of at most so many positive ones."""
    if total == 0:
        yield []
    elif most:
        for first in range(1, total + 1):
            yield from ([first, *rest] for rest in compositions(total - first, most - 1))


@given(st.lists(st.floats(0, 9), min_size=1, max_size=7), st.integers(1, 8))
def test_no_plan_costs_less_than_the_optimal_one(costs, num_steps):
    """On any curve, rising or not: against every plan there is."""
    costs = torch.tensor(costs).double()
    counts = optimal_counts(costs, num_steps)
    assert len(counts) <= num_steps
    best = min(cost(torch.tensor(plan), costs) for plan in compositions(len(costs), num_steps))
    assert cost(counts, costs) == pytest.approx(best, abs=1e-9)


@given(monotone, st.integers(1, 14), st.integers(0, 9))
def test_optimal_is_never_worse_than_the_other_schedules(costs, num_steps, seed):
    N = len(costs)
    optimal = cost(optimal_counts(costs, num_steps), costs)
    for shape in (cosine, arccos):
        assert optimal <= cost(shaped_counts(shape, N, num_steps), costs) + 1e-9
    (steps,) = even_steps(N, num_steps, torch.tensor([0]), seed)
    drawn = steps.unique_consecutive(return_counts=True)[1]
    assert optimal <= cost(drawn, costs) + 1e-9


def test_with_a_pass_for_each_code_the_optimum_is_the_bound_of_the_limit():
    costs = torch.linspace(1, 5, 20).double()
    assert cost(optimal_counts(costs, 20), costs) == pytest.approx(bound_from_curve(costs, None).item())
    assert cost(optimal_counts(costs, 5), costs) > bound_from_curve(costs, None).item() + 1


def test_the_optimum_spends_its_passes_where_the_curve_is_steep():
    steep_late = torch.cat([torch.linspace(0, 5, 32), torch.full((32,), 5.0)]).double()
    counts = optimal_counts(steep_late, 8).tolist()
    assert counts[0] >= 32  # nothing is gained by going slowly where every code costs the same
    assert max(counts[1:]) <= 6


def test_the_curve_is_read_between_its_points():
    costs = costs_by_count({"ratio": [0.25, 0.75], "nats": [1.0, 3.0]}, 4)
    assert costs.tolist() == pytest.approx([1.0, 2.0, 3.0, 3.0], abs=2e-3)


def test_a_point_counts_for_as_much_as_it_is_sure():
    ratios = np.linspace(0, 1, 33)[1:]
    curve = {"ratio": ratios.tolist(), "nats": (2 + ratios).tolist(), "error": [0.01] * 32}
    plain = costs_by_count(curve, 256)
    curve["nats"][20] += 1
    assert (costs_by_count(curve, 256) - plain).abs().max() > 0.1
    curve["error"][20] = 10
    assert (costs_by_count(curve, 256) - plain).abs().max() < 1e-3


def test_a_flat_curve_is_planned_evenly():
    curve = {"ratio": [(i + 0.5) / 32 for i in range(32)], "nats": [4.0] * 32, "error": [0.0] * 32}
    assert optimal_counts(costs_by_count(curve, 256), 8).tolist() == [32] * 8


def test_where_knowing_nearly_everything_does_not_help_the_last_codes_are_drawn_together():
    ratios = np.linspace(0, 1, 33)[1:]
    curve = {"ratio": ratios.tolist(), "nats": (2 + (ratios - 0.25) ** 2).tolist(), "error": [0.01] * 32}
    counts = optimal_counts(costs_by_count(curve, 256), 256)
    *before, last = counts[counts > 0].tolist()
    assert set(before) == {1}
    assert last == 64  # n·h(n) + h(n + 1) + … + h(N) is least where h is


def test_a_plan_by_a_measured_curve_costs_hardly_more_than_one_by_the_true_curve():
    """Noise as of a validation of some hundred pictures: smoothing must save most of what it would cost."""
    ratios = (torch.arange(32) + 0.5) / 32
    ratios = (1 - torch.cos(math.pi * ratios)) / 2  # close at both ends, as measured ones are
    nats = 2.3 + ratios**2 + 2 * ratios**12
    true = torch.from_numpy(np.interp(np.arange(1, 257) / 256, ratios, nats))
    lost = {"smoothed": 0.0, "as measured": 0.0}
    for seed in range(10):
        error = 0.02 / ratios.sqrt()
        noise = error * torch.randn(32, generator=generator(seed))
        curve = {"ratio": ratios.tolist(), "nats": (nats + noise).tolist(), "error": error.tolist()}
        raw = torch.from_numpy(np.interp(np.arange(1, 257) / 256, ratios, curve["nats"]))
        for how, costs in {"smoothed": costs_by_count(curve, 256), "as measured": raw}.items():
            plan = optimal_counts(costs, 16)
            lost[how] += (cost(plan, true) - cost(optimal_counts(true, 16), true)) / 10
            assert how != "smoothed" or cost(plan, true) < cost(shaped_counts(cosine, 256, 16), true)
    assert lost["smoothed"] < lost["as measured"] / 2


def test_optimal_without_a_curve_is_refused():
    for curve in (None, {}):
        with pytest.raises(ConfigError, match="no curve"):
            make_plan(range(1), (4, 4), Settings(steps=4, schedule="optimal"), curve=curve, seed=0)


def test_radical_inverses_are_mirrored_digits():
    assert radical_inverse(torch.arange(8), 2).tolist() == [
        0,
        1 / 2,
        1 / 4,
        3 / 4,
        1 / 8,
        5 / 8,
        3 / 8,
        7 / 8,
    ]
    assert radical_inverse(torch.arange(5), 3) == pytest.approx([0, 1 / 3, 2 / 3, 1 / 9, 4 / 9])


def discrepancy(places, grid, count):
    """How far the share of the first ``count`` positions in a corner's box is from its area, at worst."""
    boxes = (places < count).view(grid).double().cumsum(0).cumsum(1) / count
    h, w = grid
    areas = torch.outer(torch.arange(1, h + 1) / h, torch.arange(1, w + 1) / w)
    return (boxes - areas).abs().max().item()


@pytest.mark.parametrize("grid", [(16, 16), (12, 20), (32, 24)])
@pytest.mark.parametrize("share", [1 / 16, 1 / 4, 1 / 2])
def test_halton_spreads_better_than_chance(grid, share):
    """Mean discrepancy over 20 images, at whatever moment one looks."""
    count = int(share * grid[0] * grid[1])
    mean = {
        order: sum(discrepancy(one, grid, count) for one in order(grid, torch.arange(20), 0)) / 20
        for order in (halton_order, random_order)
    }
    assert mean[halton_order] < 0.7 * mean[random_order]
