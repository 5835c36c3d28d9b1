"""Jobs: one at a time, a bounded queue, results for a while. Nothing here knows what a job does.

Jobs run in one worker thread. What is said about them is read from any thread, under one lock: whoever wants
to see a job as it is at one moment holds it. Those who watch a job are woken when it changes and look at its
latest state: whoever is slow misses moments in between, and neither the job nor the others wait.
"""

import asyncio
import logging
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from unmask.errors import ConfigError, UnmaskError
from unmask.studio.limits import JobLimits

State = Literal["waiting", "running", "done", "failed", "cancelled"]
DEFECT = "the Studio failed: a defect of ours, described where it was started"
FORGOTTEN = "stopped, since nobody asked about it any more"

log = logging.getLogger("unmask.studio")


class BusyError(Exception):
    """The queue is full."""


class StoppedError(Exception):
    """Raised inside a job that was stopped."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a job: images as PNG files, and figures that are plain JSON values.

    Of pictures for a gallery it says by which ids they are kept there, or why they are not.
    """

    pictures: list[bytes]
    figures: dict[str, Any] | None = None
    kept: list[str] | None = None
    unkept: str | None = None


Task = Callable[["Reporter"], Outcome]


@dataclass(eq=False)
class Job:
    """One request on its way. Only ``Jobs`` changes it."""

    kind: str
    about: dict[str, Any]
    """Data for its owner: plain JSON values, kept as they are."""
    id: str = field(default_factory=partial(secrets.token_urlsafe, 12))
    state: State = "waiting"
    progress: float = 0.0
    previews: tuple[bytes, ...] = ()
    outcome: Outcome | None = None
    error: str | None = None
    began: float | None = None
    ended: float | None = None
    asked: float = field(default_factory=time.monotonic)
    stopped: str | None = None
    """Why it is to end early, once it is."""
    watchers: dict[asyncio.Event, asyncio.AbstractEventLoop] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in ("done", "failed", "cancelled")

    @property
    def age(self) -> float:
        """Seconds since it was finished."""
        return 0.0 if self.ended is None else time.monotonic() - self.ended

    @property
    def seconds(self) -> float:
        """How long it has been running, or has run."""
        return 0.0 if self.began is None else (self.ended or time.monotonic()) - self.began


