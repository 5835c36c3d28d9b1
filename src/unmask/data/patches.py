"""Parts of pictures: a selection of pixels, the patch of whole codes around it, and its way back.

The paper, "Image Editing": the codes of a region are masked and drawn again; beyond a thin seam no other
pixel changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from einops import rearrange, reduce
from PIL import Image
from torch import Tensor

from unmask.data.pictures import Picture, open_picture
from unmask.data.transforms import Pixels8
from unmask.errors import ConfigError, DataError
from unmask.reading import brief

Box = tuple[int, int, int, int]
"""Left, top, width and height, in pixels."""
Sides = tuple[int, int, int, int]
"""Left, top, right and bottom, in pixels."""
MAX_RUNS = 4096  # of a mask that a picture's file has room for
Selected = npt.NDArray[np.bool_]
"""(H, W): the pixels to replace."""


def box_of(mask: Picture | Sequence[float]) -> Box | None:
    """The box that four numbers are, however they are held; None of a mask."""
    if isinstance(mask, Image.Image | str | Path) or (
        isinstance(mask, np.ndarray | Tensor) and mask.ndim > 1
    ):
        return None
    try:
        numbers = [round(float(number)) for number in mask]
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"{brief(mask)} is no mask; wanted an image of the same size, white where to redraw, or a box",
            hint="left, top, width, height, such as  (16, 16, 32, 24)",
        ) from None
    if len(numbers) != 4:
        raise ConfigError(f"{len(numbers)} numbers are no box", hint="left, top, width, height")
    return numbers[0], numbers[1], numbers[2], numbers[3]


def selection(mask: Picture | Sequence[float], size: tuple[int, int]) -> Selected:
    """The pixels that a mask (white, or nearer to white than to black) or a box selects of a picture.

    Of a mask in numbers, 0 and 1 are black and white.
    """
    if box := box_of(mask):
        return _boxed(box, size)
    if isinstance(mask, np.ndarray | Tensor) and mask.max() <= 1:
        mask = mask > 0.5
    levels = open_picture(cast(Picture, mask), "black").convert("L")
    if levels.size != size:
        (width, height), (wanted_width, wanted_height) = levels.size, size
        raise DataError(
            f"the mask has {width}×{height} pixels, but the image has {wanted_width}×{wanted_height}"
        )
    selected: Selected = np.asarray(levels) >= 128
    if not selected.any():
        raise DataError("the mask selects nothing: what is white is replaced, and no pixel is")
    return selected


def runs_of(selected: Selected) -> tuple[int, ...] | None:
    """Lengths of runs of pixels, row by row, not selected and selected in turn; None if they are too many."""
    turns = np.flatnonzero(np.diff(selected.ravel(), prepend=False))
    runs = np.diff(turns, prepend=0, append=selected.size)
    return tuple(runs.tolist()) if len(runs) <= MAX_RUNS else None


def _boxed(box: Box, size: tuple[int, int]) -> Selected:
    """The pixels within a box; what of it lies outside the picture is ignored, unless all of it does."""
    left, top, width, height = box
    selected = np.zeros(size[::-1], np.bool_)
    selected[max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)] = True
    if not selected.any():
        raise DataError(
            f"the box {left},{top},{width},{height} holds no pixel of the image, "
            f"which has {size[0]}×{size[1]}; a box is left,top,width,height"
        )
    return selected


@dataclass(frozen=True)
class Patch:
    """The part of an image that an edit needs, in whole codes, and how its result is pasted."""

    picture: Pixels8
    """(H, W, 3), all of it."""
    rows: slice
    columns: slice
    """Where the patch lies in the picture, in pixels."""
    pixels: Pixels8
    """(h·factor, w·factor, 3): the patch; beyond the picture's right and lower edge, these are repeated."""
    masked: npt.NDArray[np.bool_]
    """(h, w): the codes to draw again, those with a selected pixel."""
    share: npt.NDArray[np.float32]
    """How much of each pixel of that part is new: 1 where selected, 0 beyond the seam."""

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of codes."""
        return self.masked.shape[0], self.masked.shape[1]

    def paste(self, image: Tensor) -> Image.Image:
        """The picture with a (3, h·factor, w·factor) image in [0, 1] in place of the selected pixels."""
        result = self.picture.copy()
        old = result[self.rows, self.columns].astype(np.float32)
        new = rearrange(image.cpu().numpy() * 255, "C H W -> H W C")[: old.shape[0], : old.shape[1]]
        mixed = old + self.share[:, :, None] * (new - old)  # the old levels exactly where the share is 0
        result[self.rows, self.columns] = mixed.round().clip(0, 255).astype(np.uint8)
        return Image.fromarray(result)


def cut(picture: Pixels8, selected: Selected, *, factor: int, window: tuple[int, int], seam: int) -> Patch:
    """The patch with every window that holds a selected code, and with the seam.

    What lies farther away has no part in the edit, so that a small hole in a large picture is little work.
    """
    if not 0 <= seam <= max(selected.shape):
        raise ConfigError(f"a seam of {seam} pixels is not in 0..{max(selected.shape)}; 0 is a hard edge")
    whole = np.pad(selected, [(0, -edge % factor) for edge in selected.shape])
    masked = reduce(whole, "(a f) (b g) -> a b", "any", f=factor, g=factor)
    reach = [max(edge - 1, -(-seam // factor)) for edge in window]
    (top, bottom), (left, right) = (_span(masked, axis, reach[axis]) for axis in (0, 1))
    rows, columns = slice(top * factor, bottom * factor), slice(left * factor, right * factor)
    part = picture[rows, columns]
    missing = [(0, -edge % factor) for edge in part.shape[:2]]
    return Patch(
        picture=picture,
        rows=rows,
        columns=columns,
        pixels=np.pad(part, [*missing, (0, 0)], mode="edge"),
        masked=masked[top:bottom, left:right],
        share=fade(selected[rows, columns], seam),
    )


def _span(masked: npt.NDArray[np.bool_], axis: int, reach: int) -> tuple[int, int]:
    """From ``reach`` before the first masked line to as many behind the last, within the grid."""
    lines = np.nonzero(masked)[axis]
    return max(int(lines.min()) - reach, 0), min(int(lines.max()) + 1 + reach, masked.shape[axis])


def fade(selected: Selected, seam: int) -> npt.NDArray[np.float32]:
    """(H, W) weights: 1 where selected, falling evenly over ``seam`` pixels around, exactly 0 beyond."""
    grown = torch.from_numpy(selected.astype(np.float32))[None]
    total = grown.clone()
    for _ in range(seam):
        grown = F.max_pool2d(grown, 3, stride=1, padding=1)  # a pixel wider on every side
        total += grown
    return (total[0] / (seam + 1)).numpy()


def frame(picture: Image.Image, margins: Sides, factor: int) -> tuple[Image.Image, Image.Image, Sides]:
    """A picture with margins, the mask that selects them, and what to crop the result to.

    It is larger than asked by up to a code on the left and above, so that codes begin where the picture
    does; cropping takes that away. Margins repeat the edge until they are filled in.
    """
    left, top, right, bottom = margins
    more_left, more_top = -left % factor, -top % factor
    around = [(top + more_top, bottom), (left + more_left, right)]
    pixels = np.pad(np.asarray(picture), [*around, (0, 0)], mode="edge")
    mask = np.pad(np.zeros(picture.size[::-1], np.uint8), around, constant_values=255)
    crop = (more_left, more_top, pixels.shape[1], pixels.shape[0])
    return Image.fromarray(pixels), Image.fromarray(mask), crop
