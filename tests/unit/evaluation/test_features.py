"""Features are computed once, go on where they were stopped, and never belong to other pictures."""

import itertools

import numpy as np
import pytest
import torch
from einops import rearrange

from unmask.codec.perceptual import Perceptual
from unmask.data.config import ImagesConfig
from unmask.data.pixels import open_pixels
from unmask.data.sources import open_source
from unmask.errors import DataError, WeightsError
from unmask.evaluation.distances import nearest
from unmask.evaluation.features import (
    Extractor,
    features_of,
    inception_features,
    lpips_features,
    pixel_features,
)
from unmask.storage.files import cache_folder

CPU = torch.device("cpu")


@pytest.fixture
def pixels(tmp_path, monkeypatch, rng):
    """Forty pictures of noise, and an empty cache folder."""
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    return pixels_of(torch.randint(0, 256, (40, 8, 8, 3), generator=rng), tmp_path)


def pixels_of(pictures, folder):
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, pictures.byte().numpy())
    config = ImagesConfig(size=pictures.shape[1], validation=0)
    return open_pixels(open_source(str(path)), config).split("train")


class Counting:
    """An extractor that knows how many pictures it was shown, and fails after some."""

    def __init__(self, patience=10**9):
        self.seen, self.patience = 0, patience

    def __call__(self, images):
        self.seen += len(images)
        if self.seen > self.patience:
            raise KeyboardInterrupt
        return images.float().mean((2, 3))


def test_a_set_is_looked_at_once(pixels):
    counting = Counting()
    first = features_of(pixels, Extractor("mean", counting), batch=7)
    assert counting.seen == 1 + 40  # one tells how many features there are
    assert torch.equal(features_of(pixels, Extractor("mean", counting)), first)
    assert counting.seen == 41 + 1
    wanted = torch.from_numpy(pixels.read(range(40))).float().mean((1, 2))
    torch.testing.assert_close(first, wanted)


def test_what_was_stopped_goes_on(pixels):
    with pytest.raises(KeyboardInterrupt):
        features_of(pixels, Extractor("mean", Counting(patience=25)), batch=7)
    (partial,) = cache_folder().glob(".*.features.partial/features.npy")
    with partial.open("ab") as file:
        file.write(b"half")  # of a number
    counting = Counting()
    features = features_of(pixels, Extractor("mean", counting), batch=7)
    assert counting.seen == 1 + 40 - 21
    torch.testing.assert_close(features, torch.from_numpy(pixels.read(range(40))).float().mean((1, 2)))


def test_what_is_damaged_is_computed_again(pixels):
    whole = features_of(pixels, Extractor("mean", Counting())).clone()
    (folder,) = cache_folder().glob("*.features")
    for name in ("features.npy", "index.jsonl"):
        data = (folder / name).read_bytes()
        for damaged in (None, b"", data[:100], data[:-1], data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]):
            (folder / name).unlink()
            if damaged is not None:
                (folder / name).write_bytes(damaged)
            assert torch.equal(features_of(pixels, Extractor("mean", Counting())), whole)


def test_other_pictures_and_other_extractors_have_features_of_their_own(pixels, tmp_path):
    counting = Counting()
    features_of(pixels, Extractor("mean", counting))
    features_of(pixels, Extractor("another", counting))
    features_of(pixels_of(torch.zeros(40, 8, 8, 3), tmp_path), Extractor("mean", counting))
    assert counting.seen == 3 * 41


def test_a_folder_that_cannot_hold_features_is_one_sentence(pixels, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match="cannot hold features: File exists"):
        features_of(pixels, pixel_features())


def test_lpips_features_are_as_far_apart_as_lpips_says(fetched, photographs):
    """The squared distance is LPIPS; half precision costs it a thousandth."""
    network = Perceptual("alex")
    network.load_state_dict(fetched("lpips-alex"))
    crops = photographs[..., :64, 96:160]
    features = lpips_features(CPU).extract(crops)
    for i, j in itertools.combinations(range(4), 2):
        wanted = network(crops[i : i + 1] / 255, crops[j : j + 1] / 255).item()
        assert (features[i].double() - features[j].double()).square().sum() == pytest.approx(wanted, rel=2e-3)


def test_pictures_of_any_size_are_seen_by_lpips_at_64_pixels(fetched, photographs):
    fetched("lpips-alex")
    extractor = lpips_features(CPU)
    widths = {extractor.extract(photographs[..., :side, :side]).shape for side in (8, 64, 256)}
    assert len(widths) == 1


def test_every_extractor_finds_a_picture_among_others(fetched, photographs):
    fetched("inception"), fetched("lpips-alex")
    crops = rearrange(photographs, "n C (i H) (j W) -> (n i j) H W C", H=128, W=128).numpy()
    noisy = (crops[5:7] ^ 1).copy()
    for extractor in (pixel_features(), inception_features(CPU), lpips_features(CPU)):
        assert nearest(extractor(noisy), extractor(crops), 1).indices.flatten().tolist() == [5, 6]


def test_without_weights_the_error_says_what_to_type(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    with pytest.raises(WeightsError, match="unmask weights get lpips-alex"):
        lpips_features(CPU)
