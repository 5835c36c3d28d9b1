"""One job at a time, a bounded queue, and nobody who waits for anybody else."""

import asyncio
import threading
import time
from dataclasses import replace

import pytest

import unmask.studio.jobs
from unmask.errors import DataError
from unmask.studio.jobs import BusyError, Job, Jobs, Outcome
from unmask.studio.limits import JobLimits

LIMITS = JobLimits(waiting=3, kept=5)
NOTHING = Outcome(pictures=[])


@pytest.fixture
def jobs():
    jobs = Jobs(LIMITS)
    yield jobs
    jobs.close()


class Gate:
    """A task that reports until it is let go."""

    def __init__(self, outcome=NOTHING):
        self.opened, self.begun, self.outcome = threading.Event(), threading.Event(), outcome

    def __call__(self, report):
        self.begun.set()
        while not self.opened.wait(0.001):
            report(1, 2)
            report.show(lambda: [b"preview"])
        return self.outcome


def put(jobs, task, kind="sample"):
    job = Job(kind, {})
    jobs.submit(job, task)
    return job


def wait(condition):
    limit = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.001)


def test_jobs_run_one_at_a_time_in_the_order_of_asking(jobs):
    together, most, order = 0, 0, []

    def task(name):
        def run(report):
            nonlocal together, most
            together += 1
            most = max(most, together)
            order.append(name)
            time.sleep(0.005)
            together -= 1
            return NOTHING

        return run

    started = [put(jobs, task(name)) for name in range(4)]
    wait(lambda: all(job.state == "done" for job in started))
    assert (most, order) == (1, [0, 1, 2, 3])


def test_a_full_queue_is_busy_and_says_how_many_are_ahead(jobs):
    gate = Gate()
    running, *waiting = [put(jobs, gate) for _ in range(4)]
    assert [jobs.ahead(job) for job in (running, *waiting)] == [0, 1, 2, 3]
    with pytest.raises(BusyError):
        put(jobs, gate)
    assert jobs.refused == 1
    gate.opened.set()
    wait(lambda: waiting[-1].state == "done")
    put(jobs, gate)


def test_a_job_that_waits_is_cancelled_at_once_and_makes_room(jobs):
    gate = Gate()
    _, first, *_ = [put(jobs, gate) for _ in range(4)]
    jobs.stop(first)
    assert (first.state, first.error) == ("cancelled", "cancelled")
    assert put(jobs, gate).state == "waiting"
    gate.opened.set()


def test_a_job_that_runs_is_cancelled_at_its_next_report(jobs):
    gate = Gate()
    job = put(jobs, gate)
    gate.begun.wait()
    jobs.stop(job)
    wait(lambda: job.state == "cancelled")


def test_a_job_that_ends_before_its_next_report_is_cancelled_all_the_same(jobs):
    opened = threading.Event()
    job = put(jobs, lambda report: opened.wait() and Outcome(pictures=[b"picture"]))
    jobs.stop(job)
    opened.set()
    wait(lambda: job.finished)
    assert (job.state, job.outcome) == ("cancelled", None)


def test_what_a_job_leaves_is_kept_and_an_end_is_final(jobs):
    job = put(jobs, lambda report: Outcome(pictures=[b"picture"], figures={"bits": 1.0}))
    wait(lambda: job.state == "done")
    jobs.stop(job)
    assert (job.state, job.outcome.pictures) == ("done", [b"picture"])


def test_a_users_mistake_is_told_and_a_defect_is_not_the_end(jobs, caplog):
    def mistaken(report):
        raise DataError("no picture")

    def broken(report):
        raise ZeroDivisionError("secret")

    mistake, defect, sound = (put(jobs, task) for task in (mistaken, broken, lambda report: NOTHING))
    wait(lambda: sound.state == "done")
    assert (mistake.state, mistake.error) == ("failed", "no picture")
    assert defect.state == "failed"
    assert "secret" not in defect.error
    assert "ZeroDivisionError" in caplog.text
    assert jobs.ended["sample", "failed"] == 2


