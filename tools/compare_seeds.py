"""How k-means over a codec's latents depends on its seeds: random latents, or ones far apart (k-means++).

python tools/compare_seeds.py emoji photos/avatars
"""

import sys

import torch
import torch.nn.functional as F

from unmask.codec.kmeans import kmeans, nearest_rows, random_rows, spread_rows
from unmask.data.transforms import to_tensor
from unmask.pipeline import load
from unmask.rng import generator

PICTURES = 512
CORNER = 2  # codes along the edge of the corner that is taken for background


@torch.no_grad()
def main(model: str, data: str) -> None:
    """Print the error of latents, and what the pictures' top left corners spend on codes, by seeds."""
    pipeline = load(model)
    pixels = pipeline.open(data, "train")
    pictures = to_tensor(pixels.read(pixels.spread(PICTURES)))
    latents = torch.cat([pipeline.codec.latents(part.to(pipeline.device)) for part in pictures.split(32)])
    latents = latents.float().permute(0, 2, 3, 1)  # (n, h, w, E)
    rows, corner = latents.flatten(0, 2), latents[:, :CORNER, :CORNER].flatten(0, 2)
    for count in (512, 1024):
        for seeds in (random_rows, spread_rows):
            rng = generator(0, "seeds")
            centres = kmeans(rows, seeds(rows, count, rng), rng)
            error = F.mse_loss(F.embedding(nearest_rows(rows, centres), centres), rows)
            shares = torch.bincount(nearest_rows(corner, centres), minlength=count) / len(corner)
            bits = -torch.special.xlogy(shares, shares).sum() / torch.tensor(2.0).log()
            corner_use = f"corner: {(shares > 0).sum()} codes, {bits:.2f} bits"
            print(f"{count:5} codes  {seeds.__name__:12} error {error:.4f}  {corner_use}")


main(*sys.argv[1:])
