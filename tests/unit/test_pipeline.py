import doctest

import numpy as np
import pytest
from PIL import Image

import unmask
from unmask import pipeline
from unmask.errors import ConfigError
from unmask.images.config import ImagesConfig
from unmask.images.pixels import open_pixels
from unmask.images.sources import open_source


def test_the_examples_in_the_docstring_run():
    outcome = doctest.testmod(pipeline, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 5
    assert outcome.failed == 0


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_what_was_held_out_in_training_stays_held_out(tmp_path, share):
    rng = np.random.default_rng(0)
    for number in range(40):
        pixels = rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
    model = unmask.load("emoji", "cpu")
    model.about["prior_training"]["images"]["validation"] = share
    trained_with = open_pixels(open_source(str(tmp_path)), ImagesConfig(size=64, validation=share))
    assert model.open(str(tmp_path), "validation").names == trained_with.split("validation").names
    assert model.open(str(tmp_path), "train").names == trained_with.split("train").names


@pytest.mark.parametrize("wrong", [{"draws": 0}, {"steps": 0}, {"steps": -1}], ids=str)
def test_a_score_of_no_draws_or_no_steps_is_refused(wrong):
    with pytest.raises(ConfigError, match="1 of each is the least"):
        unmask.load("emoji", "cpu").score([Image.new("RGB", (64, 64))], **wrong)
