"""The Python API: a model. Images go in as PIL images or files and come out as PIL images.

>>> import unmask
>>> model = unmask.load("emoji")  # a built-in name, a folder such as runs/prior, or user/name on the hub
>>> model
<Pipeline: 64×64 images, 16×16 of 512 codes, absorbing prior, on ...>
>>> new = model.sample(2, steps=4, seed=0)  # all other settings: what the model recommends
>>> new[0].size
(64, 64)
>>> same = model.reconstruct(new)  # encoded and decoded
>>> model.canvas((96, 64), steps=4).size  # larger than the training images
(96, 64)
>>> versions = model.inpaint(new[0], (16, 16, 32, 24), count=3, steps=2)  # a box, redrawn in three versions
>>> similar = model.vary(new[0], strength=0.2, count=2, steps=2)  # a fifth of its codes redrawn
>>> model.extend(new[0], right=16, count=1, steps=2)[0].size  # beyond the right edge
(80, 64)
>>> scores = model.score(new)  # scores.mean in bits per code; scores.bits for each image
>>> len(scores.bits)
2
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

import torch
from einops import rearrange
from PIL import Image
from torch import Tensor

from unmask.codec.preview import check_codes, decode_partly
from unmask.codec.tiles import TILE, encode_tiles
from unmask.config import merge
from unmask.data.config import ImagesConfig
from unmask.data.pictures import Pictures, squares_of
from unmask.data.pixels import PixelSet, open_set
from unmask.data.provenance import inscribed
from unmask.data.splits import Part, SingleImageError
from unmask.data.transforms import to_pictures, to_tensor
from unmask.devices import Precision, require_device
from unmask.diffusion.choose import choose
from unmask.diffusion.settings import Changes, Settings, Use
from unmask.distributed import ALONE, Group
from unmask.errors import BundleError, ConfigError
from unmask.generation import edits
from unmask.generation.arguments import checked
from unmask.generation.editor import Editor
from unmask.generation.prompts import Prompt, Words, prompt_of
from unmask.generation.sampler import BATCH, Options, Sampler, draws
from unmask.generation.viewer import Viewer
from unmask.models import codec_from, open_model
from unmask.onnx.config import Backend
from unmask.prior.transformer import Transformer
from unmask.storage.bundles import Bundle

P = ParamSpec("P")
R = TypeVar("R")


def load(
    model: str | Path,
    device: str = "auto",
    backend: Backend = "torch",
    precision: Precision = "auto",
) -> "Pipeline":
    """Load a model: a folder, a run, a built-in name, or ``user/name`` on the Hugging Face hub.

    Args:
        model: A folder such as ``runs/prior/best``; a run such as ``runs/prior``, which means its best model;
            a built-in name (``avatars``, ``emoji``, ``fruit``); or ``user/name`` on the hub.
        device: Such as ``cpu`` or ``cuda``. ``auto``: a GPU if there is one.
        backend: What computes the prior. ``compile`` is ``torch.compile``, for GPUs; ``onnx`` and
            ``onnx-int8`` use onnxruntime on the CPU.
        precision: Precision of sampling: ``32``, ``bf16``, or ``auto``, which is bfloat16 where the device
            supports it. Scores are always computed in float32.
    """
    place, name = require_device(device), "/".join(Path(model).parts[-2:])
    return Pipeline(open_model(model), place, backend, precision, name=name)


def by(part: str, method: Callable[Concatenate[Any, P], R]) -> "Callable[Concatenate[Pipeline, P], R]":
    """A method of a part of the pipeline, as one of the pipeline."""

    @wraps(method)
    def call(self: "Pipeline", /, *given: P.args, **how: P.kwargs) -> R:
        return method(getattr(self, part), *given, **how)

    return call


class Pipeline:
    """A model on a device: a codec and usually a prior. ``unmask.load`` returns one.

    Images go in as PIL images, files, arrays or tensors and come out as PIL images, whose ``info["unmask"]``
    records how they were drawn. All methods that draw (``sample``, ``canvas``, ``inpaint``, ``vary``,
    ``extend``) also take these keywords:

    - ``settings``: None for what the model recommends; ``"paper"`` or another name in ``model.sampling``; or
      a ``Settings``. Single settings, such as ``steps=32``, override them.
    - ``seed``: the same seed gives the same images. None draws a new seed and reports it.
    - ``negative``: the negative prompt, which guidance moves away from.
    - ``guide``: a weaker model that guidance moves away from (autoguidance).
    - ``progress``: show a progress bar on stderr.
    - ``on_step``: a function that is called with the codes after every network pass.
    """

    def __init__(
        self,
        model: Bundle,
        device: torch.device,
        backend: Backend = "torch",
        precision: Precision = "32",
        *,
        name: str = "",
    ) -> None:
        self.about, self.sampling, self.device = model.about, model.sampling, device
        self.image_size = model.image_size
        """Edge in pixels of the training images."""
        self.codec_fingerprint = model.codec.fingerprint
        self.codec = codec_from(model.codec).to(device)
        self._sampler = Sampler(model, device, backend, precision, name) if model.prior else None

    def __repr__(self) -> str:
        size, codes = self.image_size, f"{self.codec.codebook_size} codes"
        if self._sampler:
            codes = "{}×{} of {}, {} prior".format(*self.prior.grid, codes, self.prior.config.kind)
        return f"<{type(self).__name__}: {size}×{size} images, {codes}, on {self.device}>"

    canvas = by("editor", Editor.canvas)
    inpaint = by("editor", edits.inpaint)
    vary = by("editor", edits.vary)
    extend = by("editor", edits.extend)
    score = by("viewer", Viewer.score)
    caption = by("viewer", Viewer.caption)
    classify = by("viewer", Viewer.classify)

    @draws
    @checked
    @torch.no_grad()
    def sample(
        self,
        count: int = 1,
        prompt: Prompt = None,
        *,
        first: int = 0,
        batch: int = BATCH,
        **how: Unpack[Options],
    ) -> list[Image.Image]:
        """Sample ``count`` new images.

        A seed defines an endless sequence of images; these are numbers ``first`` to ``first + count - 1`` of
        it. They depend on the model, the seed and the settings, not on ``count`` or ``batch``.

        A model trained on captions takes a ``prompt``, or a list with one prompt per image. None means
        captions as frequent as in training; the empty prompt means unconditional.
        """
        if min(count, batch) < 1:
            raise ConfigError(f"{count} images, {batch} at a time, cannot be drawn; 1 of each is the least")
        request, images = self.sampler.request("sample", **how), range(first, first + count)
        codes, origin = self.sampler.draw(request, images, prompt, batch), self.sampler.origin(request)
        grids = rearrange(codes, "B (h w) -> B h w", h=self.prior.grid[0])
        # One by one: the last bit of a convolution, and so a pixel's last level, can depend on the batch.
        return [
            inscribed(
                to_pictures(self.codec.decode(grid[None]))[0],
                replace(origin, number=number, prompt=prompt_of(prompt, number)),
            )
            for number, grid in zip(images, grids, strict=True)
        ]

    @torch.no_grad()
    def reconstruct(self, pictures: Pictures | PixelSet) -> list[Image.Image]:
        """Encode and decode images, each as the centre square at the model's size."""
        batches = (self.codec.decode(self.codec.encode(images)) for images in self._batches(pictures))
        return [picture for images in batches for picture in to_pictures(images)]

    def open(
        self,
        data: str,
        split: Part | None = None,
        *,
        captions: str = "none",
        keep: bool = True,
        processes: Group = ALONE,
    ) -> PixelSet:
        """A data set as the model sees it: all of it, or one part of the split it was trained with.

        Args:
            data: Anything that commands take as DATA: a folder, an archive, an array, a built-in set.
            split: ``train``, ``validation``, or ``pairs`` for the built-in emoji. None: everything, without
                the random crops of the training.
            captions: ``auto`` looks for captions as a training does.
            keep: Cache the decoded pixels on disk.
            processes: Who shares the decoding.
        """
        images = replace(self.images, captions=captions)
        if split is None:
            small = min(images.min_side, self.image_size)
            images = replace(images, validation=0, crop="centre", min_side=small)
        try:
            return open_set(data, images, split, keep=keep, processes=processes)
        except SingleImageError:
            raise SingleImageError from None  # a model's split is settled: no setting of it is a way out

    def settings(self, use: Use, base: Settings | str | None = None, **changes: Unpack[Changes]) -> Settings:
        """The settings that a call with ``settings=base`` and these ``changes`` would use."""
        return choose(use, self.sampling, base, changes)

    def preview(self, codes: Tensor, grid: tuple[int, int] | None = None) -> list[Image.Image]:
        """Decode the (B, N) codes that ``on_step`` receives to images, grey where they are MASK.

        For a canvas, pass its ``grid``: (rows, columns) of codes.
        """
        h, w = grid or self.prior.grid
        return to_pictures(self.decode(rearrange(codes, "B (h w) -> B h w", h=h, w=w)))

    def to(self, device: str | torch.device) -> "Pipeline":
        """Move the model to another device."""
        self.device = require_device(str(device))
        self.codec.to(self.device)
        if self._sampler:
            self._sampler.to(self.device)
        self.__dict__.pop("editor", None)  # of what was on the other one
        return self

    @torch.no_grad()
    def encode(self, pictures: Pictures | PixelSet) -> Tensor:
        """Encode the centre squares of images, at the model's size, to (B, h, w) codes."""
        return torch.cat([self.codec.encode(images) for images in self._batches(pictures)])

    @torch.no_grad()
    def decode(self, codes: Tensor) -> Tensor:
        """Decode (B, h, w) codes, on any grid, to (B, 3, H, W) images in [0, 1], grey where they are MASK."""
        check_codes(codes, self.codec.codebook_size)
        return self._decode(codes)

    @property
    def sampler(self) -> Sampler:
        """The sampler of the prior; a model without a prior has none."""
        if self._sampler is None:
            raise BundleError(
                "this model has only a codec, no prior",
                hint="train one:  unmask train prior CODEC DATA --out runs/prior",
            )
        return self._sampler

    @property
    def prior(self) -> Transformer:
        """The prior."""
        return self.sampler.prior

    @property
    def words(self) -> Words:
        """The words that the prior knows."""
        return self.sampler.words

    @property
    def fingerprint(self) -> str:
        """Identifies the model: hashes of codec and prior, and the back-end or bf16 if not the default."""
        return self._sampler.fingerprint if self._sampler else self.codec_fingerprint

    @cached_property
    def editor(self) -> Editor:
        """The model at work on grids of any size."""
        factor = self.codec.config.factor
        return Editor(
            encode=partial(encode_tiles, self.codec.encode, factor=factor, tile=self._tile),
            decode=self._decode,
            sampler=self.sampler,
            factor=factor,
            background=self.images.background,
            request=self.sampler.request("edit"),
        )

    @property
    def viewer(self) -> Viewer:
        """Likelihoods, captions and labels of images."""
        return Viewer(self._codes, self.sampler)

    @property
    def images(self) -> ImagesConfig:
        """How the images of the last training were prepared, and how many of them were for validation.

        But decoded in full, so that metrics do not depend on fast decoding, and without captions, which other
        images have not.
        """
        training = self.about.get("prior_training") or self.about.get("codec_training") or {}
        images = merge(ImagesConfig(), training.get("images", {}))
        return replace(images, size=self.image_size, fast_decode=False, captions="none")

    @property
    def _tile(self) -> int:
        """Codes along the edge of what the codec takes at a time, no fewer than it was trained on."""
        return max(TILE, self.codec.config.grid(self.image_size))

    def _decode(self, codes: Tensor) -> Tensor:
        """``decode`` of codes that are known to be some."""
        return decode_partly(self.codec, codes.to(self.device), tile=self._tile)

    def _codes(self, pictures: Pictures | PixelSet) -> Iterator[Tensor]:
        """(B, N) codes of a few pictures at a time."""
        return (self.codec.encode(images).flatten(1) for images in self._batches(pictures))

    def _batches(self, pictures: Pictures | PixelSet) -> Iterator[Tensor]:
        """(B, 3, S, S) images of a few pictures at a time."""
        arrays = (
            pictures.batches(BATCH)
            if isinstance(pictures, PixelSet)
            else squares_of(pictures, self.image_size, self.images.background, BATCH)
        )
        return (to_tensor(pixels).to(self.device) for pixels in arrays)
