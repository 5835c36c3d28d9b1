"""Masked codes among known ones, filled in several ways: the paper's "Image Editing", on codes."""

from typing import NamedTuple

import torch
from torch import Tensor

from unmask.diffusion.draws import Address
from unmask.diffusion.fill import Denoiser, OnStep, fill
from unmask.diffusion.rules import Remasking
from unmask.diffusion.schedule import even_plan
from unmask.diffusion.settings import Temperature


class Candidates(NamedTuple):
    """Ways to fill in what was masked."""

    codes: Tensor  # (count, N)
    log_p: Tensor  # (count,) nats, at temperature 1: each new code given what was known as it was last drawn


def refill(
    denoise: Denoiser,
    codes: Tensor,
    count: int,
    *,
    seed: int,
    steps: int | None = None,
    temperature: Temperature = 1.0,
    remask: Remasking | None = None,
    batch: int = 16,
    on_step: OnStep | None = None,
) -> Candidates:
    """``count`` ways to fill the MASKs of (N,) codes; known codes stay.

    The chain has as many steps as there are MASKs, unless a number is given. Without ``remask`` the
    log-probabilities are those of the new codes, exact for the model as it is, whatever the temperature of
    the draws; with it they only rank. They take no pass of their own.
    """
    steps = int((codes == denoise.mask_id).sum()) if steps is None else steps
    assert min(steps, count) > 0, "checked before"
    log_p = torch.zeros(count, len(codes), dtype=torch.float64)

    def note(logits: Tensor, addresses: list[Address], drawn: Tensor) -> None:
        images, positions, _ = torch.tensor(addresses).T
        log_p[images, positions] = logits.double().log_softmax(1).gather(1, drawn[:, None])[:, 0]

    filled = fill(
        denoise,
        codes.expand(count, -1),
        even_plan(range(count), len(codes), steps, seed=seed),
        seed=seed,
        temperature=temperature,
        remask=remask,
        batch=batch,
        on_step=on_step,
        on_draw=note,
    )
    return Candidates(filled, log_p.sum(1))
