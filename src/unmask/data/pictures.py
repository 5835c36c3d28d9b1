"""One picture, as a user has it: in a file, or in memory."""

import io
from pathlib import Path
from typing import Any

from PIL import Image

from unmask.data.base import MAX_FILE_BYTES
from unmask.data.provenance import chunks_of
from unmask.data.transforms import decode, develop
from unmask.errors import DataError

Picture = Image.Image | str | Path
"""A picture, or the file that it is in."""


def open_picture(picture: Picture, background: str = "white") -> Image.Image:
    """The picture, upright and opaque."""
    if isinstance(picture, Image.Image):
        return develop(picture, background)
    path = Path(picture)
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise DataError("too large for a picture")
        return decode(path.read_bytes(), background=background)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def encoded(picture: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    """The bytes of a file with the picture, and in a PNG how it was drawn; options are those of Pillow."""
    file = io.BytesIO()
    options = {"pnginfo": chunks_of(picture)} | options if kind == "PNG" else options
    picture.save(file, kind, **options)
    return file.getvalue()
