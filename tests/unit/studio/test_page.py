"""The page needs nothing but its own files, and has all of them."""

import re
from pathlib import Path

import pytest

import unmask.studio
from unmask.diffusion.settings import SETTINGS

FILES = Path(unmask.studio.__file__).with_name("static")
TEXTS = sorted(path for path in FILES.rglob("*") if path.is_file())
STANDARDS = {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_nothing_comes_from_elsewhere(path):
    addresses = set(re.findall(r"""https?://[^\s"'`)]+""", path.read_text()))
    assert addresses <= STANDARDS


@pytest.mark.parametrize("page", ["index.html", "api.html", "token.html"])
def test_every_file_that_is_named_is_there(client, page):
    names = re.findall(r'(?:href|src)="(/static/[^"#]+)', (FILES / page).read_text())
    assert names
    for name in names:
        assert client.get(name).status_code == 200, name


def test_every_module_that_is_imported_is_there_and_fetched_early():
    modules = {path.name for path in (FILES / "js").glob("*.js")}
    imported = {
        name
        for path in (FILES / "js").glob("*.js")
        for name in re.findall(r'from "\./([^"]+)"', path.read_text())
    }
    assert imported <= modules
    early = set(re.findall(r'modulepreload" href="/static/js/([^"]+)"', (FILES / "index.html").read_text()))
    assert early == imported


def test_every_icon_that_is_used_is_drawn():
    drawn = set(re.findall(r'<symbol id="([^"]+)"', (FILES / "icons.svg").read_text()))
    used = set(re.findall(r'(?:symbol: |icon\()"([^"]+)"', "".join(path.read_text() for path in TEXTS)))
    assert used <= drawn


def test_settings_are_named_by_the_server_alone():
    written = {word for path in TEXTS for word in re.findall(r'"(\w[\w ]*)"', path.read_text())}
    known = {word for each in SETTINGS.values() for word in (each.name, each.label, *(each.choices or ()))}
    assert {"settings", "Seed"} <= written
    assert not written & known


def test_pages_and_files_have_their_kinds(client):
    kinds = {"/": "text/html", "/api": "text/html", "/static/js/app.js": "text/javascript",
             "/static/css/base.css": "text/css", "/favicon.ico": "image/svg+xml"}  # fmt: skip
    for path, kind in kinds.items():
        answer = client.get(path)
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path", ["/static/../server.py", "/static/%2e%2e/server.py", "/static//etc/passwd", "/static/"]
)
def test_no_other_file_is_served(client, path):
    assert client.get(path).status_code == 404
