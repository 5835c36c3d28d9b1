"""Pictures on their way in, of which nothing is believed, and out."""

import base64
import binascii

from PIL import Image

from unmask.data.pictures import encoded
from unmask.data.transforms import Room, develop, identify
from unmask.errors import DataError
from unmask.studio.limits import DECODED_PIXELS, MAX_UPLOAD_PIXELS

_ROOM = Room(DECODED_PIXELS)


def receive(text: str, *, background: str) -> Image.Image:
    """The picture in a request: upright, opaque, RGB. Its size is looked at before its pixels are decoded."""
    data = decoded(text)
    try:
        image = identify(data)
        if image.width * image.height > MAX_UPLOAD_PIXELS:
            size = f"{image.width}×{image.height} pixels"
            raise DataError(f"too large: {size}, and {MAX_UPLOAD_PIXELS:,} in all are the most")
        with _ROOM.taken(image.width * image.height):
            return develop(image, background)
    except DataError as error:
        raise DataError(f"the image cannot be used: {error}") from None


def decoded(text: str) -> bytes:
    """The bytes of a file in a request."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise DataError("the image is not base64") from None


def thumbnail(picture: Image.Image) -> bytes:
    """The picture as a WebP file made in little time, for a glance."""
    return encoded(picture, "WEBP", quality=80, method=0)
