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

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from einops import rearrange
from PIL import Image
from torch import Tensor

from unmask.bundle import Bundle
from unmask.codec.preview import decode_partly
from unmask.codec.tiles import TILE, encode_tiles
from unmask.config import merge
from unmask.devices import require_device
from unmask.errors import BundleError, ConfigError, DataError
from unmask.graphs.config import Backend
from unmask.graphs.denoiser import make_denoiser
from unmask.images.config import ImagesConfig
from unmask.images.pictures import Picture, open_picture
from unmask.images.pixels import PixelSet, open_pixels
from unmask.images.sources import open_source
from unmask.images.splits import Split
from unmask.images.transforms import MAX_PIXELS, TOO_LARGE, square, to_pictures, to_tensor
from unmask.likelihood import bits_per_code, join, score_codes
from unmask.models import codec_from, open_model, prior_from
from unmask.prior.transformer import Transformer
from unmask.sampling.autoregressive import autoregress
from unmask.sampling.canvas import Canvas
from unmask.sampling.config import Order, SamplingConfig, Schedule, Temperature
from unmask.sampling.fill import Denoiser
from unmask.sampling.inpaint import Box, Patch, cut, frame, refill, selection
from unmask.sampling.sample import sample_codes
from unmask.sampling.start import RememberedStart

BATCH = 16  # pictures in memory at once
OnStep = Callable[[Tensor], None]
"""Shown the (B, N) codes after every pass, MASK where nothing is known yet."""


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


