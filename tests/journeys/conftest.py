"""The real command line, as a user types it."""

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def pictures(tmp_path: Path) -> str:
    """A file of 40 small pictures, each a coloured disc of its own."""
    y, x = np.mgrid[0:16, 0:16]
    draws = np.random.default_rng(0)
    sheet = np.full((40, 16, 16, 3), 255, np.uint8)
    for picture in sheet:
        centre_y, centre_x, radius = draws.uniform(5, 10), draws.uniform(5, 10), draws.uniform(3, 6)
        picture[np.hypot(y - centre_y, x - centre_x) < radius] = draws.integers(0, 200, 3)
    path = tmp_path / "discs.npy"
    np.save(path, sheet)
    return str(path)
