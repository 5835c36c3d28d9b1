"""The public face: a model, from Python. Pictures go in as PIL images or files and come out as PIL images.

>>> import unmask
>>> model = unmask.load("emoji")  # a built-in name, a folder such as runs/prior/best, or user/name on the hub
>>> model
<Pipeline: 64×64 pictures, 16×16 of 512 codes, absorbing prior, on ...>
>>> new = model.sample(2, steps=4, seed=0)
>>> new[0].size
(64, 64)
>>> same = model.reconstruct(new)  # through the codec and back
>>> model.canvas((96, 64), steps=4).size  # larger than the pictures of the training
(96, 64)
>>> ways = model.inpaint(new[0], (16, 16, 32, 24), count=3, steps=2)  # a box drawn anew in three ways
>>> model.extend(new[0], right=16, count=1, steps=2)[0].size  # what could lie beyond the edge
(80, 64)
>>> scores = model.score(new)  # scores.mean in bits per code; scores.bits picture by picture
>>> len(scores.bits)
2
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

from unmask.data.pictures import Picture, open_picture
from unmask.data.pixels import PixelSet, open_pixels
from unmask.data.sources import open_source
from unmask.data.splits import Split
from unmask.data.transforms import square, to_pictures, to_tensor
from unmask.devices import require_device
from unmask.diffusion.autoregressive import autoregress
from unmask.diffusion.fill import OnStep
from unmask.diffusion.likelihood import bits_per_code, join, score_codes
from unmask.diffusion.sample import sample_codes
from unmask.diffusion.settings import Order, SamplingConfig, Schedule, Temperature
from unmask.editing import BATCH, Editor
from unmask.errors import ConfigError, DataError
from unmask.models import open_model
from unmask.onnx.config import Backend


@dataclass(frozen=True)
class Scores:
    """How many bits a model needs for the codes of some pictures."""

    bits: list[float]
    """Bits per code of each: a bound for absorbing priors, exact for autoregressive ones."""
    mean: float
    standard_error: float


def load(model: str | Path, device: str = "auto", backend: Backend = "torch") -> "Pipeline":
    """The model in a folder, such as ``runs/prior/best``, of a built-in name, or ``user/name`` of the hub.

    The built-in name is ``emoji``; the hub is Hugging Face's. ``device`` is a name such as ``cpu``, or
    ``auto``: a GPU if there is one. An ONNX back-end computes the prior's passes by onnxruntime, on the CPU
    wherever the rest runs.
    """
    place = require_device(device)
    return Pipeline(open_model(model), place, backend)


class Pipeline(Editor):
    """A codec and, where it has one, a prior. Pictures go in and come out as PIL images."""

    def open(self, data: str, split: Split | None = None, *, keep: bool = True) -> PixelSet:
        """A data set as the model sees it: all of it, or one side of the split that it was trained with.

        What is decoded is kept on disk as in the training, unless it is not to be. Of a whole set no picture
        of the model's own size is too small, whatever the training left out.
        """
        source, images = open_source(data), self.images if keep else replace(self.images, cache="off")
        if split is None:
            whole = replace(images, validation=0, min_side=min(images.min_side, self.image_size))
            return open_pixels(source, whole).split("train")
        return open_pixels(source, images).split(split)

    @torch.no_grad()
    def reconstruct(self, pictures: Iterable[Picture]) -> list[Image.Image]:
        """The pictures through the codec and back, each the centre square at the model's size."""
        batches = (self.codec.decode(self.codec.encode(images)) for images in self._batches(pictures))
        return [picture for images in batches for picture in to_pictures(images)]

    @torch.no_grad()
    def score(
        self, pictures: Iterable[Picture], *, draws: int = 16, steps: int | None = None, seed: int = 0
    ) -> Scores:
        """Bits per code of the pictures; more ``draws`` steady the estimate of an absorbing prior's bound.

        The bound is that of a chain of ``steps`` steps, without a number that of the limit of ever more.
        """
        if draws < 1 or (steps is not None and steps < 1):
            raise ConfigError(f"draws {draws} and steps {steps} score nothing; 1 of each is the least")
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

    @torch.no_grad()
    def sample(
        self,
        count: int = 1,
        *,
        steps: int | None = None,
        temperature: Temperature = SamplingConfig.temperature,
        schedule: Schedule = SamplingConfig.schedule,
        order: Order = SamplingConfig.order,
        top_k: int | None = None,
        top_p: float = SamplingConfig.top_p,
        choice_temperature: float = SamplingConfig.choice_temperature,
        gamma: float = SamplingConfig.gamma,
        remask: float = SamplingConfig.remask,
        remask_cap: float = SamplingConfig.remask_cap,
        seed: int = 0,
        first: int = 0,
        batch: int = BATCH,
        on_step: OnStep | None = None,
    ) -> list[Image.Image]:
        """New pictures: numbers ``first`` to ``first + count - 1`` of those that a seed stands for.

        Which picture a number is depends on the model and the settings, not on ``count`` or ``batch``.
        Without ``steps`` there are as many as a picture has codes. What the settings do: docs/sampling.md.
        """
        if min(count, batch) < 1:
            raise ConfigError(f"{count} pictures, {batch} at a time, cannot be drawn; 1 of each is the least")
        config = SamplingConfig(
            steps=steps,
            temperature=temperature,
            schedule=schedule,
            order=order,
            top_k=top_k,
            top_p=top_p,
            choice_temperature=choice_temperature,
            gamma=gamma,
            remask=remask,
            remask_cap=remask_cap,
        )
        codes = self._draw(range(first, first + count), config, seed, batch, on_step)
        grids = rearrange(codes.to(self.device), "B (h w) -> B h w", h=self.prior.grid[0])
        # One by one: the last bit of a convolution, and so a pixel's last level, can depend on the company.
        return [to_pictures(self.codec.decode(grid[None]))[0] for grid in grids]

    def preview(self, codes: Tensor, grid: tuple[int, int] | None = None) -> list[Image.Image]:
        """The (B, N) codes that ``on_step`` sees as pictures, grey where they are MASK.

        Those of a canvas say its grid of codes.
        """
        h, w = grid or self.prior.grid
        return to_pictures(self.decode(rearrange(codes, "B (h w) -> B h w", h=h, w=w)))

    def _draw(
        self, images: range, config: SamplingConfig, seed: int, batch: int, on_step: OnStep | None
    ) -> Tensor:
        """(len(images), N) codes of new pictures."""
        if self.prior.causal:
            config.check_autoregressive()
            return autoregress(
                self.prior,
                images,
                seed=seed,
                temperature=config.temperature,
                top_k=config.top_k,
                top_p=config.top_p,
                batch=batch,
                on_step=on_step,
            )
        return sample_codes(
            self.denoiser,
            images,
            self.prior.grid,
            config,
            seed=seed,
            device=self.device,
            curve=self.about.get("curve"),
            batch=batch,
            on_step=on_step,
        )

    def _batches(self, pictures: Iterable[Picture]) -> Iterator[Tensor]:
        """(B, 3, S, S) images of a few pictures at a time."""
        remaining = iter(pictures)
        while batch := list(islice(remaining, BATCH)):
            opened = (open_picture(picture, self.images.background) for picture in batch)
            squares = [np.asarray(square(picture, self.image_size)) for picture in opened]
            yield to_tensor(np.stack(squares)).to(self.device)
