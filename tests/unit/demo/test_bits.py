"""Pictures broken on purpose: each in its own way, and each time the same."""

import numpy as np
import pytest
from PIL import Image

from unmask.demo.bits import CHANGES, mirrored, noise, shuffled, upside_down
from unmask.rng import generator


@pytest.fixture
def picture():
    return Image.fromarray(np.arange(16 * 16 * 3, dtype=np.uint16).reshape(16, 16, 3).astype(np.uint8))


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_depends_on_the_generator_alone(name, picture):
    first, again = (np.asarray(CHANGES[name](picture, generator(0, name))) for _ in range(2))
    assert np.array_equal(first, again)
    assert first.shape == (16, 16, 3)
    assert np.array_equal(first, np.asarray(picture)) == (name == "held-out")


def test_pictures_are_turned_about_the_right_axis(picture, rng):
    pixels = np.asarray(picture)
    assert np.array_equal(np.asarray(mirrored(picture, rng)), pixels[:, ::-1])
    assert np.array_equal(np.asarray(upside_down(picture, rng)), pixels[::-1])


def test_shuffling_keeps_every_square_whole(picture, rng):
    def squares(pixels):
        return {pixels[y : y + 4, x : x + 4].tobytes() for y in range(0, 16, 4) for x in range(0, 16, 4)}

    assert squares(np.asarray(shuffled(picture, rng))) == squares(np.asarray(picture))


def test_noise_knows_nothing_of_the_picture(picture):
    other = Image.new("RGB", picture.size)
    assert np.array_equal(*(np.asarray(noise(one, generator(0, "noise"))) for one in (picture, other)))
