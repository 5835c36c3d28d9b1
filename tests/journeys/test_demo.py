"""``unmask demo``: a page that needs nothing else, and whose commands and Python lines are true."""

import re
import shlex
import shutil
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from unmask.cli.main import run_command
from unmask.demo.chapters import CHAPTERS

OUTPUTS = {"--out", "--grid", "--gif"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Page(HTMLParser):
    """What a reader, or a browser, finds on the page."""

    def __init__(self, text):
        super().__init__()
        self.images, self.addresses, self.commands, self.python = [], [], [], []
        self._kind, self._code = None, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.addresses += [
            attrs[name] for name in ("src", "srcset", "href", "action", "data") if name in attrs
        ]
        if tag == "img":
            self.images.append(attrs)
        if tag == "pre":
            self._kind = attrs.get("class", "python")
        if tag == "code" and self._kind:
            self._code = ""

    def handle_data(self, data):
        if self._code is not None:
            self._code += data

    def handle_endtag(self, tag):
        if tag == "code" and self._code is not None:
            (self.commands if self._kind == "shell" else self.python).append(self._code)
            self._code = None
        if tag == "pre":
            self._kind = None


@pytest.fixture(scope="module")
def folder(trained, tmp_path_factory):
    """Where the demo was run, with a model that knows little."""
    shell = type(trained)(tmp_path_factory.mktemp("demo"), trained.commands)
    shutil.copytree(trained.folder / "prior/best", shell.folder / "prior/best")
    shutil.copy(trained.folder / "discs.npy", shell.folder)
    said = shell("demo", "prior/best", "discs.npy", "--no-train", "--device", "cpu")
    assert re.search(r"^the page of all this, .+ s: demo/index.html$", said, re.M)
    for number, chapter in enumerate(CHAPTERS[:-1], start=1):
        assert f"{number}/{len(CHAPTERS) - 1}  {chapter.title}" in said
    return shell.folder


@pytest.fixture(scope="module")
def page(folder):
    return Page((folder / "demo/index.html").read_text())


@pytest.fixture
def again(folder, tmp_path, monkeypatch):
    """A copy of that folder without what the commands made, to type them in."""
    shutil.copytree(folder, tmp_path / "again")
    monkeypatch.chdir(tmp_path / "again")
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "again/cache"))
    return tmp_path / "again"


def test_the_page_needs_nothing_but_itself(page, folder):
    assert page.addresses
    assert all(address.startswith(("data:image/", "#")) for address in page.addresses)
    text = (folder / "demo/index.html").read_text()
    assert not re.search(r"@import|url\(|<link|<script src", text)
    assert "default-src 'none'" in text


def test_every_image_says_what_it_shows(page):
    described = [image for image in page.images if "width" in image]  # all but those beside the title
    assert len(described) > 20
    assert all(image["alt"] for image in described)


def test_every_chapter_shows_its_commands(folder):
    text = (folder / "demo/index.html").read_text()
    for chapter in CHAPTERS[:-1]:
        section = text[text.index(f'<section id="{chapter.folder}"') :].partition("</section>")[0]
        assert Page(section).commands


def test_the_commands_that_are_shown_make_the_same_files(page, folder, again):
    made = []
    for line in page.commands:
        words = shlex.split(line)
        made += [again / word for option, word in pairwise(words) if option in OUTPUTS]
    for path in made:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for version in path.parent.glob(f"{path.stem}-?.png"):
            version.unlink()
    for line in page.commands:
        program, *argv = shlex.split(line)
        assert program == "unmask"
        run_command(argv)
    files = [path.relative_to(folder) for path in (folder / "demo").rglob("*") if path.is_file()]
    assert len(files) > 50
    assert [path for path in files if (again / path).read_bytes() != (folder / path).read_bytes()] == []


def test_the_python_that_is_shown_goes_on_from_the_model(page, again):
    names = {}
    (python,) = page.python
    exec(python, names)
    assert [image.size for image in names["new"]] == [(16, 16)] * 4


def test_a_browser_shows_it_on_phones_and_desks_without_asking_anyone(folder):
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium here to look at the page with; install it:  apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for width in (360, 1280):
            shown, asked = browser.new_page(viewport={"width": width, "height": 800}), []
            shown.on("request", lambda request, asked=asked: asked.append(request.url))
            shown.on("console", lambda message, asked=asked: asked.append(message.text))
            shown.goto((folder / "demo/index.html").as_uri())
            assert [url for url in asked if not url.startswith(("data:", "file:"))] == []
            assert shown.evaluate("document.documentElement.scrollWidth") <= width
            assert shown.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
        browser.close()


def test_a_model_that_is_not_there_is_found_out_first(shell, tmp_path):
    said = shell("demo", "nowhere/best", code=2)
    assert "nowhere/best" in said
    assert not (tmp_path / "demo").exists()


@pytest.mark.parametrize(
    ("model", "reason"), [("codec", "no prior"), ("autoregressive", "is autoregressive")]
)
def test_a_model_that_will_not_do_leaves_the_earlier_demo_alone(trained, tmp_path, model, reason):
    (tmp_path / "index.html").write_text("<title>Unmask, an earlier demo</title>")
    assert reason in trained("demo", f"{model}/best", "discs.npy", "--out", tmp_path, code=2)
    assert "earlier" in (tmp_path / "index.html").read_text()
