"""A real browser before a real server."""

import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.untrained import begun, untrained
from unmask.training.runs import Run

UNMASK = Path(sys.executable).with_name("unmask")
PATIENCE_MS = 180_000  # the machine may be busy
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SCREENSHOTS = os.environ.get("UNMASK_SCREENSHOTS")  # a folder for what docs/studio.md shows


@pytest.fixture(scope="session")
def chromium() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium here to look at the page with; install it:  apt-get install chromium")
    return found


@contextmanager
def studio(model: str, *words: str) -> Iterator[str]:
    """Where the command says that the page is."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [UNMASK, "studio", model, "--port", "0", *words]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    line = server.stdout.readline()
    assert line.startswith("Unmask Studio: http://127.0.0.1:"), line + server.stderr.read()
    try:
        yield line.split()[-1]
    finally:
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=60)
    assert "Traceback" not in errors, errors


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A training on its way, with a model of no use."""
    return begun(tmp_path_factory.mktemp("runs") / "small", model=untrained(edge=8))


@pytest.fixture(scope="session")
def address(chromium: str, run: Run) -> Iterator[str]:
    with studio("avatars", "--runs", str(run.folder.parent)) as address:
        yield address


@pytest.fixture
def closed(chromium: str) -> Iterator[str]:
    """A Studio that wants a token."""
    with studio("avatars", "--token", "open-sesame") as address:
        yield address


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Ends with its module: while it is there, no other event loop may run."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def steps() -> int:
    """Few where only the outcome counts, many where it will be looked at."""
    return 64 if SCREENSHOTS else 8


Open = Callable[..., Page]


@pytest.fixture
def tab(browser: Browser, address: str) -> Iterator[Open]:
    """Open a tab at a view. Whatever it does, it asks nobody but the server, and no script fails."""
    asked, complaints, contexts = [], [], []

    def open_tab(view: str = "create", **options: Any) -> Page:
        usual = {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce"}
        context = browser.new_context(**(usual | options))
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        context.on("request", lambda request: asked.append(request.url))
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.on("console", lambda said: said.type == "error" and complaints.append(said.text))
        page = context.new_page()
        page.goto(f"{address}#/{view}")
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_tab
    for context in contexts:
        context.close()
    own = urlsplit(address).netloc
    assert asked
    assert [
        url for url in asked if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).netloc != own
    ] == []
    # That the server refused something is for the page to say; a browser complains of it as well.
    assert [said for said in complaints if "Failed to load resource" not in said] == []


@pytest.fixture
def shot() -> Callable[[Page, str], None]:
    """Keep a picture of the page for the documentation, where that is wanted."""

    def keep(page: Page, name: str) -> None:
        if not SCREENSHOTS:
            return
        page.mouse.move(0, 0)
        page.wait_for_timeout(300)
        with Image.open(io.BytesIO(page.screenshot())) as picture:
            picture.convert("RGB").save(Path(SCREENSHOTS) / f"studio-{name}.webp", quality=88, method=6)

    return keep


def pixels_of(page: Page, selector: str) -> np.ndarray:
    """The pixels of a canvas or of a picture on the page, as they are."""
    flat = page.evaluate(
        """async (selector) => {
            const seen = document.querySelector(selector);
            if (seen.tagName === "IMG") await seen.decode();
            const canvas = document.createElement("canvas");
            const [width, height] = [seen.naturalWidth ?? seen.width, seen.naturalHeight ?? seen.height];
            Object.assign(canvas, { width, height });
            const context = canvas.getContext("2d");
            context.drawImage(seen, 0, 0);
            return [width, height, ...context.getImageData(0, 0, width, height).data];
        }""",
        selector,
    )
    width, height, *levels = flat
    return np.array(levels, np.uint8).reshape(height, width, 4)


@pytest.fixture
def look() -> Callable[[Page, str], np.ndarray]:
    return pixels_of
