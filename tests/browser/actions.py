"""What a person's hands do on the page, and what axe finds on it."""

import re
from importlib.resources import files
from pathlib import Path

from playwright.sync_api import expect

PORTRAIT = Path(__file__).with_name("portrait.png")
SCHEMES = ("light", "dark")
WIDTHS = (1440, 820, 390)  # a screen, a window half as wide, a phone


def findings(page):
    """What axe has to say about the page as it is, and where."""
    page.evaluate((files("axe_core_python") / "axe.min.js").read_text())
    found = page.evaluate("axe.run()")["violations"]
    return [(problem["id"], [node["html"] for node in problem["nodes"]]) for problem in found]


def findings_everywhere(page):
    """The same by scheme and width, and whether the page scrolls sideways."""
    before, found = page.viewport_size, {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
            if problems := [*findings(page), *["scrolls sideways"] * wide]:
                found[scheme, width] = problems
    page.set_viewport_size(before)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    return found


def button(page, name, **options):
    return page.get_by_role("button", name=name, **options).locator("visible=true")


def field(page, label):
    return page.get_by_label(label, exact=True).locator("visible=true")


def set_range(page, label, value):
    field(page, label).fill(str(value))


def choose_model(page, name):
    page.locator("#model").click()
    page.locator("#about").get_by_role("button", name=name).click()
    expect(page.locator("#model-name")).to_have_text(re.compile(f"{re.escape(Path(name).name)}$"))


def open_portrait(page, view):
    """Open a real picture: one of Open Peeps by Pablo Stanley (CC0), as tools/fetch_avatars.py draws it."""
    page.locator(f"#{view} .source input").set_input_files(PORTRAIT)
    page.locator(".easel").locator("visible=true").wait_for()


def take_sample(page):
    button(page, "Take a sample").click()
    page.locator(".easel").locator("visible=true").wait_for()


def paint(page, points):
    """Draw a stroke through points given as shares of the picture."""
    box = page.locator("#edit .mask").bounding_box()
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()


def redraw(page, steps):
    set_range(page, "Steps", steps)
    button(page, "Redraw selection").click()
    await_versions(page)


def await_versions(page):
    """Until the versions just asked for are there: those of before stay enabled until the server answers."""
    expect(page.locator("#edit .status")).to_contain_text("Done in")
    expect(page.locator("#edit .versions").get_by_label("Version 1")).to_be_enabled()
