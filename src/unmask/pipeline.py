"""The public face: a model, from Python.

import unmask
model = unmask.load("runs/prior/best")
model.reconstruct(pictures)      # list of PIL images, through the codec and back
model.score(pictures).mean       # bits per code; .bits has them picture by picture
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from einops import rearrange
from PIL import Image
from torch import Tensor

from unmask import bundle
from unmask.bundle import Bundle
from unmask.errors import BundleError, DataError
from unmask.images.config import ImagesConfig
from unmask.images.pixels import PixelSet, open_pixels
from unmask.images.sources import open_source
from unmask.images.splits import Split
from unmask.images.transforms import square, to_pictures, to_tensor
from unmask.likelihood import bits_per_code, join, score_codes
from unmask.memory import keep_freed_memory
from unmask.models import codec_from, prior_from
from unmask.prior.transformer import Transformer
from unmask.training.engine import best_device

BATCH = 16  # pictures in memory at once


@dataclass(frozen=True)
class Scores:
    """How many bits a model needs for the codes of some pictures."""

    bits: list[float]
    """Bits per code of each: a bound for absorbing priors, exact for autoregressive ones."""
    mean: float
    standard_error: float


def load(model: str | Path, device: str = "auto") -> "Pipeline":
    """The model in a folder, such as ``runs/prior/best``, ready to use."""
    device = best_device() if device == "auto" else device
    if device == "cpu":
        keep_freed_memory()
    return Pipeline(bundle.load(Path(model)), torch.device(device))


class Pipeline:
    """A codec and, where it has one, a prior. Pictures go in and come out as PIL images."""

    def __init__(self, model: Bundle, device: torch.device) -> None:
        self.about = model.about
        self.device = device
        self.codec = codec_from(model.codec).to(device)
        self._prior = prior_from(model.prior).to(device) if model.prior else None

    @property
    def prior(self) -> Transformer:
        """The prior; a model that is a codec alone has none."""
        if self._prior is None:
            raise BundleError(
                "this model is a codec alone and has no prior",
                hint="train one:  unmask train prior CODEC DATA --out runs/prior",
            )
        return self._prior

    @property
    def image_size(self) -> int:
        """Edge in pixels of the pictures that the model was trained on."""
        return int(self.about["image_size"])

    def open(self, data: str, split: Split | None = None) -> PixelSet:
        """A data set as the model sees it: all of it, or one side of its split."""
        images = ImagesConfig(size=self.image_size)
        if split is None:
            return open_pixels(open_source(data), replace(images, validation=0)).split("train")
        return open_pixels(open_source(data), images).split(split)

    @torch.no_grad()
    def reconstruct(self, pictures: Iterable[Image.Image]) -> list[Image.Image]:
        """The pictures through the codec and back, each the centre square at the model's size."""
        batches = (self.codec.decode(self.codec.encode(images)) for images in self._batches(pictures))
        return [picture for images in batches for picture in to_pictures(images)]

    @torch.no_grad()
    def score(
        self, pictures: Iterable[Image.Image], *, draws: int = 16, steps: int | None = None, seed: int = 0
    ) -> Scores:
        """Bits per code of the pictures; more ``draws`` steady the estimate of an absorbing prior's bound.

        The bound is that of a chain of ``steps`` steps, without a number that of the limit of ever more.
        """
        scores, first = [], 0
        for images in self._batches(pictures):
            codes = rearrange(self.codec.encode(images), "B h w -> B (h w)")
            scores.append(score_codes(self.prior, codes, first, num_draws=draws, num_steps=steps, seed=seed))
            first += len(images)
        if not scores:
            raise DataError("there are no pictures to score")
        score = join(scores)
        N = self.prior.num_positions
        return Scores((score.nats / (N * np.log(2))).tolist(), *bits_per_code(score, N))

    def _batches(self, pictures: Iterable[Image.Image]) -> Iterator[Tensor]:
        """(B, 3, S, S) images of a few pictures at a time."""
        remaining = iter(pictures)
        while batch := list(islice(remaining, BATCH)):
            squares = [np.asarray(square(picture.convert("RGB"), self.image_size)) for picture in batch]
            yield to_tensor(np.stack(squares)).to(self.device)
