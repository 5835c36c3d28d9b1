"""Health check and metrics of the Studio, for monitoring."""

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from unmask.studio.jobs import Jobs


class Health(BaseModel):
    """The state of the queue."""

    status: str
    waiting: int
    running: int
    kept: int


def health(jobs: Jobs) -> APIRouter:
    """The two routes for it."""
    routes = APIRouter()

    @routes.get("/healthz")
    def healthz() -> Health:
        """Lives, and how long the queue is."""
        return Health(status="ok", **jobs.count())

    @routes.get("/metrics", response_class=PlainTextResponse)
    def metrics() -> str:
        """Figures in the text format of Prometheus."""
        return "".join(f"{line}\n" for line in _lines(jobs))

    return routes


def _lines(jobs: Jobs) -> list[str]:
    count = jobs.count()
    lines = ["# TYPE unmask_jobs gauge"]
    lines += [f'unmask_jobs{{state="{state}"}} {number}' for state, number in count.items()]
    lines += ["# TYPE unmask_jobs_ended_total counter"]
    lines += [
        f'unmask_jobs_ended_total{{kind="{kind}",state="{state}"}} {number}'
        for (kind, state), number in sorted(jobs.ended.items())
    ]
    lines += ["# TYPE unmask_requests_busy_total counter", f"unmask_requests_busy_total {jobs.refused}"]
    lines += ["# TYPE unmask_worked_seconds_total counter"]
    return [*lines, f"unmask_worked_seconds_total {jobs.worked_seconds:.3f}"]