class Pipeline:
    """A codec and, where it has one, a prior. Pictures go in and come out as PIL images."""

    def __init__(self, model: Bundle, device: torch.device, backend: Backend = "torch") -> None:
        self.about = model.about
        names = [part.fingerprint for part in model.parts.values()]
        self.fingerprint = "-".join(names if backend == "torch" else [*names, backend])
        self.device = device
        self.codec = codec_from(model.codec).to(device)
        self._prior = prior_from(model.prior).to(device) if model.prior else None
        self._graph = None if backend == "torch" else make_denoiser(self.prior, names[-1], backend)

    def __repr__(self) -> str:
        size, codes = self.image_size, self.codec.codebook_size
        parts = [f"{size}×{size} pictures", f"{codes} codes"]
        if self._prior is not None:
            h, w = self._prior.grid
            parts = [parts[0], f"{h}×{w} of {codes} codes", f"{self._prior.config.kind} prior"]
        return f"<Pipeline: {', '.join(parts)}, on {self.device}>"

    @property
    def prior(self) -> Transformer:
        """The prior; a model that is a codec alone has none."""
        if self._prior is None:
            raise BundleError(
                "this model is a codec alone and has no prior",
                hint="train one:  unmask train prior CODEC DATA --out runs/prior",
            )
        return self._prior

    @cached_property
    def denoiser(self) -> Denoiser:
        """The prior as samplers ask it: what it says before anything is known is computed once."""
        return RememberedStart(self._graph or self.prior)

    @property
    def image_size(self) -> int:
        """Edge in pixels of the pictures that the model was trained on."""
        return int(self.about["image_size"])

    @property
    def _tile(self) -> int:
        """Codes along the edge of what the codec takes at a time, no fewer than it was trained on."""
        return max(TILE, self.codec.config.grid(self.image_size))

    @property
    def _images(self) -> ImagesConfig:
        """How the pictures of the last training were prepared, and how many of them were held out."""
        training = self.about.get("prior_training") or self.about.get("codec_training") or {}
        return replace(merge(ImagesConfig(), training.get("images", {})), size=self.image_size)

    def open(self, data: str, split: Split | None = None) -> PixelSet:
        """A data set as the model sees it: all of it, or one side of the split that it was trained with."""
        images = self._images
        if split is None:
            return open_pixels(open_source(data), replace(images, validation=0)).split("train")
        return open_pixels(open_source(data), images).split(split)

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
        parts = (self.codec.decode(grids[start : start + batch]) for start in range(0, count, batch))
        return [picture for images in parts for picture in to_pictures(images)]

    @torch.no_grad()
    def preview(self, codes: Tensor, grid: tuple[int, int] | None = None) -> list[Image.Image]:
        """The (B, N) codes that ``on_step`` sees as pictures, grey where they are MASK.

        Those of a canvas say its grid of codes.
        """
        h, w = grid or self.prior.grid
        return to_pictures(self.decode(rearrange(codes, "B (h w) -> B h w", h=h, w=w)))

    @torch.no_grad()
    def decode(self, codes: Tensor) -> Tensor:
        """(B, h, w) codes, on any grid, to (B, 3, H, W) images in [0, 1], grey where they are MASK."""
        return decode_partly(self.codec, codes.to(self.device), tile=self._tile)

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

    @torch.no_grad()
    def canvas(
        self,
        size: tuple[int, int],
        *,
        steps: int | None = None,
        temperature: Temperature = 0.8,
        order: Order = "random",
        seed: int = 0,
        stride: int = 1,
        windows: int | None = None,
        on_step: OnStep | None = None,
    ) -> Image.Image:
        """A picture of ``size`` (width, height) in pixels, at least as large as those of the training.

        What a code could be is the mean over all windows of the trained size that contain it. ``stride``
        takes only windows so many codes apart, ``windows`` only about so many a pass: faster, less exact.
        Without ``steps`` the chain has as many as there are codes.
        """
        self._check_size(size)
        factor = self.codec.config.factor
        denoise = self._canvas((-(-size[1] // factor), -(-size[0] // factor)), stride, windows, seed)
        config = SamplingConfig(steps=steps, temperature=temperature, order=order)
        codes = sample_codes(
            denoise, range(1), denoise.grid, config, seed=seed, device=self.device, on_step=on_step
        )
        return to_pictures(self.decode(codes.view(1, *denoise.grid)))[0].crop((0, 0, *size))

    @torch.no_grad()
    def inpaint(
        self,
        image: Picture,
        mask: Picture | Box,
        *,
        count: int = 4,
        steps: int | None = None,
        temperature: Temperature = 1.0,
        seed: int = 0,
        seam: int | None = None,
        rank: bool = False,
        stride: int = 1,
        windows: int | None = None,
        on_step: OnStep | None = None,
    ) -> list[Image.Image]:
        """``count`` versions of a picture, upright and opaque, with what is selected drawn anew.

        The mask is a picture of the same size, white where to replace, or a box (left, top, width, height).
        Other pixels stay as they are, bit for bit, but for a seam of so many pixels around the selection over
        which new fades into old; unless given it is half as wide as a code, and 0 is a hard edge. With
        ``rank`` the version whose new codes the model finds likeliest comes first. Pictures larger than those
        of the training are a ``canvas``, with its ``stride`` and ``windows``. Without ``steps`` the chain has
        as many as there are codes to draw.
        """
        patch = self.patch(image, mask, seam)
        denoise = self._canvas(patch.grid, stride, windows, seed)
        drawn = refill(
            denoise,
            self._known_codes(patch),
            count,
            seed=seed,
            steps=steps,
            temperature=temperature,
            batch=BATCH,
            on_step=on_step,
        )
        best_first = drawn.log_p.argsort(descending=True, stable=True)
        grids = drawn.codes[best_first if rank else slice(None)].view(count, 1, *patch.grid)
        return [patch.paste(self.decode(codes)[0]) for codes in grids]

    def patch(self, image: Picture, mask: Picture | Box, seam: int | None = None) -> Patch:
        """What ``inpaint`` looks at of a picture: its grid is that of the codes which ``on_step`` sees."""
        picture = open_picture(image)
        self._check_size(picture.size)
        factor, selected = self.codec.config.factor, selection(mask, picture.size)
        seam = factor // 2 if seam is None else seam
        return cut(np.asarray(picture), selected, factor=factor, window=self.prior.grid, seam=seam)

    def extend(
        self,
        image: Picture,
        *,
        left: int = 0,
        top: int = 0,
        right: int = 0,
        bottom: int = 0,
        count: int = 4,
        steps: int | None = None,
        temperature: Temperature = 1.0,
        seed: int = 0,
        seam: int | None = None,
        rank: bool = False,
        stride: int = 1,
        windows: int | None = None,
        on_step: OnStep | None = None,
    ) -> list[Image.Image]:
        """``count`` versions of a picture, larger by so many pixels on each side; the rest as in ``inpaint``.

        The seam lies within the picture, along the edges that were moved.
        """
        if min(left, top, right, bottom) < 0 or not any((left, top, right, bottom)):
            raise ConfigError(
                f"{left}, {top}, {right}, {bottom} pixels left, above, right and below extend nothing",
                hint="say how many on which side:  --right 128",
            )
        picture = open_picture(image)
        self._check_size((left + picture.width + right, top + picture.height + bottom))
        larger, mask, asked = frame(picture, (left, top, right, bottom), self.codec.config.factor)
        versions = self.inpaint(
            larger,
            mask,
            count=count,
            steps=steps,
            temperature=temperature,
            seed=seed,
            seam=seam,
            rank=rank,
            stride=stride,
            windows=windows,
            on_step=on_step,
        )
        return [version.crop(asked) for version in versions]

    def _known_codes(self, patch: Patch) -> Tensor:
        """(N,) codes of a patch, MASK where it is to be drawn anew."""
        images = to_tensor(patch.pixels[None]).to(self.device)
        codes = encode_tiles(self.codec.encode, images, self.codec.config.factor, tile=self._tile)
        masked = torch.from_numpy(patch.masked).to(self.device)
        return codes[0].masked_fill(masked, self.prior.mask_id).flatten()

    def _canvas(self, grid: tuple[int, int], stride: int, windows: int | None, seed: int) -> Canvas:
        return Canvas(self.denoiser, self.prior.grid, grid, stride=stride, windows=windows, seed=seed)

    def _check_size(self, size: tuple[int, int]) -> None:
        """Refuse pictures that the prior cannot fill in, before anything is computed."""
        if self.prior.causal:
            raise ConfigError(
                "an autoregressive prior draws codes in one order only: it fills in no part of a picture and "
                "no larger canvas",
                hint="train an absorbing one:  unmask train prior CODEC DATA --kind absorbing",
            )
        factor, least = self.codec.config.factor, self.image_size
        if any(-(-edge // factor) < codes for edge, codes in zip(size[::-1], self.prior.grid, strict=True)):
            raise ConfigError(
                f"{size[0]}×{size[1]} pixels are too few: the model was trained on {least}×{least}, and no "
                "window of that size fits"
            )
        if size[0] * size[1] > MAX_PIXELS:
            raise ConfigError(f"{size[0]}×{size[1]} pixels are {TOO_LARGE}")

    def _batches(self, pictures: Iterable[Picture]) -> Iterator[Tensor]:
        """(B, 3, S, S) images of a few pictures at a time."""
        remaining = iter(pictures)
        while batch := list(islice(remaining, BATCH)):
            squares = [np.asarray(square(open_picture(picture), self.image_size)) for picture in batch]
            yield to_tensor(np.stack(squares)).to(self.device)
