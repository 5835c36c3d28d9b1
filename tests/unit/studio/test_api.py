"""What the API gives is what Python gives, and what it refuses it refuses in words."""

import base64
import io
import json
import threading
import time
import zlib
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from tests.untrained import untrained
from unmask.errors import ConfigError
from unmask.generation.arguments import LARGEST
from unmask.pipeline import Pipeline
from unmask.studio import inspection, tasks
from unmask.studio.api import Studio
from unmask.studio.jobs import Job, Jobs, Outcome, StoppedError
from unmask.studio.limits import MAX_UPLOAD_BYTES, JobLimits
from unmask.studio.models import Models, Others
from unmask.studio.schema import Recipe
from unmask.studio.server import create_app

OWN = {"recommended": {"sample": {"steps": 3, "schedule": "cosine"}}}


def same(pictures, others):
    return all(np.array_equal(one, np.asarray(other)) for one, other in zip(pictures, others, strict=True))


class TestPictures:
    def test_samples_are_those_of_the_pipeline(self, ask, fetch, model):
        settings = {"steps": 5, "temperature": 0.7, "schedule": "cosine", "order": "halton"}
        settings |= {"remask": 0.5, "seed": 9}
        job = ask("sample", count=3, **settings)
        assert same(fetch(job), model.sample(3, **settings))
        assert job["settings"].items() >= {"count": 3, **settings}.items()

    def test_what_is_not_said_is_as_the_model_recommends(self, model, folder):
        model = Pipeline(replace(untrained(), sampling=OWN), model.device)
        with TestClient(create_app(model, "own"), base_url="http://localhost:8000") as client:
            described = client.get("/api/v1/model").json()["sampling"]
            assert described["recommended"]["sample"]["steps"] == 3
            assert described["paper"]["canvas"]["temperature"] == 0.8
            for request, said, steps in (
                ({"temperature": 0.5}, "--temperature 0.5", 3),
                ({"temperature": 0.5, "steps": 3}, "--temperature 0.5", 3),
                ({"steps": None}, "--steps all", None),
                ({"settings": "paper", "steps": 2}, "--settings paper --steps 2", 2),
            ):
                job = client.post("/api/v1/sample", json=request).json()
                assert job["recipe"]["command"] == f"unmask sample own --count 1 {said}"
                assert job["settings"]["steps"] == steps

    def test_a_canvas_is_that_of_the_pipeline(self, ask, fetch, model):
        job = ask("canvas", width=33, height=18, steps=6, stride=2, seed=3)
        assert same(fetch(job), [model.canvas((33, 18), steps=6, stride=2, seed=3)])

    def test_inpainting_is_that_of_the_pipeline(self, ask, fetch, model, picture, upload, encode):
        mask = Image.new("L", picture.size)
        mask.paste(255, (3, 4, 9, 12))
        by_mask = ask("inpaint", image=upload, mask=encode(mask), count=2, seed=4, rank=True)
        by_box = ask("inpaint", image=upload, box=[3, 4, 6, 8], count=2, seed=4, rank=True)
        expected = model.inpaint(picture, mask, count=2, seed=4, rank=True)
        assert same(fetch(by_mask), expected)
        assert same(fetch(by_box), expected)

    def test_extending_is_that_of_the_pipeline(self, ask, fetch, model, picture, upload):
        job = ask("extend", image=upload, left=3, bottom=8, count=2, steps=4)
        assert same(fetch(job), model.extend(picture, left=3, bottom=8, count=2, steps=4))

    def test_a_reconstruction_comes_with_the_original_and_its_codes(self, ask, fetch, model, picture, upload):
        job = ask("reconstruct", image=upload)
        seen, back = fetch(job)
        assert same([back], model.reconstruct([picture]))
        assert seen.shape == (16, 16, 3)
        assert np.shape(job["figures"]["codes"]) == (4, 4)
        assert 0 < job["figures"]["psnr_db"] < 100

    def test_a_score_comes_with_the_bits_of_each_code(self, ask, model, picture, upload):
        figures = ask("score", image=upload, draws=8, seed=2)["figures"]
        assert figures["bits_per_code"] == pytest.approx(model.score([picture], draws=8, seed=2).mean)
        assert figures["bits"] == pytest.approx(16 * figures["bits_per_code"])
        assert not figures["exact"]
        by_code = np.array(figures["bits_by_code"])
        assert by_code.shape == (4, 4)
        # From masks of its own: near the bound, not equal to it.
        assert by_code.mean() == pytest.approx(figures["bits_per_code"], rel=0.2)

    def test_bits_of_an_autoregressive_model_add_up_to_its_score(self, autoregressive, picture):
        figures = inspection.score(autoregressive, picture, 16, 0, lambda done, total: None).figures
        assert figures["exact"]
        assert np.sum(figures["bits_by_code"]) == pytest.approx(figures["bits"], rel=1e-5)

    @pytest.mark.parametrize("look", [inspection.reconstruct, partial(inspection.score, draws=8, seed=0)])
    def test_looking_at_a_picture_is_reported_and_can_be_stopped(self, model, picture, look):
        shares = []
        look(model, picture, report=lambda done, total: shares.append(done / total))
        assert shares == sorted(shares)
        assert 0 < shares[0] < 1

        def stop(done, total):
            raise StoppedError

        with pytest.raises(StoppedError):
            look(model, picture, report=stop)
        model.sample(1, steps=1)  # what comes after it is not bothered

    @pytest.mark.parametrize("kind", ["JPEG", "WEBP", "GIF", "BMP", "TIFF"])
    def test_pictures_of_the_usual_formats_are_read(self, ask, picture, encode, kind):
        assert ask("reconstruct", image=encode(picture, kind))["state"] == "done"


