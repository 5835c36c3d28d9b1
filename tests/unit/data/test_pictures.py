import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from unmask.data.pictures import each_picture, encoded, open_picture
from unmask.errors import DataError


def test_a_picture_is_the_same_from_a_file_a_name_or_memory(tmp_path):
    path = tmp_path / "a.png"
    image = Image.new("RGBA", (5, 3), (200, 0, 0, 128))
    image.save(path)
    opened = [open_picture(picture) for picture in (path, str(path), image)]
    assert {picture.mode for picture in opened} == {"RGB"}
    assert len({picture.tobytes() for picture in opened}) == 1


@pytest.mark.parametrize("contents", [None, b"", b"text"])
def test_what_is_no_picture_is_named(tmp_path, contents):
    path = tmp_path / "a.png"
    if contents is not None:
        path.write_bytes(contents)
    with pytest.raises(DataError, match=str(path)):
        open_picture(path)


@pytest.mark.parametrize(("kind", "options"), [("PNG", {}), ("WEBP", {"quality": 80})])
def test_an_encoded_picture_is_a_file_of_its_kind(kind, options):
    picture = Image.new("RGB", (5, 3), "orangered")
    with Image.open(io.BytesIO(encoded(picture, kind, **options))) as back:
        assert (back.format, back.size) == (kind, (5, 3))


PIXELS = np.random.default_rng(0).integers(0, 256, (6, 8, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    "picture",
    [
        PIXELS,
        PIXELS.astype(np.int64),
        PIXELS / 255,
        (PIXELS / 255).astype(np.float32),
        np.moveaxis(PIXELS, 2, 0),
        torch.from_numpy(PIXELS),
        torch.from_numpy(PIXELS).permute(2, 0, 1),
        torch.from_numpy(PIXELS).permute(2, 0, 1) / 255,
        (torch.from_numpy(PIXELS).permute(2, 0, 1) / 255).requires_grad_(),
    ],
)
def test_arrays_and_tensors_are_pictures(picture):
    assert np.array_equal(np.asarray(open_picture(picture)), PIXELS)


def test_one_channel_is_grey_and_a_fourth_is_opacity():
    grey = np.array([[0, 255], [51, 102]], np.uint8)
    for picture in (grey, grey[:, :, None], grey[None], grey / 255, grey > 60):
        levels = np.asarray(open_picture(picture))
        assert (levels == levels[:, :, :1]).all()
    clear = np.dstack([PIXELS, np.zeros((6, 8), np.uint8)])
    assert (np.asarray(open_picture(clear, "white")) == 255).all()


@pytest.mark.parametrize(
    ("thing", "sentence"),
    [
        (np.zeros((2, 5, 6, 3)), r"shape \(2, 5, 6, 3\) is no image; wanted \(H, W\), \(H, W, C\)"),
        (np.zeros((5, 6, 7)), "is no image"),
        (np.zeros((0, 4)), "is no image"),
        (PIXELS * 2.0, "float64 from .* is no image; wanted bytes, or numbers from 0 to 1"),
        (np.full((4, 4), np.nan), "is no image"),
        (-PIXELS.astype(int) - 1, "is no image"),
        (7, "a int is no image; wanted a PIL image, the name of a file"),
        (None, "a NoneType is no image"),
    ],
)
def test_what_is_no_picture_is_said_to_be_none(thing, sentence):
    with pytest.raises(DataError, match=sentence):
        open_picture(thing)


def test_one_picture_is_as_good_as_a_sequence():
    image = Image.fromarray(PIXELS)
    for one in (image, "a.png", Path("a.png"), PIXELS, torch.from_numpy(PIXELS)):
        assert len(list(each_picture(one))) == 1
    assert list(each_picture([image, "a.png"])) == [image, "a.png"]
    assert list(each_picture(iter([image]))) == [image]
    assert len(list(each_picture(np.stack([PIXELS] * 3)))) == 3
    assert len(list(each_picture(torch.zeros(2, 3, 4, 4)))) == 2
    with pytest.raises(DataError, match="a int is no image"):
        list(each_picture(7))
