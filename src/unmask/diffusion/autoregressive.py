"""How an autoregressive prior is sampled: code after code in raster order."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from unmask.diffusion.draws import draw
from unmask.diffusion.fill import OnStep
from unmask.diffusion.settings import Settings


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


def autoregress(
    prior: Continuer,
    images: range,
    settings: Settings,
    *,
    seed: int,
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
    codes = torch.full((len(images), prior.num_positions), prior.mask_id)
    words = codes[:, :0] if words is None else words
    for start in range(0, len(images), batch):
        part = slice(start, start + batch)
        watch = partial(on_step, codes) if on_step else None
        _continue(prior, images[part], words[part], codes[part], pick, watch)
    return codes


@torch.inference_mode()
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
    logits = next_logits(None)
    for word in words.T:
        logits = next_logits(word.to(logits.device))
    for position in range(N):
        left = torch.full((len(images),), 1 - position / N)
        codes[:, position] = pick(logits, [(image, position, 0) for image in images], left)
        if on_step:
            on_step()
        if position + 1 < N:
            logits = next_logits(codes[:, position].to(logits.device))
