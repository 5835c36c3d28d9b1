import numpy as np
import pytest

from unmask.data.config import ImagesConfig
from unmask.data.crops import Crop
from unmask.errors import ConfigError


class TestCrop:
    @staticmethod
    def ramps(edge=60):
        """A picture that says in red where a column is, and in green where a row is."""
        place = np.arange(edge, dtype=np.uint8) * 4
        return np.stack(np.broadcast_arrays(place[None], place[:, None], np.uint8(0)), axis=-1)

    def seen(self, crop, count=500):
        """Of many crops: left, top and edge, as shares of the picture."""
        crops = np.stack([crop(self.ramps(), number) for number in range(count)]).astype(float) / 240
        across, down = crops[:, 0, :, 0], crops[:, :, 0, 1]
        step = (across[:, -2] - across[:, 1]) / (crop.size - 3)  # the filter bends the outermost pixels
        return across[:, 1] - 1.5 * step, down[:, 1] - 1.5 * step, step * crop.size

    def test_scales_fill_their_range_evenly_on_a_logarithmic_axis(self):
        *_, edge = self.seen(Crop(20, (1.5, 3.0)))
        scales = np.sort(1 / edge)
        assert 1.45 < scales[0] < 1.55
        assert 2.85 < scales[-1] < 3.15
        assert abs(np.median(scales) - (1.5 * 3) ** 0.5) < 0.12  # 4 standard errors

    def test_places_fill_what_a_crop_leaves_and_do_not_go_together(self):
        left, top, edge = self.seen(Crop(20, (2.0, 2.0)))
        assert np.allclose(edge, 0.5, atol=0.02)
        for place in (left, top):
            assert place.min() > -0.04
            assert place.max() < 0.54
            assert abs(place.mean() - 0.25) < 4 * 0.5 / (12 * 500) ** 0.5
        assert abs(np.corrcoef(left, top)[0, 1]) < 4 / 500**0.5

    def test_at_scale_one_there_is_only_the_whole(self):
        assert np.array_equal(Crop(60, (1.0, 1.0))(self.ramps(), 3), self.ramps())

    def test_its_address_settles_it(self):
        crop, picture = Crop(20, (1.0, 3.0)), self.ramps()
        assert np.array_equal(crop(picture, "a", 1), crop(picture, "a", 1))
        assert not np.array_equal(crop(picture, "a", 1), crop(picture, "a", 2))
        assert not np.array_equal(crop(picture, "a", 1), crop(picture, "b", 1))


@pytest.mark.parametrize("scale", [(0.5, 1.0), (2.0, 1.0), (1.0, float("inf")), (float("nan"), 2.0)])
def test_scales_that_are_no_range_are_refused(scale):
    with pytest.raises(ConfigError, match="scale"):
        ImagesConfig(size=8, crop="random", scale=scale)


def test_no_crops_at_all_are_refused():
    with pytest.raises(ConfigError, match="crops"):
        ImagesConfig(size=8, crop="random", crops=0)
