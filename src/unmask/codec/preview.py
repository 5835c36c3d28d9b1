"""Images of codes that are partly MASK."""

import torch
from einops import repeat
from torch import Tensor

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.tiles import decode_tiles
from unmask.errors import DataError
from unmask.reading import brief

GREY = 0.5


def check_codes(codes: object, K: int) -> None:
    """Refuse what are no (B, h, w) codes from 0 to K, which is MASK."""
    if not isinstance(codes, Tensor):
        raise DataError(f"{brief(codes)} are no codes; wanted an int64 tensor of shape (B, h, w)")
    if codes.ndim != 3 or not codes.numel() or codes.dtype != torch.int64:
        kind = f"{str(codes.dtype).removeprefix('torch.')} of shape {tuple(codes.shape)}"
        raise DataError(f"{kind} are no codes; wanted an int64 tensor of shape (B, h, w)")
    least, most = (int(code) for code in codes.aminmax())
    if least < 0 or most > K:
        raise DataError(f"codes from {least} to {most}: there are 0 to {K - 1}, and {K} is MASK")


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
