"""Denoisers made of denoisers: rows of which a part is given, and guidance.

A row of a prior that knows words is (L + N): a caption, then codes. Guidance draws from p₀^(1−w) · p^w,
normalised at every position: p is the prediction, p₀ the unconditional one (classifier-free guidance, Ho and
Salimans, 2022) or that of a weaker prior (autoguidance, Karras et al., 2024). w = 0 is p₀, w = 1 is p, and
beyond it guidance extrapolates.
"""

import itertools
from collections.abc import Callable

import torch
from torch import Tensor

from unmask.diffusion.autoregressive import Continuer
from unmask.diffusion.draws import at_share
from unmask.diffusion.fill import Denoiser
from unmask.diffusion.settings import Moving

Blank = Callable[[Tensor], Tensor]
"""(B, n) rows to the same without their condition."""


class Conditioned:
    """A denoiser of a part of longer rows: of codes whose caption is given, or of words whose codes are."""

    caption_length = 0  # of its rows: what is given is no part of them

    def __init__(
        self, denoise: Denoiser, *, words: Tensor | None = None, codes: Tensor | None = None
    ) -> None:
        """What is given is the same for every row, (L,) or (N,), or their own, (B, L) or (B, N)."""
        assert (words is None) != (codes is None), "one is given, the other asked for"
        self._denoise, self.mask_id = denoise, denoise.mask_id
        self._words, self._codes = words, codes
        self.causal: bool = getattr(denoise, "causal", False)  # of priors, which are scored as well

    def __call__(self, codes: Tensor, where: Tensor) -> Tensor:
        """(B, n) ids with MASK and the (B, n) positions wanted to their logits, row-major; of codes K."""
        rows, wanted = [codes], [where]
        for given, place in ((self._words, 0), (self._codes, 1)):
            if given is not None:
                rows.insert(place, given.to(codes.device).expand(len(codes), -1))
                wanted.insert(place, torch.zeros_like(rows[place], dtype=torch.bool))
        logits = self._denoise(torch.cat(rows, dim=1), torch.cat(wanted, dim=1))
        return logits if self._words is None else logits[:, : self.mask_id]


class Guided:
    """A denoiser and its prediction for the same rows made ``blank``, in one pass of twice the rows.

    Or beside it the prediction of a ``guide``, in a pass of its own. ``num_words`` is L, of rows that have
    words, ``num_drawn`` how many codes there are to draw, if not all: a weight that moves does so with their
    share.
    """

    def __init__(
        self,
        denoise: Denoiser,
        weight: Moving,
        *,
        blank: Blank | None = None,
        guide: Denoiser | None = None,
        num_words: int = 0,
        num_drawn: int | None = None,
    ) -> None:
        assert (blank is None) != (guide is None), "the unconditional prediction comes from one of them"
        self._denoise, self.mask_id = denoise, denoise.mask_id
        self._weight, self._num_words, self._num_drawn = weight, num_words, num_drawn
        self._blank, self._guide = blank, guide

    def __call__(self, codes: Tensor, where: Tensor) -> Tensor:
        """(B, n) codes with MASK and the (B, n) positions wanted to their logits, row-major."""
        if self._guide is not None:
            conditional, unconditional = self._denoise(codes, where), self._guide(codes, where)
        else:
            assert self._blank is not None, "checked when made"
            rows = torch.cat([codes, self._blank(codes)])
            conditional, unconditional = self._denoise(rows, where.repeat(2, 1)).chunk(2)
        masked = codes[:, self._num_words :] == self.mask_id
        left = masked.sum(1) / (self._num_drawn or masked.shape[1])
        weight = at_share(self._weight, left)[where.nonzero()[:, 0]]
        return extrapolate(conditional, unconditional, weight[:, None])


class GuidedContinuer:
    """An autoregressive prior that reads each caption, and beside it another or none; one pass of both."""

    def __init__(self, prior: Continuer, weight: Moving, negative: Tensor) -> None:
        """``negative`` are the (L,) words of the other caption, MASK for none."""
        self._prior, self._weight, self._negative = prior, weight, negative
        self.mask_id, self.num_positions = prior.mask_id, prior.num_positions

    def begin(self, batch: int) -> Callable[[Tensor | None], Tensor]:
        """A function from the last (B,) words or codes, None at first, to the (B, K) logits of the next."""
        advance, L, N = self._prior.begin(2 * batch), len(self._negative), self.num_positions
        places = itertools.count()

        def next_logits(last: Tensor | None) -> Tensor:
            place = next(places)
            if last is not None:
                other = self._negative[place - 1].to(last).expand(batch) if place <= L else last
                last = torch.cat([last, other])
            conditional, unconditional = advance(last).chunk(2)
            left = torch.full((batch, 1), 1 - max(place - L, 0) / N, device=conditional.device)
            return extrapolate(conditional, unconditional, at_share(self._weight, left))

        return next_logits


def extrapolate(conditional: Tensor, unconditional: Tensor, weight: Tensor) -> Tensor:
    """(n, K) logits of p₀^(1−w) · p^w; what is impossible to both stays so."""
    moved = unconditional + weight * (conditional - unconditional)
    return torch.where(conditional == unconditional, conditional, moved)


def with_words(words: Tensor) -> Blank:
    """Rows with other words than their own, (L,): MASK, or those of a negative prompt."""
    return lambda rows: torch.cat([words.to(rows).expand(len(rows), -1), rows[:, len(words) :]], dim=1)


def without_context(known: Tensor, mask_id: int) -> Blank:
    """Rows with the (n,) positions masked that an edit leaves as they are."""
    return lambda rows: rows.masked_fill(known.to(rows.device), mask_id)
