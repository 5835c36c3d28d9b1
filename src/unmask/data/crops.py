"""Random crops: squares of several sizes, cut out of one square at random places.

Which one is a matter of an address: of a picture and a number for what is made once, of a picture, a seed and
a step for a training that sees a new one each time.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from PIL import Image

from unmask.data.config import ImagesConfig
from unmask.data.transforms import Pixels8


@dataclass(frozen=True)
class Crop:
    """Squares out of a square, at any place, at scales that are even on a logarithmic axis."""

    size: int
    scale: tuple[float, float]

    @classmethod
    def of(cls, config: ImagesConfig) -> Self | None:
        """The random crops of these settings, where there are any."""
        return cls(config.size, config.scale) if config.crop == "random" else None

    def __call__(self, pixels: Pixels8, *address: int | str) -> Pixels8:
        """(S, S, 3) to (size, size, 3): the crop that belongs to the address."""
        from unmask import rng  # brings torch, for which looking at pictures does not wait

        zoom, down, right = (rng.derive(0, axis, *address) / 2**63 for axis in ("scale", "down", "right"))
        largest, smallest = (len(pixels) / scale for scale in self.scale)
        edge = largest * (smallest / largest) ** zoom
        top, left = (len(pixels) - edge) * down, (len(pixels) - edge) * right
        box = (left, top, left + edge, top + edge)
        size = (self.size, self.size)
        return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS, box))