def test_a_job_that_nobody_asks_about_is_stopped(jobs):
    jobs.limits = replace(LIMITS, unwatched_seconds=0.05)
    gate = Gate()
    running, waiting = put(jobs, gate), put(jobs, gate)
    wait(lambda: running.state == "cancelled")
    time.sleep(0.06)
    jobs.sweep()
    wait(lambda: waiting.state == "cancelled")
    assert "nobody" in running.error


def test_asking_keeps_a_job_alive(jobs):
    gate = Gate()
    put(jobs, gate)
    asked, forgotten = put(jobs, gate), put(jobs, gate)
    for job in (asked, forgotten):
        job.asked -= 1000
    jobs.find(asked.id)
    jobs.sweep()
    assert (asked.state, forgotten.state) == ("waiting", "cancelled")
    gate.opened.set()


def test_a_job_that_takes_too_long_is_stopped_with_advice(jobs):
    jobs.limits = replace(LIMITS, run_seconds=0.02)
    job = put(jobs, Gate())
    wait(lambda: job.state == "failed")
    assert "fewer steps" in job.error


def test_results_are_dropped_when_they_are_many_or_old(jobs):
    done = []
    for _ in range(8):
        done.append(put(jobs, lambda report: NOTHING))
        wait(lambda: done[-1].state == "done")
    jobs.sweep()
    assert jobs.count()["kept"] == 8  # whoever asked may be on the way
    jobs.limits = replace(LIMITS, fresh_seconds=0)
    time.sleep(0.002)
    jobs.sweep()
    assert [jobs.find(job.id) is not None for job in done] == [False] * 3 + [True] * 5
    jobs.limits = replace(LIMITS, keep_seconds=0)
    time.sleep(0.002)
    jobs.sweep()
    assert jobs.count()["kept"] == 0


def test_previews_are_made_only_while_somebody_watches(jobs):
    made, gate = [], Gate()

    def task(report):
        gate.begun.set()
        while not gate.opened.wait(0.001):
            report(1, 2)
            report.show(lambda: made.append(1) or [b"preview"])
        return NOTHING

    job = put(jobs, task)
    gate.begun.wait()
    time.sleep(0.02)
    assert not made

    async def look():
        with jobs.watching(job) as changed:
            while not job.previews:
                changed.clear()
                await asyncio.wait_for(changed.wait(), 10)

    asyncio.run(look())
    assert made
    gate.opened.set()


class Clock:
    """Time that passes only when somebody says so."""

    def __init__(self):
        self.now = time.monotonic()

    def monotonic(self):
        return self.now


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_previews_take_no_more_than_their_share(jobs, monkeypatch, share):
    clock, watched, spent = Clock(), threading.Event(), 0
    monkeypatch.setattr(unmask.studio.jobs, "time", clock)
    jobs.limits = replace(LIMITS, preview_share=share)

    def show():
        nonlocal spent
        clock.now += 1
        spent += 1
        return [b"preview"]

    def task(report):
        watched.wait()
        for _ in range(200):
            clock.now += 0.25
            report(1, 2)
            report.show(show)
        return NOTHING

    async def look():
        with jobs.watching(job):
            watched.set()
            while not job.finished:
                await asyncio.sleep(0.001)

    job = put(jobs, task)
    asyncio.run(look())
    assert share * job.seconds - 1 <= spent <= share * job.seconds + 1  # 1: the first comes at once


def test_a_watcher_that_sleeps_holds_up_nobody_and_sees_the_end(jobs):
    steps, watched = 2000, threading.Event()

    def task(report):
        watched.wait()
        for step in range(steps):
            report(step, steps)
            report.show(lambda: [b"preview"])
        return NOTHING

    async def look():
        with jobs.watching(job) as changed:
            watched.set()
            while not job.finished:  # never reads a thing
                await asyncio.sleep(0.001)
            assert changed.is_set()

    job = put(jobs, task)
    asyncio.run(look())
    assert job.state == "done"
    assert job.watchers == {}


def test_closing_stops_what_runs_and_what_waits():
    jobs = Jobs(LIMITS)
    running, waiting = put(jobs, Gate()), put(jobs, Gate())
    jobs.close()
    assert (running.state, waiting.state) == ("cancelled", "cancelled")
    with pytest.raises(BusyError):
        put(jobs, Gate())
