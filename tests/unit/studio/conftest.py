"""A model without training, behind a Studio."""

import base64
import io
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fastapi import FastAPI
from fastapi.testclient import TestClient
from PIL import Image

from benchmarks.studio import serving
from tests.untrained import untrained
from unmask.pipeline import Pipeline, load
from unmask.storage import bundles as bundle
from unmask.studio.limits import JobLimits
from unmask.studio.server import create_app


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model on disk, for pictures of 16×16 pixels and 4×4 codes."""
    path = tmp_path_factory.mktemp("studio") / "model"
    bundle.save(untrained(), path)
    return path


@pytest.fixture(scope="session")
def model(folder: Path) -> Pipeline:
    return load(folder, "cpu")


@pytest.fixture(scope="session")
def autoregressive() -> Pipeline:
    """The same with an autoregressive prior."""
    return Pipeline(untrained("autoregressive"), torch.device("cpu"))


@pytest.fixture
def limits() -> JobLimits:
    return JobLimits()


@pytest.fixture
def client(model: Pipeline, folder: Path, limits: JobLimits) -> Iterator[TestClient]:
    """A browser on this machine."""
    with TestClient(
        create_app(model, str(folder), limits=limits), base_url="http://localhost:8000"
    ) as client:
        yield client


@pytest.fixture(scope="session")
def serve() -> Callable[[FastAPI], AbstractContextManager[str]]:
    return serving


Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(client: TestClient) -> Ask:
    """Start a job and wait for its end."""

    def run(kind: str, **request: Any) -> dict[str, Any]:
        answer = client.post(f"/api/v1/{kind}", json=request)
        assert answer.status_code == 202, answer.text
        job = answer.json()
        while job["state"] in ("waiting", "running"):
            time.sleep(0.005)
            job = client.get(f"/api/v1/jobs/{job['id']}").json()
        return dict(job)

    return run


@pytest.fixture
def fetch(client: TestClient) -> Callable[[dict[str, Any]], list[np.ndarray]]:
    """The pixels of a job's pictures."""

    def pictures(job: dict[str, Any]) -> list[np.ndarray]:
        files = [client.get(address) for address in job["pictures"]]
        assert all(file.headers["content-type"] == "image/png" for file in files)
        return [np.asarray(Image.open(io.BytesIO(file.content))) for file in files]

    return pictures


def photo(width: int, height: int) -> Image.Image:
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def encoded(picture: Image.Image, kind: str = "PNG") -> str:
    file = io.BytesIO()
    picture.save(file, kind)
    return base64.b64encode(file.getvalue()).decode()


@pytest.fixture
def picture() -> Image.Image:
    """A picture a little larger than those of the training, of no whole number of codes."""
    return photo(22, 18)


@pytest.fixture
def upload(picture: Image.Image) -> str:
    return encoded(picture)


@pytest.fixture
def encode() -> Callable[..., str]:
    return encoded
