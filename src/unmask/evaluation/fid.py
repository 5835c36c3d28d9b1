"""Fréchet distance between two sets of features: FID, when they are Inception's (Heusel et al. 2017)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from unmask.errors import DataError
from unmask.evaluation.distances import chunks
from unmask.evaluation.estimate import REPLICATES, Estimate, check, check_width, estimate, halves


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and covariance of features, in float64 on the CPU.

    Those of parts add up to those of the whole, to rounding, however the features are cut into batches or
    shared among processes.
    """

    count: int
    mean: Tensor  # (D,)
    scatter: Tensor  # (D, D): Σ (f − mean)(f − mean)ᵀ

    @classmethod
    def none(cls, width: int) -> "Moments":
        """Those of no picture, which would have ``width`` features."""
        return cls(0, torch.zeros(width, dtype=torch.float64), torch.zeros(width, width, dtype=torch.float64))

    @classmethod
    def of(cls, features: Tensor) -> "Moments":
        """Those of a batch of pictures.

        features: (B, D), B of 1 or more, on any device.
        """
        features = features.detach().cpu().double()
        check(features, "images", 1, "a mean takes 1 or more")
        mean = features.mean(0)
        centred = features - mean
        return cls(len(features), mean, centred.T @ centred)

    def __add__(self, other: "Moments") -> "Moments":
        """Those of all pictures of both (Chan et al. 1979)."""
        count = self.count + other.count
        share, step = other.count / max(count, 1), other.mean - self.mean
        scatter = self.scatter + other.scatter + torch.outer(step, step) * (self.count * share)
        return Moments(count, self.mean + step * share, scatter)

    def total(self, add_up: Callable[[Tensor], Tensor]) -> "Moments":
        """Those of all processes' pictures; ``add_up`` adds a tensor up over them, to one on any device."""
        count = int(add_up(torch.tensor(self.count)))
        mean = add_up(self.count * self.mean).cpu() / max(count, 1)
        shift = self.mean - mean
        return Moments(count, mean, add_up(self.scatter + self.count * torch.outer(shift, shift)).cpu())

    def covariance(self) -> Tensor:
        """The unbiased covariance, (D, D) float64."""
        if self.count < 2:
            raise DataError(f"a covariance needs 2 images or more, and there are {self.count}")
        return self.scatter / (self.count - 1)

    @cached_property
    def root(self) -> Tensor:
        """R (D, rank) with R Rᵀ the covariance, to rounding."""
        values, vectors = torch.linalg.eigh(self.covariance())
        significant = values > values.abs().max() * len(values) * torch.finfo(values.dtype).eps
        root: Tensor = vectors[:, significant] * values[significant].sqrt()
        return root


def frechet_distance(a: Moments, b: Moments) -> float:
    """‖μ_a − μ_b‖² + tr(S_a + S_b − 2 (S_a S_b)^½), of Gaussians with these moments; never below 0.

    With S = R Rᵀ the trace of the root is the sum of the singular values of R_aᵀ R_b. They keep their digits
    where the roots of the eigenvalues of S_a S_b lose half: with fewer pictures than features most are 0.
    """
    singular = torch.linalg.svdvals(a.root.T @ b.root)
    traces = a.covariance().trace() + b.covariance().trace()
    distance: Tensor = (a.mean - b.mean).square().sum() + traces - 2 * singular.sum()
    return max(float(distance), 0.0)


def fid(real: Moments, fake: Tensor, *, replicates: int = REPLICATES, seed: int = 0) -> Estimate:
    """FID of (m, D) sampled features, given the moments of real ones."""
    check_width(fake, len(real.mean))
    check(fake, "samples", 2, "a covariance takes 2 or more")
    values = [frechet_distance(real, moments_of(fake))]
    parts = halves(len(fake), replicates, seed).T[1:]
    values += [_quickly(real, moments_of(fake, half.nonzero().flatten())) for half in parts]
    return estimate(torch.tensor(values, dtype=torch.float64))


def moments_of(features: Tensor, rows: Tensor | None = None) -> Moments:
    """Moments of (n, D) features, which may lie on the disk, memory-mapped; or of some of their rows."""
    rows = torch.arange(len(features)) if rows is None else rows
    width = features.shape[1]
    parts = (Moments.of(features[rows[part]]) for part in chunks(len(rows), width))
    return sum(parts, start=Moments.none(width))


def _quickly(a: Moments, b: Moments) -> float:
    """The distance with half its digits, which a standard error does not miss, in a fraction of the time."""
    cov_b = b.covariance()
    values = torch.linalg.eigvalsh(a.root.T @ cov_b @ a.root).clamp(min=0)
    traces = a.covariance().trace() + cov_b.trace() - 2 * values.sqrt().sum()
    return float((a.mean - b.mean).square().sum() + traces)
