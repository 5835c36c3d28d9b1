"""Codes of new pictures: a configuration becomes a plan, a rule and one call of ``fill``."""

from functools import partial

import torch
from torch import Tensor

from unmask.diffusion.fill import Denoiser, OnStep, fill
from unmask.diffusion.rules import Rule, confidence, entropy, remasking
from unmask.diffusion.schedule import Curve, make_plan
from unmask.diffusion.settings import SamplingConfig


def sample_codes(
    denoise: Denoiser,
    images: range,
    grid: tuple[int, int],
    config: SamplingConfig,
    *,
    seed: int,
    device: torch.device,
    curve: Curve | None = None,
    batch: int = 16,
    on_step: OnStep | None = None,
) -> Tensor:
    """(len(images), N) codes of the given numbers of a request, drawn from nothing by ``fill``."""
    N, rule = grid[0] * grid[1], _rule(config)
    plan = make_plan(
        images,
        grid,
        config.steps or N,
        schedule=config.schedule,
        order="random" if rule else config.order,
        curve=curve,
        seed=seed,
    )
    return fill(
        denoise,
        torch.full(plan.shape, denoise.mask_id, device=device),
        plan,
        seed=seed,
        first=images.start,
        temperature=config.temperature,
        top_k=config.top_k,
        top_p=config.top_p,
        rule=rule,
        remask=remasking(config.remask, config.remask_cap),
        batch=batch,
        on_step=on_step,
    )


def _rule(config: SamplingConfig) -> Rule | None:
    if config.order == "confidence":
        return partial(confidence, temperature=config.choice_temperature)
    return partial(entropy, gamma=config.gamma) if config.order == "entropy" else None
