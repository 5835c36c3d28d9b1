"""Which images of a set are nearest to others, and whether samples are nearer than they should be."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from unmask.data.pictures import Picture, squares_of
from unmask.data.pixels import PixelSet
from unmask.data.transforms import Pixels8
from unmask.distributed import ALONE, Group
from unmask.errors import DataError
from unmask.evaluation.config import Space
from unmask.evaluation.distances import nearest
from unmask.evaluation.features import (
    Extractor,
    features_of,
    inception_features,
    lpips_features,
    pixel_features,
)
from unmask.progress import Report, silent

EXTRACTORS: dict[Space, Callable[[torch.device], Extractor]] = {
    "lpips": lpips_features,
    "inception": inception_features,
    "pixels": lambda device: pixel_features(),
}
BATCH = 32


@dataclass(frozen=True)
class Neighbour:
    """An image of the set that was searched."""

    index: int
    """Its number in the set."""
    name: str
    distance: float


class Neighbourhood:
    """A set of images that can be searched; its features are computed once and remembered."""

    def __init__(
        self,
        pixels: PixelSet,
        by: Space = "lpips",
        *,
        device: torch.device | str = "cpu",
        report: Report = silent,
        processes: Group = ALONE,
    ) -> None:
        if not len(pixels):
            raise DataError("there are no images to search")
        self.pixels, self.by, self._processes = pixels, by, processes
        self._extractor = EXTRACTORS[by](torch.device(device))
        self._features = features_of(pixels, self._extractor, report=report, processes=processes)

    def nearest(self, pictures: Sequence[Picture], count: int = 8) -> list[list[Neighbour]]:
        """The ``count`` nearest of each image, nearest first; images of any size are cut to squares."""
        distances, indices = self.search(self._squares(pictures), count)
        return [
            [Neighbour(i, self.pixels.names[i], d) for i, d in zip(*row, strict=True)]
            for row in zip(indices.tolist(), distances.tolist(), strict=True)
        ]

    def search(self, pixels: Pixels8, count: int) -> tuple[Tensor, Tensor]:
        """(n, S, S, 3) images to the (n, count) distances and numbers of their nearest."""
        parts = [self._extractor(pixels[i : i + BATCH]) for i in range(0, len(pixels), BATCH)]
        return self._measured(torch.cat(parts), count)

    def distances_of(self, others: PixelSet, report: Report = silent) -> Tensor:
        """(n,) distances of a set's images from the nearest in this one."""
        features = features_of(others, self._extractor, report=report, processes=self._processes)
        return self._measured(features, 1)[0][:, 0]

    def picture(self, index: int) -> Image.Image:
        """An image of the set."""
        return Image.fromarray(self.pixels.read([index])[0])

    def _measured(self, features: Tensor, count: int) -> tuple[Tensor, Tensor]:
        if not 1 <= count <= len(self.pixels):
            raise DataError(f"{len(self.pixels)} images have no {count} nearest", hint="--count 1")
        found = nearest(features, self._features, count)
        return _in_units(found.squares, self.by, features.shape[1]), found.indices

    def _squares(self, pictures: Sequence[Picture]) -> Pixels8:
        if not pictures:
            raise DataError("there are no images whose neighbours to find")
        size = self.pixels.read([0]).shape[1]
        (pixels,) = squares_of(pictures, size, batch=len(pictures))
        return pixels


def nearest_pictures(
    pictures: Sequence[Picture],
    pixels: PixelSet,
    *,
    count: int = 8,
    by: Space = "lpips",
    device: torch.device | str = "cpu",
) -> list[list[Neighbour]]:
    """For each image, the ``count`` nearest images of a data set, the nearest first.

    Each neighbour has a name, a distance and an index. Distances are by appearance (``lpips``), subject
    (``inception``) or root mean square (``pixels``).
    """
    return Neighbourhood(pixels, by, device=device).nearest(pictures, count)


SHARP = 0.8  # share of the sharpness of validation pictures below which samples are blurred


class Memorisation(NamedTuple):
    """Whether samples are nearer to the training images than the validation images are."""

    nearer: float
    """Probability that a sample is nearer than a validation image: ½ without memorisation, 1 for copies."""
    standard_error: float
    """Its standard error under the null hypothesis, ½."""
    sample_median: float
    validation_median: float
    closest: int
    """Samples that are nearer than any validation image."""


def memorisation(samples: Tensor, validation: Tensor) -> Memorisation:
    """Compare distances to the nearest training image, (n,) of samples and (m,) of validation images.

    The test of Mann and Whitney, as Meehan et al. (2020) use it for data copying.
    """
    n, m = len(samples), len(validation)
    if min(n, m) < 2:
        raise DataError(
            f"{n} samples and {m} validation images are too few to compare; 2 of each are the least"
        )
    samples, ordered = samples.sort().values, validation.sort().values
    below = torch.searchsorted(ordered, samples, right=False)
    not_above = torch.searchsorted(ordered, samples, right=True)
    nearer = (m - (below + not_above).double() / 2).mean().item() / m  # ties count half
    error = math.sqrt((n + m + 1) / (12 * n * m))
    closest = int((samples < ordered[0]).sum())
    return Memorisation(nearer, error, samples.median().item(), validation.median().item(), closest)


def sharpness(pixels: Pixels8) -> float:
    """Mean difference of neighbouring pixels, in levels, of (B, H, W, 3) images; blur lowers it."""
    levels = pixels.astype(np.float32)
    return float(np.abs(np.diff(levels, axis=1)).mean() + np.abs(np.diff(levels, axis=2)).mean()) / 2


def blur_caution(test: Memorisation, by: Space, samples: Pixels8, validation: Pixels8) -> str | None:
    """A caution: by pixels, blurred samples are near to everything, and may seem to be copies."""
    share = sharpness(samples) / max(sharpness(validation), 1e-9)
    if by != "pixels" or share > SHARP or test.nearer < 0.5 + 2 * test.standard_error:
        return None
    return (
        f"samples are blurred: neighbouring pixels differ {share:.2f} times as much as in validation "
        "images; by pixels that lies near to everything, copy or not: look again with --by lpips"
    )


def _in_units(squares: Tensor, by: Space, dimension: int) -> Tensor:
    """Squared distances of features in the usual unit."""
    if by == "lpips":
        return squares
    return squares.sqrt() / (255 * math.sqrt(dimension)) if by == "pixels" else squares.sqrt()
