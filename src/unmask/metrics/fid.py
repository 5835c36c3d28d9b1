"""Fréchet distance between two sets of features: FID, when they are Inception's (Heusel et al. 2017)."""

from collections.abc import Callable

import torch
from torch import Tensor

from unmask.errors import DataError
from unmask.metrics.distances import chunks
from unmask.metrics.estimate import REPLICATES, Estimate, check, estimate, halves


class Moments:
    """Mean and covariance of features that come in batches, in float64 on the CPU.

    The same to rounding however the features are cut into batches or shared among processes.
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean = torch.zeros((), dtype=torch.float64)  # (D,) from the first batch on
        self.scatter = torch.zeros((), dtype=torch.float64)  # (D, D): Σ (f − mean)(f − mean)ᵀ

    def update(self, features: Tensor) -> None:
        """Take in the features of more pictures.

        features: (B, D), B of 1 or more.
        """
        features = features.detach().to("cpu", torch.float64)
        bad = int((~features.isfinite()).any(1).sum())
        if bad:
            raise DataError(f"{bad} of {len(features)} pictures have features that are not finite numbers")
        batch = Moments()
        batch.count, batch.mean = len(features), features.mean(0)
        centred = features - batch.mean
        batch.scatter = centred.T @ centred
        self.merge(batch)

    def merge(self, other: "Moments") -> None:
        """Take in all that ``other`` has seen (Chan et al. 1979)."""
        count = self.count + other.count
        if count == 0:
            return
        step = other.mean - self.mean
        self.scatter = (
            self.scatter + other.scatter + torch.outer(step, step) * (self.count * other.count / count)
        )
        self.mean = self.mean + step * (other.count / count)
        self.count = count

    def total(self, add_up: Callable[[Tensor], Tensor]) -> "Moments":
        """The moments of all processes' features together; ``add_up`` adds a tensor up over them."""
        everyone = Moments()
        everyone.count = int(add_up(torch.tensor(self.count)))
        everyone.mean = add_up(self.count * self.mean) / max(everyone.count, 1)
        shift = self.mean - everyone.mean
        everyone.scatter = add_up(self.scatter + self.count * torch.outer(shift, shift))
        return everyone

    def covariance(self) -> Tensor:
        """The unbiased covariance, (D, D) float64."""
        if self.count < 2:
            raise DataError(f"a covariance needs 2 pictures or more, and there are {self.count}")
        return self.scatter / (self.count - 1)


def frechet_distance(a: Moments, b: Moments) -> float:
    """‖μ_a − μ_b‖² + tr(S_a + S_b − 2 (S_a S_b)^½), of Gaussians with these moments; never below 0.

    With S = R Rᵀ the trace of the root is the sum of the singular values of R_aᵀ R_b. They keep their digits
    where the roots of the eigenvalues of S_a S_b lose half: with fewer pictures than features most are 0.
    """
    cov_a, cov_b = a.covariance(), b.covariance()
    singular = torch.linalg.svdvals(_root(cov_a).T @ _root(cov_b))
    distance: Tensor = (a.mean - b.mean).square().sum() + cov_a.trace() + cov_b.trace() - 2 * singular.sum()
    return max(float(distance), 0.0)


def _root(covariance: Tensor) -> Tensor:
    """R (D, rank) with R Rᵀ the covariance, to rounding."""
    values, vectors = torch.linalg.eigh(covariance)
    significant = values > values.abs().max() * len(values) * torch.finfo(values.dtype).eps
    root: Tensor = vectors[:, significant] * values[significant].sqrt()
    return root


def fid(real: Tensor, fake: Tensor, *, replicates: int = REPLICATES, seed: int = 0) -> Estimate:
    """FID of (n, D) real and (m, D) sampled features, which may lie on the disk, memory-mapped."""
    check(real, fake, 2, "a covariance takes 2 or more")
    reference = moments_of(real)
    values = [frechet_distance(reference, moments_of(fake))]
    parts = halves(len(fake), replicates, seed).T[1:]
    root = _root(reference.covariance()) if len(parts) else torch.empty(0)
    values += [_quickly(reference, root, moments_of(fake, half.nonzero().flatten())) for half in parts]
    return estimate(torch.tensor(values, dtype=torch.float64))


def moments_of(features: Tensor, rows: Tensor | None = None) -> Moments:
    """Moments of features, or of some of their rows."""
    moments = Moments()
    for part in chunks(len(features if rows is None else rows)):
        moments.update(features[part if rows is None else rows[part]])
    return moments


def _quickly(a: Moments, root_a: Tensor, b: Moments) -> float:
    """The distance with half its digits, which a standard error does not miss, in a fraction of the time."""
    cov_b = b.covariance()
    values = torch.linalg.eigvalsh(root_a.T @ cov_b @ root_a).clamp(min=0)
    traces = a.covariance().trace() + cov_b.trace() - 2 * values.sqrt().sum()
    return float((a.mean - b.mean).square().sum() + traces)
