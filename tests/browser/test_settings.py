"""The page makes its forms of what the server says of a model: it knows no setting itself."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.actions import button, field, set_range, take_sample

NEW = {
    "name": "boldness",
    "label": "Boldness",
    "help": "How bold it is.",
    "kind": "number",
    "default": 0.5,
    "optional": False,
    "pair": False,
    "choices": None,
    "minimum": 0,
    "maximum": 1,
    "step": 0.25,
    "usual": None,
    "advanced": False,
    "unless": ["order", "spiral"],
    "uses": ["sample", "canvas", "edit"],
}
OWN = {
    "steps": 2,
    "temperature": [1.07, 0.333],
    "schedule": "cosine",
    "order": "halton",
    "remask": 0.5,
    "remask_cap": 0.015,
    "top_k": 100,
    "boldness": 0.3,
}


@pytest.fixture
def told(tab):
    """A tab at a Studio that describes more than the page has ever seen; and what it was asked to draw."""
    page, asked = tab(), []

    def describe(route):
        model = route.fetch().json()
        model["settings"].append(NEW)
        (order,) = (setting for setting in model["settings"] if setting["name"] == "order")
        order["choices"]["spiral"] = "from the middle outwards"
        model["sampling"]["mine"] = dict.fromkeys(("sample", "canvas", "edit"), OWN)
        route.fulfill(json=model)

    def draw(route):
        asked.append(json.loads(route.request.post_data))
        known = {"seed": asked[-1]["seed"], "steps": 1}
        job = route.fetch(post_data=json.dumps(known)).json()
        job["settings"] |= asked[-1]
        route.fulfill(status=202, json=job)

    page.route("**/api/v1/model", describe)
    page.route("**/api/v1/sample", draw)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    return page, asked


def test_a_new_setting_and_a_new_choice_are_in_every_form(told):
    page, _ = told
    for view in ("create", "edit", "extend"):
        page.locator(f'nav a[href="#/{view}"]').click()
        expect(field(page, "Boldness")).to_have_value("0.5")
        expect(page.get_by_text("How bold it is.").locator("visible=true")).to_be_visible()
        field(page, "Order").select_option(label="Spiral: from the middle outwards")
        expect(field(page, "Boldness")).to_be_disabled()


def test_a_new_setting_and_a_new_choice_are_asked_for_and_said(told):
    page, asked = told
    set_range(page, "Boldness", 0.75)
    button(page, "Create images").click()
    expect(page.locator(".batch .tile:enabled")).to_have_count(1)
    expect(page.locator(".batch h2")).to_contain_text("recommended · boldness 0.75")
    field(page, "Order").select_option("spiral")
    button(page, "Create images").click()
    expect(page.locator(".batch .tile:enabled")).to_have_count(2)
    expect(page.locator(".batch h2").first).to_contain_text("recommended · order spiral")
    assert [(request["boldness"], request["order"]) for request in asked] == [
        (0.75, "confidence"),  # the model's own
        (0.5, "spiral"),  # the new order leaves no choice but the default
    ]


def test_settings_that_have_a_name_are_taken_as_they_are(told):
    """Also where no slider could stand: between its steps, or beyond its end."""
    page, asked = told
    assert field(page, "Settings").inner_text().split() == ["Recommended", "Paper", "Mine"]
    field(page, "Settings").select_option("mine")
    button(page, "Create images").click()
    expect(page.locator(".batch .tile:enabled")).to_have_count(1)
    assert asked[0].items() >= {"settings": "mine", **OWN}.items()
    expect(page.locator(".batch h2 .hint")).to_have_text("mine")


def test_what_was_changed_goes_back_to_the_settings_of_that_name(tab):
    page = tab()
    before = field(page, "Steps").input_value()
    field(page, "Settings").select_option("paper")
    expect(page.locator("#create [data-field=steps] output")).to_have_text("all")
    expect(field(page, "Temperature")).to_have_value("1")
    set_range(page, "Images", 1)
    set_range(page, "Steps", 3)
    button(page, "Create images").click()
    expect(page.locator(".batch .tile:enabled")).to_have_count(1)
    button(page, "As code").click()
    expect(page.locator("#recipe")).to_contain_text("--settings paper")
    expect(page.locator("#recipe")).to_contain_text("--steps 3")
    page.keyboard.press("Escape")
    button(page, "Back to these settings").click()
    expect(page.locator("#create [data-field=steps] output")).to_have_text("all")
    field(page, "Settings").select_option("recommended")
    expect(field(page, "Steps")).to_have_value(before)


def test_a_temperature_that_moves_has_two_sliders(tab):
    page, asked = tab(), []
    page.on("request", lambda request: request.method == "POST" and asked.append(request.post_data_json))
    set_range(page, "Images", 1)
    set_range(page, "Steps", 2)
    set_range(page, "Temperature", 0.7)
    expect(field(page, "Temperature at the end")).to_have_count(0)
    page.get_by_text("Changes while drawing, to").locator(
        "visible=true"
    ).first.click()  # guidance has one, too
    expect(field(page, "Temperature at the end")).to_have_value("0.7")
    set_range(page, "Temperature at the end", 0.4)
    button(page, "Create images").click()
    expect(page.locator(".batch .tile:enabled")).to_have_count(1)
    assert asked[0]["temperature"] == [0.7, 0.4]
    field(page, "Settings").select_option("paper")
    expect(field(page, "Temperature at the end")).to_have_count(0)
    button(page, "Reuse settings").click()
    expect(field(page, "Temperature at the end")).to_have_value("0.4")
    expect(page.locator(".batch h2")).to_contain_text("temperature 0.7 to 0.4")


def test_advanced_settings_are_folded(tab):
    page = tab()
    expect(field(page, "Top k")).to_have_count(0)
    page.get_by_text("More settings").locator("visible=true").click()
    expect(field(page, "Top k")).to_have_count(1)
    expect(page.locator("#create [data-field=top_k] output")).to_have_text("all")
    set_range(page, "Top k", 7)
    expect(page.locator("#create [data-field=top_k] output")).to_have_text("7")


def test_a_canvas_and_a_picture_have_each_their_own_settings(tab):
    page = tab("extend")
    field(page, "Settings").select_option("paper")
    button(page, "Start with an empty canvas").click()
    expect(field(page, "Temperature")).to_have_value("0.8")
    take_sample(page)
    expect(field(page, "Temperature")).to_have_value("1")
