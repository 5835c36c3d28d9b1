import numpy as np
import pytest

from unmask.data.config import ImagesConfig
from unmask.data.views import any_view, every_view, mirror, move, num_views
from unmask.errors import ConfigError

PICTURE = np.arange(5 * 6 * 3, dtype=np.uint8).reshape(5, 6, 3)


@pytest.mark.parametrize(("down", "right"), [(0, 0), (2, 0), (-2, 0), (0, 3), (0, -3), (1, -2)])
def test_a_moved_picture_is_a_window_of_the_one_with_longer_edges(down, right):
    longer = np.pad(PICTURE, ((4, 4), (4, 4), (0, 0)), mode="edge")
    window = longer[4 - down : 9 - down, 4 - right : 10 - right]
    assert np.array_equal(move(PICTURE, down, right), window)


def test_a_mirrored_picture_has_its_columns_turned_round():
    assert np.array_equal(mirror(PICTURE)[:, 0], PICTURE[:, 5])
    assert np.array_equal(mirror(mirror(PICTURE)), PICTURE)


@pytest.mark.parametrize(
    ("flip", "shift", "count"), [(False, 0, 1), (True, 0, 2), (False, 1, 5), (True, 1, 10)]
)
def test_views_differ_begin_with_the_picture_and_are_counted(flip, shift, count):
    views = every_view(PICTURE, flip=flip, shift=shift)
    assert np.array_equal(views[0], PICTURE)
    assert len({view.tobytes() for view in views}) == count == num_views(flip=flip, shift=shift)


def test_views_of_a_batch_are_the_views_of_its_pictures():
    batch = np.stack([PICTURE, PICTURE[::-1]])
    for view, alone in zip(
        every_view(batch, flip=True, shift=2), every_view(batch[1], flip=True, shift=2), strict=True
    ):
        assert np.array_equal(view[1], alone)


class TestAnyView:
    @staticmethod
    def views(count=400, **settings):
        return [
            any_view(PICTURE, seed=0, position=position, **settings).tobytes() for position in range(count)
        ]

    def test_shows_every_shift_in_the_range_and_both_sides_and_nothing_else(self):
        moves = [move(PICTURE, down, right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
        expected = {view.tobytes() for moved in moves for view in (moved, mirror(moved))}
        assert set(self.views(flip=True, shift=1)) == expected

    def test_leaves_a_picture_alone_unless_told_otherwise(self):
        assert set(self.views(20, flip=False, shift=0)) == {PICTURE.tobytes()}

    def test_is_settled_by_seed_and_position(self):
        assert self.views(20, flip=True, shift=2) == self.views(20, flip=True, shift=2)


@pytest.mark.parametrize("shift", [-1, 8])
def test_a_shift_out_of_sight_is_refused(shift):
    with pytest.raises(ConfigError, match="shift"):
        ImagesConfig(size=8, shift=shift)
