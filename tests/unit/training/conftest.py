"""Pictures and settings small enough to train on in a second."""

import numpy as np
import pytest

from unmask.data.config import ImagesConfig
from unmask.data.pixels import open_pixels
from unmask.data.sources import open_source


@pytest.fixture
def pictures(tmp_path):
    """A file of 24 pictures of 16×16 pixels: smooth colours, each its own."""
    y, x = np.mgrid[0:16, 0:16] / 15
    waves = [np.stack([np.sin(i + x * 3), np.cos(i * 2 + y * 3), x * y], -1) for i in range(24)]
    path = tmp_path / "pictures.npy"
    np.save(path, (np.stack(waves) * 127 + 128).clip(0, 255).astype(np.uint8))
    return str(path)


@pytest.fixture
def pixels(pictures, tmp_path):
    return open_pixels(open_source(pictures), ImagesConfig(size=16, validation=0.2), tmp_path / "cache")
