"""The commands that the page shows give what the page gave."""

import shlex

import numpy as np
import pytest
from PIL import Image

from unmask.cli.main import main

REQUESTS = {
    "sample": {
        "count": 3,
        "steps": 4,
        "temperature": 0.8,
        "schedule": "cosine",
        "order": "halton",
        "remask": 0.5,
        "seed": 7,
    },
    "canvas": {"width": 34, "height": 17, "steps": 5, "remask": 1, "stride": 2, "top_k": 9, "seed": 1},
    "inpaint": {"count": 2, "rank": True, "steps": 3, "remask": 1, "seed": 5},
    "vary": {"strength": 0.5, "count": 2, "steps": 3, "seed": 5},
    "extend": {"left": 5, "bottom": 8, "count": 2, "temperature": [1.0, 0.5]},
}


@pytest.fixture
def mask(picture):
    mask = Image.new("L", picture.size)
    mask.paste(255, (2, 3, 11, 9))
    return mask


@pytest.fixture
def done(ask, upload, mask, encode, picture, tmp_path, monkeypatch):
    """A job of a kind, with its pictures in files where its recipe expects them."""
    picture.save(tmp_path / "picture.png")
    mask.save(tmp_path / "mask.png")
    monkeypatch.chdir(tmp_path)
    images = {kind: {"image": upload} for kind in ("inpaint", "vary", "extend")}
    images["inpaint"] |= {"mask": encode(mask)}
    return lambda kind, **more: ask(kind, **REQUESTS[kind], **(more or images.get(kind, {})))


@pytest.mark.parametrize("kind", REQUESTS)
def test_the_command_line_gives_the_same_pictures(done, fetch, kind, tmp_path):
    job = done(kind)
    words = shlex.split(job["recipe"]["command"])
    assert words[0] == "unmask"
    main([*words[1:], *(["--out", "out"] if kind == "sample" else [])])
    drawn = (*tmp_path.glob("out/*.png"), *tmp_path.glob("canvas*.png"), *tmp_path.glob("*ed[.-]*png"))
    written = sorted(path for path in drawn if "sheet" not in path.name)
    for path, pixels in zip(written, fetch(job), strict=True):
        with Image.open(path) as picture:
            assert np.array_equal(np.asarray(picture), pixels)


@pytest.mark.parametrize("kind", REQUESTS)
def test_the_python_lines_give_the_same_pictures(done, fetch, kind):
    job = done(kind)
    names = run(job)
    pictures = names.get("pictures") or names.get("versions") or [names["picture"]]
    for picture, pixels in zip(pictures, fetch(job), strict=True):
        assert np.array_equal(np.asarray(picture), pixels)


def test_a_box_is_said_as_a_box(done, fetch, upload):
    job = done("inpaint", image=upload, box=[-2, 3, 9, 6])
    assert "--box=-2,3,9,6" in job["recipe"]["command"]
    assert np.array_equal(np.asarray(run(job)["versions"][1]), fetch(job)[1])


def test_scores_and_reconstructions_can_be_had_in_python(ask, fetch, upload, done, picture):
    score, back = ask("score", image=upload, draws=4, seed=3), ask("reconstruct", image=upload)
    assert run(score)["bits_per_code"] == pytest.approx(score["figures"]["bits_per_code"])
    assert np.array_equal(np.asarray(run(back)["reconstruction"]), fetch(back)[1])
    assert score["recipe"]["command"].endswith("FOLDER --split all --draws 4 --seed 3")


def test_a_score_from_the_command_line_is_the_same(ask, upload, picture, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "FOLDER").mkdir()
    picture.save(tmp_path / "FOLDER/picture.png")
    job = ask("score", image=upload)
    main(shlex.split(job["recipe"]["command"])[1:])
    assert f"{job['figures']['bits_per_code']:.4f}" in capsys.readouterr().out


def test_a_model_with_an_odd_name_stays_one_word(model):
    from unmask.studio.recipes import recipe_of
    from unmask.studio.schema import Sample

    recipe = recipe_of(Sample(), model, "my models/it's; rm -rf")
    assert shlex.split(recipe.command)[2] == "my models/it's; rm -rf"
    compile(recipe.python, "recipe", "exec")


def run(job):
    names = {}
    exec(job["recipe"]["python"], names)
    return names
