"""What a training starts from: pictures of another size than the preset's."""

import pytest

from unmask.cli.settings import starting_point
from unmask.config import merge
from unmask.errors import ConfigError
from unmask.presets import CODEC, codec_preset, prior_preset
from unmask.training.resolve import resized, starting_settings


@pytest.mark.parametrize("preset", CODEC)
@pytest.mark.parametrize("times", [0.5, 1, 2, 4])
def test_pictures_of_another_size_have_as_many_codes(preset, times):
    before = codec_preset(preset)
    size = int(before.images.size * times)
    after = merge(before, resized(before, size))
    assert after.codec.grid(size) == before.codec.grid(before.images.size)
    assert after.codec.multipliers[-1] == before.codec.multipliers[-1]
    deepest = {max(one.codec.attention, default=0) / one.codec.factor for one in (before, after)}
    assert len(deepest) == 1


def test_larger_pictures_get_levels_of_few_channels():
    assert resized(codec_preset("emoji"), 128)["codec"]["multipliers"] == (1, 1, 2, 4)
    assert resized(codec_preset("churches"), 128)["codec"] == {"multipliers": (1, 2, 2, 4), "attention": (8,)}


@pytest.mark.parametrize("size", [100, 8, 96])
def test_a_size_that_does_not_divide_is_explained(size):
    with pytest.raises(
        ConfigError, match=r"into 16×16 codes(.|\n)*  --size \d+ or \d+; .*train codec .*multipliers"
    ):
        resized(codec_preset("emoji"), size)


def test_multipliers_of_ones_own_are_kept():
    changes = {"images": {"size": 100}, "codec": {"multipliers": [1, 2, 4]}}
    assert starting_settings("emoji", codec_preset, changes=changes).codec.grid(100) == 25
    argv = ["photos", "--images.size", "100", "--codec.multipliers", "1", "2", "4"]
    assert starting_point(argv, codec_preset, "codec").settings == codec_preset("emoji")


def test_the_command_line_says_the_size():
    settings = starting_point(["photos", "--size", "128"], codec_preset, "codec").settings
    assert (settings.images.size, settings.codec.factor) == (128, 8)


def test_a_prior_to_start_from_settles_settings_that_are_younger_than_it():
    settings = starting_settings("small", prior_preset, changes={}, init="emoji")
    assert prior_preset("small").prior.merge == 2
    assert settings.prior.merge == 1
