"""How much work a drawing is: what care bounds, and what it leaves alone."""

import pytest
import torch

from unmask.diffusion.canvas import Canvas
from unmask.diffusion.care import LIMITS, num_windows, plan_work
from unmask.diffusion.settings import Settings

WINDOW = (8, 8)


def whole(*grid):
    return torch.ones(grid, dtype=torch.bool)


class Counting:
    """A denoiser that counts the windows it is shown."""

    mask_id = 2

    def __init__(self):
        self.windows = 0

    def __call__(self, codes, where):
        self.windows += len(codes)
        return torch.zeros(int(where.sum()), 2)


def test_exact_takes_every_window_and_every_step():
    work = plan_work(Settings(), whole(8, 20), WINDOW)
    assert (work.settings, work.passes, work.windows) == (Settings(), 160, 13)
    assert str(work) == "13 windows × 160 passes"


def test_a_picture_of_the_trained_size_is_one_window_whatever_the_care():
    for care in ("fast", "balanced"):
        work = plan_work(Settings(care=care), whole(8, 8), WINDOW)
        assert (work.settings.stride, work.settings.windows, work.windows) == (1, None, 1)
        assert work.passes == LIMITS[care][0]
        assert str(work) == f"one window × {work.passes} passes"


@pytest.mark.parametrize("care", LIMITS)
@pytest.mark.parametrize("grid", [(8, 20), (8, 64), (30, 40)])
def test_windows_stand_as_close_as_care_allows(care, grid):
    steps, most = LIMITS[care]
    work = plan_work(Settings(care=care), whole(*grid), WINDOW)
    assert work.passes == steps
    assert work.windows == num_windows(whole(*grid), WINDOW, work.settings.stride)
    assert work.settings.windows or work.windows <= most
    closer = num_windows(whole(*grid), WINDOW, max(1, work.settings.stride // 2))
    assert work.settings.stride == 1 or closer > most
    assert (work.settings.windows is None) == (num_windows(whole(*grid), WINDOW, 4) <= most)


def test_what_is_said_stays():
    said = Settings(care="fast", steps=50, stride=2)
    work = plan_work(said, whole(8, 20), WINDOW)
    assert (work.settings, work.passes, work.windows) == (said, 50, 7)
    few = Settings(care="fast", windows=3)
    assert plan_work(few, whole(8, 20), WINDOW).settings.windows == 3


def test_the_entropy_order_keeps_its_own_pace():
    assert plan_work(Settings(care="fast", order="entropy"), whole(8, 20), WINDOW).settings.steps is None


def test_only_windows_with_a_masked_code_are_work():
    masked = torch.zeros(8, 40, dtype=torch.bool)
    masked[0, 0] = True
    assert num_windows(masked, WINDOW, 1) == 1
    assert plan_work(Settings(care="balanced"), masked, WINDOW).passes == 1


@pytest.mark.parametrize("stride", [1, 3])
def test_a_pass_over_a_grid_of_known_and_unknown_codes_asks_so_many_windows(stride, rng):
    masked = torch.rand(12, 19, generator=rng) < 0.05
    codes = torch.randint(2, masked.shape, generator=rng).masked_fill(masked, Counting.mask_id)
    network = Counting()
    canvas = Canvas(network, WINDOW, (12, 19), Settings(stride=stride))
    canvas(codes.view(1, -1), masked.view(1, -1))
    assert network.windows == num_windows(masked, WINDOW, stride)


def test_random_windows_are_no_more_than_is_said(rng):
    """Each wanted code has one of its own, so that there are more than were asked for."""
    masked = whole(30, 40)
    work = plan_work(Settings(care="fast"), masked, WINDOW)
    network, codes = Counting(), torch.randint(2, masked.shape, generator=rng)
    codes[::2] = Counting.mask_id  # no two windows are equal
    canvas = Canvas(network, WINDOW, masked.shape, work.settings)
    canvas(codes.view(1, -1), (codes == Counting.mask_id).view(1, -1))
    assert work.settings.windows < network.windows <= work.windows
