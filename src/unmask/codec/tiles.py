"""Pictures larger than those of the training through the codec, in bounded memory: tiles that overlap.

A tile is no smaller than what the codec was trained on: what training does in one piece stays in one.
"""

from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor

TILE = 32  # codes along a tile's edge, or more if a codec was trained on more
OVERLAP = 8  # codes that neighbouring tiles share


def decode_tiles(
    decode: Callable[[Tensor], Tensor],
    codes: Tensor,
    factor: int,
    *,
    tile: int,
    overlap: int = OVERLAP,
) -> Tensor:
    """(B, h, w) codes to (B, 3, h·factor, w·factor) images, at most ``tile``×``tile`` codes at a time.

    Convolutions see nearly the same surroundings in a tile as in the whole; attention and group statistics
    are the tile's own, so the result differs a little from decoding in one piece, and the cross-fade spreads
    that difference over the overlap. A grid within one tile is decoded in one piece.
    """
    B, h, w = codes.shape
    if h <= tile and w <= tile:
        return decode(codes)
    images = torch.zeros(B, 3, h * factor, w * factor, device=codes.device)
    weights = torch.zeros(h * factor, w * factor, device=codes.device)
    for top, left in product(_starts(h, tile, overlap), _starts(w, tile, overlap)):
        part = codes[:, top : top + tile, left : left + tile]
        rows = slice(top * factor, (top + part.shape[1]) * factor)
        columns = slice(left * factor, (left + part.shape[2]) * factor)
        ramps = (_ramp(rows, h * factor, overlap * factor), _ramp(columns, w * factor, overlap * factor))
        fade = torch.outer(*ramps).to(codes.device)
        images[:, :, rows, columns] += decode(part) * fade
        weights[rows, columns] += fade
    return images.div_(weights)


def encode_tiles(
    encode: Callable[[Tensor], Tensor],
    images: Tensor,
    factor: int,
    *,
    tile: int,
    overlap: int = OVERLAP,
) -> Tensor:
    """(B, 3, H, W) images to (B, H/factor, W/factor) codes, at most ``tile``×``tile`` codes at a time.

    Codes cannot be faded: neighbouring tiles share their overlap half and half, so that each code comes from
    a tile that shows what is around it.
    """
    B, _, H, W = images.shape
    h, w = H // factor, W // factor
    if h <= tile and w <= tile:
        return encode(images)
    codes = torch.empty(B, h, w, dtype=torch.int64, device=images.device)
    for top, left in product(_starts(h, tile, overlap), _starts(w, tile, overlap)):
        rows = slice(top * factor, (top + tile) * factor)
        columns = slice(left * factor, (left + tile) * factor)
        part = encode(images[:, :, rows, columns])
        y, x = (overlap // 2 if start else 0 for start in (top, left))  # what a tile before knows better
        codes[:, top + y : top + tile, left + x : left + tile] = part[:, y:, x:]
    return codes


def _starts(length: int, tile: int, overlap: int) -> list[int]:
    """Where the tiles begin along an axis; the last one is flush with the end."""
    last = max(length - tile, 0)
    return [*range(0, last, tile - overlap), last]


def _ramp(part: slice, length: int, overlap: int) -> Tensor:
    """Weights of a tile's pixels along an axis: 1 inside, falling linearly where a neighbour overlaps."""
    place = torch.arange(part.start, part.stop) + 0.5
    rise = (place - part.start) / overlap if part.start > 0 else torch.ones_like(place)
    fall = (part.stop - place) / overlap if part.stop < length else torch.ones_like(place)
    return torch.minimum(rise, fall).clamp(max=1)
