"""Kernel Inception distance (Bińkowski et al. 2018): the squared MMD of features under a cubic kernel.

It is unbiased, unlike FID, so that sets of different sizes compare. Usual implementations average it over a
hundred random subsets of a thousand pictures; here it is taken over all pairs at once, which estimates the
same number without the noise of choosing subsets.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from unmask.evaluation.distances import chunks
from unmask.evaluation.estimate import REPLICATES, Estimate, check, check_width, estimate, halves

REASON = "KID compares pairs of them"


class Pairs(NamedTuple):
    """Real images and the mean kernel over their pairs: the part of KID that is independent of samples."""

    features: Tensor  # (n, D)
    alike: Tensor  # (1,) mean of the kernel


def pairs_of(real: Tensor) -> Pairs:
    """The pairs among (n, D) real features."""
    check(real, "real images", 2, REASON)
    return Pairs(real, _mean_of_pairs(real, _once(real)))


def kid(real: Pairs, fake: Tensor, *, replicates: int = REPLICATES, seed: int = 0) -> Estimate:
    """KID of (m, D) sampled features."""
    count, width = real.features.shape
    check_width(fake, width)
    check(fake, "samples", 2, REASON)
    weights = halves(len(fake), replicates, seed)
    across = _weighted(real.features, fake, _once(real.features), weights) / (count * weights.sum(0))
    return estimate(real.alike + _mean_of_pairs(fake, weights) - 2 * across)


def _once(features: Tensor) -> Tensor:
    """(n, 1) weights: every picture, and no replicate."""
    return torch.ones(len(features), 1, dtype=torch.float64)


def _mean_of_pairs(features: Tensor, weights: Tensor) -> Tensor:
    """(R,) means of the kernel over pairs of different pictures, which makes the estimate unbiased."""
    squares = torch.cat([features[rows].double().square().sum(1) for rows in chunks(*features.shape)])
    alone = _kernel(squares, features.shape[1])
    all_pairs = _weighted(features, features, weights, weights) - alone @ weights.square()
    return all_pairs / (weights.sum(0).square() - weights.square().sum(0))


def _weighted(a: Tensor, b: Tensor, weights_a: Tensor, weights_b: Tensor) -> Tensor:
    """(R,) sums of the kernel over all pairs, with the weights of each replicate."""
    total = torch.zeros(weights_b.shape[1], dtype=torch.float64)
    for rows in chunks(*a.shape):
        for columns in chunks(*b.shape):
            kernel = _kernel(a[rows].double() @ b[columns].double().T, a.shape[1])
            total += (weights_a[rows] * (kernel @ weights_b[columns])).sum(0)
    return total


def _kernel(products: Tensor, dimension: int) -> Tensor:
    """(x·y / D + 1)³."""
    return products.div_(dimension).add_(1).pow_(3)
