"""Draws from logits, addressed by (seed, image, position): the same in whatever batch."""

import math

import torch
from torch import Tensor

from unmask.diffusion.settings import Moving, Settings
from unmask.errors import BundleError
from unmask.rng import gumbel

Address = tuple[Tensor, Tensor, Tensor]
"""Images, positions, and how often a code was drawn there before: (n,) integers each."""


def draw(logits: Tensor, address: Address, left: Tensor, settings: Settings, *, seed: int) -> Tensor:
    """(n, K) logits to (n,) codes distributed as softmax(logits / temperature); 0 is greedy.

    ``left`` is the share of codes masked in the image of each row, (n,). With top_k and top_p, draws are from
    the model's likeliest codes. Where logits are not finite any code may come.
    """
    codes = torch.arange(logits.shape[1], device=logits.device)
    noise = gumbel(seed, "draw", *(part[:, None] for part in address), codes)
    scale = at_share(settings.temperature, left)[:, None]
    likely = restrict(logits, settings.top_k, settings.top_p)
    return (likely + scale * noise).argmax(1)  # the argmax of logits / scale + noise


def has_non_finite(logits: Tensor) -> Tensor:
    """() bool, on the device: of some row of (n, K) logits the largest is not a finite number."""
    return ~logits.amax(1).isfinite().all()


def refuse_non_finite(found: bool) -> None:
    """Raise the user's error for logits that are not finite."""
    if found:
        raise BundleError(
            "the prior's predictions are not numbers: its training went astray",
            hint="take a model from before, such as the run's best",
        )


def at_share(value: Moving, left: Tensor) -> Tensor:
    """(n,) values of a setting where a share ``left`` of the codes is masked, (n,)."""
    first, last = value if isinstance(value, tuple) else (value, value)
    return last + (first - last) * left


def restrict(logits: Tensor, top_k: int | None, top_p: float) -> Tensor:
    """(n, K) logits with −∞ for all but the k likeliest codes, and of those the fewest with a share p."""
    if top_k is None and top_p == 1:
        return logits
    ordered, codes = logits.sort(dim=1, descending=True, stable=True)
    if top_k is not None:
        ordered[:, top_k:] = -math.inf
    if top_p < 1:
        p = ordered.softmax(1)
        ordered = ordered.masked_fill(p.cumsum(1) - p >= top_p, -math.inf)  # those before it hold the share
    return torch.empty_like(logits).scatter(1, codes, ordered)
