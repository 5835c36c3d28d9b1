"""Masked codes among known ones, filled in several ways: the paper's "Image Editing", on codes."""

from typing import NamedTuple

import torch
from torch import Tensor

from unmask.diffusion.draws import Address
from unmask.diffusion.fill import Denoiser, OnStep, fill
from unmask.diffusion.schedule import Curve, make_plan
from unmask.diffusion.settings import Settings


class Candidates(NamedTuple):
    """Ways to fill in what was masked."""

    codes: Tensor  # (count, N)
    log_p: Tensor  # (count,) nats, at temperature 1: each new code given what was known as it was last drawn


def refill(
    denoise: Denoiser,
    codes: Tensor,
    grid: tuple[int, int],
    count: int,
    settings: Settings,
    *,
    seed: int,
    curve: Curve | None = None,
    batch: int = 16,
    on_step: OnStep | None = None,
) -> Candidates:
    """``count`` ways to fill the MASKs of (N,) codes; known codes stay.

    Without remasking the log-probabilities are those of the new codes, exact for the model as it is, whatever
    the temperature of the draws; with it they only rank. They take no pass of their own.
    """
    masked = codes == denoise.mask_id
    assert masked.any(), "checked before"
    plan = make_plan(range(count), grid, settings, seed=seed, masked=masked, curve=curve)
    log_p = torch.zeros(count, len(codes), device=codes.device)

    def note(logits: Tensor, address: Address, drawn: Tensor) -> None:
        images, positions, _ = address
        log_p[images, positions] = logits.log_softmax(1).gather(1, drawn[:, None])[:, 0]

    filled = fill(
        denoise,
        codes.expand(count, -1),
        plan,
        settings,
        seed=seed,
        batch=batch,
        on_step=on_step,
        on_draw=note,
    )
    return Candidates(filled, log_p.cpu().double().sum(1))
