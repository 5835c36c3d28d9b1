"""A prior's logits for an image of nothing but MASK: a constant of the model, computed once."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from unmask.diffusion.fill import Denoiser


class RememberedStart:
    """A denoiser that caches another one's logits for an image of nothing but MASK.

    Every new picture begins with that pass. The weights must not change.
    """

    def __init__(self, denoise: Denoiser) -> None:
        self._denoise, self.mask_id = denoise, denoise.mask_id
        self._logits: Tensor | None = None  # (N, K)

    def __call__(self, codes: Tensor, where: Tensor) -> Tensor:
        """(B, N) codes with MASK and the (B, N) positions wanted to (where.sum(), K) logits, row-major."""
        blank = (codes == self.mask_id).all(1)  # (B,)
        known = [row for row, is_blank in enumerate(blank.tolist()) if not is_blank]
        if len(known) == len(codes):
            return self._denoise(codes, where)
        if self._logits is None:
            self._logits = self._denoise(torch.full_like(codes[:1], self.mask_id), torch.ones_like(where[:1]))
        row, position = where.nonzero(as_tuple=True)
        logits = self._logits[position]
        if known:
            rows = torch.tensor(known).to(codes.device)
            others = self._denoise(codes[rows], where[rows])
            missing = logits.shape[1] - others.shape[1]  # where only codes are wanted, words have no column
            others = F.pad(others, (0, missing), value=-math.inf)
            logits = logits.masked_scatter(~blank[row][:, None], others)
        return logits
