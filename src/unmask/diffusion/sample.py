"""Codes of new images: a plan from the settings, and one call of ``fill``."""

import torch
import torch.nn.functional as F
from torch import Tensor

from unmask.diffusion.fill import Denoiser, OnStep, fill
from unmask.diffusion.schedule import Curve, make_plan
from unmask.diffusion.settings import Settings


def sample_codes(
    denoise: Denoiser,
    images: range,
    grid: tuple[int, int],
    settings: Settings,
    *,
    seed: int,
    device: torch.device,
    words: Tensor | None = None,
    curve: Curve | None = None,
    batch: int = 16,
    on_step: OnStep | None = None,
) -> Tensor:
    """(len(images), N) codes of the given numbers of a request, sampled by ``fill``.

    ``words`` are those of their captions, (len(images), L), of a denoiser of rows that have some.
    """
    plan = make_plan(images, grid, settings, seed=seed, curve=curve)
    codes = torch.full(plan.shape, denoise.mask_id, device=device)
    L = 0 if words is None else words.shape[1]
    if words is not None:  # at step 0, which never comes: words that are not known stay so
        plan, codes = F.pad(plan, (L, 0)), torch.cat([words.to(device), codes], dim=1)
    watch = (lambda rows: on_step(rows[:, L:])) if on_step else None
    first = images.start
    rows = fill(denoise, codes, plan, settings, seed=seed, first=first, batch=batch, on_step=watch)
    return rows[:, L:]
