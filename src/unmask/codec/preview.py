"""Images of codes that are partly MASK."""

import torch
from einops import repeat
from torch import Tensor

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.tiles import decode_tiles

GREY = 0.5


def decode_partly(codec: Autoencoder, codes: Tensor, *, tile: int) -> Tensor:
    """(B, h, w) codes to (B, 3, H, W) images in [0, 1], grey where a code is MASK, which is K.

    Grids beyond ``tile`` codes along an edge are decoded tile by tile.
    """
    factor, K = codec.config.factor, codec.codebook_size
    every = torch.arange(K, device=codes.device)[None, None]
    neutral = codec.quantizer.lookup(every).mean(3, keepdim=True)  # (1, E, 1, 1)

    def decode(part: Tensor) -> Tensor:
        # The decoder looks beyond a code's own patch: its neighbours see the mean of all codes there.
        latents = codec.quantizer.lookup(part.clamp(max=K - 1))
        return codec.pixels(torch.where((part == K)[:, None], neutral, latents))

    masked = repeat(codes == K, "B h w -> B 1 (h y) (w x)", y=factor, x=factor)
    return torch.where(masked, GREY, decode_tiles(decode, codes, factor, tile=tile).clamp(0, 1))
