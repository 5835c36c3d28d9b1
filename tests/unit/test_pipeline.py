import doctest
from dataclasses import asdict

import numpy as np
import pytest
import torch
from PIL import Image, ImageColor

import unmask
from tests.untrained import SMALL_CODEC
from tests.untrained import untrained as whole
from unmask import pipeline
from unmask.codec.autoencoder import Autoencoder
from unmask.codec.tiles import decode_tiles
from unmask.data.config import ImagesConfig
from unmask.data.patches import selection
from unmask.data.pixels import open_pixels
from unmask.data.sources import open_source
from unmask.data.transforms import to_pictures
from unmask.errors import ConfigError
from unmask.pipeline import Pipeline
from unmask.rng import generator
from unmask.storage.bundles import Bundle, Part


def untrained(size_px):
    """A codec of random weights, for pictures of that size; a code is 2×2 pixels."""
    part = Part(asdict(SMALL_CODEC), Autoencoder(SMALL_CODEC, generator(0)).state_dict())
    return Pipeline(Bundle(part, about={"image_size": size_px}), torch.device("cpu"))


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


def test_a_part_of_the_split_is_cropped_as_in_the_training_and_a_whole_set_is_not(tmp_path):
    pictures = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
    np.save(tmp_path / "noise.npy", pictures)
    model, data = untrained(8), str(tmp_path / "noise.npy")
    model.about["prior_training"] = {"images": {"crop": "random", "scale": [2, 4], "validation": 0.5}}
    images = ImagesConfig(size=8, crop="random", scale=(2.0, 4.0), validation=0.5)
    trained_with = open_pixels(open_source(data), images).split("train")
    assert np.array_equal(model.open(data, "train").read([0]), trained_with.read([0]))
    assert np.array_equal(model.open(data).read(range(6)), pictures)


def test_transparency_shows_the_background_of_the_training():
    model = untrained(16)
    clear, black, white = (
        Image.new("RGBA", (16, 16)),
        Image.new("RGB", (16, 16)),
        Image.new("RGB", (16, 16), "white"),
    )
    assert model.reconstruct([clear]) == model.reconstruct([white])
    model.about["codec_training"] = {"images": {"background": "black"}}
    assert model.reconstruct([clear]) == model.reconstruct([black])
    assert model.reconstruct([clear]) != model.reconstruct([white])


