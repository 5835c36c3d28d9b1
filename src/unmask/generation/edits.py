"""Inpainting, variations and outpainting."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
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
from unmask.data.transforms import to_tensor
from unmask.diffusion.canvas import Canvas
from unmask.diffusion.care import plan_work
from unmask.diffusion.fill import Denoiser, Watch
from unmask.diffusion.guidance import Guided, without_context
from unmask.diffusion.inpaint import choose_positions, refill
from unmask.diffusion.likelihood import likelihood_of
from unmask.errors import ConfigError
from unmask.generation.arguments import checked
from unmask.generation.editor import Editor
from unmask.generation.sampler import BATCH, Options, draws

MARGIN = 4  # codes around what a preview decodes
PAIRS = 4  # of passes that find unlikely codes


@draws
@checked
def inpaint(
    editor: Editor,
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
    """Redraw a selected part of an image, in ``count`` versions.

    All other pixels stay the same, bit for bit, except for the seam. Images larger than the training images
    are treated as a ``canvas``.

    Args:
        image: Any size from the training size up. It is rotated by its EXIF orientation; transparent areas
            show the training background.
        mask: An image of the same size, white where to redraw, or a box: left, top, width, height.
        prompt: For a model trained on captions. Without one, guidance applies to the surroundings.
        count: Number of versions.
        rank: Sort by the likelihood of the new codes, the most likely version first.
        seam: Pixels around the selection over which new and old are blended. None: half a code; 0: a hard
            edge.
        strength: Share of the selected codes to redraw; each version redraws different ones.
        unlikely: Redraw the codes that the model finds least likely, instead of random ones.
    """
    editor = editor.to_draw("edit", prompt, **how)
    return selected(editor, image, mask, seam, strength=strength, unlikely=unlikely).draw(count, rank=rank)


@draws
@checked
def vary(
    editor: Editor,
    image: Picture,
    prompt: str = "",
    *,
    strength: float = 0.3,
    unlikely: bool = False,
    count: int = 4,
    rank: bool = False,
    **how: Unpack[Options],
) -> list[Image.Image]:
    """Draw ``count`` variations of an image: ``inpaint`` with everything selected, at a low ``strength``.

    All pixels come from the decoder, also where codes stay.
    """
    editor = editor.to_draw("edit", prompt, **how)
    return varied(editor, image, strength, unlikely=unlikely).draw(count, rank=rank)


@draws
@checked
def extend(
    editor: Editor,
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
    """Extend an image by so many pixels on each side, in ``count`` versions. Otherwise as ``inpaint``.

    The seam lies within the old image, along the edges that moved.
    """
    editor = editor.to_draw("edit", prompt, **how)
    return beyond(editor, image, (left, top, right, bottom), seam).draw(count, rank=rank)


@dataclass(frozen=True)
class Edit:
    """A part of an image to redraw."""

    editor: Editor
    patch: Patch
    crop: Sides
    """What to cut out of the image afterwards."""
    origin: Provenance

    @torch.no_grad()
    def draw(self, count: int, *, rank: bool = False, watch: Watch | None = None) -> list[Image.Image]:
        """Versions of the image; with ``rank`` the one whose new codes are likeliest first."""
        if count < 1:
            raise ConfigError(f"{count} images cannot be drawn; 1 is the least", hint="--count 4")
        num_drawn = self.num_drawn
        editor = replace(self.editor, num_drawn=min(num_drawn, prod(self.editor.window)))
        grid, request = self.patch.grid, editor.request
        work = plan_work(request.settings, torch.from_numpy(self.patch.masked), editor.window)
        settings, seed, watch = work.settings, request.seed, watch or request.watch
        canvas = Canvas(editor.denoisers[0], editor.window, grid, settings, seed=seed)
        codes = self._known_codes(canvas, count, seed)
        surroundings = torch.from_numpy(~self.patch.masked).flatten()
        denoise: Denoiser = canvas
        if editor.by_context and surroundings.any():
            blank = without_context(surroundings, canvas.mask_id)
            denoise = Guided(canvas, settings.guidance, blank=blank, num_drawn=num_drawn)
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
        """(B, N) codes of the patch, as ``on_step`` sees them, to images, grey where they are MASK."""
        images = self.editor.decode(rearrange(codes, "B (h w) -> B h w", h=self.patch.grid[0]))
        return self._pasted(images)

    @torch.no_grad()
    def preview(self, codes: Tensor) -> list[Image.Image]:
        """``show``, approximately and faster: decodes only what is pasted, with a few codes around."""
        grids, factor = rearrange(codes, "B (h w) -> B h w", h=self.patch.grid[0]), self.editor.factor
        part = tuple(_near(self.patch.share.max(axis), factor) for axis in (1, 0))
        B, h, w = grids.shape
        images = torch.zeros(B, 3, h * factor, w * factor)
        rows, columns = (slice(span.start * factor, span.stop * factor) for span in part)
        images[:, :, rows, columns] = self.editor.decode(grids[:, *part]).cpu()
        return self._pasted(images)

    def _pasted(self, images: Tensor) -> list[Image.Image]:
        """Decoded patches in their place in the picture."""
        return [self.patch.paste(image).crop(self.crop) for image in images]

    @property
    def num_drawn(self) -> int:
        """Codes that a version draws."""
        return int(self._redrawn(1, 0).sum())

    def _known_codes(self, denoise: Canvas, count: int, seed: int) -> Tensor:
        """(count, N) codes of the patch, MASK where to redraw."""
        images = to_tensor(self.patch.pixels[None]).to(self.editor.sampler.device)
        codes = self.editor.encode(images).flatten(1)
        choosy = self.origin.unlikely and self.origin.strength < 1
        nats = likelihood_of(denoise).code_nats(codes, 0, num_pairs=PAIRS, seed=seed)[0] if choosy else None
        return codes.masked_fill(self._redrawn(count, seed, nats).to(codes.device), denoise.mask_id)

    def _redrawn(self, count: int, seed: int, nats: Tensor | None = None) -> Tensor:
        selected = torch.from_numpy(self.patch.masked).flatten()
        return choose_positions(selected, self.origin.strength, count, seed=seed, nats=nats)


def selected(
    editor: Editor,
    image: Picture,
    mask: Picture | Sequence[float],
    seam: int | None = None,
    *,
    strength: float = 1.0,
    unlikely: bool = False,
) -> Edit:
    """The edit that redraws a share of the codes that a mask or a box selects."""
    if not 0 < strength <= 1:
        raise ConfigError(f"strength {strength} should be above 0 and at most 1", hint="--strength 0.3")
    picture, box = open_picture(image, editor.background), box_of(mask)
    origin = replace(editor.origin, task="inpaint", box=box, seam=seam, strength=strength, unlikely=unlikely)
    return _edit(editor, picture, mask, seam, (0, 0, *picture.size), origin)


def varied(editor: Editor, image: Picture, strength: float, *, unlikely: bool = False) -> Edit:
    """The edit that redraws a share of all codes of an image."""
    picture = open_picture(image, editor.background)
    edit = selected(editor, picture, (0, 0, *picture.size), 0, strength=strength, unlikely=unlikely)
    return replace(edit, origin=replace(edit.origin, task="vary", box=None, seam=None))


def beyond(editor: Editor, image: Picture, margins: Sides, seam: int | None = None) -> Edit:
    """The edit that extends an image by so many pixels on each side."""
    left, top, right, bottom = margins
    if min(margins) < 0 or not any(margins):
        raise ConfigError(
            f"{left}, {top}, {right}, {bottom} pixels left, above, right and below extend nothing",
            hint="say how many on which side, such as 128 on the right",
        )
    picture = open_picture(image, editor.background)
    editor.grid((left + picture.width + right, top + picture.height + bottom))
    larger, mask, crop = frame(picture, margins, editor.factor)
    origin = replace(editor.origin, task="extend", margins=margins, seam=seam)
    return _edit(editor, larger, mask, seam, crop, origin)


def _edit(
    editor: Editor,
    picture: Image.Image,
    mask: Picture | Sequence[float],
    seam: int | None,
    crop: Sides,
    origin: Provenance,
) -> Edit:
    editor.grid(picture.size)
    pixels, chosen = np.asarray(picture), selection(mask, picture.size)
    if origin.task == "inpaint" and origin.box is None:
        origin = replace(origin, mask=runs_of(chosen))
    seam = editor.factor // 2 if seam is None else seam
    patch = cut(pixels, chosen, factor=editor.factor, window=editor.window, seam=seam)
    return Edit(editor, patch, crop, origin)


def _near(wanted: npt.NDArray[np.float32], factor: int) -> slice:
    """The codes along an axis that hold wanted pixels, and a margin for the receptive field."""
    places = np.nonzero(wanted)[0] // factor
    num_codes = -(-len(wanted) // factor)
    return slice(max(int(places[0]) - MARGIN, 0), min(int(places[-1]) + 1 + MARGIN, num_codes))
