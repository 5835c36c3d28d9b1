"""``/api/v1``: requests become jobs, jobs are watched, results fetched."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Depends, Path, Response
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from unmask.studio.description import describe
from unmask.studio.gallery import Gallery
from unmask.studio.jobs import Job, Jobs, Outcome
from unmask.studio.models import Models
from unmask.studio.recipes import all_of, recipe_of
from unmask.studio.schema import Drawing, JobView, ModelView, Name, Request, refusals
from unmask.studio.tasks import task_of

BEAT_SECONDS = 10.0  # a stream says that it lives; whoever has gone is noticed
PAUSE_SECONDS = 0.05  # between two messages of a stream
NO_JOB = "there is no such job, or its results have been dropped"

POST: dict[str, Any] = {
    "status_code": 202,
    "response_description": "The job, begun or in the queue",
    "responses": refusals(411, 413, 422, 503),
}
GET: dict[str, Any] = {"response_description": "As it stands", "responses": refusals(404, 422)}


@dataclass(frozen=True)
class Studio:
    """Models, jobs and, where results are kept, a gallery."""

    models: Models
    jobs: Jobs
    gallery: Gallery | None = None

    def submit(self, request: Request) -> JobView:
        """Begin a job, or put it into the queue."""
        name, model = self.models.get(request.model)
        about = {
            "model": name,
            "settings": all_of(request, model),
            "recipe": recipe_of(request, model, name),
        }
        job = Job(type(request).__name__.lower(), about)
        task = task_of(request, model)
        if self.gallery is not None and isinstance(request, Drawing):
            task = self.gallery.keeping(task)
        self.jobs.submit(job, task)
        return self.view(job)

    def view(self, job: Job) -> JobView:
        """A job as its owner sees it, all of it at one moment."""
        with self.jobs.lock:
            outcome = job.outcome or Outcome(pictures=[])
            return JobView(
                id=job.id,
                kind=job.kind,
                state=job.state,
                ahead=self.jobs.ahead(job),
                progress=1.0 if job.state == "done" else job.progress,
                seconds=round(job.seconds, 3),
                error=job.error,
                pictures=[
                    f"/api/v1/jobs/{job.id}/pictures/{number}" for number in range(len(outcome.pictures))
                ],
                figures=outcome.figures,
                kept=outcome.kept,
                unkept=outcome.unkept,
                **job.about,
            )

    async def follow(self, job: Job) -> AsyncIterator[str]:
        """A job's states and previews as server-sent events, the latest only, until it is finished."""
        shown: tuple[bytes, ...] = ()
        with self.jobs.watching(job) as changed:
            while True:
                changed.clear()
                with self.jobs.lock:
                    finished, previews, view = job.finished, job.previews, self.view(job)
                if previews and previews is not shown:
                    yield _event("preview", {"pictures": _changes(shown, previews)})
                    shown = previews
                yield _event("job", view.model_dump(mode="json"))
                if finished:
                    return
                await asyncio.sleep(PAUSE_SECONDS)
                try:
                    await asyncio.wait_for(changed.wait(), BEAT_SECONDS)
                except TimeoutError:
                    yield ": waiting\n\n"


def api(studio: Studio) -> APIRouter:
    """The routes of version 1."""
    routes = APIRouter()

    @routes.get("/models")
    def models() -> list[str]:
        """The names of all models that there are, the one that is meant where none is named first."""
        return studio.models.names()

    @routes.get("/model", **GET)
    def model(name: Name | None = None) -> ModelView:
        """A model, and what may be asked of it. One that is not in memory yet is opened."""
        name, model = studio.models.get(name)
        return describe(model, name)

    for kind in get_args(Request):
        name = kind.__name__.lower()
        routes.post(f"/{name}", name=name, description=kind.__doc__, **POST)(_beginning(studio, kind))
    _add_jobs(routes, studio)
    return routes


def _beginning(studio: Studio, kind: type[Request]) -> Callable[[Any], JobView]:
    def begin(request: kind) -> JobView:  # type: ignore[valid-type]
        return studio.submit(request)

    return begin


def _add_jobs(routes: APIRouter, studio: Studio) -> None:
    def find(job_id: Annotated[str, Path(max_length=64)]) -> Job:
        job = studio.jobs.find(job_id)
        if job is None:
            raise HTTPException(404, NO_JOB)
        return job

    Found = Annotated[Job, Depends(find)]

    @routes.get("/jobs/{job_id}", **GET)
    def job(job: Found) -> JobView:
        """A job as it stands. One that nobody asks about for half a minute is stopped."""
        return studio.view(job)

    @routes.delete("/jobs/{job_id}", **GET)
    def cancel(job: Found) -> JobView:
        """Stop a job; one that is finished stays as it is."""
        studio.jobs.stop(job)
        return studio.view(job)

    @routes.get("/jobs/{job_id}/events", **GET, response_class=StreamingResponse)
    async def events(job: Found) -> StreamingResponse:
        """Server-sent events: `job`, which is the job as it stands, and `preview`, its images so far.

        Of a preview only images that changed are sent; in place of the others stands null.
        """
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(studio.follow(job), media_type="text/event-stream", headers=headers)

    @routes.get("/jobs/{job_id}/pictures/{number}", **GET, response_class=Response)
    def picture(job: Found, number: Annotated[int, Path(ge=0, lt=2**31)]) -> Response:
        """A result, as a PNG file."""
        pictures = job.outcome.pictures if job.outcome else []
        if number >= len(pictures):
            raise HTTPException(404, f"the job has {len(pictures)} images")
        headers = {"Cache-Control": "private, max-age=900, immutable"}
        return Response(pictures[number], media_type="image/png", headers=headers)


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, allow_nan=False)}\n\n"


def _changes(before: tuple[bytes, ...], now: tuple[bytes, ...]) -> list[str | None]:
    """Addresses of the images that are not as they were; None for the others and those to come."""
    pairs = zip_longest(before[: len(now)], now)
    return [None if old == new or not new else _address(new) for old, new in pairs]


def _address(preview: bytes) -> str:
    return f"data:image/webp;base64,{base64.b64encode(preview).decode()}"
