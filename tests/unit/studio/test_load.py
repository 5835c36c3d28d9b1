"""Fifty clients at once, some of whom walk away: the only refusal is "busy", and nothing piles up."""

import asyncio
import gc
import json
import time
from dataclasses import replace

import pytest
import requests

from benchmarks.studio import load_server, resident_bytes
from unmask.studio.jobs import Job
from unmask.studio.limits import JobLimits
from unmask.studio.server import create_app

pytestmark = pytest.mark.slow  # servers, and a minute of traffic

CLIENTS, IDLE, SECONDS, SETTLE, KEPT = 50, 100, 60.0, 5.0, 4
REST_S = 2.0  # of a client between two requests: the minute leaves the processor to others
NOISE_BYTES = 32 * 2**20  # by which memory in use goes up and down; a leak of 64 KiB a request is far more


def test_many_clients_are_served_or_told_to_wait_and_memory_stays_as_it_was(model, folder, serve):
    app, before = create_app(model, str(folder), limits=JobLimits(kept=KEPT)), jobs_in_memory()
    with serve(app) as address:
        port = int(address.rpartition(":")[2])
        jobs = app.state.jobs

        def load(seconds):
            """What clients met, once nothing of theirs is drawn any more, and what is in memory then."""
            traffic = asyncio.run(load_server(port, CLIENTS, seconds, IDLE, REST_S))
            while jobs.count()["waiting"] or jobs.count()["running"]:
                time.sleep(0.02)  # those who walked away left jobs behind
            health = requests.get(f"{address}/healthz", timeout=60).json()
            jobs.limits = replace(jobs.limits, fresh_seconds=0)
            jobs.sweep()
            alive = jobs_in_memory() - before
            jobs.limits = replace(jobs.limits, fresh_seconds=JobLimits().fresh_seconds)
            return traffic, health, alive, len(gc.get_objects()), resident_bytes()

        *_, things, resident = load(SETTLE)
        traffic, health, alive, things_after, resident_after = load(SECONDS)
        kept = jobs.count()["kept"]
    statuses = {name for name in traffic.answers if name not in ("done", "cancelled", "idle connections")}
    assert statuses <= {"sample 202", "sample 503", "events 200", "picture 200"}  # nobody is cut off
    assert traffic.answers["sample 503"]  # it was more than the queue holds
    assert traffic.answers["sample 202"] > KEPT  # and more than is kept
    assert traffic.waits
    assert traffic.answers["done"] == traffic.answers["picture 200"]
    assert health["status"] == "ok"
    assert kept <= KEPT
    assert alive <= kept + 1  # the worker may hold the last one until the next comes
    assert things_after - things < traffic.answers["sample 202"]  # not one thing is left of each request
    assert resident_after - resident < NOISE_BYTES


def jobs_in_memory():
    """How many there are, whoever holds on to them; all that a job costs hangs on it."""
    gc.collect()
    return sum(type(thing) is Job for thing in gc.get_objects())


def test_a_closed_tab_ends_its_job_and_makes_room_for_the_next(model, folder, serve):
    limits = JobLimits(unwatched_seconds=1.5)
    with serve(create_app(model, str(folder), limits=limits)) as address:
        long = requests.post(
            f"{address}/api/v1/canvas", json={"width": 256, "height": 256, "care": "exact"}, timeout=60
        ).json()
        stream = requests.get(f"{address}/api/v1/jobs/{long['id']}/events", stream=True, timeout=60)
        reading = stream.iter_content(16)
        next(reading)
        time.sleep(1.3 * limits.unwatched_seconds)
        assert 'kind="canvas"' not in requests.get(f"{address}/metrics", timeout=60).text  # it is watched
        reading.close()
        stream.close()
        short = requests.post(f"{address}/api/v1/sample", json={"steps": 1}, timeout=60).json()
        while requests.get(f"{address}/api/v1/jobs/{short['id']}", timeout=60).json()["state"] != "done":
            time.sleep(0.02)
        ended = requests.get(f"{address}/metrics", timeout=60).text
    assert 'unmask_jobs_ended_total{kind="canvas",state="cancelled"} 1' in ended


def test_whoever_watches_a_job_is_told_that_the_studio_was_closed(model, folder, serve, capsys):
    with serve(create_app(model, str(folder))) as address:
        long = requests.post(
            f"{address}/api/v1/canvas", json={"width": 256, "height": 256, "care": "exact"}, timeout=60
        ).json()
        stream = requests.get(f"{address}/api/v1/jobs/{long['id']}/events", stream=True, timeout=60)
        reading = stream.iter_content(None)
        next(reading)
    last = json.loads(b"".join(reading).decode().rstrip().rpartition("data: ")[2])
    assert (last["state"], last["error"]) == ("cancelled", "the Studio was closed")
    assert capsys.readouterr().err == ""
