"""Masked codes among known ones, filled in several ways: the paper's "Image Editing", on codes."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from unmask.diffusion.draws import Address
from unmask.diffusion.fill import Denoiser, OnStep, fill
from unmask.diffusion.rules import highest
from unmask.diffusion.schedule import Curve, make_plan
from unmask.diffusion.settings import Settings
from unmask.rng import uniform


class Candidates(NamedTuple):
    """Ways to fill in what was masked."""

    codes: Tensor  # (count, N)
    log_p: Tensor  # (count,) nats, at temperature 1: each new code given what was known as it was last drawn


def choose_positions(
    among: Tensor, share: float, count: int, *, seed: int, nats: Tensor | None = None
) -> Tensor:
    """(count, N) bool: in each of so many rows a share of the positions ``among``, (N,) bool, at least one.

    Random ones, of each row its own: x_t ~ q(x_t | x_0) at t/T = share, so that filling them again is the
    forward process to t and the reverse process back. Or, given what codes cost, (N,) nats, the most costly.
    """
    counts = torch.full((count,), max(1, math.ceil(share * int(among.sum()))))
    rows = torch.arange(count)[:, None]
    scores = uniform(seed, "forget", rows, torch.arange(len(among))) if nats is None else nats.cpu()
    return highest(scores.expand(count, -1), among.cpu().expand(count, -1), counts)


def refill(
    denoise: Denoiser,
    codes: Tensor,
    grid: tuple[int, int],
    settings: Settings,
    *,
    seed: int,
    curve: Curve | None = None,
    batch: int = 16,
    on_step: OnStep | None = None,
) -> Candidates:
    """Fill the MASKs of each row of (count, N) codes, as many in each; known codes stay.

    Without remasking the log-probabilities are those of the new codes, exact for the model as it is, whatever
    the temperature of the draws; with it they only rank. They take no pass of their own.
    """
    masked = codes == denoise.mask_id
    assert masked.any(), "checked before"
    plan = make_plan(range(len(codes)), grid, settings, seed=seed, masked=masked, curve=curve)
    log_p = torch.zeros(codes.shape, device=codes.device)

    def note(logits: Tensor, address: Address, drawn: Tensor) -> None:
        images, positions, _ = address
        log_p[images, positions] = logits.log_softmax(1).gather(1, drawn[:, None])[:, 0]

    filled = fill(denoise, codes, plan, settings, seed=seed, batch=batch, on_step=on_step, on_draw=note)
    return Candidates(filled, log_p.cpu().double().sum(1))