@pytest.mark.parametrize("seed", [-1, 2**32, LARGEST, -LARGEST])
def test_every_seed_of_the_library_can_be_drawn_and_looked_at(ask, fetch, model, encode, seed):
    (drawn,) = model.sample(1, steps=2, seed=seed)
    assert same(fetch(ask("sample", count=1, steps=2, seed=seed)), [drawn])
    assert ask("score", image=encode(drawn), draws=1, seed=seed)["state"] == "done"


@pytest.mark.parametrize("seed", [LARGEST + 1, -LARGEST - 1])
def test_no_other_seed_can_be_drawn(client, model, seed):
    assert client.post("/api/v1/sample", json={"seed": seed}).status_code == 422
    with pytest.raises(ConfigError, match=r"seed .* is not from -9,007,199,254,740,991 to 9,"):
        model.sample(1, steps=2, seed=seed)


class TestRefusals:
    def refused(self, client, kind, status=422, **request):
        answer = client.post(f"/api/v1/{kind}", json=request)
        assert answer.status_code == status
        assert client.get("/healthz").json()["running"] == 0
        return answer.json()["error"]

    def test_what_is_no_picture(self, client):
        for data in (b"", b"MZ\x90\x00", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"\x89PNG\r\n\x1a\n"):
            text = base64.b64encode(data).decode()
            assert "the image cannot be used" in self.refused(client, "reconstruct", image=text)
        assert "not base64" in self.refused(client, "reconstruct", image="file:///etc/passwd")

    def test_a_decompression_bomb_is_refused_by_its_size_not_by_trying(self, client):
        def chunk(name, data):
            body = name + data
            return len(data).to_bytes(4) + body + zlib.crc32(body).to_bytes(4)

        size = (60_000).to_bytes(4)
        header = chunk(b"IHDR", size + size + bytes([8, 2, 0, 0, 0]))
        bomb = (
            b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(10**6))) + chunk(b"IEND", b"")
        )
        error = self.refused(client, "reconstruct", image=base64.b64encode(bomb).decode())
        assert "pixels" in error
        file = io.BytesIO()
        Image.new("1", (2100, 2100)).save(file, "PNG")
        error = self.refused(client, "reconstruct", image=base64.b64encode(file.getvalue()).decode())
        assert "4,194,304" in error

    def test_more_than_a_job_may_hold(self, client, upload):
        assert "codes are too many" in self.refused(client, "canvas", width=4096, height=4096)
        assert "codes are too many" in self.refused(client, "extend", image=upload, right=4000, bottom=4000)

    def test_what_could_not_be_brought_again_is_not_drawn(self, client, encode, monkeypatch):
        """Whatever has the most pixels that there may be fits into a request, even if it is noise."""
        levels = np.random.default_rng(0).integers(0, 256, (2048, 2048, 3), dtype=np.uint8)
        pictures = {"image": encode(Image.fromarray(levels)), "mask": encode(Image.fromarray(levels[..., 0]))}
        assert "codes are too many" in self.refused(client, "inpaint", **pictures)
        monkeypatch.setattr(tasks, "MAX_UPLOAD_PIXELS", 2**10)
        assert "pixels are too many" in self.refused(client, "canvas", width=64, height=32)

    @pytest.mark.parametrize(
        ("request_", "word"),
        [
            ({"count": 0}, "count"),
            ({"count": 17}, "count"),
            ({"steps": 100_000}, "steps"),
            ({"temperature": -1}, "temperature"),
            ({"schedule": "fast"}, "schedule"),
            ({"seed": 2**53}, "seed"),
            ({"out": "/etc/passwd"}, "out"),
        ],
    )
    def test_settings_out_of_bounds_are_named(self, client, request_, word):
        assert self.refused(client, "sample", **request_).startswith(word)

    @pytest.mark.parametrize(
        "body", ["", "{", "[]", '{"temperature": NaN}', '{"schedule": "\\ud800"}', "[" * 10**5]
    )
    def test_bodies_that_are_no_requests(self, client, body):
        answer = client.post("/api/v1/sample", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 422)
        assert answer.json()["error"]

    def test_a_selection_that_selects_nothing(self, client, upload, picture, encode):
        empty = encode(Image.new("L", picture.size))
        assert "selects nothing" in self.refused(client, "inpaint", image=upload, mask=empty)
        assert "in one way" in self.refused(client, "inpaint", image=upload)
        other = encode(Image.new("L", (5, 5), 255))
        assert "the mask has 5×5" in self.refused(client, "inpaint", image=upload, mask=other)
        assert "no pixel" in self.refused(client, "inpaint", image=upload, box=[500, 500, 2, 2])
        assert "extend nothing" in self.refused(client, "extend", image=upload)

    def test_a_picture_smaller_than_the_model_knows(self, client, encode):
        error = self.refused(client, "inpaint", image=encode(Image.new("RGB", (8, 8))), box=[0, 0, 4, 4])
        assert "too few" in error

    def test_settings_that_contradict_each_other_are_refused(self, client):
        assert "sets its own pace" in self.refused(client, "sample", order="entropy", steps=4)
        assert "has no settings 'best'" in self.refused(client, "sample", settings="best")


