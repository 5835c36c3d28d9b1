"""Words on the page: completed, marked, sent and said; and pictures as different as one likes."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.actions import await_versions, button, findings_everywhere, set_range
from tests.browser.conftest import studio
from tests.untrained import untrained
from unmask.storage import bundles

WORDS = ("astronaut", "cat", "cathedral", "dog", "grinning", "house", "red")


@pytest.fixture(scope="module")
def address(chromium, tmp_path_factory):
    folder = tmp_path_factory.mktemp("words") / "model"
    bundles.save(untrained(edge=16, words=WORDS), folder)
    with studio(str(folder)) as address:
        yield address


def prompt_of(page, view="create"):
    return page.locator(f"#{view}").get_by_role("combobox", name="Prompt", exact=True)


def take_sample(page):
    """A picture in Inspect, and what the model says of it."""
    button(page.locator("#inspect"), "Take a sample").click()
    expect(page.locator("#inspect .caption")).to_contain_text("the model's caption")


def sent(page, kind):
    """What the page asks the server for next."""
    return page.expect_request(lambda request: request.url.endswith(f"/api/v1/{kind}"))


def test_a_prompt_is_completed_by_keys_marked_where_unknown_and_sent(tab):
    page = tab("create")
    prompt = prompt_of(page)
    prompt.press_sequentially("red ca")
    expect(page.get_by_role("listbox").get_by_role("option")).to_have_text(["cat", "cathedral"])
    prompt.press("ArrowDown")
    prompt.press("ArrowDown")
    prompt.press("Enter")
    expect(prompt).to_have_value("red cathedral ")
    expect(prompt).to_have_attribute("aria-expanded", "false")
    prompt.press_sequentially("hause")
    prompt.blur()
    expect(page.locator("#create .unknown").first).to_contain_text("Unknown word: hause")
    page.locator("#create").get_by_role("button", name="house").click()
    expect(prompt).to_have_value("red cathedral house ")
    expect(page.locator("#create .unknown").first).to_be_empty()
    page.locator("#create").get_by_role("combobox", name="Negative prompt").fill("dog")
    with sent(page, "sample") as request:
        button(page, "Create images").click()
    asked = json.loads(request.value.post_data)
    assert (asked["prompt"], asked["negative"]) == ("red cathedral house", "dog")
    expect(page.locator(".batch h2")).to_contain_text("“red cathedral house”")


def test_prompts_have_no_findings_of_axe(tab):
    page = tab("create")
    prompt_of(page).press_sequentially("zzz ca")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    assert findings_everywhere(page) == {}
    page.goto(page.url.replace("create", "inspect"))
    take_sample(page)
    assert findings_everywhere(page) == {}
    page.goto(page.url.replace("inspect", "extend"))
    begin_canvas(page).fill("cat | dog")
    assert findings_everywhere(page) == {}


def begin_canvas(page):
    """The prompt of an empty canvas."""
    button(page, "Start with an empty canvas").click()
    return prompt_of(page, "extend")


def test_words_stand_along_an_empty_canvas_and_not_beyond_a_picture(tab):
    page = tab("extend")
    prompt = begin_canvas(page)
    prompt.press_sequentially("red cathedral | do")
    prompt.press("ArrowDown")
    prompt.press("Enter")
    places = page.locator("#extend .along span")
    expect(places).to_have_text(["red cathedral", "dog"])
    left, right = (places.nth(number).bounding_box() for number in range(2))
    assert left["x"] + left["width"] == pytest.approx(right["x"])
    set_range(page, "Steps", 2)
    with sent(page, "canvas") as request:
        button(page, "Draw what is missing").click()
    assert json.loads(request.value.post_data)["prompt"] == ["red cathedral", "dog"]
    button(page.locator("#extend"), "Take a sample").click()
    expect(places).to_have_count(0)


def test_words_of_ones_own_are_weighed(tab):
    page = tab("inspect")
    take_sample(page)
    words = page.locator("#inspect").get_by_role("combobox", name="Your words for it")
    words.fill("red cat")
    words.press("Enter")
    expect(page.locator("#inspect .weighing .shares li")).to_have_text(
        [re.compile("red.*%"), re.compile("cat.*%")]
    )


def test_a_picture_is_varied_from_where_it_is_seen(tab, look):
    page = tab("create")
    set_range(page, "Images", 1)
    set_range(page, "Steps", 4)
    button(page, "Create images").click()
    page.locator("#create .tile:not([disabled])").click()
    with sent(page, "vary") as request:
        page.locator("#viewer").get_by_role("button", name="Vary").click()
    assert json.loads(request.value.post_data)["strength"] == 0.3
    expect(page.locator("#edit .versions").get_by_label("Version 4")).to_be_enabled()
    set_range(page, "How different", 0.05)
    page.get_by_label("Only the codes that the model finds unlikely").check()
    with sent(page, "vary") as request:
        button(page, "Vary the whole image").click()
    asked = json.loads(request.value.post_data)
    assert (asked["strength"], asked["unlikely"]) == (0.05, True)
    await_versions(page)
    page.locator("#edit .versions").get_by_label("Version 1").click()
    expect(page.locator("#edit .versions").get_by_label("Version 1")).to_have_attribute(
        "aria-pressed", "true"
    )
