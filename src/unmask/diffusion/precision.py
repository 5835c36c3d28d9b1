"""A denoiser in less precision than it was trained in, which is faster."""

import torch
from torch import Tensor

from unmask.diffusion.fill import Denoiser


class InBfloat16:
    """A denoiser whose products are taken in bfloat16; logits are float32."""

    def __init__(self, denoise: Denoiser) -> None:
        self._denoise, self.mask_id = denoise, denoise.mask_id

    def __call__(self, codes: Tensor, where: Tensor) -> Tensor:
        """(B, N) codes with MASK and the (B, N) positions wanted to (where.sum(), K) logits, row-major."""
        with torch.autocast(codes.device.type, dtype=torch.bfloat16):
            return self._denoise(codes, where).float()