class TestJobs:
    def test_unknown_jobs_and_pictures_are_not_found(self, client, ask):
        assert client.get("/api/v1/jobs/nonsense").status_code == 404
        assert client.delete("/api/v1/jobs/nonsense").status_code == 404
        assert client.get("/api/v1/jobs/nonsense/events").status_code == 404
        job = ask("sample", steps=1)
        assert client.get(f"/api/v1/jobs/{job['id']}/pictures/1").status_code == 404
        assert client.get("/api/v1/nonsense").json() == {"error": "Not Found"}

    def test_the_stream_ends_with_the_job_and_shows_it_on_its_way(self, client):
        job = client.post("/api/v1/sample", json={"count": 4, "seed": 1}).json()
        stream = client.get(f"/api/v1/jobs/{job['id']}/events")
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = [event.split("\n") for event in stream.text.strip().split("\n\n")]
        names = [lines[0].removeprefix("event: ") for lines in events]
        last = json.loads(events[-1][1].removeprefix("data: "))
        assert names[-1] == "job"
        assert (last["state"], last["progress"], len(last["pictures"])) == ("done", 1.0, 4)

    def test_a_job_is_never_seen_done_without_its_pictures(self, model):
        """It ends between the first look at it and the next."""
        jobs, opened, looker = Jobs(JobLimits()), threading.Event(), threading.current_thread()

        class Ending(Job):
            def __getattribute__(self, name):
                seen = super().__getattribute__(name)
                if name == "outcome" and threading.current_thread() is looker:
                    opened.set()
                    time.sleep(0.05)
                return seen

        job = Ending("sample", {"model": "own", "settings": {}, "recipe": Recipe(command="", python="")})
        jobs.submit(job, lambda report: opened.wait() and Outcome(pictures=[b""]))
        view = Studio(Models(model, "own", Others()), jobs).view(job)
        assert (view.state == "done") == bool(view.pictures)
        jobs.close()

    def test_a_stream_of_something_finished_ends_at_once(self, client, ask):
        job = ask("sample", steps=1)
        stream = client.get(f"/api/v1/jobs/{job['id']}/events").text
        assert stream.count("event:") == 1

    def test_previews_are_pictures_of_what_is_known(self, model, folder, monkeypatch):
        """The worker begins when somebody watches, and gives the stream time to show what there is."""
        sample, preview, watching, watched = model.sample, model.preview, Jobs.watching, threading.Event()

        @contextmanager
        def noticed(jobs, job):
            with watching(jobs, job) as changed:
                watched.set()
                yield changed

        monkeypatch.setattr(Jobs, "watching", noticed)
        monkeypatch.setattr(model, "preview", lambda codes: (time.sleep(0.05), preview(codes))[1])
        monkeypatch.setattr(
            model, "sample", lambda *given, **more: watched.wait(60) and sample(*given, **more)
        )
        app = create_app(model, str(folder), limits=JobLimits(preview_share=1.0))
        with TestClient(app, base_url="http://localhost") as client:
            job = client.post("/api/v1/sample", json={"count": 2}).json()
            stream = client.get(f"/api/v1/jobs/{job['id']}/events").text
        previews = [
            json.loads(part.split("data: ")[1]) for part in stream.split("\n\n") if "event: preview" in part
        ]
        assert previews
        address = previews[0]["pictures"][1]
        assert address.startswith("data:image/webp;base64,")
        with Image.open(io.BytesIO(base64.b64decode(address.split(",")[1]))) as picture:
            assert picture.size == (16, 16)

    def test_a_job_is_cancelled(self, client):
        jobs = [client.post("/api/v1/canvas", json={"width": 128, "height": 64}).json() for _ in range(2)]
        for job in reversed(jobs):
            client.delete(f"/api/v1/jobs/{job['id']}")
        for job in jobs:
            stream = client.get(f"/api/v1/jobs/{job['id']}/events").text
            assert '"state": "cancelled"' in stream

    def test_a_full_queue_is_503_and_says_when_to_come_back(self, client, limits):
        large = {"width": 128, "height": 64}
        started = [client.post("/api/v1/canvas", json=large) for _ in range(limits.waiting + 1)]
        busy = client.post("/api/v1/canvas", json=large)
        assert {answer.status_code for answer in started} == {202}
        assert (busy.status_code, busy.headers["retry-after"]) == (503, "2")
        assert "busy" in busy.json()["error"]
        assert "unmask_requests_busy_total 1" in client.get("/metrics").text
        for answer in started[::-1]:
            client.delete(f"/api/v1/jobs/{answer.json()['id']}")


