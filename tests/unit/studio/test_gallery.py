"""Results that last: found again by their words, starred, deleted, and there after a kill."""

import base64
import errno
import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from urllib.request import Request, urlopen

import pytest
from fastapi.testclient import TestClient

from unmask.data.pictures import encoded
from unmask.data.provenance import read
from unmask.errors import DataError
from unmask.studio.gallery import Gallery
from unmask.studio.server import create_app


@pytest.fixture
def keep(tmp_path):
    return tmp_path / "kept"


@pytest.fixture
def client(model, folder, keep):
    app = create_app(model, str(folder), keep=keep)
    with TestClient(app, base_url="http://localhost:8000") as client:
        yield client


def listed(client, **query):
    answer = client.get("/api/v1/gallery", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_every_result_is_kept_with_what_it_was_drawn_by(client, ask, keep, upload, model):
    sample = ask("sample", count=2, steps=2, seed=7)
    ask("inpaint", image=upload, box=[0, 0, 8, 8], count=1, steps=2)
    ask("reconstruct", image=upload)  # nothing is drawn
    there = listed(client)
    assert [kept["origin"]["task"] for kept in there["pictures"]] == ["inpaint", "sample", "sample"]
    second = there["pictures"][1]
    assert second["id"] == sample["kept"][1]
    assert (second["origin"]["seed"], second["origin"]["number"]) == (7, 1)
    data = client.get(second["address"])
    assert data.headers["content-type"] == "image/png"
    assert data.content == client.get(sample["pictures"][1]).content
    assert data.content == (keep / f"{second['id']}.png").read_bytes()
    assert read(data.content).fingerprint == model.fingerprint


def test_pictures_are_found_by_words_stars_and_pages(client, ask):
    for seed in (100_011, 100_012, 100_013):  # which no fingerprint holds by chance
        ask("sample", seed=seed, steps=2)
    newest, middle, oldest = listed(client)["pictures"]
    assert [kept["origin"]["seed"] for kept in (newest, middle, oldest)] == [100_013, 100_012, 100_011]
    assert listed(client, words="SAMPLE 100012")["pictures"] == [middle]
    assert listed(client, words="sample nothing")["pictures"] == []
    assert client.put(oldest["address"], json={"starred": True}).json()["starred"]
    assert [kept["id"] for kept in listed(client, starred=True)["pictures"]] == [oldest["id"]]
    page = listed(client, limit=2)
    assert (page["more"], page["total"]) == (True, 3)
    rest = listed(client, limit=2, before=page["pictures"][-1]["id"])
    assert [kept["id"] for kept in rest["pictures"]] == [oldest["id"]]
    assert not rest["more"]


def test_what_is_deleted_is_gone_from_the_disk(client, ask, keep):
    ask("sample", steps=2)
    (kept,) = listed(client)["pictures"]
    assert client.delete(kept["address"]).status_code == 200
    assert client.delete(kept["address"]).status_code == client.get(kept["address"]).status_code == 404
    assert not list(keep.glob("*.png"))


def test_another_server_finds_pictures_and_stars_again_and_nothing_else(keep, model):
    gallery = Gallery(keep)
    first, second = gallery.add([encoded(picture) for picture in model.sample(2, steps=1)])
    gallery.star(gallery.find(second), starred=True)
    (keep / f".{first}.png.partial-7").write_bytes(b"half")  # as a kill leaves it
    (keep / "holiday.png").write_bytes(b"a photograph")
    again = Gallery(keep)
    assert [(kept.id, kept.starred) for kept in again.search()] == [(second, True), (first, False)]
    assert again.find(second) == gallery.find(second)
    assert sorted(path.name for path in keep.iterdir()) == sorted(
        ["holiday.png", "stars.json", f"{first}.png", f"{second}.png"]
    )
    assert again.find("holiday") is None


def test_studios_of_one_folder_keep_each_others_stars(keep, model):
    first = Gallery(keep)
    names = first.add([encoded(picture) for picture in model.sample(2, steps=1)])
    second = Gallery(keep)
    for gallery, name in zip((first, second), names, strict=True):
        gallery.star(gallery.find(name), starred=True)
    assert [kept.starred for kept in Gallery(keep).search()] == [True, True]
    second.remove(second.find(names[1]))
    assert json.loads((keep / "stars.json").read_text()) == names[:1]


def test_studios_that_give_stars_at_the_same_instant_lose_none(keep, model, monkeypatch):
    first = Gallery(keep)
    names = first.add([encoded(picture) for picture in model.sample(2, steps=1)])
    meet, read_stars = Barrier(2), Gallery._stars

    def together(gallery):
        stars = read_stars(gallery)
        with suppress(BrokenBarrierError):
            meet.wait(0.2)  # until both have read, unless one has to wait for the other
        return stars

    galleries = first, Gallery(keep)
    monkeypatch.setattr(Gallery, "_stars", together)
    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda at: galleries[at].star(galleries[at].find(names[at]), starred=True), range(2)))
    assert sorted(json.loads((keep / "stars.json").read_text())) == sorted(names)


