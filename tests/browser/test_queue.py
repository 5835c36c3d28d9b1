"""Work goes on: jobs wait their turn, go on until they are stopped, and say when they are done."""

import re

import numpy as np
from PIL import Image
from playwright.sync_api import expect

from tests.browser.actions import button, field, open_portrait, paint, set_range

WATCH_NOTIFICATIONS = """() => {
    window.told = [];
    Object.defineProperty(document, "hidden", { get: () => true });
    window.Notification = class {
        static permission = "granted";
        static requestPermission = async () => "granted";
        constructor(title, { body }) { window.told.push(body); }
    };
}"""


def ask(page, seed, steps):
    field(page, "Seed").fill(str(seed))
    set_range(page, "Steps", steps)
    page.locator("#create .primary, #create .run .plain.large").first.click()


def test_what_is_asked_for_waits_as_it_was_and_can_be_moved_and_removed(tab, shot):
    page = tab()
    set_range(page, "Images", 8)
    ask(page, 1, 256)
    expect(button(page, "Add to the queue")).to_be_visible()
    expect(page).to_have_title(re.compile(r"^\d+ % · Create · Unmask Studio$"))
    set_range(page, "Images", 1)
    for seed, steps in ((2, 2), (3, 3), (4, 4), (5, 5)):
        ask(page, seed, steps)
    waiting = page.get_by_role("list", name="Queue").get_by_role("listitem")
    expect(waiting).to_have_text([re.compile(f"1 × seed {seed} ") for seed in (2, 3, 4, 5)])
    page.get_by_role("button", name=re.compile("Sooner: 1 × seed 5")).click()
    page.keyboard.press("Enter")  # the focus went with it
    page.get_by_role("button", name=re.compile("Remove: 1 × seed 3")).click()
    expect(waiting).to_have_text([re.compile(f"1 × seed {seed} ") for seed in (2, 5, 4)])
    shot(page, "queue")
    page.reload()  # the tab knows them still
    expect(waiting).to_have_count(3)
    button(page, "Stop").click()
    expect(page.locator(".batch")).to_have_count(3)
    expect(page.locator(".batch h2")).to_have_text(
        [re.compile(f"Seed {seed}.*steps {seed}") for seed in (4, 5, 2)]
    )
    expect(page.locator("#create .status")).to_have_text(re.compile("Done in"))
    expect(page).to_have_title("Create · Unmask Studio")


def test_it_goes_on_until_it_is_stopped_and_tells_whoever_looks_elsewhere(tab):
    page = tab()
    page.evaluate(WATCH_NOTIFICATIONS)
    page.get_by_role("button", name="Notify when done").click()
    set_range(page, "Images", 1)
    page.get_by_label("Go on until stopped").locator("visible=true").check()
    ask(page, 70, 2)
    expect(page.locator(".batch h2", has_text="Seed 72")).to_have_count(1)
    assert page.evaluate("told") == []
    page.get_by_label("Go on until stopped").locator("visible=true").uncheck()
    while not page.evaluate("told"):  # the button says "Create pictures" between two jobs, too
        page.wait_for_timeout(50)
    (told,) = page.evaluate("told")
    assert told.startswith("Done in")


def test_a_busy_studio_is_asked_again_and_a_refusal_does_not_end_the_queue(tab):
    page, asked = tab(), []
    answers = [(503, "1"), None, (503, "9"), (422, "")]

    def answer(route):
        asked.append(route.request.post_data_json["seed"])
        if refusal := answers.pop(0) if answers else None:
            status, later = refusal
            route.fulfill(status=status, headers={"Retry-After": later}, json={"error": f"no: {status}"})
        else:
            route.continue_()

    page.route("**/api/v1/sample", answer)
    set_range(page, "Images", 1)
    ask(page, 1, 2)
    expect(page.locator(".batch h2")).to_have_text([re.compile("Seed 1")])  # by itself
    ask(page, 2, 2)
    expect(page.locator("#create .status")).to_have_text(re.compile("no: 503"))
    ask(page, 3, 2)
    expect(page.locator(".batch h2")).to_have_text([re.compile("Seed 3"), re.compile("Seed 1")])
    assert asked == [1, 1, 2, 2, 3]


def test_what_waits_is_drawn_by_the_model_that_it_was_asked_of(tab):
    page, asked = tab(), []

    def busy(route):
        asked.append(route.request.post_data_json["model"])
        route.fulfill(status=503, headers={"Retry-After": "99"}, json={"error": "busy"})

    def another(route):
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"name": "another"})

    page.route("**/api/v1/sample", busy)
    ask(page, 1, 2)
    expect(page.get_by_role("list", name="Queue").get_by_role("listitem")).to_have_count(1)
    page.route("**/api/v1/model", another)
    with page.expect_response("**/api/v1/sample"):
        page.reload()
    expect(page.locator("#model-name")).to_have_text("another")
    first, second = asked
    assert second == first


def test_one_mask_is_used_for_several_pictures(tab, look, tmp_path):
    for colour in ("red", "green"):
        Image.new("RGB", (64, 64), colour).save(tmp_path / f"{colour}.png")
    Image.new("RGB", (100, 64), "blue").save(tmp_path / "wide.png")
    page = tab("edit")
    open_portrait(page, "edit")
    paint(page, [(0.3, 0.3), (0.5, 0.4)])
    selected = look(page, "#edit .mask")[..., 3] > 0
    set_range(page, "Versions", 1)
    set_range(page, "Steps", 2)
    set_range(page, "Seam", 0)
    paths = [tmp_path / f"{name}.png" for name in ("red", "wide", "green")]
    page.get_by_label("Images for this mask").set_input_files(paths)
    expect(page.get_by_role("alert")).to_contain_text("wide.png has another shape than the mask")
    expect(page.get_by_label("Earlier 1: red.png")).to_be_enabled()
    expect(page.get_by_label("Version 1")).to_be_enabled()
    for place, colour in ((".earlier", (255, 0, 0)), (".grid:not(.earlier)", (0, 128, 0))):
        drawn = look(page, f"#edit .versions {place} img")[..., :3]
        assert (drawn[~selected] == colour).all()
        assert np.any(drawn[selected] != colour)
    with page.expect_download() as download:
        button(page, "Save all").click()
    assert re.fullmatch(r"green seed \d+ 1\.png", download.value.suggested_filename)
