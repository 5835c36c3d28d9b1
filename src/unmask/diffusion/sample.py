"""Codes of new pictures: settings become a plan and one call of ``fill``."""

import torch
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
    curve: Curve | None = None,
    batch: int = 16,
    on_step: OnStep | None = None,
) -> Tensor:
    """(len(images), N) codes of the given numbers of a request, drawn from nothing by ``fill``."""
    plan = make_plan(images, grid, settings, seed=seed, curve=curve)
    codes = torch.full(plan.shape, denoise.mask_id, device=device)
    return fill(denoise, codes, plan, settings, seed=seed, first=images.start, batch=batch, on_step=on_step)
