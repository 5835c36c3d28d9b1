"""Pictures larger than those of the training, and parts of pictures drawn again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Unpack

import numpy as np
import numpy.typing as npt
import torch
from einops import rearrange
from PIL import Image
from torch import Tensor

from unmask.data.patches import Patch, Sides, box_of, cut, frame, runs_of, selection
from unmask.data.pictures import Picture, open_picture
from unmask.data.provenance import Provenance, inscribed
from unmask.data.transforms import MAX_PIXELS, TOO_LARGE, to_pictures, to_tensor
from unmask.diffusion.canvas import Canvas
from unmask.diffusion.care import Work, plan_work
from unmask.diffusion.fill import Denoiser, Watch
from unmask.diffusion.guidance import Guided, without_context
from unmask.diffusion.inpaint import forget, refill
from unmask.diffusion.likelihood import code_nats
from unmask.diffusion.sample import sample_codes
from unmask.diffusion.settings import Use
from unmask.errors import ConfigError
from unmask.generation.sampler import BATCH, Options, Request, Sampler, draws
from unmask.progress import in_words, say

MARGIN = 4  # codes around what a glimpse decodes
PAIRS = 4  # of passes that tell which codes are unlikely


@dataclass(frozen=True, kw_only=True)
class Editor:
    """What a codec and a prior of windows can do for grids of any size."""

    encode: Callable[[Tensor], Tensor]
    """(B, 3, H, W) images to (B, h, w) codes, on any grid."""
    decode: Callable[[Tensor], Tensor]
    """(B, h, w) codes, on any grid, to (B, 3, H, W) images, grey where they are MASK."""
    sampler: Sampler
    factor: int
    """Pixels along the edge of a code."""
    background: str
    asked: Request
    prompts: Sequence[str] = ("",)
    """What to draw; on a canvas along its longer side."""

    def __post_init__(self) -> None:
        if self.sampler.prior.causal:
            raise ConfigError(
                "an autoregressive prior draws codes in one order only: it fills in no part of a picture and "
                "no larger canvas",
                hint="train an absorbing one:  unmask train prior CODEC DATA --kind absorbing",
            )

    def told(self, use: Use, prompt: str | Sequence[str] = "", **how: Unpack[Options]) -> "Editor":
        """The editor that draws as it is told; words that the model does not know are refused."""
        prompts = [prompt] if isinstance(prompt, str) else [*prompt] or [""]
        told = replace(self, asked=self.sampler.request(use, **how), prompts=prompts)
        assert told.denoisers
        return told

    @draws
    @torch.no_grad()
    def canvas(
        self, size: int | tuple[int, int], prompt: str | Sequence[str] = "", **how: Unpack[Options]
    ) -> Image.Image:
        """A picture of ``size`` in pixels, (width, height) or an edge, no smaller than those of the training.

        What a code could be is the mean over all windows of the trained size that contain it. Several
        prompts stand in a row along the longer side, and each window is told the one at its place.
        """
        size = (size, size) if isinstance(size, int) else size
        told, grid = self.told("canvas", prompt, **how), self.grid(size)
        asked, sampler = told.asked, told.sampler
        work = plan_work(asked.settings, torch.ones(grid, dtype=torch.bool), self.window)
        denoise = Canvas(told.denoisers, self.window, grid, work.settings, seed=asked.seed)
        if asked.watch.progress:
            told.announce(work, 1)
        with asked.watch.of(denoise.mask_id) as on_step:
            codes = sample_codes(
                denoise,
                range(1),
                grid,
                work.settings,
                seed=asked.seed,
                device=sampler.device,
                curve=sampler.curve,
                on_step=on_step,
            )
        picture = to_pictures(self.decode(codes.view(1, *grid)))[0].crop((0, 0, *size))
        return inscribed(picture, replace(told.origin, task="canvas", size=size, settings=work.settings))

    @draws
    def inpaint(
        self,
        image: Picture,
        mask: Picture | Sequence[float],
        prompt: str = "",
        *,
        count: int = 4,
        rank: bool = False,
        seam: int | None = None,
        strength: float = 1.0,
        unlikely: bool = False,
        **how: Unpack[Options],
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
        edit = self.told("edit", prompt, **how).selected(
            image, mask, seam, strength=strength, unlikely=unlikely
        )
        return edit.draw(count, rank=rank)

    @draws
    def vary(
        self,
        image: Picture,
        prompt: str = "",
        *,
        strength: float = 0.3,
        unlikely: bool = False,
        count: int = 4,
        rank: bool = False,
        **how: Unpack[Options],
    ) -> list[Image.Image]:
        """``count`` variations of a picture: ``inpaint`` with all of it selected, at a low ``strength``.

        All pixels come from the codec, those of codes that stay too.
        """
        edit = self.told("edit", prompt, **how).varied(image, strength, unlikely=unlikely)
        return edit.draw(count, rank=rank)

    @draws
    def extend(
        self,
        image: Picture,
        prompt: str = "",
        *,
        left: int = 0,
        top: int = 0,
        right: int = 0,
        bottom: int = 0,
        count: int = 4,
        rank: bool = False,
        seam: int | None = None,
        **how: Unpack[Options],
    ) -> list[Image.Image]:
        """``count`` versions of a picture, larger by so many pixels on each side; the rest as in ``inpaint``.

        The seam lies within the picture, along the edges that were moved.
        """
        edit = self.told("edit", prompt, **how).beyond(image, (left, top, right, bottom), seam)
        return edit.draw(count, rank=rank)

    def selected(
        self,
        image: Picture,
        mask: Picture | Sequence[float],
        seam: int | None = None,
        *,
        strength: float = 1.0,
        unlikely: bool = False,
    ) -> "Edit":
        """The edit that draws again what a mask or a box selects of a picture, or a share of its codes."""
        if not 0 < strength <= 1:
            raise ConfigError(f"strength {strength} should be above 0 and at most 1", hint="--strength 0.3")
        picture, box = open_picture(image, self.background), box_of(mask)
        origin = replace(
            self.origin, task="inpaint", box=box, seam=seam, strength=strength, unlikely=unlikely
        )
        return self._edit(picture, mask, seam, (0, 0, *picture.size), origin)

    def varied(self, image: Picture, strength: float, *, unlikely: bool = False) -> "Edit":
        """The edit that draws again a share of all codes of a picture."""
        picture = open_picture(image, self.background)
        edit = self.selected(picture, (0, 0, *picture.size), 0, strength=strength, unlikely=unlikely)
        return replace(edit, origin=replace(edit.origin, task="vary", box=None, seam=None))

    def beyond(self, image: Picture, margins: Sides, seam: int | None = None) -> "Edit":
        """The edit that draws what lies beyond the edges of a picture, so many pixels on each side."""
        left, top, right, bottom = margins
        if min(margins) < 0 or not any(margins):
            raise ConfigError(
                f"{left}, {top}, {right}, {bottom} pixels left, above, right and below extend nothing",
                hint="say how many on which side, such as 128 on the right",
            )
        picture = open_picture(image, self.background)
        self.grid((left + picture.width + right, top + picture.height + bottom))
        larger, mask, asked = frame(picture, margins, self.factor)
        origin = replace(self.origin, task="extend", margins=margins, seam=seam)
        return self._edit(larger, mask, seam, asked, origin)

    def grid(self, size: tuple[int, int]) -> tuple[int, int]:
        """Rows and columns of codes of a picture of (width, height) pixels; refused if it cannot be drawn."""
        (width, height), (h, w) = size, self.window
        rows, columns = -(-height // self.factor), -(-width // self.factor)
        if rows < h or columns < w:
            raise ConfigError(
                f"{width}×{height} pixels are too few: the model was trained on "
                f"{w * self.factor}×{h * self.factor}, and no window of that size fits"
            )
        if width * height > MAX_PIXELS:
            raise ConfigError(f"{width}×{height} pixels are {TOO_LARGE}")
        return rows, columns

    @property
    def window(self) -> tuple[int, int]:
        """The grid that the prior knows."""
        return self.sampler.prior.grid

    @cached_property
    def denoisers(self) -> Sequence[Denoiser]:
        """Of windows, one for each prompt."""
        return self.sampler.told(self.asked, self.prompts)

    @property
    def origin(self) -> Provenance:
        """The model, and what it is told."""
        prompt = self.prompts[0] if len(self.prompts) == 1 else tuple(self.prompts)
        return replace(self.sampler.origin(self.asked), prompt=prompt or None)

    @property
    def by_context(self) -> bool:
        """Whether guidance of an edit exaggerates its surroundings; else the denoiser is guided itself."""
        return not any(self.prompts) and self.asked.guide is None and self.asked.settings.guidance != 1

    def announce(self, work: Work, count: int, *, by_context: bool = False) -> None:
        """Say how much work so many versions are; a denoiser that is told something is measured guided."""
        seconds = work.passes * work.windows * count * self._seconds() * (2 if by_context else 1)
        twice = " × 2 for guidance" if by_context or self.sampler.guides(self.asked) else ""
        each = twice + (f" for each of {count} versions" if count > 1 else "")
        less = "" if work.settings.care == "fast" or work.windows == 1 else "; with care fast it takes less"
        say(f"drawing: at most {work}{each}, about {in_words(seconds)}{less}")

    def _seconds(self) -> float:
        """What a window takes, measured: a fifth of its codes are to be drawn."""
        num_codes, denoise = self.window[0] * self.window[1], self.denoisers[0]
        wanted = (torch.arange(num_codes) % 5 == 0)[None].to(self.sampler.device)
        codes = torch.zeros_like(wanted, dtype=torch.int64).masked_fill(wanted, denoise.mask_id)
        denoise(codes, wanted)  # the first call of all takes longer
        start = perf_counter()
        denoise(codes, wanted).cpu()
        return perf_counter() - start

    def _edit(
        self,
        picture: Image.Image,
        mask: Picture | Sequence[float],
        seam: int | None,
        asked: Sides,
        origin: Provenance,
    ) -> "Edit":
        self.grid(picture.size)
        pixels, selected = np.asarray(picture), selection(mask, picture.size)
        if origin.task == "inpaint" and origin.box is None:
            origin = replace(origin, mask=runs_of(selected))
        seam = self.factor // 2 if seam is None else seam
        patch = cut(pixels, selected, factor=self.factor, window=self.window, seam=seam)
        return Edit(self, patch, asked, origin)


@dataclass(frozen=True)
class Edit:
    """A part of a picture that is to be drawn again."""

    editor: Editor
    patch: Patch
    asked: Sides
    """What to cut out of the picture afterwards."""
    origin: Provenance

    @torch.no_grad()
    def draw(self, count: int, *, rank: bool = False, watch: Watch | None = None) -> list[Image.Image]:
        """Versions of the picture; with ``rank`` the one whose new codes are likeliest first."""
        if count < 1:
            raise ConfigError(f"{count} pictures cannot be drawn; 1 is the least", hint="--count 4")
        editor, grid, asked = self.editor, self.patch.grid, self.editor.asked
        work = plan_work(asked.settings, torch.from_numpy(self.patch.masked), editor.window)
        settings, seed, watch = work.settings, asked.seed, watch or asked.watch
        canvas = Canvas(editor.denoisers[0], editor.window, grid, settings, seed=seed)
        codes = self._known_codes(canvas, count, seed)
        surroundings = torch.from_numpy(~self.patch.masked).flatten()
        denoise: Denoiser = canvas
        if editor.by_context and surroundings.any():
            blank = without_context(surroundings, canvas.mask_id)
            denoise = Guided(canvas, settings.guidance, blank=blank)
        if watch.progress:
            editor.announce(work, count, by_context=denoise is not canvas)
        with watch.of(canvas.mask_id) as on_step:
            drawn = refill(
                denoise,
                codes,
                grid,
                settings,
                seed=seed,
                curve=editor.sampler.curve,
                batch=BATCH,
                on_step=on_step,
            )
        best_first = drawn.log_p.argsort(descending=True, stable=True).tolist()
        origin = replace(self.origin, settings=settings)
        return [
            inscribed(self.show(drawn.codes[number][None])[0], replace(origin, number=number))
            for number in (best_first if rank else range(count))
        ]

    def show(self, codes: Tensor) -> list[Image.Image]:
        """(B, N) codes of the patch, as ``on_step`` sees them, to pictures, grey where they are MASK."""
        images = self.editor.decode(rearrange(codes, "B (h w) -> B h w", h=self.patch.grid[0]))
        return [self.patch.paste(image).crop(self.asked) for image in images]

    @torch.no_grad()
    def glimpse(self, codes: Tensor) -> list[Image.Image]:
        """What ``show`` gives, nearly and sooner: only what is pasted is decoded, with a few codes around."""
        grids, factor = rearrange(codes, "B (h w) -> B h w", h=self.patch.grid[0]), self.editor.factor
        part = tuple(_near(self.patch.share.max(axis), factor) for axis in (1, 0))
        B, h, w = grids.shape
        images = torch.zeros(B, 3, h * factor, w * factor)
        rows, columns = (slice(span.start * factor, span.stop * factor) for span in part)
        images[:, :, rows, columns] = self.editor.decode(grids[:, *part]).cpu()
        return [self.patch.paste(image).crop(self.asked) for image in images]

    @property
    def num_drawn(self) -> int:
        """Codes that a version draws."""
        return int(self._forgotten(1, 0).sum())

    def _known_codes(self, denoise: Canvas, count: int, seed: int) -> Tensor:
        """(count, N) codes of the patch, MASK where they are to be drawn again."""
        codes = self.editor.encode(to_tensor(self.patch.pixels[None]).to(self.editor.sampler.device)).flatten(
            1
        )
        told = self.origin.unlikely and self.origin.strength < 1
        nats = code_nats(denoise, codes, 0, num_pairs=PAIRS, seed=seed)[0] if told else None
        return codes.masked_fill(self._forgotten(count, seed, nats).to(codes.device), denoise.mask_id)

    def _forgotten(self, count: int, seed: int, nats: Tensor | None = None) -> Tensor:
        selected = torch.from_numpy(self.patch.masked).flatten()
        return forget(selected, self.origin.strength, count, seed=seed, nats=nats)


def _near(wanted: npt.NDArray[np.float32], factor: int) -> slice:
    """The codes along an axis that hold wanted pixels, and some around, as a decoder looks farther."""
    places = np.nonzero(wanted)[0] // factor
    num_codes = -(-len(wanted) // factor)
    return slice(max(int(places[0]) - MARGIN, 0), min(int(places[-1]) + 1 + MARGIN, num_codes))
