"""Canvases, inpainting and extending from the command line, and every mistake in them."""

import numpy as np
import pytest
from PIL import Image

from unmask.data.provenance import read


@pytest.fixture
def photo(tmp_path):
    """A picture larger than those of the training, of no whole number of codes."""
    pixels = np.random.default_rng(0).integers(0, 256, (22, 37, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    return pixels


def pixels_of(path):
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        return np.asarray(picture)


def test_a_canvas_of_any_size_is_drawn_and_drawn_again(shell, model, tmp_path):
    said = shell("canvas", model, "--size", "50x18", "--steps", "8", "--seed", "3", "--out", "wide.png")
    assert "50×18 pixels: wide.png" in said
    assert pixels_of(tmp_path / "wide.png").shape == (18, 50, 3)
    fast = ["--stride", "2", "--windows", "3", "--order", "raster", "--temperature", "0.5", "--steps", "4"]
    for out in ("a.png", "b.png"):
        shell("canvas", model, "--size", "50x18", *fast, "--out", out)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert not np.array_equal(pixels_of(tmp_path / "a.png"), pixels_of(tmp_path / "wide.png"))


def test_a_box_and_a_mask_that_select_the_same_give_the_same(shell, model, photo, tmp_path):
    said = shell("inpaint", model, "photo.png", "--box", "5,8,20,30", "--count", "2", "--seam", "3", "--rank")
    assert said.startswith(
        "inpainted-1.png\ninpainted-2.png\ndrawing: at most 8 windows × 24 passes for each of 2"
    )
    mask = np.zeros(photo.shape[:2], np.uint8)
    mask[8:, 5:25] = 255
    Image.fromarray(mask).save(tmp_path / "mask.png")
    same = ["--mask", "mask.png", "--count", "2", "--seam", "3", "--rank", "--out", "same.png"]
    shell("inpaint", model, "photo.png", *same)
    for number in (1, 2):
        edited = pixels_of(tmp_path / f"inpainted-{number}.png")
        assert np.array_equal(edited, pixels_of(tmp_path / f"same-{number}.png"))
        kept = np.ones(photo.shape[:2], np.bool_)
        kept[5:, 2:28] = False
        assert np.array_equal(edited[kept], photo[kept])
        assert not np.array_equal(edited, photo)


def test_a_picture_goes_on_beyond_its_edges(shell, model, photo, tmp_path):
    grown = ["--right", "9", "--left", "2", "--top", "5", "--count", "1", "--seam", "0"]
    assert shell("extend", model, "photo.png", *grown, "--out", "grown.png").startswith("grown.png\n")
    larger = pixels_of(tmp_path / "grown.png")
    assert larger.shape == (5 + 22, 2 + 37 + 9, 3)
    assert np.array_equal(larger[5:, 2 : 2 + 37], photo)


PHOTO = ("inpaint", "MODEL", "photo.png")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("canvas", "MODEL", "--size", "768"), "'768' is no size"),
        (("canvas", "MODEL", "--size", "64x64", "--out", "a.jpg"), "a.jpg does not end in .png"),
        (("canvas", "MODEL", "--size", "64x64", "--out", "no/a.png"), "there is no folder no"),
        (
            ("canvas", "AUTOREGRESSIVE", "--size", "64x64"),
            "one order only",
        ),
        (("canvas", "CODEC", "--size", "64x64"), "only a codec"),
        (PHOTO, "select the part to redraw, by one option"),
        ((*PHOTO, "--box", "1,2,3,4", "--mask", "photo.png"), "select the part to redraw, by one option"),
        ((*PHOTO, "--box", "1,2,3"), "'1,2,3' is no box"),
        ((*PHOTO, "--box", "99,0,5,5"), "the box 99,0,5,5 holds no pixel of the image, which has 37×22"),
        ((*PHOTO, "--mask", "nowhere.png"), "nowhere.png cannot be read: No such file or directory"),
        (("inpaint", "MODEL", "text.png", "--box", "0,0,5,5"), "text.png: not an image"),
        (("extend", "MODEL", "photo.png"), "extend nothing"),
    ],
)
def test_a_mistake_is_one_sentence(shell, trained, photo, words, sentence):
    (shell.folder / "text.png").write_text("no picture")
    models = {"MODEL": "prior/best", "AUTOREGRESSIVE": "autoregressive/best", "CODEC": "codec/best"}
    said = shell(*(trained.folder / models[word] if word in models else word for word in words), code=2)
    assert said.startswith("error: ")
    assert sentence in said


def test_a_picture_is_varied_and_its_file_says_how(shell, model, tmp_path):
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(
        tmp_path / "photo.png"
    )
    said = shell("vary", model, "photo.png", "--strength", "0.5", "--count", "2", "--steps", "2")
    assert said.split()[:2] == ["varied-1.png", "varied-2.png"]
    origin = read((tmp_path / "varied-2.png").read_bytes())
    assert (origin.task, origin.strength, origin.number, origin.settings.steps) == ("vary", 0.5, 1, 2)
    assert "above 0" in shell("vary", model, "photo.png", "--strength", "2", code=2)


def test_a_whole_folder_is_edited_with_one_mask(shell, model, photo, tmp_path):
    (tmp_path / "photos").mkdir()
    mask = np.zeros(photo.shape[:2], np.uint8)
    mask[4:12, 5:17] = 255
    Image.fromarray(mask).save(tmp_path / "mask.png")
    for name in ("a.png", "b.bmp"):
        Image.fromarray(photo).save(tmp_path / "photos" / name)
    Image.new("RGB", (40, 30)).save(tmp_path / "photos/other.png")
    (tmp_path / "photos/damaged.jpg").write_bytes(b"no picture")
    (tmp_path / "photos/notes.txt").write_text("not meant")
    said = shell(
        "inpaint", model, "photos", "--mask", "mask.png", "--count", "1", "--seam", "0", "--seed", "4"
    )
    assert said.startswith("inpainted/a.png\ninpainted/b.png\n")
    assert "left out: damaged.jpg: " in said
    assert "left out: other.png: the mask has 37×22 pixels, but the image has 40×30" in said
    shell(
        "inpaint", model, "photos/a.png", "--mask", "mask.png", "--count", "1", "--seam", "0", "--seed", "4"
    )
    one, other = (pixels_of(tmp_path / "inpainted" / name) for name in ("a.png", "b.png"))
    assert np.array_equal(one, other)
    assert np.array_equal(one, pixels_of(tmp_path / "inpainted.png"))
    assert np.array_equal(one[mask == 0], photo[mask == 0])
