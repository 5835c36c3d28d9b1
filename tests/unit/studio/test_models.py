"""Several models, and trainings: by names that the server knows, and by no others."""

import io
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from PIL import Image

from tests.untrained import begun, untrained
from unmask.models import builtin_names
from unmask.storage import bundles as bundle
from unmask.studio.models import MAX_OPEN, Models, Others
from unmask.studio.server import create_app
from unmask.studio.trainings import MAX_POINTS


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Runs, one of them of two stages, one without a model yet; and a model beside them."""
    monkeypatch.chdir(tmp_path)
    begun(tmp_path / "runs/faces", model=untrained())
    begun(tmp_path / "runs/churches/prior", model=untrained("autoregressive"))
    begun(tmp_path / "runs/young", known=0)
    bundle.save(untrained(edge=5), tmp_path / "mine")
    return tmp_path / "runs"


@pytest.fixture
def others(runs):
    return Others(names=("mine",), runs=runs.relative_to(Path.cwd()), device="cpu")


@pytest.fixture
def client(model, others):
    with TestClient(create_app(model, "first", others=others), base_url="http://localhost") as client:
        yield client


def test_a_menu_has_what_was_named_what_is_built_in_and_what_runs_have(client):
    names = client.get("/api/v1/models").json()
    assert names == ["first", "mine", *builtin_names(), "runs/churches/prior", "runs/faces"]


def test_a_model_is_described_and_asked_by_its_name(client):
    assert client.get("/api/v1/model").json()["grid"] == [4, 4]
    assert client.get("/api/v1/model", params={"name": "mine"}).json()["grid"] == [5, 5]
    assert (
        client.get("/api/v1/model", params={"name": "runs/churches/prior"}).json()["kind"] == "autoregressive"
    )
    job = client.post("/api/v1/sample", json={"model": "mine", "steps": 1}).json()
    assert job["model"] == "mine"
    assert "unmask sample mine" in job["recipe"]["command"]
    assert "model" not in job["settings"]


@pytest.mark.parametrize(
    "name", ["runs/young", "mine/../mine", "./mine", "/etc", "runs", "emoji/", "a\0b", ""]
)
def test_no_request_reaches_beyond_the_list(client, name):
    answer = client.post("/api/v1/sample", json={"model": name})
    assert answer.status_code == (202 if name == "" else 422)
    for route in ("training", "training/picture"):
        params = {"name": f"{name}/../../etc", "of": "../samples", "step": 500}
        assert client.get(f"/api/v1/{route}", params=params).status_code == 404


def test_few_models_are_open_at_once_and_one_that_was_replaced_is_opened_again(model, others, runs):
    models = Models(model, "mine", others)
    assert models.get(None) == ("mine", model)
    best = models.get("runs/faces")[1]
    assert models.get("runs/faces")[1] is best
    bundle.save(untrained(edge=6), runs / "faces/best")
    os.utime(runs / "faces/best" / bundle.MANIFEST, ns=(1, 1))
    assert models.get("runs/faces")[1].prior.grid == (6, 6)
    models.get("runs/churches/prior")
    assert len(models._open) == MAX_OPEN
    assert models.get("mine")[1] is not model  # it had to be opened again


def test_a_model_that_takes_long_to_open_keeps_no_other_waiting(model, others, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def slow(*_, **__):
        begun.set()
        assert go_on.wait(60)
        return model

    monkeypatch.setattr("unmask.studio.models.load", slow)
    models = Models(model, "first", others)
    with ThreadPoolExecutor(2) as pool:
        opening = [pool.submit(models.get, "mine") for _ in range(2)]
        assert begun.wait(60)
        assert models.get(None) == ("first", model)  # at once
        begun.clear()
        go_on.set()
        assert [one.result() for one in opening] == 2 * [("mine", model)]
    assert not begun.is_set()  # nobody opened it a second time


def test_a_training_is_seen_as_far_as_it_has_come(client, runs):
    assert set(client.get("/api/v1/trainings").json()) == {"runs/faces", "runs/churches/prior", "runs/young"}
    seen = client.get("/api/v1/training", params={"name": "runs/faces"}).json()
    assert (seen["step"], seen["steps"]) == (2000, 3000)
    assert seen["curves"]["bits"]["validation"] == [
        [step, 8.5 - step / 1000] for step in (500, 1000, 1500, 2000)
    ]
    assert seen["curves"]["loss"].keys() == {"train"}
    assert seen["pictures"] == {"samples": [500, 1000, 1500, 2000]}
    params = {"name": "runs/faces", "of": "samples", "step": 1000}
    answer = client.get("/api/v1/training/picture", params=params)
    with Image.open(io.BytesIO(answer.content)) as picture:
        assert picture.getpixel((0, 0)) == (50, 50, 50)
    assert client.get("/api/v1/training/picture", params=params | {"step": 999}).status_code == 404
    assert client.get("/api/v1/training", params={"name": "runs/young"}).json()["curves"] == {}


def test_a_training_of_both_stages_is_watched_and_opened_again(model, runs):
    begun(runs / "churches/codec", known=0)
    others = Others(names=("runs/churches",), device="cpu")
    watched = {f"runs/churches/{stage}" for stage in ("codec", "prior")}
    assert others.trainings("first").keys() == watched
    models = Models(model, "first", others)
    assert models.get("runs/churches")[1].prior.grid == (4, 4)
    bundle.save(untrained(edge=6), runs / "churches/prior/best")
    os.utime(runs / "churches/prior/best" / bundle.MANIFEST, ns=(1, 1))
    assert models.get("runs/churches")[1].prior.grid == (6, 6)


def test_a_curve_of_any_length_is_bounded_and_ends_where_the_log_does(client, runs):
    run = begun(runs / "long", known=0)
    for step in range(1, 3 * MAX_POINTS):
        run.log(step, {"loss": step if step % 2 else float("nan")})
    points = client.get("/api/v1/training", params={"name": "runs/long"}).json()["curves"]["loss"]["train"]
    assert len(points) <= MAX_POINTS
    assert points[-1] == [3 * MAX_POINTS - 1, 3 * MAX_POINTS - 1]
    run.log(9000, {"loss": 7})
    seen = client.get("/api/v1/training", params={"name": "runs/long"}).json()
    assert (seen["step"], seen["curves"]["loss"]["train"][-1]) == (9000, [9000, 7])
