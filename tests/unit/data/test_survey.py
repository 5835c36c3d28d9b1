import numpy as np

from unmask.data.config import ImagesConfig
from unmask.data.pixels import open_pixels
from unmask.data.prepare import Prepared, Unusable
from unmask.data.sources import open_source
from unmask.data.survey import SAMPLE, Survey, survey


def picture(number: int) -> Prepared:
    pixels = np.array([[[number >> 16, number >> 8 & 255, number & 255]]], np.uint8)
    return Prepared(str(number), "group", str(number), "PNG", "RGB", (16, 16), pixels)


def test_everything_is_counted(folder):
    (folder / "copy.png").write_bytes((folder / "00.png").read_bytes())
    (folder / "text.png").write_text("Dear diary")
    heard = []
    found = survey(open_source(str(folder)), ImagesConfig(size=8), lambda *state: heard.append(state))
    assert found.sizes == [(16, 16)] * 13
    assert found.formats == {"PNG": 13}
    assert found.modes == {"RGB": 13}
    assert found.num_copies == 1
    assert found.unusable == [Unusable("text.png", "not an image")]
    assert heard == [(done, 14) for done in range(1, 15)]


def shown(count: int) -> list[int]:
    """The numbers of the pictures that are shown of a set of ``count``."""
    found = Survey()
    for number in range(count):
        found.add(picture(number))
    assert len(found.sample) < 2 * SAMPLE  # whatever the size of the set
    return [int(pixels[0, 0] @ [65536, 256, 1]) for pixels in found.shown()]


def test_a_small_set_is_shown_whole():
    assert shown(SAMPLE) == list(range(SAMPLE))


def test_of_a_large_set_an_even_sample_is_shown():
    numbers = shown(10_000)
    assert len(numbers) == SAMPLE
    steps = np.diff([*numbers, 10_000])
    assert numbers[0] == 0
    assert steps.max() <= 3 * steps.min()


def test_a_random_crop_is_shown_as_validation_sees_it(folder, tmp_path):
    config, source = ImagesConfig(size=8, crop="random", scale=(1.0, 2.0)), open_source(str(folder))
    found = survey(source, config, lambda *state: None)
    seen = open_pixels(source, config, tmp_path / "cache").whole()
    assert np.array_equal(np.stack(found.sample), seen.read(range(len(seen))))
