"""Every command that draws from prompts takes a guide."""

from pathlib import Path

import pytest
from PIL import Image

from tests.untrained import untrained
from unmask.cli.main import run_command
from unmask.errors import ConfigError, UnmaskError
from unmask.pipeline import load
from unmask.storage import bundles

DRAWING = {
    "sample": "--count 1 --out drawn",
    "canvas": "--size 24x16 --out drawn.png",
    "inpaint": "picture.png --box 4,4,8,8 --count 1 --out drawn.png",
    "extend": "picture.png --right 4 --count 1 --out drawn.png",
    "vary": "picture.png --count 1 --out drawn.png",
}


@pytest.fixture(autouse=True)
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bundles.save(untrained(), tmp_path / "model")
    Image.new("RGB", (16, 16), "teal").save("picture.png")


@pytest.mark.parametrize("command", DRAWING)
def test_a_guide_is_recorded_in_what_is_drawn(command):
    words = f"{command} model {DRAWING[command]} --steps 2 --device cpu --guide model"
    with pytest.raises(ConfigError, match="at guidance 1 a guide has no effect"):
        run_command(words.split())
    run_command([*words.split(), "--guidance", "2"])
    picture = Image.open("drawn/000000.png" if command == "sample" else "drawn.png")
    assert f'"guide": "{load("model", "cpu").fingerprint}"' in picture.text["unmask"]


def test_every_image_of_a_folder_is_edited_with_it():
    Path("pictures").mkdir()
    Image.open("picture.png").save("pictures/one.png")
    words = "vary model pictures --count 1 --steps 2 --device cpu"
    run_command([*words.split(), "--guide", "model", "--guidance", "2"])
    assert "guide" in Image.open("varied/one.png").text["unmask"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--guidance 2,1", "at guidance 1 a guide has no effect"),
        ("--what validation", "a guide is for samples"),
        ("--guidance 2,3", "absent does not exist"),
    ],
)
def test_an_evaluation_takes_one_and_refuses_what_it_has_no_effect_on(words, said):
    with pytest.raises(UnmaskError, match=said):
        run_command(f"evaluate model absent --guide model --device cpu {words}".split())
