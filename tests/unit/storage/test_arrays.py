import numpy as np
import pytest

from unmask.storage.arrays import grow_array

ROWS = np.arange(24, dtype="<u2").reshape(6, 2, 2)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.npy"


def grow(path, rows, dtype="<u2", stop=False):
    """Append rows, and say how many there were before."""
    with grow_array(path, (2, 2), np.dtype(dtype)) as array:
        before = len(array)
        array.append(rows.astype(dtype))
        if stop:
            raise KeyboardInterrupt
        return before


def cut_off(path, rows):
    with pytest.raises(KeyboardInterrupt):
        grow(path, rows, stop=True)


def test_what_was_appended_is_an_ordinary_array(path):
    with grow_array(path, (2, 2), np.dtype("<u2")) as array:
        array.append(ROWS[:1])
        array.append(ROWS[1:])
    assert np.array_equal(np.load(path, mmap_mode="r", allow_pickle=False), ROWS)


def test_no_rows_are_an_array_too(path):
    with grow_array(path, (2, 2), np.dtype("<u2")):
        pass
    assert np.load(path).shape == (0, 2, 2)


@pytest.mark.parametrize("left", [b"", b"half"])
def test_what_was_cut_off_goes_on_from_its_last_whole_row(path, left):
    cut_off(path, ROWS[:2])
    with path.open("ab") as file:
        file.write(left)
    assert grow(path, ROWS[2:]) == 2
    assert np.array_equal(np.load(path), ROWS)


@pytest.mark.parametrize("length", [0, 1, 50])
def test_a_file_cut_off_within_its_header_begins_anew(path, length):
    cut_off(path, ROWS[:2])
    path.write_bytes(path.read_bytes()[:length])
    assert grow(path, ROWS) == 0
    assert np.array_equal(np.load(path), ROWS)


def test_an_array_that_was_finished_is_whole(path):
    grow(path, ROWS[:4])
    assert grow(path, ROWS[4:]) == 4
    assert np.array_equal(np.load(path), ROWS)


def test_rows_of_another_kind_are_not_gone_on_with(path):
    grow(path, ROWS, dtype="<i4")
    assert grow(path, ROWS) == 0
    assert np.array_equal(np.load(path), ROWS)


def test_rows_can_be_read_and_cut_between_appending(path):
    with grow_array(path, (2, 2), np.dtype("<u2")) as array:
        array.append(ROWS[:4])
        assert array.read(1) == ROWS[1].tobytes()
        assert array.read(4) == b""
        array.cut(2)
        array.append(ROWS[2:])
    assert np.array_equal(np.load(path), ROWS)
