import subprocess
import sys

import pytest

from unmask.data.config import ImagesConfig
from unmask.errors import ConfigError


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": 0},
        {"validation": 1.0},
        {"validation": -0.1},
        {"min_side": 0},
        {"workers": -1},
        {"background": "whit"},
        {"background": "#ff880080"},
    ],
)
def test_a_setting_out_of_range_is_an_error_that_names_it(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong)).replace("_", "-")):
        ImagesConfig(**wrong)


def test_nothing_held_out_and_a_colour_by_number_are_allowed():
    assert ImagesConfig(validation=0, background="#102030").validation == 0


@pytest.mark.parametrize("other", [{"crops": 2}, {"scale": (1, 4)}, {"caption_words": 4}, {"workers": 3}])
def test_codes_do_not_depend_on_settings_without_effect(other):
    assert ImagesConfig(**other).of_codes == ImagesConfig().of_codes
    used = {"crop": "random", "captions": "folder"}
    differs = ImagesConfig(**used, **other).of_codes != ImagesConfig(**used).of_codes
    assert differs == ("workers" not in other)


def test_settings_do_not_wait_for_torch():
    code = "import sys, unmask.data.config; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
