"""Diversity of samples: effective numbers of codes, and of kinds of images.

An effective number is e to the entropy: that of K equally common things is K. At a low temperature samples
look better and become alike; these metrics, with recall and coverage, show it.
"""

import torch
from torch import Tensor

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.kmeans import kmeans, nearest_rows, random_rows
from unmask.codec.losses import usage
from unmask.data.pixels import PixelSet
from unmask.data.transforms import to_tensor
from unmask.evaluation.distances import nearest
from unmask.rng import generator

KINDS, LEAST_A_KIND = 32, 4  # clusters of the real pictures; fewer where they are few
BATCH = 16


@torch.no_grad()
def code_perplexity(codec: Autoencoder, pixels: PixelSet, rows: list[int]) -> float:
    """The effective number of codes in some pictures of a set.

    Samples are encoded too rather than taken at the prior's word, so that they compare with real pictures.
    """
    counts = torch.zeros(codec.codebook_size, dtype=torch.int64)
    for start in range(0, len(rows), BATCH):
        codes = codec.encode(to_tensor(pixels.read(rows[start : start + BATCH])).to(codec.device))
        counts += torch.bincount(codes.flatten().cpu(), minlength=len(counts))
    return usage(counts)["perplexity"]


def kinds_of(real: Tensor, seed: int = 0) -> Tensor:
    """(n,) the kind of each real picture, by k-means over its (n, D) features."""
    num_kinds = max(1, min(KINDS, len(real) // LEAST_A_KIND))
    rows = real.float()
    rng = generator(seed, "kinds")
    return nearest_rows(rows, kmeans(rows, random_rows(rows, num_kinds, rng), rng))


def kind_perplexity(kinds: Tensor, real: Tensor, fake: Tensor) -> float:
    """The effective number of kinds that samples belong to: each has the kind of the nearest real picture."""
    return usage(torch.bincount(kinds[nearest(fake, real, 1).indices[:, 0]]))["perplexity"]
