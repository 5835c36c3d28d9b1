"""Small pictures, and what to put them in."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

Encode = Callable[..., bytes]


@pytest.fixture
def encode() -> Encode:
    """The bytes of a picture in some format."""

    def encode(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
        file = io.BytesIO()
        image.save(file, kind, **options)
        return file.getvalue()

    return encode


@pytest.fixture
def noise() -> Callable[..., Image.Image]:
    """A picture like no other: random pixels from a number."""

    def noise(number: int = 0, width: int = 16, height: int = 16) -> Image.Image:
        pixels = np.random.default_rng(number).integers(0, 256, (height, width, 3), dtype=np.uint8)
        return Image.fromarray(pixels)

    return noise


@pytest.fixture
def folder(tmp_path: Path, noise: Callable[..., Image.Image]) -> Path:
    """Twelve different pictures, 00.png to 11.png."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(12):
        noise(number).save(folder / f"{number:02}.png")
    return folder
