import numpy as np
import pytest

from tests.untrained import SMALL_CODEC
from unmask.codec.autoencoder import Autoencoder
from unmask.data.config import ImagesConfig
from unmask.data.pixels import open_pixels
from unmask.data.sources import open_source
from unmask.errors import DataError
from unmask.evaluation.clusters import captions_of
from unmask.rng import generator


@pytest.fixture
def pixels(tmp_path, monkeypatch):
    """Twelve dark and twelve bright pictures, in turn."""
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))  # where no Inception was fetched
    noise = np.random.default_rng(0).integers(0, 40, (24, 16, 16, 3))
    np.save(tmp_path / "set.npy", (noise + 200 * (np.arange(24) % 2)[:, None, None, None]).astype(np.uint8))
    (tmp_path / "set.txt").write_text("bright\n" * 24)
    source = open_source(str(tmp_path / "set.npy"))
    return open_pixels(source, ImagesConfig(size=16, validation=0.25, captions="auto"), tmp_path / "cache")


@pytest.fixture
def codec():
    return Autoencoder(SMALL_CODEC, generator(0)).eval()


def test_groups_are_of_similar_pictures_on_both_sides_of_the_split(pixels, codec):
    captions = captions_of(pixels, "clusters:2", codec, "abc")
    names = pixels.split("train").names + pixels.split("validation").names
    bright = [int(name.strip("[]")) % 2 for name in names]
    assert len(pixels.split("validation")) > 0
    assert {*zip(captions, bright, strict=True)} in (
        {("cluster0", 0), ("cluster1", 1)},
        {("cluster1", 0), ("cluster0", 1)},
    )
    assert captions == captions_of(pixels, "clusters:2", codec, "abc")


def test_without_groups_pictures_keep_their_own(pixels, codec):
    assert captions_of(pixels, "auto", codec, "abc") == ["bright"] * 24


def test_more_groups_than_pictures_are_refused(pixels, codec):
    with pytest.raises(DataError, match="make no 24 groups"):
        captions_of(pixels, "clusters:24", codec, "abc")
