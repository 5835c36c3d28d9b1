"""Trainings as far as they have come: curves, and images by step. They are only read, under names that the
server knows."""

import re
import time
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from unmask.studio.models import Others
from unmask.studio.schema import Name, refusals
from unmask.training.runs import Run

MAX_POINTS = 500
"""Points of a curve; longer ones are thinned."""
OWN = {"step", "time", "kind"}  # what is no metric in a line of a log
Points = list[tuple[int, float | None]]


class TrainingView(BaseModel):
    """A training as far as it has come."""

    name: str
    step: int
    steps: int | None = Field(description="Where it ends, as far as it says so.")
    idle_seconds: float | None = Field(description="Since it last logged something.")
    curves: dict[str, dict[str, Points]] = Field(
        description="Points (step, value) by metric and by what they are of: train or validation."
    )
    pictures: dict[str, list[int]] = Field(description="Steps of which there are images, by their name.")


def trainings(others: Others, first: str) -> APIRouter:
    """The routes for it."""
    routes = APIRouter()

    def find(name: str) -> Path:
        folder = others.trainings(first).get(name)
        if folder is None:
            raise HTTPException(404, "there is no training of that name here")
        return folder

    @routes.get("/trainings")
    def names() -> list[str]:
        """Trainings that there are to look at."""
        return list(others.trainings(first))

    @routes.get("/training", responses=refusals(404, 422))
    def training(name: Name) -> TrainingView:
        """One training: its curves, and which images there are."""
        return _view(name, find(name))

    @routes.get("/training/picture", responses=refusals(404, 422), response_class=Response)
    def picture(name: Name, of: Name, step: Annotated[int, Query(ge=0, lt=10**8)]) -> Response:
        """What the training drew at a step, a PNG file."""
        folder = find(name)
        if step not in _pictures(folder).get(of, []):
            raise HTTPException(404, "there is no such image, or not any more")
        headers = {"Cache-Control": "private, max-age=900"}
        content = (folder / "samples" / f"{of}-{step:08d}.png").read_bytes()
        return Response(content, media_type="image/png", headers=headers)

    return routes


def _view(name: str, folder: Path) -> TrainingView:
    log = folder / "log.jsonl"
    state = log.stat() if log.exists() else None
    step, curves = _curves(folder, state and (state.st_mtime_ns, state.st_size))
    return TrainingView(
        name=name,
        step=step,
        steps=_steps(Run.open(folder).config),
        idle_seconds=state and max(0.0, round(time.time() - state.st_mtime, 1)),
        curves=curves,
        pictures=_pictures(folder),
    )


@lru_cache(maxsize=8)
def _curves(folder: Path, state: tuple[int, int] | None) -> tuple[int, dict[str, dict[str, Points]]]:
    """The last step and all curves of a log; ``state`` is what changes with it."""
    entries = Run.open(folder).read_log() if state else []
    curves: dict[str, dict[str, Points]] = {}
    for entry in entries:
        for metric in entry.keys() - OWN:
            by_kind = curves.setdefault(metric, {})
            by_kind.setdefault(entry["kind"], []).append((entry["step"], entry[metric]))
    thin = {metric: {kind: _thin(points) for kind, points in of.items()} for metric, of in curves.items()}
    return max((entry["step"] for entry in entries), default=0), dict(sorted(thin.items()))


def _thin(points: Points) -> Points:
    """Evenly fewer points, the last one among them."""
    every = -(-len(points) // MAX_POINTS)
    return points[::-1][::every][::-1]


def _pictures(folder: Path) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for path in sorted((folder / "samples").glob("*.png")):
        if match := re.fullmatch(r"(.+)-(\d{8})\.png", path.name):
            found.setdefault(match[1], []).append(int(match[2]))
    return found


def _steps(config: dict[str, Any]) -> int | None:
    match config:
        case {"settings": {"loop": {"steps": int(steps)}}}:
            return steps
    return None
