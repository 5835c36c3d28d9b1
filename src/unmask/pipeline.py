"""The public face: a model, from Python. Pictures go in as PIL images or files and come out as PIL images.

>>> import unmask
>>> model = unmask.load("emoji")  # a built-in name, a folder such as runs/prior, or user/name on the hub
>>> model
<Pipeline: 64×64 pictures, 16×16 of 512 codes, absorbing prior, on ...>
>>> new = model.sample(2, steps=4, seed=0)  # other settings are those that the model recommends
>>> new[0].size
(64, 64)
>>> same = model.reconstruct(new)  # through the codec and back
>>> model.canvas((96, 64), steps=4).size  # larger than the pictures of the training
(96, 64)
>>> ways = model.inpaint(new[0], (16, 16, 32, 24), count=3, steps=2)  # a box drawn again in three ways
>>> like = model.vary(new[0], strength=0.2, count=2, steps=2)  # a fifth of its codes drawn again
>>> model.extend(new[0], right=16, count=1, steps=2)[0].size  # what could lie beyond the edge
(80, 64)
>>> scores = model.score(new)  # scores.mean in bits per code; scores.bits picture by picture
>>> len(scores.bits)
2
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from einops import rearrange
from PIL import Image
from torch import Tensor

from unmask.codec.preview import decode_partly
from unmask.codec.tiles import TILE, encode_tiles
from unmask.config import merge
from unmask.data.config import ImagesConfig
from unmask.data.pictures import Picture, Pictures, each_picture, open_picture
from unmask.data.pixels import PixelSet, open_pixels
from unmask.data.provenance import Provenance, inscribed
from unmask.data.sources import open_source
from unmask.data.splits import Part
from unmask.data.transforms import Pixels8, square, to_pictures, to_tensor
from unmask.devices import Precision, require_device, wants_bfloat16
from unmask.diffusion.autoregressive import Continuer, autoregress
from unmask.diffusion.classify import image_nats, label_nats
from unmask.diffusion.fill import Denoiser, OnStep, watched
from unmask.diffusion.first_pass import RememberedStart
from unmask.diffusion.guidance import Given, Guided, GuidedContinuer, with_words
from unmask.diffusion.inpaint import refill
from unmask.diffusion.likelihood import Prior, bits_per_code, join, score_codes
from unmask.diffusion.precision import InBfloat16
from unmask.diffusion.sample import sample_codes
from unmask.diffusion.schedule import Curve
from unmask.diffusion.settings import Settings, Use, choose
from unmask.editing import Editor
from unmask.errors import BundleError, ConfigError, DataError
from unmask.evaluation.config import Evidence
from unmask.models import codec_from, open_model, prior_from, vocabulary_from
from unmask.onnx.config import Backend
from unmask.onnx.denoiser import make_denoiser
from unmask.prior.transformer import Transformer
from unmask.progress import say
from unmask.prompts import Prompt, Words, prompt_of
from unmask.storage.bundles import Bundle
from unmask.storage.files import cache_folder

BATCH = 16  # pictures in memory at once


@dataclass(frozen=True)
class Scores:
    """How many bits a model needs for the codes of some pictures."""

    bits: list[float]
    """Bits per code of each: a bound for absorbing priors, exact for autoregressive ones."""
    mean: float
    standard_error: float


def load(
    model: str | Path,
    device: str = "auto",
    backend: Backend = "torch",
    precision: Precision = "auto",
) -> "Pipeline":
    """The model in a folder, such as ``runs/prior``, of a built-in name, or ``user/name`` of the hub.

    Built in are ``emoji``, ``emoji-words`` and ``fruit``; the hub is Hugging Face's; of a run it is the best.
    ``device`` is a name such as ``cpu``, or ``auto``: a GPU if there is one. An ONNX back-end computes the
    prior's passes by onnxruntime, on the CPU wherever the rest runs. ``precision`` is that in which codes
    are drawn: ``32``, or ``bf16``, or ``auto``, which is bfloat16 where the device has it; scores are always
    of float32.
    """
    place, name = require_device(device), "/".join(Path(model).parts[-2:])
    return Pipeline(open_model(model), place, backend, precision, name=name)


class Pipeline:
    """A codec and, where it has one, a prior, at work on a device.

    What draws takes ``settings``: a name of the model's own or ``paper``, a ``Settings``, or None for those
    that the model recommends. Settings given one by one go over them (docs/sampling.md). ``progress`` shows a
    bar on stderr, and ``on_step`` sees the codes after every pass. A ``seed`` of None is drawn, and said. How
    a picture was drawn is in its ``info["unmask"]``. Pictures go in as PIL images, files, arrays or tensors.
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
        """Edge in pixels of the pictures that the model was trained on."""
        names = [part.fingerprint for part in model.parts.values()]
        self._prior = prior_from(model.prior).to(device) if model.prior else None
        denoises = self._prior is not None and not self._prior.causal
        self._bfloat16 = denoises and backend == "torch" and wants_bfloat16(precision, device.type)
        how = "bf16" if self._bfloat16 else backend
        self.fingerprint = "-".join(names if how == "torch" else [*names, how])
        self.origin = Provenance(model=name, fingerprint=self.fingerprint)
        self.codec_fingerprint = model.codec.fingerprint
        self.codec = codec_from(model.codec).to(device)
        self._vocabulary = vocabulary_from(model.prior) if model.prior else None
        self._graph = None if backend == "torch" else make_denoiser(self.prior, names[-1], backend)

    def __repr__(self) -> str:
        size, codes = self.image_size, self.codec.codebook_size
        parts = [f"{size}×{size} pictures", f"{codes} codes"]
        if self._prior is not None:
            h, w = self._prior.grid
            parts = [parts[0], f"{h}×{w} of {codes} codes", f"{self._prior.config.kind} prior"]
        return f"<{type(self).__name__}: {', '.join(parts)}, on {self.device}>"

    @torch.no_grad()
    def sample(
        self,
        count: int = 1,
        prompt: Prompt = None,
        *,
        negative: str = "",
        guide: "Pipeline | None" = None,
        settings: Settings | str | None = None,
        seed: int | None = 0,
        first: int = 0,
        batch: int = BATCH,
        progress: bool = False,
        on_step: OnStep | None = None,
        **changes: Any,
    ) -> list[Image.Image]:
        """New pictures: numbers ``first`` to ``first + count - 1`` of those that a seed stands for.

        Which picture a number is depends on the model and the settings, not on ``count`` or ``batch``. A
        model that was trained on captions takes a ``prompt``, or one for each picture; without it captions of
        the training, and with an empty one nothing. ``negative`` is what guidance leads away from; a
        ``guide`` is a weaker model to lead away from.
        """
        if min(count, batch) < 1:
            raise ConfigError(f"{count} pictures, {batch} at a time, cannot be drawn; 1 of each is the least")
        chosen, images = self.settings("sample", settings, **changes), range(first, first + count)
        seed = _seeded(seed)
        words = self.words.of(prompt, images, seed)
        with watched(progress, self.prior.mask_id, on_step) as on_step:
            if self.prior.causal:
                codes = autoregress(
                    self._continuer(chosen, negative, guide),
                    images,
                    chosen,
                    seed=seed,
                    device=self.device,
                    words=words,
                    batch=batch,
                    on_step=on_step,
                )
            else:
                codes = sample_codes(
                    self._guided(chosen, negative, guide),
                    images,
                    self.prior.grid,
                    chosen,
                    seed=seed,
                    device=self.device,
                    words=words,
                    curve=self.curve,
                    batch=batch,
                    on_step=on_step,
                )
        grids = rearrange(codes, "B (h w) -> B h w", h=self.prior.grid[0])
        origin = replace(self._origin("", negative, guide), settings=chosen, seed=seed)
        # One by one: the last bit of a convolution, and so a pixel's last level, can depend on the company.
        return [
            inscribed(
                to_pictures(self.codec.decode(grid[None]))[0],
                replace(origin, number=number, prompt=prompt_of(prompt, number)),
            )
            for number, grid in zip(images, grids, strict=True)
        ]

    def canvas(
        self,
        size: int | tuple[int, int],
        prompt: str | Sequence[str] = "",
        *,
        negative: str = "",
        guide: "Pipeline | None" = None,
        settings: Settings | str | None = None,
        seed: int | None = 0,
        progress: bool = False,
        on_step: OnStep | None = None,
        **changes: Any,
    ) -> Image.Image:
        """A picture of ``size`` in pixels, (width, height) or an edge, no smaller than those of the training.

        What a code could be is the mean over all windows of the trained size that contain it. Several
        prompts stand in a row along the longer side, and each window is told the one at its place.
        """
        chosen = self.settings("canvas", settings, **changes)
        size = (size, size) if isinstance(size, int) else size
        return self.told(chosen, prompt, negative, guide).canvas(
            size, chosen, seed=_seeded(seed), progress=progress, on_step=on_step
        )

    def inpaint(
        self,
        image: Picture,
        mask: Picture | Sequence[float],
        prompt: str = "",
        *,
        negative: str = "",
        guide: "Pipeline | None" = None,
        count: int = 4,
        rank: bool = False,
        seam: int | None = None,
        strength: float = 1.0,
        unlikely: bool = False,
        settings: Settings | str | None = None,
        seed: int | None = 0,
        progress: bool = False,
        on_step: OnStep | None = None,
        **changes: Any,
    ) -> list[Image.Image]:
        """``count`` versions of a picture, upright and opaque, with what is selected drawn again.

        The mask is a picture of the same size, white where to replace, or a box (left, top, width, height).
        Other pixels stay as they are, bit for bit, but for a seam of so many pixels around the selection over
        which new fades into old; unless given it is half as wide as a code, and 0 is a hard edge. With
        ``rank`` the version whose new codes the model finds likeliest comes first. Pictures larger than those
        of the training are a ``canvas``. Guidance exaggerates a ``prompt`` or, without one, the surroundings.
        With a ``strength`` below 1 that share of the selected codes is drawn again: random ones, in each
        version others, or the ``unlikely`` ones, of which the model thinks least.
        """
        chosen = self.settings("edit", settings, **changes)
        edit = self.told(chosen, prompt, negative, guide).selected(
            image, mask, seam, strength=strength, unlikely=unlikely
        )
        return edit.draw(count, chosen, seed=_seeded(seed), rank=rank, progress=progress, on_step=on_step)

    def vary(
        self,
        image: Picture,
        prompt: str = "",
        *,
        negative: str = "",
        guide: "Pipeline | None" = None,
        strength: float = 0.3,
        unlikely: bool = False,
        count: int = 4,
        rank: bool = False,
        settings: Settings | str | None = None,
        seed: int | None = 0,
        progress: bool = False,
        on_step: OnStep | None = None,
        **changes: Any,
    ) -> list[Image.Image]:
        """``count`` variations of a picture: ``inpaint`` with all of it selected, at a low ``strength``.

        All pixels come from the codec, those of codes that stay too.
        """
        chosen = self.settings("edit", settings, **changes)
        edit = self.told(chosen, prompt, negative, guide).varied(image, strength, unlikely=unlikely)
        return edit.draw(count, chosen, seed=_seeded(seed), rank=rank, progress=progress, on_step=on_step)

    def extend(
        self,
        image: Picture,
        prompt: str = "",
        *,
        negative: str = "",
        guide: "Pipeline | None" = None,
        left: int = 0,
        top: int = 0,
        right: int = 0,
        bottom: int = 0,
        count: int = 4,
        rank: bool = False,
        seam: int | None = None,
        settings: Settings | str | None = None,
        seed: int | None = 0,
        progress: bool = False,
        on_step: OnStep | None = None,
        **changes: Any,
    ) -> list[Image.Image]:
        """``count`` versions of a picture, larger by so many pixels on each side; the rest as in ``inpaint``.

        The seam lies within the picture, along the edges that were moved.
        """
        chosen = self.settings("edit", settings, **changes)
        edit = self.told(chosen, prompt, negative, guide).beyond(image, (left, top, right, bottom), seam)
        return edit.draw(count, chosen, seed=_seeded(seed), rank=rank, progress=progress, on_step=on_step)

    @torch.no_grad()
    def reconstruct(self, pictures: Pictures | PixelSet) -> list[Image.Image]:
        """The pictures through the codec and back, each the centre square at the model's size."""
        batches = (self.codec.decode(self.codec.encode(images)) for images in self._batches(pictures))
        return [picture for images in batches for picture in to_pictures(images)]

    @torch.no_grad()
    def score(
        self,
        pictures: Pictures | PixelSet,
        *,
        draws: int = 16,
        steps: int | None = None,
        seed: int = 0,
        report: Callable[[int], None] = lambda done: None,
    ) -> Scores:
        """Bits per code of the pictures; more ``draws`` steady the estimate of an absorbing prior's bound.

        The bound is that of a chain of ``steps`` steps, without a number that of the limit of ever more.
        ``report`` is told how many pictures are done.
        """
        if draws < 1 or (steps is not None and steps < 1):
            raise ConfigError(f"draws {draws} and steps {steps} score nothing; 1 of each is the least")
        scores, first = [], 0
        for codes in self._codes(pictures):
            scores.append(
                score_codes(self.unconditional, codes, first, num_draws=draws, num_steps=steps, seed=seed)
            )
            first += len(codes)
            report(first)
        if not scores:
            raise DataError("there are no pictures to score")
        score = join(scores)
        N = self.prior.num_positions
        return Scores((score.nats / (N * np.log(2))).tolist(), *bits_per_code(score, N))

    @torch.no_grad()
    def caption(
        self, pictures: Pictures | PixelSet, *, draws: int = 32, seed: int = 0
    ) -> list[dict[str, float]]:
        """Captions of each picture and how often each came up in so many draws, the likeliest first.

        Captions of the same words are one.
        """
        if self.prior.causal:
            raise ConfigError("an autoregressive prior reads words before codes: it captions nothing")
        if self.words.known and draws < 1:
            raise ConfigError(f"in {draws} draws no caption comes up; 1 is the least")
        nothing = self.words.ids("").to(self.device)
        captions = []
        for codes in (one for batch in self._codes(pictures) for one in batch):
            told = Given(self.denoiser, codes=codes)
            drawn = refill(told, nothing.expand(draws, -1), (1, len(nothing)), Settings(), seed=seed)
            captions.append(self.words.count(drawn.codes))
        return captions

    @torch.no_grad()
    def classify(
        self,
        pictures: Pictures | PixelSet,
        labels: Sequence[str],
        *,
        by: Evidence = "label",
        draws: int = 16,
        seed: int = 0,
        report: Callable[[int], None] = lambda done: None,
    ) -> list[dict[str, float]]:
        """The probability of each label for each picture, among these labels, the likeliest first.

        By "label" it is p(label | picture). By "picture" it follows from p(picture | label), all labels
        being as frequent, of which an absorbing prior has a bound, estimated by ``draws`` masks.
        """
        if not labels or draws < 1:
            raise ConfigError(f"{len(labels)} labels and {draws} draws tell nothing; 1 of each is the least")
        if self.prior.causal and by == "label":
            raise ConfigError("an autoregressive prior reads words before codes", hint="--by picture")
        ids = torch.stack([self.words.whole(label) for label in labels]).to(self.device)
        found: list[dict[str, float]] = []
        for codes in self._codes(pictures):
            if by == "label":
                nats = label_nats(self.prior, codes, ids)
            else:
                nats = image_nats(self.prior, codes, ids, len(found), num_draws=draws, seed=seed)
            for p in (-nats).softmax(1):
                order = p.argsort(descending=True, stable=True).tolist()
                found.append({labels[place]: p[place].item() for place in order})
            report(len(found))
        return found

    def open(
        self, data: str, split: Part | None = None, *, captions: str = "none", keep: bool = True
    ) -> PixelSet:
        """A data set as the model sees it: all of it, or one part of the split that it was trained with.

        With ``captions`` "auto" they are looked for as in a training; more in ``ImagesConfig``.

        What is decoded is kept on disk as in the training, or else for as long as the set is used. A whole
        set is not cut into the random crops of the training, and no picture of the model's own size in it is
        too small, whatever the training left out.
        """
        source, images = open_source(data), replace(self.images, captions=captions)
        if split is None:
            small = min(images.min_side, self.image_size)
            images = replace(images, validation=0, crop="centre", min_side=small)
        if keep:
            pixels = open_pixels(source, images)
        else:
            place = cache_folder()
            place.mkdir(parents=True, exist_ok=True)
            # What is mapped stays there until nobody reads it, though its folder is gone.
            with TemporaryDirectory(dir=place) as folder:
                pixels = open_pixels(source, replace(images, cache="prepared"), Path(folder))
        return pixels.split(split) if split else pixels.whole()

    def settings(self, use: Use, base: Settings | str | None = None, **changes: Any) -> Settings:
        """The settings of a call: ``changes`` over those given, named or recommended."""
        return choose(use, self.sampling, base, changes)

    def preview(self, codes: Tensor, grid: tuple[int, int] | None = None) -> list[Image.Image]:
        """The (B, N) codes that ``on_step`` sees as pictures, grey where they are MASK.

        Those of a canvas say its grid of codes.
        """
        h, w = grid or self.prior.grid
        return to_pictures(self.decode(rearrange(codes, "B (h w) -> B h w", h=h, w=w)))

    def to(self, device: str | torch.device) -> "Pipeline":
        """The same model, from now on at work on another device."""
        self.device = require_device(str(device))
        self.codec.to(self.device)
        if self._prior is not None:
            self._prior.to(self.device)
        for made in ("denoiser", "editor"):  # of what was on the other one
            self.__dict__.pop(made, None)
        return self

    @torch.no_grad()
    def encode(self, pictures: Pictures | PixelSet) -> Tensor:
        """(B, h, w) codes of the centre squares of pictures, at the model's size."""
        return torch.cat([self.codec.encode(images) for images in self._batches(pictures)])

    @torch.no_grad()
    def decode(self, codes: Tensor) -> Tensor:
        """(B, h, w) codes, on any grid, to (B, 3, H, W) images in [0, 1], grey where they are MASK."""
        return decode_partly(self.codec, codes.to(self.device), tile=self._tile)

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
    def words(self) -> Words:
        """The words that the prior knows."""
        return Words(self._vocabulary, self.prior.mask_id, self.about.get("prior_captions", []))

    @property
    def unconditional(self) -> Prior:
        """The prior of codes alone, told nothing in words."""
        return Given(self.prior, words=self.words.ids("")) if self.words.length else self.prior

    @cached_property
    def denoiser(self) -> Denoiser:
        """The prior as samplers ask it: what it says before anything is known is computed once.

        Where it knows words it takes rows of them and of codes.
        """
        prior: Denoiser = self._graph or self.prior
        return RememberedStart(InBfloat16(prior) if self._bfloat16 else prior)

    def _guided(self, settings: Settings, negative: str, guide: "Pipeline | None") -> Denoiser:
        """The denoiser of rows, led away from a guide or from what it says when it is told something else."""
        words, weight = self.words, settings.guidance
        if guide is not None:
            self._check_guide(guide)
            return Guided(self.denoiser, weight, guide=guide.denoiser, num_words=words.length)
        if weight == 1 or not words.length:
            words.ids(negative)
            return self.denoiser
        return Guided(self.denoiser, weight, blank=with_words(words.ids(negative)), num_words=words.length)

    def _continuer(self, settings: Settings, negative: str, guide: "Pipeline | None") -> Continuer:
        if guide is not None:
            raise ConfigError("an autoregressive prior takes no guide")
        untold = self.words.ids(negative)
        guided = settings.guidance != 1 and self.words.length
        return GuidedContinuer(self.prior, settings.guidance, untold) if guided else self.prior

    def _check_guide(self, guide: "Pipeline") -> None:
        if (guide.codec_fingerprint, guide.words.vocabulary) != (
            self.codec_fingerprint,
            self.words.vocabulary,
        ):
            raise ConfigError(
                "a guide must know the same codes and words: it is another checkpoint, or a smaller prior"
            )

    def told(
        self,
        settings: Settings,
        prompt: str | Sequence[str] = "",
        negative: str = "",
        guide: "Pipeline | None" = None,
    ) -> Editor:
        """The editor, told something."""
        prompts = [prompt] if isinstance(prompt, str) else [*prompt] or [""]
        guided = self._guided(settings, negative, guide)
        told = [self._given(guided, one) for one in prompts]
        return replace(
            self.editor,
            denoise=told[0],
            along=told,
            by_context=not prompt and guide is None,
            origin=self._origin(prompts[0] if len(prompts) == 1 else tuple(prompts), negative, guide),
        )

    def _origin(self, prompt: str | tuple[str, ...], negative: str, guide: "Pipeline | None") -> Provenance:
        """The model, and what it is told."""
        weaker = guide.fingerprint if guide else None
        return replace(self.origin, prompt=prompt or None, negative=negative, guide=weaker)

    def _given(self, denoise: Denoiser, prompt: str) -> Denoiser:
        """The denoiser of codes that one of rows is once it is told something, or nothing."""
        words = self.words.ids(prompt)
        return Given(denoise, words=words) if len(words) else denoise

    @cached_property
    def editor(self) -> Editor:
        """The model at work on grids of any size."""
        if self.prior.causal:
            raise ConfigError(
                "an autoregressive prior draws codes in one order only: it fills in no part of a picture and "
                "no larger canvas",
                hint="train an absorbing one:  unmask train prior CODEC DATA --kind absorbing",
            )
        factor = self.codec.config.factor
        return Editor(
            encode=partial(encode_tiles, self.codec.encode, factor=factor, tile=self._tile),
            decode=self.decode,
            denoise=self._given(self.denoiser, ""),
            window=self.prior.grid,
            factor=factor,
            background=self.images.background,
            device=self.device,
            curve=self.curve,
            origin=self.origin,
        )

    @property
    def curve(self) -> Curve | None:
        """What a code costs by the share of codes masked, as measured in the training."""
        return self.about.get("curve")

    @property
    def images(self) -> ImagesConfig:
        """How the pictures of the last training were prepared, and how many of them were for validation.

        But decoded in full, and without captions: what is measured does not depend on how a training saved
        time, and other pictures have other captions.
        """
        training = self.about.get("prior_training") or self.about.get("codec_training") or {}
        images = merge(ImagesConfig(), training.get("images", {}))
        return replace(images, size=self.image_size, fast_decode=False, captions="none")

    @property
    def _tile(self) -> int:
        """Codes along the edge of what the codec takes at a time, no fewer than it was trained on."""
        return max(TILE, self.codec.config.grid(self.image_size))

    def _codes(self, pictures: Pictures | PixelSet) -> Iterator[Tensor]:
        """(B, N) codes of a few pictures at a time."""
        grids = (self.codec.encode(images) for images in self._batches(pictures))
        return (rearrange(grid, "B h w -> B (h w)") for grid in grids)

    def _batches(self, pictures: Pictures | PixelSet) -> Iterator[Tensor]:
        """(B, 3, S, S) images of a few pictures at a time."""
        if isinstance(pictures, PixelSet):
            numbers = range(len(pictures))
            arrays: Iterable[Pixels8] = (pictures.read(numbers[i : i + BATCH]) for i in numbers[::BATCH])
        else:
            arrays = map(self._squares, _batched(each_picture(pictures)))
        return (to_tensor(pixels).to(self.device) for pixels in arrays)

    def _squares(self, pictures: list[Picture]) -> Pixels8:
        """(B, S, S, 3) pixels of the centres of some pictures."""
        opened = (open_picture(picture, self.images.background) for picture in pictures)
        return np.stack([np.asarray(square(picture, self.image_size)) for picture in opened])


def _seeded(seed: int | None) -> int:
    """The seed; a new one, which is said, where there is none."""
    if seed is None:
        seed = secrets.randbits(31)
        say(f"seed {seed}")
    return seed


def _batched(pictures: Iterable[Picture]) -> Iterator[list[Picture]]:
    remaining = iter(pictures)
    while batch := list(islice(remaining, BATCH)):
        yield batch
