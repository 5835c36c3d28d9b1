"""Built-in models that know words: from a prompt to the gallery, and words along a canvas."""

import pytest
from playwright.sync_api import expect

from tests.browser.actions import button, choose_model, field, set_range
from tests.browser.conftest import studio


@pytest.fixture(scope="module")
def address(chromium, tmp_path_factory):
    with studio("avatars", "--keep", str(tmp_path_factory.mktemp("kept"))) as address:
        yield address


def prompt_of(page, view="create"):
    return page.locator(f"#{view}").get_by_role("combobox", name="Prompt", exact=True)


def draw(page, prompt, steps, count):
    prompt_of(page).fill(prompt)
    set_range(page, "Images", count)
    set_range(page, "Steps", steps)
    button(page, "Create images").click()
    drawn = page.locator("#create .batch", has_text=f"“{prompt}”")
    expect(drawn.locator(".tile:enabled")).to_have_count(count)


def test_what_a_prompt_drew_is_found_by_its_words(tab, shot, steps):
    page = tab("create")
    steps, count = steps // 2, 8
    draw(page, "black afro, glasses", steps, count)
    draw(page, "long red hair, blue background", steps, count)
    prompt_of(page).fill("")
    prompt_of(page).press_sequentially("smiling, bl")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    shot(page, "words")
    page.locator("nav").get_by_role("link", name="Gallery").click()
    kept = page.locator("#gallery .kept")
    expect(kept).to_have_count(2 * count)
    shot(page, "gallery")
    field(page, "Search").fill("glasses afro")
    expect(kept).to_have_count(count)


def test_a_canvas_follows_the_words_along_it(tab, shot, steps):
    page = tab("extend")
    choose_model(page, "fruit")
    button(page, "Start with an empty canvas").click()
    prompt_of(page, "extend").fill("granny smith apples | oranges")
    for side, more in (("Right", 320), ("Below", 64)):
        pixels = page.get_by_role("spinbutton", name=side)
        pixels.fill(str(more))
        pixels.press("Tab")
    set_range(page, "Steps", steps // 2)
    button(page, "Draw what is missing").click()
    expect(page.locator("#extend .versions").get_by_label("Version 1")).to_be_enabled()
    shot(page, "along")
