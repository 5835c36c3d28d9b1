"""What a model that knows words is told on the page, and says itself."""

import shlex

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient
from PIL import Image

from tests.untrained import untrained
from unmask.cli.main import main
from unmask.pipeline import Pipeline, load
from unmask.storage import bundles
from unmask.studio.server import create_app

WORDS = ("cat", "dog", "house", "red", "small")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("words") / "model"
    bundles.save(untrained(words=WORDS), path)
    return path


@pytest.fixture(scope="module")
def model(folder):
    return load(folder, "cpu")


def test_the_page_is_told_which_words_there_are(client):
    described = client.get("/api/v1/model").json()
    assert (described["words"], described["caption_length"]) == (list(WORDS), 4)


@pytest.mark.parametrize(
    "told",
    [
        {"prompt": "red cat"},
        {"prompt": "red cat", "guidance": 3.0},
        {"prompt": "red cat", "guidance": 3.0, "negative": "dog"},
        {"prompt": ""},
        {},
    ],
)
def test_new_pictures_are_of_what_is_asked_for(ask, fetch, model, told):
    job = ask("sample", count=2, first=3, steps=4, seed=1, **told)
    drawn = model.sample(2, first=3, steps=4, seed=1, **told)
    assert all(
        np.array_equal(one, other) for one, other in zip(fetch(job), map(np.asarray, drawn), strict=True)
    )
    assert job["settings"]["prompt"] == told.get("prompt")


def test_words_change_canvases_edits_and_variations(ask, fetch, upload):
    requests = {
        "canvas": {"width": 24, "height": 16},
        "inpaint": {"image": upload, "box": [0, 0, 12, 12]},
        "vary": {"image": upload, "strength": 1},
        "extend": {"image": upload, "right": 8},
    }
    for kind, request in requests.items():
        how = {"steps": 4, "seed": 3, **request}
        plain, told = fetch(ask(kind, **how)), fetch(ask(kind, **how, prompt="red house", guidance=4))
        assert not np.array_equal(plain[0], told[0]), kind


@pytest.mark.parametrize("kind", ["sample", "vary"])
@pytest.mark.parametrize("field", ["prompt", "negative"])
def test_a_word_that_is_not_known_is_refused_with_the_nearest(client, upload, kind, field):
    image = {"image": upload} if kind == "vary" else {}
    answer = client.post(f"/api/v1/{kind}", json={field: "small hause", **image})
    assert answer.status_code == 422
    assert "'hause' (near: house)" in answer.json()["error"]


def test_a_long_prompt_is_refused(client):
    assert client.post("/api/v1/sample", json={"prompt": "cat " * 5}).status_code == 422
    assert client.post("/api/v1/sample", json={"prompt": "x" * 1001}).status_code == 422


def test_a_picture_is_captioned(ask, upload, model, picture):
    job = ask("caption", image=upload, draws=16, seed=2)
    (captions,) = model.caption([picture], draws=16, seed=2)
    assert job["figures"]["captions"] == captions
    words = job["figures"]["words"]
    assert words
    for word, share in words.items():
        assert share == pytest.approx(sum(p for text, p in captions.items() if word in text.split()))
    assert list(words.values()) == sorted(words.values(), reverse=True)


def test_words_of_ones_own_are_weighed_one_after_the_other(ask, client, upload):
    chances = {}
    for word in WORDS:
        ((said, chances[word]),) = ask("caption", image=upload, draws=1, words=word)["figures"]["said"]
        assert said == word
    assert 0.5 < sum(chances.values()) < 1  # the rest: nothing at all
    (_, first), (word, second) = ask("caption", image=upload, draws=1, words="Red cat")["figures"]["said"]
    assert (word, first) == ("cat", pytest.approx(chances["red"]))
    assert second != pytest.approx(chances["cat"])
    assert client.post("/api/v1/caption", json={"image": upload, "words": "hause"}).status_code == 422


def test_words_stand_along_a_canvas(ask, client, fetch, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    size, prompts = {"width": 40, "height": 16}, ["red cat", "", "dog"]
    job = ask("canvas", **size, prompt=prompts, steps=4, guidance=3)
    main(shlex.split(job["recipe"]["command"])[1:])
    names: dict = {}
    exec(job["recipe"]["python"], names)
    (pixels,) = fetch(job)
    assert np.array_equal(np.asarray(Image.open("canvas.png")), pixels)
    assert np.array_equal(np.asarray(names["picture"]), pixels)
    assert job["settings"]["prompt"] == prompts
    for refused in ([], ["cat"] * 17, ["cat", "hause"]):
        assert client.post("/api/v1/canvas", json={**size, "prompt": refused}).status_code == 422
    assert client.post("/api/v1/sample", json={"prompt": prompts}).status_code == 422


def test_a_recipe_says_the_words(ask, fetch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = ask("sample", prompt="red cat", negative="dog", guidance=2, first=1, count=1, steps=3)
    main([*shlex.split(job["recipe"]["command"])[1:], "--out", "out"])
    names: dict = {}
    exec(job["recipe"]["python"], names)
    (pixels,) = fetch(job)

    assert np.array_equal(np.asarray(Image.open("out/000001.png")), pixels)
    assert np.array_equal(np.asarray(names["pictures"][0]), pixels)


def test_a_model_without_captions_has_no_words_and_takes_none(upload):
    plain = Pipeline(untrained(), torch.device("cpu"))
    with TestClient(create_app(plain, "plain"), base_url="http://localhost:8000") as client:
        assert client.get("/api/v1/model").json()["words"] == []
        for kind, request in {"sample": {"prompt": "cat"}, "caption": {"image": upload}}.items():
            answer = client.post(f"/api/v1/{kind}", json=request)
            assert answer.status_code == 422
            assert "without captions" in answer.json()["error"]