@torch.no_grad()
@pytest.mark.parametrize(("size_px", "tile"), [(80, 40), (16, 32)])
def test_a_canvas_is_decoded_in_tiles_no_smaller_than_the_pictures_of_the_training(size_px, tile, rng):
    model = untrained(size_px)
    codes = torch.randint(16, (1, 8, 45), generator=rng)

    def decode(part):
        return model.codec.pixels(model.codec.quantizer.lookup(part))

    torch.testing.assert_close(model.decode(codes), decode_tiles(decode, codes, 2, tile=tile).clamp(0, 1))
    trained = torch.randint(16, (1, size_px // 2, size_px // 2), generator=rng)
    assert torch.equal(model.decode(trained), model.codec.decode(trained))


@pytest.mark.parametrize("wrong", [{"draws": 0}, {"steps": 0}, {"steps": -1}], ids=str)
def test_a_score_of_no_draws_or_no_steps_is_refused(wrong):
    with pytest.raises(ConfigError, match="1 of each is the least"):
        unmask.load("emoji", "cpu").score([Image.new("RGB", (64, 64))], **wrong)


def test_masks_and_boxes_are_taken_as_people_hold_them():
    wanted = selection((1, 2, 3, 2), (8, 6))
    for box in ([1, 2, 3, 2], (1.0, 2.2, 2.9, 2.0), np.array([1, 2, 3, 2]), torch.tensor([1, 2, 3, 2])):
        assert np.array_equal(selection(box, (8, 6)), wanted)
    picture = Image.fromarray(wanted)
    for mask in (picture, wanted, wanted * 1, wanted * 1.0, wanted * 255, torch.from_numpy(wanted)):
        assert np.array_equal(selection(mask, (8, 6)), wanted)
    with pytest.raises(ConfigError, match="3 numbers are no box\n  left, top, width, height"):
        selection((1, 2, 3), (8, 6))


def test_pictures_go_through_the_codec_and_back():
    model = untrained(8)
    pixels = np.random.default_rng(0).integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)
    codes = model.encode(pixels)
    assert codes.shape == (3, 4, 4)
    assert torch.equal(model.encode(pixels[1]), codes[1:2])
    shown = model.reconstruct(torch.from_numpy(pixels))
    again = to_pictures(model.decode(codes))
    assert [one.tobytes() for one in again] == [one.tobytes() for one in shown]
    assert model.to("cpu") is model


def test_a_seed_that_is_not_given_is_drawn_and_said(capsys):
    model = Pipeline(whole(), torch.device("cpu"))
    (first,), (second,) = (model.sample(1, steps=2, seed=None) for _ in range(2))
    said = [int(line.removeprefix("seed ")) for line in capsys.readouterr().err.splitlines()]
    assert said == [first.info["unmask"].seed, second.info["unmask"].seed]
    assert said[0] != said[1]
    (again,) = model.sample(1, steps=2, seed=said[0])
    assert again.tobytes() == first.tobytes()
    edge = 2 * model.image_size
    assert model.canvas(edge, steps=2, seed=None).size == (edge, edge)
    model.to("cpu")  # what was made for the other device is made again
    assert model.sample(1, steps=2, seed=said[0])[0].tobytes() == first.tobytes()


PICTURE = Image.new("RGB", (16, 16))
MISTAKES = {
    "sample('red hair')": r"count is 'red hair', .*\n  how many .* model.sample\(16, 'red hair'\)",
    "sample(2.5)": "count is 2.5, but should be a whole number",
    "sample(2, prompt=5)": "prompt is 5, but should be a text or several texts or None",
    "sample(2, prompt=['cat', 5])": "prompt is .'cat', 5., but should be",
    "sample(2, negative=None)": "negative is None, but should be a text",
    "sample(2, seed='a')": "seed is 'a', but should be a whole number or None",
    "sample(2, seed=1.5)": "seed is 1.5, but should be a whole number or None",
    "sample(2, seed=True)": "seed is True, but should be",
    "sample(2, seed=2**53)": "seed 9007199254740992 is not from -9,007,199,254,740,991 to 9,",
    "sample(2, first=-2**60)": "first -1152921504606846976 is not from",
    "sample(2, guide='emoji', guidance=2)": "guide is 'emoji', but should be a model",
    "sample(2, settings=['paper'])": "the model has no settings .'paper'.",
    "canvas('128x64')": r"size is '128x64', but .*\n  width and height .* model.canvas\(\(256, 64\)",
    "canvas((128, 64, 3))": "size is .128, 64, 3., but should be a whole number or two whole numbers",
    "inpaint(PICTURE, None)": r"None is no mask; wanted .* or a box\n  left, top, width, height",
    "inpaint(PICTURE, 'abcd', strength='all')": "strength is 'all', but should be a number",
    "extend(PICTURE, right='5')": "right is '5', but should be a whole number",
    "vary(PICTURE, count='4')": "count is '4', but should be a whole number$",
    "score(PICTURE, draws='16')": "draws is '16', but should be a whole number",
    "classify(PICTURE, 'red hair')": "labels is 'red hair', but should be several texts\n  several labels",
    "classify(PICTURE, ['cat'], by='pixel')": "by is 'pixel', but should be 'label' or 'picture'",
    "caption(PICTURE, seed=0.5)": "seed is 0.5, but should be a whole number",
    "decode([1, 2])": r"\[1, 2\] are no codes; wanted an int64 tensor of shape \(B, h, w\)",
    "decode(torch.zeros(1, 4, 4))": r"float32 of shape \(1, 4, 4\) are no codes",
    "decode(torch.zeros(4, 4).long())": r"int64 of shape \(4, 4\) are no codes",
    "decode(torch.full((1, 4, 4), 9999))": "codes from 9999 to 9999: there are 0 to 15, and 16 is MASK",
    "decode(torch.full((1, 4, 4), -1))": "codes from -1 to -1",
}


@pytest.fixture(scope="module")
def toy():
    return Pipeline(whole(words=("cat",)), torch.device("cpu"))


@pytest.mark.parametrize("call", MISTAKES)
def test_a_mistake_in_a_call_is_answered_in_a_sentence(toy, call):
    with pytest.raises(unmask.UnmaskError, match=MISTAKES[call]):
        eval(f"toy.{call}", globals() | {"toy": toy})


def test_numbers_are_taken_however_they_are_held(toy):
    plain = toy.sample(2, ("cat", ""), seed=3, steps=1)
    other = toy.sample(np.int64(2), ["cat", ""], seed=torch.tensor(3), steps=1)
    assert [one.tobytes() for one in plain] == [one.tobytes() for one in other]
    assert type(other[0].info["unmask"].seed) is int
    size = np.array([24, 16])
    assert toy.canvas(size, steps=1).size == (24, 16)
    assert toy.vary(PICTURE, strength=np.float32(1), count=1, steps=1)[0].info["unmask"].strength == 1.0


def test_a_folder_of_samples_refuses_a_seed_before_it_is_there(toy, tmp_path):
    with pytest.raises(ConfigError, match=r"seed is 1\.5, but should be a whole number"):
        unmask.SampleFolder(tmp_path / "new", toy, seed=1.5)


BACKGROUNDS = {
    "white": "#ffffff",
    "blue": "#cfe3ff",
    "pink": "#ffd9e6",
    "yellow": "#fff0bf",
    "green": "#d5f2d8",
}


@pytest.mark.slow
def test_portraits_have_the_background_that_a_prompt_names():
    """By the pixels in a corner, nearest to which of the colours of the training; by chance one in five."""
    model, (_, *asked) = unmask.load("avatars", "cpu"), BACKGROUNDS
    drawn = model.sample(12, [f"{name} background" for name in asked for _ in range(3)], steps=8)
    corners = np.stack([np.asarray(picture)[2:6, 2:6].mean((0, 1)) for picture in drawn])
    colours = np.array([ImageColor.getrgb(colour) for colour in BACKGROUNDS.values()])
    nearest = np.square(corners[:, None] - colours).sum(2).argmin(1)
    assert sum(nearest == 1 + np.arange(12) // 3) >= 10
