"""The application: a model behind a versioned JSON API, and the page that uses it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from unmask import __version__
from unmask.errors import UnmaskError
from unmask.pipeline import Pipeline
from unmask.studio.api import Studio, api
from unmask.studio.guard import Access, Guard
from unmask.studio.health import health
from unmask.studio.jobs import BusyError, Jobs
from unmask.studio.limits import JobLimits
from unmask.studio.page import serve_page

SWEEP_SECONDS = 2.0


def create_app(
    model: Pipeline,
    name: str,
    *,
    access: Access = Access(),  # noqa: B008
    limits: JobLimits = JobLimits(),  # noqa: B008
) -> FastAPI:
    """The Studio for one model, which goes by ``name`` in what people are told to type."""
    jobs = Jobs(limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        sweeping = asyncio.create_task(_sweep(jobs))
        yield
        sweeping.cancel()
        await asyncio.to_thread(jobs.close)

    app = FastAPI(
        title="Unmask Studio",
        version=__version__,
        summary="A model in a browser, and its API.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # they would come from another server
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.jobs = jobs
    app.include_router(api(Studio(model, name, jobs)), prefix="/api/v1")
    app.include_router(health(jobs))
    serve_page(app)
    app.add_middleware(Guard, access=access)
    app.exception_handler(RequestValidationError)(_explain)
    app.exception_handler(UnmaskError)(_mistake)
    app.exception_handler(BusyError)(_busy)
    app.exception_handler(HTTPException)(_refused)
    return app


class Server(uvicorn.Server):
    """What serves an application of ``create_app``. Jobs end first: their streams then end by themselves."""

    def __init__(self, app: FastAPI) -> None:
        super().__init__(
            uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, limit_concurrency=512)
        )
        self._jobs: Jobs = app.state.jobs

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell whoever watches a job that it was stopped, and close the connections."""
        await asyncio.to_thread(self._jobs.close)
        await super().shutdown(sockets)


async def _sweep(jobs: Jobs) -> None:
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        jobs.sweep()


def _explain(_: Request, error: RequestValidationError) -> JSONResponse:
    """What is wrong with a request, in words, without repeating it."""
    return _problem(422, "; ".join(_sentences(error.errors())))


def _sentences(errors: Sequence[Any]) -> list[str]:
    places = (".".join(str(part) for part in error["loc"][1:]) or "the request" for error in errors)
    return [
        f"{place}: {error['msg'][:1].lower()}{error['msg'][1:]}".encode("utf-8", "replace").decode()
        for place, error in zip(places, errors, strict=True)
    ]


def _mistake(_: Request, error: UnmaskError) -> JSONResponse:
    return _problem(422, str(error))


def _busy(_: Request, error: BusyError) -> JSONResponse:
    return _problem(503, "the Studio is busy: its queue is full; try again in a moment", {"Retry-After": "2"})


def _refused(_: Request, error: HTTPException) -> JSONResponse:
    return _problem(error.status_code, str(error.detail), dict(error.headers or {}))


def _problem(status: int, sentence: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": sentence}, status, headers)
