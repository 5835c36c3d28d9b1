"""The amount of work of a drawing, and bounds on it for grids larger than the trained one.

All windows in all steps are exact, and on a large canvas take minutes or hours. ``care`` bounds steps and
windows where the settings do not: explicit settings stay.
"""

from dataclasses import dataclass, replace

import torch.nn.functional as F
from torch import Tensor

from unmask.diffusion.canvas import lattice
from unmask.diffusion.settings import Settings

LIMITS = {"fast": (16, 4), "balanced": (32, 14)}
"""Steps, and windows in each of them."""


@dataclass(frozen=True)
class Work:
    """The settings to draw a version with, and what that takes at most."""

    settings: Settings
    passes: int
    windows: int
    """Of a pass; random ones are as many where it takes them all to cover what is drawn."""

    def __str__(self) -> str:
        windows = f"{self.windows:,} windows" if self.windows > 1 else "one window"
        return f"{windows} × {self.passes:,} passes"


def plan_work(settings: Settings, masked: Tensor, window: tuple[int, int]) -> Work:
    """The work of drawing the ``masked``, (a, b) bool, codes of a grid through windows."""
    num_codes = int(masked.sum())
    if settings.care in LIMITS:
        steps, windows = LIMITS[settings.care]
        if settings.steps is None and settings.order != "entropy":
            settings = replace(settings, steps=min(steps, num_codes))
        if settings.stride == 1 and settings.windows is None:
            settings = _spread(settings, windows, masked, window)
    passes = min(settings.steps or num_codes, num_codes)
    return Work(settings, passes, num_windows(masked, window, settings.stride))


def num_windows(masked: Tensor, window: tuple[int, int], stride: int) -> int:
    """How many windows, so many codes apart, hold a masked code."""
    holding = F.max_pool2d(masked[None].float(), window, 1)[0] > 0
    return int((holding & lattice(masked.shape, window, stride)).sum())


def _spread(settings: Settings, most: int, masked: Tensor, window: tuple[int, int]) -> Settings:
    """The settings with the smallest stride that takes no more windows; if none does, with random ones."""
    for power in range(min(window).bit_length() - 1):
        settings = replace(settings, stride=2**power)
        if num_windows(masked, window, settings.stride) <= most:
            return settings
    return replace(settings, windows=most)
