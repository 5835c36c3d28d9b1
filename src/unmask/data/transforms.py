"""Encoded bytes to upright RGB pictures, pictures to squares, squares to tensors and back.

torch is imported where a tensor is made: looking at pictures does not wait for it.
"""

import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from unmask.data.provenance import inscribed, of_sheet
from unmask.errors import DataError
from unmask.reading import reason

if TYPE_CHECKING:
    from torch import Tensor

Pixels8 = npt.NDArray[np.uint8]

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM")  # the last for rows of arrays
MAX_PIXELS = 89_478_485  # Pillow's own limit: a quarter of a gigabyte as RGB
MAX_SLOW_PIXELS = MAX_SLOW_BYTES = 4_000_000  # of what Pillow decodes in Python, a few seconds' worth
ENDLESS = {"ppm_plain"}  # its comments take minutes a megabyte
TOO_LARGE = f"more than the {MAX_PIXELS:,} pixels allowed"
BOMB = f"{TOO_LARGE} (shrink it, if it is no decompression bomb)"

# Blocks of Pillow's usual 16 MB can stay with the thread that freed them; the system has back what is larger.
Image.core.set_block_size(1 << 26)  # type: ignore[attr-defined]

# EXIF orientation -> what makes the picture upright
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def decode(data: bytes, *, background: str = "white") -> Image.Image:
    """The first frame of an encoded picture: RGB, 8 bits, upright, opaque.

    What cannot be decoded is a DataError that says in a few words why.
    """
    return develop(identify(data), background)


def identify(data: bytes) -> Image.Image:
    """The picture's format, mode and size; its pixels are not decoded yet."""
    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError as error:
        raise DataError("not an image" if data else "an empty file") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise DataError(BOMB) from error
    except Exception as error:  # whatever a parser raises on damaged files costs this picture
        raise DataError(f"damaged: {reason(error)}") from error
    num_pixels = image.width * image.height
    if num_pixels > MAX_PIXELS:
        raise DataError(BOMB)
    slow = {tile[0] for tile in image.tile} & Image.DECODERS.keys()
    if slow & ENDLESS or (slow and (num_pixels > MAX_SLOW_PIXELS or len(data) > MAX_SLOW_BYTES)):
        raise DataError(f"a form of {image.format} that decodes slowly, and too much of it: save it as PNG")
    return image


@contextmanager
def decoding(width: int, height: int) -> Iterator[None]:
    """Decode a picture of that size, when there is room for it; whatever goes wrong costs this picture."""
    with _ROOM.taken(width * height):
        try:
            yield
        except Exception as error:
            raise DataError(f"damaged: {reason(error)}") from error


class Room:
    """Room for so many pixels, shared by all threads: who finds too little of it waits."""

    def __init__(self, num_pixels: int) -> None:
        self._all = self._free = num_pixels
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, num_pixels: int) -> Iterator[None]:
        """Take some of it for the block, or all of it for a picture that is larger."""
        num_pixels = min(num_pixels, self._all)
        with self._changed:
            self._changed.wait_for(lambda: num_pixels <= self._free)
            self._free -= num_pixels
        try:
            yield
        finally:
            with self._changed:
                self._free += num_pixels
                self._changed.notify_all()


_ROOM = Room(MAX_PIXELS)  # a picture in the making takes up to 20 bytes a pixel


def develop(image: Image.Image, background: str) -> Image.Image:
    """The pixels of what ``identify`` found, as ``decode`` returns them."""
    with decoding(*image.size):
        return upright(image, background)


def upright(image: Image.Image, background: str) -> Image.Image:
    """The picture as ``decode`` returns it; for a block of ``decoding``."""
    image.load()
    picture = _opaque(_eight_bits(_turned(image, _orientation(image))), background)
    picture.info = {}  # its orientation above all, by which it would be turned once more
    return picture


def upright_jpeg(image: Image.Image, data: bytes, size: int) -> Image.Image:
    """A colour or grey JPEG at the smallest scale that keeps both sides at ``size`` or above, fast.

    Scaling happens in the frequency domain, so pixels differ a little from those of ``upright``.
    """
    import simplejpeg

    pixels = simplejpeg.decode_jpeg(data, "RGB", min_height=size, min_width=size)
    return _turned(Image.fromarray(pixels), _orientation(image))


def square(image: Image.Image, size: int) -> Image.Image:
    """The centre of a picture as ``size``×``size``: its shorter side resized to that, the longer one cropped.

    Both at once, antialiased: only pixels that are kept are computed, and the centre is not rounded.
    """
    return ImageOps.fit(image, (size, size), Image.Resampling.LANCZOS)


def to_tensor(pixels: Pixels8) -> "Tensor":
    """(B, H, W, 3) uint8 to (B, 3, H, W) float32 in [0, 1]."""
    import torch
    from einops import rearrange

    levels = rearrange(torch.from_numpy(pixels), "B H W C -> B C H W")
    return levels.to(torch.float32, memory_format=torch.contiguous_format).div_(255)


def to_levels(images: "Tensor") -> "Tensor":
    """[0, 1] to the 256 levels that a file holds, uint8; what lies outside the range is clipped."""
    return images.detach().float().clamp(0, 1).mul(255).round().byte()


def to_pictures(images: "Tensor") -> list[Image.Image]:
    """(B, 3, H, W) in [0, 1] to B pictures; what lies outside the range is clipped."""
    return [Image.fromarray(pixels) for pixels in to_pixels(images)]


def to_pixels(images: "Tensor") -> Pixels8:
    """(B, 3, H, W) in [0, 1] to (B, H, W, 3) uint8: ``to_tensor`` backwards."""
    from einops import rearrange

    pixels: Pixels8 = rearrange(to_levels(images), "B C H W -> B H W C").cpu().numpy()
    return pixels


def contact_sheet(pictures: Sequence[Image.Image], columns: int, gap: int = 2) -> Image.Image:
    """Arrange images of one size in a grid, row by row, ``gap`` white pixels apart."""
    width, height = pictures[0].size
    columns = min(columns, len(pictures))
    rows = -(-len(pictures) // columns)
    sheet = Image.new("RGB", (columns * (width + gap) - gap, rows * (height + gap) - gap), "white")
    for place, picture in enumerate(pictures):
        row, column = divmod(place, columns)
        sheet.paste(picture, (column * (width + gap), row * (height + gap)))
    return inscribed(sheet, drawn) if (drawn := of_sheet(pictures)) else sheet


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:
        return 1  # a picture whose metadata are broken is still a picture


def _turned(image: Image.Image, orientation: int) -> Image.Image:
    return image.transpose(UPRIGHT[orientation]) if orientation in UPRIGHT else image


def _eight_bits(image: Image.Image) -> Image.Image:
    """``image`` with wide greyscale scaled to 8 bits, which Pillow's own conversion would clip."""
    if not image.mode.startswith(("I", "F")):
        return image
    values = np.nan_to_num(np.asarray(image, np.float32))
    if image.mode.startswith("I;16"):
        white = 65535.0
    else:  # no standard says what white is: the smallest of the usual levels that holds all pixels
        brightest = float(values.max())
        white = next((level for level in (1.0, 255.0, 65535.0) if brightest <= level), brightest)
    return Image.fromarray((values * (255 / white)).round().clip(0, 255).astype(np.uint8))


def _opaque(image: Image.Image, background: str) -> Image.Image:
    if not image.has_transparency_data:
        return image.convert("RGB")
    image = image.convert("RGBA")
    below = Image.new("RGB", image.size, background)
    below.paste(image, mask=image.getchannel("A"))
    return below
