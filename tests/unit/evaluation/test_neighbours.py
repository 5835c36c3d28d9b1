"""Neighbours are found whatever the distance, and copies are told from new pictures."""

import numpy as np
import pytest
import torch
from PIL import Image, ImageFilter

from unmask.codec.perceptual import Perceptual
from unmask.data.config import ImagesConfig
from unmask.data.pixels import PixelSet, open_pixels
from unmask.data.sources import open_source
from unmask.errors import DataError
from unmask.evaluation.neighbours import (
    Neighbourhood,
    blur_caution,
    memorisation,
    nearest_pictures,
    sharpness,
)


@pytest.fixture(scope="module")
def emoji():
    return open_pixels(open_source("emoji-3d"), ImagesConfig(size=16, validation=0.05))


@pytest.fixture
def few(emoji, tmp_path):
    """Every hundredth of the emoji."""
    train = emoji.split("train")
    np.save(tmp_path / "few.npy", train.read(range(0, len(train), 100)))
    source = open_source(str(tmp_path / "few.npy"))
    return open_pixels(source, ImagesConfig(size=16, validation=0)).split("train")


@pytest.mark.parametrize("by", ["pixels", "inception", "lpips"])
def test_a_picture_of_the_set_is_its_own_nearest(few, fetched, by):
    fetched("inception"), fetched("lpips-alex")
    pictures = [Image.fromarray(picture) for picture in few.read([3, 8])]
    found = nearest_pictures(pictures, few, count=4, by=by)
    assert [neighbours[0].index for neighbours in found] == [3, 8]
    for neighbours in found:
        assert neighbours[0].distance == pytest.approx(0, abs=1e-3)
        assert [one.distance for one in neighbours] == sorted(one.distance for one in neighbours)
        assert [one.name for one in neighbours] == [f"[{one.index}]" for one in neighbours]


def test_pixel_distances_are_root_mean_squares(few):
    pixels = few.read(range(len(few))) / 255
    wanted = np.sqrt(((pixels[5] - pixels) ** 2).mean((1, 2, 3)))
    (found,) = nearest_pictures([Image.fromarray(few.read([5])[0])], few, count=3, by="pixels")
    assert [one.distance for one in found] == pytest.approx(sorted(wanted)[:3])
    assert [one.index for one in found] == np.argsort(wanted)[:3].tolist()


def test_lpips_neighbours_are_those_of_one_pair_at_a_time(few, fetched):
    network = Perceptual("alex")
    network.load_state_dict(fetched("lpips-alex"))
    images = torch.from_numpy(few.read(range(len(few)))).permute(0, 3, 1, 2) / 255
    images = torch.nn.functional.interpolate(images, (64, 64), mode="bilinear", antialias=True)
    wanted = torch.cat([network(images[7:8], image[None]) for image in images])
    (found,) = nearest_pictures([Image.fromarray(few.read([7])[0])], few, count=5)
    assert [one.distance for one in found] == pytest.approx(
        wanted.sort().values[:5].tolist(), rel=1e-2, abs=1e-6
    )
    assert [one.index for one in found] == wanted.argsort()[:5].tolist()


def test_pictures_of_mixed_sizes_are_cut_to_squares(few):
    wide = Image.fromarray(few.read([5])[0]).resize((48, 16))
    small = Image.fromarray(few.read([6])[0]).convert("L")
    assert len(nearest_pictures([wide, small], few, count=1, by="pixels")) == 2


def test_what_is_transparent_is_white_as_in_every_set(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    white = np.full((1, 16, 16, 3), 255, np.uint8)
    pixels = PixelSet(["white"], np.arange(1), lambda rows: white[rows], ["white"])
    clear = Image.new("RGBA", (16, 16), (0, 0, 0, 0))
    assert nearest_pictures([clear], pixels, count=1, by="pixels")[0][0].distance == 0


def test_copies_are_found_out_and_held_out_pictures_are_not(emoji):
    train, validation = emoji.split("train"), emoji.split("validation")
    place = Neighbourhood(train, "pixels")
    held_out = place.distances_of(validation)
    halves = held_out[::2], held_out[1::2]
    fair = memorisation(*halves)
    assert abs(fair.nearer - 0.5) < 4 * fair.standard_error
    noisy_copies = place.search(train.read(range(0, 800, 10)) ^ 1, 1)[0][:, 0]
    copied = memorisation(noisy_copies, held_out)
    assert copied.nearer > 0.95
    assert copied.nearer - 0.5 > 8 * copied.standard_error
    assert copied.sample_median < copied.validation_median


def test_equal_distances_are_no_sign_of_memorisation():
    ones = torch.ones(10)
    assert memorisation(ones, ones)[:1] == (0.5,)
    assert memorisation(torch.zeros(10), ones).closest == 10


def test_mistakes_are_one_sentence_each(few, emoji):
    with pytest.raises(DataError, match="have no 9999 nearest"):
        Neighbourhood(few, "pixels").search(few.read([0]), 9999)
    with pytest.raises(DataError, match=r"1 samples .* too few"):
        memorisation(torch.ones(1), torch.ones(5))
    with pytest.raises(DataError, match="no images whose neighbours"):
        nearest_pictures([], few, by="pixels")


def test_blur_that_passes_for_copies_by_pixels_is_cautioned_of(emoji):
    """Pictures that nobody copied, blurred, are nearer to the training pictures than sharp ones."""
    train, validation = emoji.split("train"), emoji.split("validation")
    sharp = validation.read(range(0, len(validation), 2))
    blurred = np.stack(
        [np.asarray(Image.fromarray(one).filter(ImageFilter.GaussianBlur(3))) for one in sharp]
    )
    place = Neighbourhood(train, "pixels")
    others = validation.read(range(1, len(validation), 2))
    usual = place.search(others, 1)[0][:, 0]
    test = memorisation(place.search(blurred, 1)[0][:, 0], usual)
    assert test.nearer > 0.5 + 2 * test.standard_error
    assert sharpness(blurred) < 0.5 * sharpness(others)
    assert "near to everything" in blur_caution(test, "pixels", blurred, others)
    assert blur_caution(test, "lpips", blurred, others) is None
    assert blur_caution(test, "pixels", others, others) is None  # sharp and near: these would be copies
    unblurred = memorisation(place.search(sharp, 1)[0][:, 0], usual)
    assert blur_caution(unblurred, "pixels", blurred, others) is None