def test_what_the_disk_refuses_is_said_and_changes_nothing(client, ask, monkeypatch):
    ask("sample", steps=2)
    (kept,) = listed(client)["pictures"]

    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("unmask.studio.gallery.write_json", refuse)
    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    for answer in (client.put(kept["address"], json={"starred": True}), client.delete(kept["address"])):
        assert (answer.status_code, "Permission denied" in answer.json()["error"]) == (422, True)
    assert listed(client)["pictures"] == [kept]


def test_a_full_gallery_keeps_no_more_and_loses_nothing(keep, model):
    data = [encoded(picture) for picture in model.sample(2, steps=1)]
    gallery = Gallery(keep, most=len(data[0]) + 10)
    with pytest.raises(DataError, match="full"):
        gallery.add(data)
    assert len(gallery) == 0  # no part of a job
    gallery.add(data[:1])
    from unmask.studio.jobs import Outcome

    outcome = gallery.keeping(lambda report: Outcome(pictures=data))(None)
    assert outcome.pictures == data
    assert "full" in outcome.unkept
    assert len(gallery) == 1


@pytest.mark.parametrize("name", ["../../etc/passwd", "..%2f..%2fsecret", "stars", "stars.json", "0", "%00"])
def test_a_name_is_no_path(client, keep, name):
    keep.joinpath("stars.json").write_text("[]")
    for verb in ("get", "delete"):
        answer = getattr(client, verb)(f"/api/v1/gallery/{name}")
        assert answer.status_code in (404, 422)
    assert keep.joinpath("stars.json").exists()


def test_without_a_folder_nothing_is_kept(model):
    with TestClient(create_app(model, "model"), base_url="http://localhost:8000") as client:
        assert listed(client) == {"keeping": False, "pictures": [], "total": 0, "more": False}
        answer = client.get("/api/v1/gallery/1700000000000-0123abcd")
        assert (answer.status_code, "--keep" in answer.json()["error"]) == (404, True)


def test_a_damaged_list_of_stars_is_said(keep):
    keep.mkdir()
    (keep / "stars.json").write_text("{")
    with pytest.raises(DataError, match="damaged"):
        Gallery(keep)


def test_a_file_says_how_it_was_drawn_and_by_whom(client, model, upload):
    (picture,) = model.sample(1, seed=5, first=3, steps=2)

    def said(data):
        return client.post("/api/v1/origin", json={"image": base64.b64encode(data).decode()}).json()["origin"]

    origin = said(encoded(picture))
    assert (origin["seed"], origin["number"], origin["fingerprint"]) == (5, 3, model.fingerprint)
    assert origin["settings"]["steps"] == 2
    assert said(b"no picture at all") is None
    assert said(base64.b64decode(upload)) is None


@pytest.mark.slow
def test_the_gallery_survives_a_kill_of_the_server(folder, keep):
    command = [sys.executable, "-m", "unmask", "studio", str(folder), "--port", "0", "--keep", str(keep)]
    for kept in (0, 1):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            address = server.stdout.readline().split()[-1] + "api/v1/"
            assert asked(f"{address}gallery")["total"] == kept
            job = asked(f"{address}sample", {"steps": 2})
            while job["state"] in ("waiting", "running"):
                time.sleep(0.02)
                job = asked(f"{address}jobs/{job['id']}")
            assert job["state"] == "done"
            server.send_signal(signal.SIGKILL)


def asked(address, body=None):
    data = json.dumps(body).encode() if body else None
    with urlopen(Request(address, data, {"Content-Type": "application/json"})) as answer:
        return json.load(answer)