class TestTheRest:
    def test_the_model_says_what_it_is_and_what_it_takes(self, client, folder):
        model = client.get("/api/v1/model").json()
        assert (model["name"], model["kind"]) == (str(folder), "absorbing")
        assert (model["image_size"], model["factor"], model["grid"]) == (16, 4, [4, 4])
        described = {setting["name"]: setting for setting in model["settings"]}
        assert "optimal" not in described["schedule"]["choices"]  # it has no curve
        assert described["steps"]["usual"] == 16
        assert model["limits"]["upload_bytes"] == MAX_UPLOAD_BYTES

    def test_a_form_can_be_made_of_what_it_says_of_its_settings(self, client):
        """A slider wants two ends, a menu its choices; what depends on another setting names its value."""
        model = client.get("/api/v1/model").json()
        described = {setting["name"]: setting for setting in model["settings"]}
        assert list(model["sampling"]) == ["recommended", "paper"]
        for setting in described.values():
            if setting["kind"] == "choice":
                assert setting["default"] in setting["choices"]
            else:
                assert setting["minimum"] < (setting["maximum"] or setting["usual"])
            if setting["unless"]:
                other, value = setting["unless"]
                assert value in described[other]["choices"]

    def test_what_it_learnt_from_is_named_but_not_where_that_is_kept(self, autoregressive, monkeypatch):
        monkeypatch.setitem(autoregressive.about, "prior_data", "/home/ann/owls")
        with TestClient(create_app(autoregressive, "autoregressive"), base_url="http://localhost") as client:
            model = client.get("/api/v1/model").json()
        assert model["about"]["prior_data"] == "owls"
        assert {setting["name"] for setting in model["settings"] if "sample" in setting["uses"]} == {
            "temperature",
            "top_k",
            "top_p",
        }

    def test_an_autoregressive_model_samples_but_does_not_edit(self, autoregressive, upload):
        with TestClient(create_app(autoregressive, "autoregressive"), base_url="http://localhost") as client:
            assert client.get("/api/v1/model").json()["kind"] == "autoregressive"
            assert client.post("/api/v1/sample", json={}).status_code == 202
            refused = client.post("/api/v1/inpaint", json={"image": upload, "box": [0, 0, 4, 4]})
            assert "autoregressive" in refused.json()["error"]

    def test_metrics_count_what_happened(self, client, ask):
        ask("sample", steps=1)
        lines = client.get("/metrics").text.splitlines()
        assert 'unmask_jobs_ended_total{kind="sample",state="done"} 1' in lines
        assert 'unmask_jobs{state="kept"} 1' in lines
        assert client.get("/healthz").json() == {"status": "ok", "waiting": 0, "running": 0, "kept": 1}
