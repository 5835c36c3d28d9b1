"""The twin's way: code after code in raster order."""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from unmask.sampling.draws import draw, gumbel_noise


class Continuer(Protocol):
    """What the loop asks of a causal prior."""

    @property
    def mask_id(self) -> int:
        """K, the number of codes."""

    @property
    def num_positions(self) -> int:
        """N, the codes of one picture."""

    def begin(self, batch: int) -> Callable[[Tensor | None], Tensor]:
        """A function from the last (B,) codes, None at first, to the (B, K) logits of the next."""


@torch.no_grad()
def autoregress(
    prior: Continuer, images: range, *, seed: int, temperature: float = 1.0, batch: int = 16
) -> Tensor:
    """(len(images), N) codes of the given numbers of a request; draws are addressed as in ``fill``."""
    parts = [images[start : start + batch] for start in range(0, len(images), batch)]
    return torch.cat([_batch(prior, part, seed, temperature) for part in parts])


def _batch(prior: Continuer, images: range, seed: int, temperature: float) -> Tensor:
    N, K = prior.num_positions, prior.mask_id
    noise = torch.stack([gumbel_noise(image, N, K, seed=seed) for image in images])  # (B, N, K)
    next_logits = prior.begin(len(images))
    codes: list[Tensor] = []
    for position in range(N):
        logits = next_logits(codes[-1] if codes else None)
        codes.append(draw(logits, noise[:, position], temperature))
    return torch.stack(codes, dim=1)
