"""How much decoding in tiles differs from decoding in one piece, on a mosaic of held-out pictures.

python tools/measure_tiles.py runs/codec/best emoji
"""

import sys

import numpy as np
import torch

from unmask.codec.tiles import OVERLAP, TILE, decode_tiles
from unmask.data.transforms import to_tensor
from unmask.pipeline import load

EDGE = 6  # pictures along the mosaic's edge


@torch.no_grad()
def main(model: str, data: str) -> None:
    """Print the mean and largest difference, in levels of 255, and how far either is from the mosaic."""
    pipeline = load(model)
    codec, pixels = pipeline.codec, pipeline.open(data, "validation")
    rows = np.split(pixels.read(pixels.spread(EDGE**2)), EDGE)
    mosaic = to_tensor(np.concatenate([np.concatenate(list(row), axis=1) for row in rows])[None])
    mosaic = mosaic.to(pipeline.device)
    codes = codec.encode(mosaic)
    whole, tiled = codec.decode(codes), decode_tiles(codec.decode, codes, codec.config.factor, tile=TILE)
    difference = 255 * (whole - tiled).abs()
    print(f"{codes.shape[1]}×{codes.shape[2]} codes, tiles of {TILE} that overlap by {OVERLAP}")
    print(f"difference: mean {difference.mean():.2f}, largest {difference.max():.0f} of 255 levels")
    for name, picture in {"one piece": whole, "tiles": tiled}.items():
        print(f"L1 to the mosaic, {name}: {(picture - mosaic).abs().mean():.4f}")


main(*sys.argv[1:])
