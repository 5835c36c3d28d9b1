"""The site: built without a warning, its examples run, no link broken, and searched without a network."""

import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import expect
from sphinx.util.inventory import InventoryFile

import unmask

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs/examples").glob("*.py"))
SHORT = {"steps": 2, "validate_every": 2, "save_every": 2}


class Names(HTMLParser):
    """What a page links to, loads and can be linked at."""

    def __init__(self, page):
        super().__init__()
        self.links, self.loaded, self.anchors = set(), set(), {""}
        self.feed(page.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors.add(found.get("id"))
        if tag == "a" and "href" in found:
            self.links.add(found["href"])
        elif tag in ("script", "img", "link"):
            self.loaded.add(found.get("src") or found.get("href", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Built as `make site` builds it, but somewhere else, and with every example run again."""
    folder = tmp_path_factory.mktemp("site")
    words = [
        "--quiet",
        "--fail-on-warning",
        "--keep-going",
        "--conf-dir",
        "docs",
        "--fresh-env",
        "--write-all",
    ]
    again = ["--define", "sphinx_gallery_conf.run_stale_examples=True"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "UNMASK_CACHE": str(folder / "cache")}
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *words, *again, ".", folder / "html"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    return {page: Names(page) for page in site.rglob("*.html")}


def test_every_page_is_in_it(site):
    written = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/unmask/builtin/*/README.md")]
    missing = [page for page in written if not (site / page.relative_to(ROOT)).with_suffix(".html").exists()]
    assert missing == []


def test_every_link_leads_to_a_place_within_it_or_to_the_web(pages):
    for page, names in pages.items():
        for link in names.links:
            address = urlsplit(link)
            if not address.scheme:
                place = (page.parent / unquote(address.path)).resolve() if address.path else page
                assert place.is_file(), f"{page} links to {link}"
                if place in pages:
                    assert unquote(address.fragment) in pages[place].anchors, f"{page} links to {link}"


def test_it_loads_nothing_from_elsewhere(pages):
    for page, names in pages.items():
        assert [address for address in names.loaded if urlsplit(address).netloc] == [], page


def test_the_reference_has_all_of_the_public_face(site):
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    known = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    assert {f"unmask.{name}" for name in unmask.__all__ if name != "__version__"} <= known
    assert {"unmask.Pipeline.sample", "unmask.SampleFolder.fill"} <= known


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_is_a_notebook_too(site, example):
    (notebook,) = site.glob(f"_downloads/*/{example.stem}.ipynb")
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    code = "".join(line for cell in cells for line in cell["source"])
    for line in example.read_text().split('"""', 2)[2].splitlines():
        assert line.startswith("#") or re.sub(r"\s", "", line) in re.sub(r"\s", "", code), line


@pytest.mark.parametrize(
    ("example", "pictures"), [("1_first_pictures", 3), ("2_editing", 4), ("3_captions", 3)]
)
def test_what_an_example_draws_is_shown(site, example, pictures):
    assert len(list(site.glob(f"_images/sphx_glr_{example}_0*.png"))) == pictures


def test_the_example_that_trains_runs_to_its_end(monkeypatch, tmp_path):
    """In two steps, where a reader has minutes."""
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    monkeypatch.setattr(tempfile, "mkdtemp", lambda: str(tmp_path))
    train, sample = unmask.train_prior, unmask.Pipeline.sample
    monkeypatch.setattr(
        unmask,
        "train_prior",
        lambda *given, loop, **named: train(*given, loop=loop | SHORT, **named),
        raising=False,
    )
    monkeypatch.setattr(
        unmask.Pipeline, "sample", lambda *given, steps, **named: sample(*given, steps=2, **named)
    )
    after = runpy.run_path(str(EXAMPLES[-1]))
    assert after["run"].last_step() == 2


def test_it_can_be_searched_without_a_network(site, browser):
    page = browser.new_context(offline=True).new_page()
    page.goto(f"file://{site}/index.html")
    page.wait_for_url("**/README.html")
    page.goto(f"file://{site}/search.html?q=remasking")
    expect(page.locator("#search-results li", has_text="Sampling").first).to_be_visible()
