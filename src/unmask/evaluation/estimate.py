"""A metric and its standard error: a bootstrap over random halves of the samples.

A half drawn without replacement strays from the whole just as the whole strays from the truth, since
1/(n/2) − 1/n = 1/n. Unlike draws with replacement it holds no picture twice, which distances would notice.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from unmask.errors import DataError
from unmask.rng import generator

REPLICATES = 20  # a standard error is then itself right to about a sixth


class Estimate(NamedTuple):
    """A metric and its standard error over draws of the samples; the reference set is fixed."""

    value: float
    standard_error: float


def halves(count: int, replicates: int, seed: int) -> Tensor:
    """(count, 1 + replicates) float64, 1 where a sample is in: all of them first, then random halves."""
    replicates = replicates if count >= 4 else 0  # half of them have no spread of their own
    rng = generator(seed, "halves", count)
    ranks = torch.rand(replicates, count, generator=rng).argsort(1).argsort(1)
    return torch.cat([torch.ones(1, count), (ranks < count // 2).double()]).T.double()


def estimate(values: Tensor) -> Estimate:
    """(1 + replicates,) values for the samples and of their halves to an estimate."""
    spread = values[1:].std().item() if len(values) > 2 else float("nan")
    return Estimate(values[0].item(), spread)


def mean_of(values: Tensor) -> Estimate:
    """The mean of (n,) values that are independent of each other; of one alone the error is NaN."""
    error = values.std().item() / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Estimate(values.mean().item(), error)


def check(features: Tensor, what: str, least: int, reason: str) -> None:
    """Refuse features that are too few or not finite."""
    if len(features) < least:
        raise DataError(f"{len(features)} {what} are too few: {reason}")
    bad = int((~features.isfinite()).any(1).sum())
    if bad:
        raise DataError(f"{bad} of {len(features)} {what} have features that are not finite numbers")


def check_width(fake: Tensor, width: int) -> None:
    """Refuse samples whose features are not of the kind that the real pictures have."""
    if fake.shape[1] != width:
        raise DataError(
            f"the real images have {width} features each and the samples {fake.shape[1]}; only features of "
            "one kind compare"
        )
