"""Sampling of an autoregressive prior: code after code in raster order."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from unmask.diffusion.draws import draw, has_non_finite, refuse_non_finite
from unmask.diffusion.fill import OnStep
from unmask.diffusion.settings import Settings


class Continuer(Protocol):
    """The interface of a causal prior to the sampling loop."""

    @property
    def mask_id(self) -> int:
        """K, the number of codes."""

    @property
    def num_positions(self) -> int:
        """N, the codes of one picture."""

    def begin(self, batch: int) -> Callable[[Tensor | None], Tensor]:
        """A function from the last (B,) codes, None at first, to the (B, K) logits of the next."""


def autoregress(
    prior: Continuer,
    images: range,
    settings: Settings,
    *,
    seed: int,
    device: torch.device | str = "cpu",
    words: Tensor | None = None,
    batch: int = 16,
    on_step: OnStep | None = None,
) -> Tensor:
    """(len(images), N) codes of the given numbers of a request; draws are addressed as in ``fill``.

    ``words`` are those of their captions, (len(images), L), which go before; MASK where there is none.
    ``on_step`` sees all of them after every code, MASK where none is drawn yet, and copies what it keeps.
    """
    settings.check_autoregressive()
    pick = partial(draw, settings=settings, seed=seed)
    codes = torch.full((len(images), prior.num_positions), prior.mask_id, device=device)
    words = codes[:, :0] if words is None else words.to(device)
    for start in range(0, len(images), batch):
        part = slice(start, start + batch)
        watch = partial(on_step, codes) if on_step else None
        _continue(prior, images[part], words[part], codes[part], pick, watch)
    return codes


@torch.no_grad()
def _continue(
    prior: Continuer,
    images: range,
    words: Tensor,
    codes: Tensor,
    pick: Callable[..., Tensor],
    on_step: Callable[[], None] | None,
) -> None:
    """Fill (B, N) codes in place, column by column, after (B, L) words."""
    next_logits, N = prior.begin(len(images)), prior.num_positions
    numbers = torch.tensor(images).to(codes.device)
    logits = next_logits(None)
    non_finite = torch.zeros((), dtype=torch.bool, device=codes.device)
    for word in words.T:
        logits = next_logits(word)
    for position in range(N):
        place, left = torch.full_like(numbers, position), torch.full_like(logits[:, 0], 1 - position / N)
        codes[:, position] = pick(logits, (numbers, place, torch.zeros_like(place)), left)
        non_finite |= has_non_finite(logits)
        if on_step:
            on_step()
        if position + 1 < N:
            logits = next_logits(codes[:, position])
    refuse_non_finite(bool(non_finite))
