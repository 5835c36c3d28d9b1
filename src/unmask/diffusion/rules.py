"""Orders that depend on the logits, and remasking: pure functions over a few images.

A rows, N positions; each image at a step of its own.
"""

import math
from typing import Protocol

import torch
from torch import Tensor

from unmask.diffusion.settings import Settings


class Rule(Protocol):
    """What to reveal now, given the logits of every masked position."""

    def __call__(
        self, log_p: Tensor, drawn: Tensor, masked: Tensor, counts: Tensor, noise: Tensor, settings: Settings
    ) -> Tensor:
        """(A, N) bool, some of each row's masked positions.

        log_p: (n, K) of the masked positions, row-major.  drawn: (n,) codes drawn there.  masked: (A, N)
        bool.  counts: (A,) positions that the plan would reveal now.  noise: (A, N) standard Gumbel.
        """


def confidence(
    log_p: Tensor, drawn: Tensor, masked: Tensor, counts: Tensor, noise: Tensor, settings: Settings
) -> Tensor:
    """As many as planned, those whose drawn codes are likeliest (MaskGIT).

    Confidence is log p with Gumbel noise, whose temperature falls with the share of codes that stay masked.
    """
    return _noisily(log_p.gather(1, drawn[:, None]).squeeze(1), masked, counts, noise, settings)


def margin(
    log_p: Tensor, drawn: Tensor, masked: Tensor, counts: Tensor, noise: Tensor, settings: Settings
) -> Tensor:
    """As many as planned, those whose two likeliest codes differ most in probability.

    Kim et al., 2025, "Train for the worst, plan for the best": where two codes are nearly as likely the model
    has not decided, however likely both are. Of the difference the logarithm has the noise of ``confidence``.
    """
    first, second = log_p.topk(2, dim=1).values.unbind(1)
    return _noisily(first + (-torch.expm1(second - first)).log(), masked, counts, noise, settings)


def _noisily(sure: Tensor, masked: Tensor, counts: Tensor, noise: Tensor, settings: Settings) -> Tensor:
    """The most confident of the (n,) masked ones, with noise that falls with the share that stays masked."""
    left = (masked.sum(1) - counts) / masked.shape[1]
    scores = torch.zeros_like(noise).masked_scatter(masked, sure.to(noise))
    return highest(scores + settings.choice_temperature * left[:, None] * noise, masked, counts)


def entropy(
    log_p: Tensor, drawn: Tensor, masked: Tensor, counts: Tensor, noise: Tensor, settings: Settings
) -> Tensor:
    """The largest set of lowest entropies whose sum less its maximum is at most ``gamma`` nats.

    That difference bounds what drawing them together, not one after the other, can cost (Ben-Hamu et al.,
    2025, "Accelerated sampling from masked diffusion models via entropy bounded unmasking").
    """
    nats = torch.special.entr(log_p.exp()).sum(1)
    each = torch.full_like(noise, math.inf).masked_scatter(masked, nats.to(noise))
    ordered, positions = each.sort(dim=1, stable=True)
    below = ordered.cumsum(1) - ordered  # in rising order the maximum is the last
    return torch.zeros_like(masked).scatter(1, positions, below <= settings.gamma) & masked


def exchange(
    revealed: Tensor, later: Tensor, uniform: Tensor, *, rescale: float, cap: float
) -> tuple[Tensor, Tensor]:
    """Revealed positions to mask again, and as many later ones to reveal instead: (A, N) bool both.

    revealed: (A, N) bool, drawn before.  later: (A, N) bool, masked and not due yet.  uniform: (A, N).

    A code is masked again with probability σ = rescale · min(cap, σ_max) (ReMDM, Wang et al., 2025), where
    σ_max = min(1, (1 − α_s) / α_t) with the image's own shares: α_t of its codes revealed before this step,
    1 − α_s masked after it. What is masked again changes places with positions that wait, drawn evenly, so
    that every step leaves as many masked as was planned.
    """
    num_revealed, num_later = revealed.sum(1), later.sum(1)
    largest = (num_later / num_revealed.clamp(min=1)).clamp(max=1)
    chosen = revealed & (uniform < rescale * largest.clamp(max=cap)[:, None])
    counts = torch.minimum(chosen.sum(1), num_later)
    return highest(uniform, chosen, counts), highest(uniform, later, counts)


def highest(scores: Tensor, among: Tensor, counts: Tensor) -> Tensor:
    """(A, N) bool: in each row of scores the ``counts`` highest, (A,), ``among`` the positions given."""
    finite = scores.clamp(min=torch.finfo(scores.dtype).min)  # −∞ is for positions not in ``among``
    ranks = finite.masked_fill(~among, -math.inf).argsort(dim=1, descending=True, stable=True).argsort(dim=1)
    return among & (ranks < counts[:, None])


RULES: dict[str, Rule] = {"confidence": confidence, "margin": margin, "entropy": entropy}
"""The orders that look at all masked positions."""
