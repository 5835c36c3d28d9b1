"""The built-in model that knows words, from a prompt to the gallery."""

import pytest
from playwright.sync_api import expect

from tests.browser.actions import button, field, set_range
from tests.browser.conftest import studio


@pytest.fixture(scope="module")
def address(chromium, tmp_path_factory):
    with studio("emoji", "--keep", str(tmp_path_factory.mktemp("kept"))) as address:
        yield address


def draw(page, prompt, steps, count):
    page.locator("#create").get_by_role("combobox", name="Prompt", exact=True).fill(prompt)
    set_range(page, "Images", count)
    set_range(page, "Steps", steps)
    button(page, "Create images").click()
    drawn = page.locator("#create .batch", has_text=f"“{prompt}”")
    expect(drawn.locator(".tile:enabled")).to_have_count(count)


def test_what_a_prompt_drew_is_found_by_its_words(tab, shot, steps):
    page = tab("create")
    steps, count = steps // 4, 4
    draw(page, "grinning face", steps, count)
    draw(page, "woman", steps, count)
    page.locator("#create").get_by_role("combobox", name="Prompt", exact=True).fill("")
    page.locator("#create").get_by_role("combobox", name="Prompt", exact=True).press_sequentially(
        "smiling ca"
    )
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    shot(page, "words")
    page.locator("nav").get_by_role("link", name="Gallery").click()
    kept = page.locator("#gallery .kept")
    expect(kept).to_have_count(2 * count)
    shot(page, "gallery")
    field(page, "Search").fill("face grinning")
    expect(kept).to_have_count(count)
