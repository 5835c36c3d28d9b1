"""Augmentation: an image as it is, mirrored, shifted by a few pixels.

A codec sees each picture in a new way every time. A prior learns from codes that were made once, of a few
fixed views; moved by less than a code's patch, a picture gives codes that are new all over.
"""

import numpy as np

from unmask import rng
from unmask.data.transforms import Pixels8

PLACES = ((0, 0), (-1, -1), (-1, 1), (1, -1), (1, 1))  # the middle and the corners of the range


def any_view(pixels: Pixels8, *, flip: bool, shift: int, seed: int, position: int) -> Pixels8:
    """(H, W, 3) in the way that belongs to one place in the endless stream of pictures."""
    if shift:
        down, right = (
            rng.derive(seed, axis, position) % (2 * shift + 1) - shift for axis in ("down", "right")
        )
        pixels = move(pixels, down, right)
    return mirror(pixels) if flip and rng.derive(seed, "flip", position) % 2 == 0 else pixels


def every_view(pixels: Pixels8, *, flip: bool, shift: int) -> list[Pixels8]:
    """(..., H, W, 3) in all fixed ways: first as they are, and with ``flip`` each before its mirror image."""
    views = []
    for down, right in PLACES if shift else PLACES[:1]:
        moved = move(pixels, down * shift, right * shift)
        views += [moved, mirror(moved)] if flip else [moved]
    return views


def num_views(*, flip: bool, shift: int) -> int:
    """How many there are in ``every_view``."""
    return (len(PLACES) if shift else 1) * (1 + flip)


def mirror(pixels: Pixels8) -> Pixels8:
    """Left to right."""
    return pixels[..., ::-1, :]


def move(pixels: Pixels8, down: int, right: int) -> Pixels8:
    """By whole pixels; the edge that is left behind is repeated."""
    height, width = pixels.shape[-3:-1]
    rows = (np.arange(height) - down).clip(0, height - 1)
    columns = (np.arange(width) - right).clip(0, width - 1)
    return pixels[..., rows, :, :][..., columns, :]
