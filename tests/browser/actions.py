"""What a person's hands do on the page."""

from playwright.sync_api import expect


def button(page, name, **options):
    return page.get_by_role("button", name=name, **options).locator("visible=true")


def set_range(page, label, value):
    page.get_by_label(label, exact=True).locator("visible=true").fill(str(value))


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
    expect(page.locator("#edit .versions").get_by_label("Version 1")).to_be_enabled()
