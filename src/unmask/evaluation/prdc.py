"""Precision, recall, density and coverage of samples (Naeem et al. 2020), by balls in feature space.

The ball of a picture reaches to its k-th nearest neighbour in its own set; a point on its border is outside.
Precision: the share of samples in the ball of some real picture. Recall: the share of real pictures in the
ball of some sample. Density: how many balls of real pictures a sample is in, over k. Coverage: the share of
real pictures with a sample in their ball.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from unmask.evaluation.distances import Block, between, blocks, centre_of, nearest, screen
from unmask.evaluation.estimate import REPLICATES, Estimate, check, check_width, estimate, halves

NEIGHBOURS = 3


class Balls(NamedTuple):
    """The ball of every picture of a set."""

    centres: Tensor  # (n, D) features
    radii: Tensor  # (n, 1) squared, float64
    k: int


def balls_of(features: Tensor, k: int = NEIGHBOURS) -> Balls:
    """The balls that reach to the k-th nearest neighbours of (n, D) features."""
    check(features, "images", k + 1, f"{k} nearest neighbours of each take {k + 1} or more")
    return Balls(features, nearest(features, features, k + 1).squares[:, -1:], k)


def prdc(real: Balls, fake: Tensor, *, replicates: int = REPLICATES, seed: int = 0) -> dict[str, Estimate]:
    """The four of (m, D) sampled features, without ever holding n × m distances.

    Standard errors are over the samples with all balls as they are, which makes that of recall too small.
    """
    check_width(fake, real.centres.shape[1])
    weights = halves(len(fake), replicates, seed)
    balls, covered, recalled = _count(real, balls_of(fake, real.k), weights)
    counts = weights.sum(0)
    metrics = {
        "precision": (balls > 0).double() @ weights / counts,
        "recall": (recalled > 0).double().mean(0),
        "density": balls @ weights / (real.k * counts),
        "coverage": (covered > 0).double().mean(0),
    }
    return {name: estimate(values) for name, values in metrics.items()}


def _count(real: Balls, fake: Balls, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """How many real balls each sample is in, (m,); by replicate, how many samples are in each real ball and
    how many samples' balls each real picture is in, (n, R) each."""
    balls = torch.zeros(len(fake.centres), dtype=torch.float64)
    covered, recalled = (torch.zeros(len(real.centres), weights.shape[1]) for _ in range(2))
    middle = centre_of(real.centres)
    for b in blocks(fake.centres, middle):
        shares = weights[b.rows].float()
        for a in blocks(real.centres, middle):
            in_real, in_fake = _compare(a, b, real.radii[a.rows], fake.radii[b.rows].T)
            balls[b.rows] += in_real.sum(0)
            covered[a.rows] += in_real.float() @ shares
            recalled[a.rows] += in_fake.float() @ shares
    return balls, covered, recalled


def _compare(a: Block, b: Block, *radii: Tensor) -> list[Tensor]:
    """Which of the squared distances of two blocks are below each of the radii: exactly so."""
    fast, doubt = screen(a, b)
    results = []
    for radius in radii:
        beyond = fast - radius.float()
        inside = beyond < 0
        i, j = (beyond.abs_() <= doubt).nonzero(as_tuple=True)
        inside[i, j] = between(a.features, i, b.features, j) < radius.expand_as(inside)[i, j]
        results.append(inside)
    return results
