"""What lasts: pictures found again, compared, and drawn again from what their files say."""

import base64

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.actions import button, field, findings_everywhere, set_range
from tests.browser.conftest import studio
from tests.untrained import untrained
from unmask.cli.main import main
from unmask.data.pictures import encoded
from unmask.pipeline import load
from unmask.storage import bundles

DROP = """([selector, name, data]) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], name, { type: "image/png" }));
    document.querySelector(selector).dispatchEvent(new DragEvent("drop", { bubbles: true, dataTransfer }));
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gallery") / "model"
    bundles.save(untrained(edge=16, words=("cat", "dog")), folder)
    return folder


@pytest.fixture(scope="module")
def address(chromium, folder):
    with studio(str(folder), "--keep", str(folder.parent / "kept")) as address:
        yield address


def drop(page, selector, path):
    page.evaluate(DROP, [selector, path.name, base64.b64encode(path.read_bytes()).decode()])


def create(page, count):
    set_range(page, "Images", count)
    set_range(page, "Steps", 3)
    button(page, "Create images").click()
    expect(page.locator("#create .batch .tile:enabled")).to_have_count(count)


def test_a_file_of_the_command_line_is_drawn_again_bit_for_bit(tab, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = ["--steps", "5", "--temperature", "1", "0.6", "--order", "halton", "--guidance", "2"]
    main(
        [
            "sample",
            str(folder),
            "cat",
            "--count",
            "3",
            "--seed",
            "77",
            *flags,
            "--out",
            "out",
            "--device",
            "cpu",
        ]
    )
    saved = tmp_path / "out/000002.png"
    page = tab("create")
    drop(page, "#create", saved)
    expect(page.locator(".notice")).to_contain_text("as they were for this image")
    expect(field(page, "Seed")).to_have_value("77")
    expect(page.locator("#create").get_by_role("combobox", name="Prompt", exact=True)).to_have_value("cat")
    button(page, "Create images").click()
    picture = page.locator("#create .batch .tile:enabled img")
    expect(picture).to_have_count(1)
    again = page.request.get(f"{page.url.split('#')[0]}{picture.get_attribute('src')[1:]}").body()
    assert again == saved.read_bytes()  # the pixels, and what the file says


def test_a_mask_comes_back_with_the_picture_that_was_drawn_with_it(tab, folder, tmp_path, look):
    model, selected = load(folder, "cpu"), np.zeros((64, 64), bool)
    selected[0, :3] = selected[20:31, 16:50] = True
    (picture,) = model.sample(1, steps=2)
    (drawn,) = model.inpaint(picture, selected, count=1, steps=2, seed=5)
    (tmp_path / "drawn.png").write_bytes(encoded(drawn))
    page = tab("create")
    drop(page, "#create", tmp_path / "drawn.png")
    expect(page.locator("#edit .mask")).to_be_visible()
    expect(field(page, "Seed")).to_have_value("5")
    assert ((look(page, "#edit .mask")[:, :, 3] > 0) == selected).all()


def test_results_are_found_starred_compared_and_deleted(tab):
    page = tab("create")
    create(page, 2)
    page.locator("nav").get_by_role("link", name="Gallery").click()
    kept = page.locator("#gallery .kept")
    expect(kept.first).to_be_visible()
    before = kept.count()
    kept.nth(0).get_by_role("checkbox").check(force=True)
    expect(button(page, "Compare two")).to_be_disabled()
    kept.nth(1).get_by_role("checkbox").check(force=True)
    button(page, "Compare two").click()
    expect(page.locator("#compare img")).to_have_count(2)
    page.locator("#compare input").fill("20")
    assert "20%" in page.locator("#compare .face").get_attribute("style")
    page.keyboard.press("Escape")
    kept.nth(0).locator("button").click()
    button(page, "Star", exact=True).click()
    expect(button(page, "Remove star")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_label("Starred only").check()
    expect(kept).to_have_count(1)
    page.get_by_label("Starred only").uncheck()
    expect(kept).to_have_count(before)
    field(page, "Search").fill("no such word")
    expect(page.locator("#gallery .empty")).to_contain_text("Nothing found")
    field(page, "Search").fill("sample")
    expect(kept).to_have_count(before)
    kept.nth(0).locator("button").click()
    button(page, "Delete").click()
    button(page, "Delete for good?").click()
    expect(kept).to_have_count(before - 1)
    page.reload()
    expect(kept).to_have_count(before - 1)


def test_settings_go_back_to_the_form_and_pictures_to_an_edit(tab, tmp_path):
    page = tab("create")
    create(page, 1)
    seed = field(page, "Seed").input_value()
    field(page, "Seed").fill("1")
    page.locator("nav").get_by_role("link", name="Gallery").click()
    page.locator("#gallery .kept button").first.click()
    button(page, "Reuse settings").click()
    expect(field(page, "Seed")).to_have_value(seed)
    page.locator("nav").get_by_role("link", name="Gallery").click()
    page.locator("#gallery .kept button").first.click()
    page.locator("#viewer").get_by_role("button", name="Edit").click()
    expect(page.locator("#edit .mask")).to_be_visible()
    Image.new("RGB", (64, 64)).save(tmp_path / "plain.png")
    page.goto(page.url.replace("edit", "create"))
    drop(page, "#create", tmp_path / "plain.png")
    expect(page.locator(".notice").last).to_contain_text("does not record")


@pytest.mark.parametrize("width", [820, 390])
def test_the_search_stands_before_what_it_finds(tab, width):
    page = tab("create", viewport={"width": width, "height": 900})
    create(page, 1)
    page.locator("nav").get_by_role("link", name="Gallery").click()
    kept = page.locator("#gallery .kept").first
    expect(kept).to_be_visible()
    assert field(page, "Search").bounding_box()["y"] < kept.bounding_box()["y"]


def test_the_gallery_has_no_findings_of_axe(tab):
    page = tab("create")
    create(page, 2)
    page.locator("nav").get_by_role("link", name="Gallery").click()
    kept = page.locator("#gallery .kept")
    expect(kept.first).to_be_visible()
    for number in range(2):
        kept.nth(number).get_by_role("checkbox").check(force=True)
    assert findings_everywhere(page) == {}
    kept.first.locator("button").click()
    assert findings_everywhere(page) == {}
    page.keyboard.press("Escape")
    button(page, "Compare two").click()
    assert findings_everywhere(page) == {}
