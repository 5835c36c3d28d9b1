"""Models to choose from, and trainings to watch."""

import re

from playwright.sync_api import expect

from tests.browser.actions import button, choose_model, findings_everywhere, set_range


def test_another_model_is_chosen_and_asked_and_stays_after_a_reload(tab, run, look):
    page = tab()
    set_range(page, "Images", 1)
    set_range(page, "Steps", 2)
    button(page, "Create images").click()
    expect(page.locator(".batch .tile:enabled")).to_have_count(1)
    choose_model(page, str(run.folder))
    expect(page.locator(".batch .tile:enabled")).to_have_count(1)  # what the other drew is still there
    set_range(page, "Images", 1)
    button(page, "Create images").click()
    expect(page.locator(".batch .tile:enabled")).to_have_count(2)
    assert look(page, ".batch .tile img").shape == (32, 32, 4)
    page.reload()
    expect(page.locator("#model-name")).to_have_text(re.compile("/small$"))


def test_a_training_is_watched_and_its_past_is_travelled_through(tab, run, look):
    page = tab("training", color_scheme="dark")
    expect(page.locator("#training .status")).to_contain_text("Step 2,000 of 3,000.")
    expect(page.locator(".chart")).to_have_count(2)
    slider = page.get_by_label("Step", exact=True)
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".time output")).to_have_text("Step 1,000")
    assert tuple(look(page, ".time img")[0, 0, :3]) == (50, 50, 50)
    value = page.locator(".chart", has_text="bits").locator(".hint")
    expect(value).to_have_text("train 7.00 · validation 7.50")
    run.log(2100, {"bits": 5.5, "norm": 1.5})  # the page sees it without being told
    expect(page.locator("#training .status")).to_contain_text("Step 2,100 of 3,000.")
    expect(page.locator(".time output")).to_have_text("Step 1,000")
    expect(value).to_have_text("train 7.00 · validation 7.50")  # new lines of the log move nothing
    expect(page.locator(".chart .dot")).to_have_count(1)  # a curve of one point is a point


def test_a_training_has_no_findings_of_axe(tab, run):
    page = tab("training")
    expect(page.locator(".chart").first).to_be_visible()
    assert findings_everywhere(page) == {}