class Jobs:
    """All jobs that there are: one that runs, those that wait, and results not yet dropped."""

    def __init__(self, limits: JobLimits) -> None:
        self.limits = limits
        self.ended: Counter[tuple[str, State]] = Counter()
        self.refused = 0
        self.worked_seconds = 0.0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="model")
        self.lock = threading.RLock()
        self._jobs: dict[str, Job] = {}
        self._waiting: deque[tuple[Job, Task]] = deque()
        self._running: Job | None = None
        self._closed = False

    def submit(self, job: Job, task: Task) -> None:
        """Put a job at the end of the queue; ``BusyError`` if that is full, or closed."""
        with self.lock:
            self.sweep()
            if self._closed or len(self._waiting) >= self.limits.waiting:
                self.refused += 1
                raise BusyError
            self._jobs[job.id] = job
            self._waiting.append((job, task))
            self._start_next()

    def find(self, name: str) -> Job | None:
        """The job of that id, unless it has been dropped. Asking keeps it alive."""
        with self.lock:
            job = self._jobs.get(name)
            if job is not None:
                job.asked = time.monotonic()
            return job

    def ahead(self, job: Job) -> int:
        """How many jobs come before this one."""
        with self.lock:
            queue = [waiting for waiting, _ in self._waiting]
            return queue.index(job) + 1 if job in queue else 0

    def count(self) -> dict[str, int]:
        """How many jobs are waiting, running and kept."""
        with self.lock:
            finished = sum(job.finished for job in self._jobs.values())
            return {
                "waiting": len(self._waiting),
                "running": int(self._running is not None),
                "kept": finished,
            }

    def stop(self, job: Job, why: str = "cancelled") -> None:
        """End a job before its time: at once if it waits, at its next report if it runs."""
        with self.lock:
            job.stopped = job.stopped or why
            waiting = [entry for entry in self._waiting if entry[0] is not job]
            if len(waiting) < len(self._waiting):
                self._waiting = deque(waiting)
                self._finish(job, "cancelled", error=job.stopped)

    @contextmanager
    def watching(self, job: Job) -> Iterator[asyncio.Event]:
        """An event of the running loop that is set whenever the job has changed."""
        changed = asyncio.Event()
        with self.lock:
            job.watchers[changed] = asyncio.get_running_loop()
        try:
            yield changed
        finally:
            with self.lock:
                del job.watchers[changed]
                job.asked = time.monotonic()

    def sweep(self) -> None:
        """Stop jobs that nobody watches, drop results that are old or too many."""
        with self.lock:
            for job in [job for job in self._jobs.values() if not job.finished and self._forgotten(job)]:
                self.stop(job, FORGOTTEN)
            finished = [job for job in self._jobs.values() if job.finished]  # in the order of asking
            surplus = len(finished) - self.limits.kept
            for number, job in enumerate(finished):
                if job.age > (self.limits.fresh_seconds if number < surplus else self.limits.keep_seconds):
                    del self._jobs[job.id]

    def close(self) -> None:
        """Stop everything and wait for the worker."""
        with self.lock:
            self._closed = True
            for job in [job for job in self._jobs.values() if not job.finished]:
                self.stop(job, "the Studio was closed")
        self._worker.shutdown(wait=True)

    def _forgotten(self, job: Job) -> bool:
        return not job.watchers and time.monotonic() - job.asked > self.limits.unwatched_seconds

    def _start_next(self) -> None:
        if self._running is None and self._waiting:
            job, task = self._waiting.popleft()
            self._running, job.state, job.began = job, "running", time.monotonic()
            self._worker.submit(task, Reporter(self, job)).add_done_callback(partial(self._end, job))
            self._wake(job, *(waiting for waiting, _ in self._waiting))

    def _end(self, job: Job, future: "Future[Outcome]") -> None:
        """Record how a job ended, and begin the next."""
        error = future.exception()
        with self.lock:
            self._running = None
            if isinstance(error, UnmaskError):
                self._finish(job, "failed", error=str(error))
            elif error is not None and not isinstance(error, StoppedError):
                log.error("a job failed: %s", job.kind, exc_info=error)
                self._finish(job, "failed", error=DEFECT)
            elif job.stopped:  # even if it came to its end in the meantime
                self._finish(job, "cancelled", error=job.stopped)
            else:
                self._finish(job, "done", outcome=future.result())
            self._start_next()

    def _finish(
        self, job: Job, state: State, *, outcome: Outcome | None = None, error: str | None = None
    ) -> None:
        job.outcome, job.error, job.ended, job.previews = outcome, error, time.monotonic(), ()
        job.state = state  # last, so that the rest is set before
        self.ended[job.kind, state] += 1
        self.worked_seconds += job.seconds
        self._wake(job, *(waiting for waiting, _ in self._waiting))

    def _wake(self, *jobs: Job) -> None:
        for changed, loop in (watcher for job in jobs for watcher in job.watchers.items()):
            loop.call_soon_threadsafe(changed.set)


class Reporter:
    """Told how far a job has come, as a ``progress.Report``, and shown pictures; in the worker thread."""

    def __init__(self, jobs: Jobs, job: Job) -> None:
        self._jobs, self._job = jobs, job
        self._next_preview = 0.0

    def __call__(self, done: float, total: int) -> None:
        """Note progress; ``StoppedError`` if the job is to end here."""
        jobs, job = self._jobs, self._job
        if jobs._forgotten(job):
            jobs.stop(job, FORGOTTEN)
        if job.stopped:
            raise StoppedError
        if job.seconds > jobs.limits.run_seconds:
            raise ConfigError(
                f"this takes longer than the {jobs.limits.run_seconds:.0f} seconds that a job may take",
                hint="take fewer steps, fewer images, a smaller canvas or a larger stride",
            )
        with jobs.lock:
            job.progress = done / total
            jobs._wake(job)

    def show(self, make: Callable[[], list[bytes]]) -> None:
        """Have encoded pictures made, if somebody watches and it takes no more than its share of the time."""
        begin = time.monotonic()
        if not self._job.watchers or begin < self._next_preview:
            return
        previews = tuple(make())
        end = time.monotonic()
        self._next_preview = end + (end - begin) * (1 / self._jobs.limits.preview_share - 1)
        with self._jobs.lock:
            self._job.previews = previews
            self._jobs._wake(self._job)
