"""Commands say how much of a set they look at, take single files, and know a model from pictures."""

import re

import numpy as np
import pytest
from PIL import Image

from tests.untrained import untrained
from unmask.cli.main import main, run_command
from unmask.errors import BundleError, ConfigError, DataError
from unmask.pipeline import load
from unmask.storage import bundles


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Twenty pictures of noise, in the folder photos of the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "photos").mkdir()
    for number, pixels in enumerate(np.random.default_rng(0).integers(0, 256, (20, 64, 80, 3), np.uint8)):
        Image.fromarray(pixels).save(tmp_path / f"photos/{number:02}.png")
    return tmp_path / "photos"


@pytest.mark.parametrize("words", ["score emoji photos --draws 1", "reconstruct emoji photos --no-fid"])
def test_a_side_of_a_set_is_said_to_be_one(photos, capsys, words):
    run_command(words.split())
    said = capsys.readouterr().out
    number = len(load("emoji", "cpu").open("photos", "validation"))
    assert 0 < number < 20
    assert f"{number} of 20 images (validation split; --split all for all)\n" in said
    run_command([*words.split(), "--split", "all"])
    said = capsys.readouterr().out
    assert "split" not in said
    assert re.search(r"\b20 images|images +20\b", said)


def test_a_single_file_is_scored(photos, capsys):
    run_command(["score", "emoji", "photos/03.png", "--draws", "2"])
    said = capsys.readouterr().out
    wanted = load("emoji", "cpu").score(["photos/03.png"], draws=2)
    assert f"at most {wanted.mean:.4f}" in said
    assert "bits per code, 1 image;" in said
    with pytest.raises(ConfigError, match="cannot be fitted on one image"):
        run_command(["score", "emoji", "photos/03.png", "--pixels"])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("score photos emoji --draws 1", "unmask score emoji photos --draws 1"),
        ("reconstruct photos/03.png emoji", "unmask reconstruct emoji photos/03.png"),
        ("inpaint photos/03.png emoji --box 8,8,8,8", "unmask inpaint emoji photos/03.png --box 8,8,8,8"),
        ("train prior photos emoji", "unmask train prior emoji photos"),
    ],
)
def test_a_model_in_the_place_of_pictures_is_recognised(photos, typed, meant):
    with pytest.raises(BundleError, match=rf"the model comes first\n  {meant}$"):
        run_command(typed.split())


def test_other_mistakes_about_models_stay_what_they_are(photos):
    with pytest.raises(BundleError) as refused:
        run_command(["score", "photos", "photos"])
    assert "comes first" not in str(refused.value)


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_the_help_of_train_lists_the_two_stages(capsys, flag):
    with pytest.raises(SystemExit, match="0"):
        main(["train", flag])
    said = capsys.readouterr().out
    assert re.findall(r"unmask train \w+ --help", said) == [
        "unmask train codec --help",
        "unmask train prior --help",
    ]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("score", "--split all"),
        ("score --pixels --split all", "--fit photos/"),
        ("reconstruct --no-fid", "--split all"),
        ("evaluate", "--split all"),
        ("evaluate --what validation", None),
        ("classify", "--split all"),
        ("neighbours", None),
        ("retrieve", None),
    ],
)
def test_a_set_of_one_image_is_refused_with_what_the_command_takes(tmp_path, monkeypatch, words, hint):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    bundles.save(untrained(words=("cat", "dog")), tmp_path / "model")
    (tmp_path / "one").mkdir()
    Image.new("RGB", (16, 16)).save("one/0.png")
    command, *options = words.split()
    with pytest.raises(DataError, match="both trained on and held out") as error:
        run_command([command, "model", "one", *options, "--device", "cpu"])
    assert str(error.value).partition("\n  ")[2] == (hint or "")
