"""The files of the page, as they are: no build step, nothing from elsewhere."""

import mimetypes
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

FILES = Path(__file__).with_name("static")


def serve_page(app: FastAPI) -> None:
    """Add the page and what it is made of to an application."""
    mimetypes.add_type("text/javascript", ".js")  # some systems have it otherwise, and browsers then refuse
    app.mount("/static", StaticFiles(directory=FILES), name="static")

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(FILES / "index.html")

    @app.get("/api", include_in_schema=False)
    def description() -> FileResponse:
        return FileResponse(FILES / "api.html")

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> FileResponse:
        return FileResponse(FILES / "icon.svg")
