"""The application: a model behind a versioned JSON API, and the page that uses it."""

import asyncio
import select
import socket
from collections import Counter, deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from unmask import __version__
from unmask.errors import UnmaskError
from unmask.pipeline import Pipeline
from unmask.studio.api import Studio, api
from unmask.studio.gallery import Gallery
from unmask.studio.gallery_api import gallery_api
from unmask.studio.guard import Access, Guard
from unmask.studio.health import health
from unmask.studio.jobs import BusyError, Jobs
from unmask.studio.limits import DoorLimits, JobLimits
from unmask.studio.models import Models, Others
from unmask.studio.page import serve_page
from unmask.studio.trainings import trainings

SWEEP_SECONDS = 2.0
MAX_SENTENCES, MAX_SENTENCE = 8, 300  # in an answer on invalid requests, and characters of each


def create_app(
    model: Pipeline,
    name: str,
    *,
    others: Others = Others(),  # noqa: B008
    access: Access = Access(),  # noqa: B008
    limits: JobLimits = JobLimits(),  # noqa: B008
    keep: Path | None = None,
) -> FastAPI:
    """The Studio that begins with a model, which goes by ``name`` in what people are told to type.

    Results are kept in the folder ``keep``, if there is one.
    """
    jobs, gallery = Jobs(limits), Gallery(keep) if keep else None

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
    app.include_router(api(Studio(Models(model, name, others), jobs, gallery)), prefix="/api/v1")
    app.include_router(gallery_api(gallery), prefix="/api/v1")
    app.include_router(trainings(others, name), prefix="/api/v1")
    app.include_router(health(jobs))
    serve_page(app)
    app.add_middleware(Guard, access=access)
    app.exception_handler(RequestValidationError)(_explain)
    app.exception_handler(UnmaskError)(_mistake)
    app.exception_handler(BusyError)(_busy)
    app.exception_handler(HTTPException)(_refused)
    return app


class Server(uvicorn.Server):
    """The server of an application of ``create_app``. Jobs end first, and with them their streams."""

    def __init__(self, app: FastAPI, limits: DoorLimits = DoorLimits()) -> None:  # noqa: B008
        config = uvicorn.Config(
            app,
            log_level="warning",
            timeout_graceful_shutdown=1,
            http=type("Connection", (_Connection,), {"queue": _Queue(limits)}),
        )
        super().__init__(config)
        self._jobs: Jobs = app.state.jobs

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell whoever watches a job that it was stopped, and close the connections."""
        await asyncio.to_thread(self._jobs.close)
        await super().shutdown(sockets)


class _Queue:
    """Connections that wait before the door, the oldest first, and those that were let in."""

    def __init__(self, limits: DoorLimits) -> None:
        self._limits = limits
        self._waiting: dict[_Connection, asyncio.TimerHandle] = {}
        self._inside: set[_Connection] = set()
        self._full = False

    def join(self, connection: "_Connection") -> None:
        """Begin to wait, or wait anew; if too many do, some are ended."""
        self.leave(connection)
        loop = asyncio.get_running_loop()
        self._waiting[connection] = loop.call_later(self._limits.seconds, self._expire, connection)
        if len(self._waiting) > self._limits.waiting and not self._full:
            self._full = True
            loop.call_later(0, self._make_room)  # once what is here has been read, for all that come at once

    def admit(self, connection: "_Connection") -> bool:
        """Whether there is room inside for a connection, which then waits no longer."""
        if len(self._inside) >= self._limits.inside:
            return False
        self.leave(connection)
        self._inside.add(connection)
        return True

    def leave(self, connection: "_Connection") -> None:
        """Neither wait nor be inside."""
        self._inside.discard(connection)
        if timer := self._waiting.pop(connection, None):
            timer.cancel()

    def _expire(self, connection: "_Connection") -> None:
        """End a connection whose time is over, unless its request came while the server was busy."""
        if connection.asks:
            loop = asyncio.get_running_loop()
            self._waiting[connection] = loop.call_later(self._limits.moment_seconds, self._expire, connection)
        else:
            connection.end()

    def _make_room(self) -> None:
        """End who is too many, at the address where most wait, but nobody whose request is here.

        First go those that had a moment to say something and did not, and of these and of others the oldest.
        """
        self._full = False
        late = asyncio.get_running_loop().time() + self._limits.seconds - self._limits.moment_seconds
        mute = {one: one.silent and timer.when() < late for one, timer in self._waiting.items()}
        addresses = Counter(one.address for one in mute)
        lines: dict[str, deque[_Connection]] = {address: deque() for address in addresses}
        for one in sorted(mute, key=lambda one: not mute[one]):
            if not one.asks:
                lines[one.address].append(one)
        for _ in range(len(mute) - self._limits.waiting):
            address = max(filter(lines.get, lines), key=addresses.__getitem__, default=None)
            if address is None:
                break
            lines[address].popleft().end()
            addresses[address] -= 1


class _Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """A connection that waits before the door until a request of its is admitted, and again after that."""

    queue: _Queue
    address = ""
    silent = True

    @property
    def asks(self) -> bool:
        """Whether it has sent something that is yet to be read, or a request that is yet to be judged."""
        if not self.silent:
            return self.cycle is not None and not self.cycle.response_complete
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.app_state: dict[str, Any] = {**self.app_state, "admit": lambda: self.queue.admit(self)}
        self.queue.join(self)

    def data_received(self, data: bytes) -> None:
        self.silent = False
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.queue.leave(self)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self.silent = True
            self.queue.join(self)

    def end(self) -> None:
        """Close it at once, whatever it has sent."""
        self.queue.leave(self)
        self.transport.abort()


async def _sweep(jobs: Jobs) -> None:
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        jobs.sweep()


def _explain(_: Request, error: RequestValidationError) -> JSONResponse:
    """What is wrong with a request, in words, without repeating it."""
    sentences = _sentences(error.errors())
    more = [f"and {len(sentences) - MAX_SENTENCES:,} more"] if len(sentences) > MAX_SENTENCES else []
    return _problem(422, "; ".join([*sentences[:MAX_SENTENCES], *more]))


def _sentences(errors: Sequence[Any]) -> list[str]:
    places = (".".join(str(part) for part in error["loc"][1:]) or "the request" for error in errors)
    return [
        f"{place}: {error['msg'][:1].lower()}{error['msg'][1:]}"[:MAX_SENTENCE]
        .encode("utf-8", "replace")
        .decode()
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
