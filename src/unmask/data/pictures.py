"""Images as a user has them: in files or in memory, one or several."""

import io
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, Union

import numpy as np
import numpy.typing as npt
from PIL import Image

from unmask.data.base import MAX_FILE_BYTES
from unmask.data.provenance import chunks_of
from unmask.data.transforms import Pixels8, decode, develop, square
from unmask.errors import DataError
from unmask.reading import DamagedError, read_bytes

if TYPE_CHECKING:
    from torch import Tensor

Values = Union[npt.NDArray[Any], "Tensor"]  # a name in quotes takes no |
"""Pixels: bytes, or numbers from 0 to 1; (H, W), (H, W, C) or (C, H, W), and (B, …) of several images."""
Picture = Image.Image | str | Path | Values
"""An image, or the file that it is in."""
Pictures = Picture | Iterable[Picture]
CHANNELS = (1, 3, 4)


def each_picture(pictures: Pictures) -> Iterator[Picture]:
    """The images one by one, be it a single one, a sequence, or an array of several."""
    if isinstance(pictures, Image.Image | str | Path) or (_is_values(pictures) and pictures.ndim <= 3):
        yield pictures
    elif isinstance(pictures, Iterable):
        yield from pictures
    else:
        raise _no_picture(pictures)


def open_picture(picture: Picture, background: str = "white") -> Image.Image:
    """The image, upright and opaque."""
    if _is_values(picture):
        picture = _from_values(picture)
    if isinstance(picture, Image.Image):
        return develop(picture, background)
    if not isinstance(picture, str | Path):
        raise _no_picture(picture)
    path = Path(picture)
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise DataError("too large for an image")
        return decode(read_bytes(path, MAX_FILE_BYTES), background=background)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except (DataError, DamagedError) as error:
        raise DataError(f"{path}: {error}") from error


def squares_of(pictures: Pictures, size: int, background: str = "white", batch: int = 1) -> Iterator[Pixels8]:
    """(B, S, S, 3) pixels of the centres of images, so many at a time."""
    remaining = each_picture(pictures)
    while some := [open_picture(picture, background) for picture in islice(remaining, batch)]:
        yield np.stack([np.asarray(square(picture, size)) for picture in some])


def _no_picture(thing: object) -> DataError:
    wanted = "a PIL image, the name of a file, an array or a tensor"
    return DataError(f"a {type(thing).__name__} is no image; wanted {wanted}")


def _from_values(values: Values) -> Image.Image:
    array: npt.NDArray[Any] = values if isinstance(values, np.ndarray) else _as_array(values)
    if array.ndim == 3 and array.shape[2] not in CHANNELS:
        array = np.moveaxis(array, 0, 2)
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in CHANNELS) or not array.size:
        raise DataError(
            f"an array of shape {tuple(values.shape)} is no image; wanted (H, W), (H, W, C) or (C, H, W)"
        )
    if array.dtype.kind in "fb" and 0 <= array.min() <= array.max() <= 1:
        array = array * np.float64(255)
    elif array.dtype.kind not in "iu" or not 0 <= array.min() <= array.max() <= 255:
        found = f"{array.dtype} from {array.min():.3g} to {array.max():.3g}"
        raise DataError(f"an array of {found} is no image; wanted bytes, or numbers from 0 to 1")
    return Image.fromarray(np.round(array).astype(np.uint8).squeeze(2 if array.shape[2:] == (1,) else ()))


def _is_values(picture: object) -> TypeGuard[Values]:
    """Whether it is an array or a tensor, of which there are none before torch is there."""
    torch = sys.modules.get("torch")
    return isinstance(picture, np.ndarray) or (torch is not None and isinstance(picture, torch.Tensor))


def _as_array(values: "Tensor") -> npt.NDArray[Any]:
    plain = values.detach().cpu()
    array: npt.NDArray[Any] = (plain.float() if plain.is_floating_point() else plain).numpy()
    return array


def encoded(picture: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    """The bytes of a file with the image, and in a PNG how it was drawn; options are those of Pillow."""
    file = io.BytesIO()
    options = {"pnginfo": chunks_of(picture)} | options if kind == "PNG" else options
    picture.save(file, kind, **options)
    return file.getvalue()
