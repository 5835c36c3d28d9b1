"""Masks as people expect them: drawn by any hand, changed as a whole, seen from near, kept."""

import json

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect
from scipy import ndimage

from tests.browser.actions import button, field, open_portrait, paint, set_range

SIZE = (23, 17)  # columns and rows
CALL = """async ([module, name, ...given]) => {
    const functions = await import(`/static/js/${module}.js`);
    const taken = given.map((each) => (each?.mask ? Uint8Array.from(each.mask) : each));
    return Array.from(functions[name](...taken));
}"""


@pytest.fixture
def edit(tab):
    """The tab with a picture to paint on."""
    page = tab("edit", has_touch=True)
    open_portrait(page, "edit")
    return page


@pytest.fixture
def selected(look):
    return lambda page: look(page, "#edit .mask")[..., 3] > 0


def place(page, x, y):
    box = page.locator("#edit .mask").bounding_box()
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


def drag(page, points, **options):
    page.mouse.move(*place(page, *points[0]))
    page.mouse.down(**options)
    for point in points[1:]:
        page.mouse.move(*place(page, *point), steps=4)
    page.mouse.up(**options)


def fingers(page):
    """Send touches of fingers at places of the window."""
    hand = page.context.new_cdp_session(page)

    def touch(kind, *places):
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    return touch


class TestGeometry:
    @pytest.fixture
    def call(self, tab):
        page, (width, height) = tab(), SIZE
        rng = np.random.default_rng(5)
        pixels = ndimage.binary_opening(rng.random((height, width)) < 0.6)
        pixels[3:9, 5:12] = ndimage.binary_dilation(np.zeros((6, 7)), border_value=1)  # a ring

        def call(name, *given):
            flat = page.evaluate(
                CALL, ["geometry", name, {"mask": pixels.astype(int).ravel().tolist()}, *given]
            )
            return np.array(flat, bool).reshape(pixels.shape)

        return pixels, call

    @pytest.mark.parametrize("radius", [1, 2.5, 4])
    def test_growing_and_shrinking_are_dilation_and_erosion_by_a_disc(self, call, radius):
        pixels, apply = call
        y, x = np.ogrid[-4:5, -4:5]
        disc = x * x + y * y <= radius * radius
        assert np.array_equal(apply("grown", SIZE[0], radius), ndimage.binary_dilation(pixels, disc))
        eroded = ndimage.binary_erosion(pixels, disc, border_value=1)  # the picture's edge takes nothing away
        assert np.array_equal(apply("shrunk", SIZE[0], radius), eroded)
        assert eroded.sum() < pixels.sum()

    def test_inverting_and_filling(self, call):
        pixels, apply = call
        assert np.array_equal(apply("inverted"), ~pixels)
        filled = apply("enclosed", SIZE[0])
        assert np.array_equal(filled, ndimage.binary_fill_holes(pixels))
        assert filled.sum() > pixels.sum()

    def test_what_an_outline_goes_round_is_inside_however_often(self, tab):
        page, (width, height) = tab(), SIZE
        circle = [(11 + 6 * np.cos(a), 8 + 6 * np.sin(a)) for a in np.linspace(0, 4 * np.pi, 90)]
        beyond = [(-5, 2), (40, 2), (40, 30), (-5, 30)]
        y, x = np.mgrid[:height, :width] + 0.5
        for points, inside in ((circle, np.hypot(x - 11, y - 8) <= 6), (beyond, y > 2)):
            flat = page.evaluate(
                CALL, ["geometry", "outlined", [list(map(float, p)) for p in points], width, height]
            )
            found = np.array(flat, bool).reshape(height, width)
            assert (found != inside).mean() < 0.02  # a polygon is not quite a circle
            assert found.sum() > 90

    def test_zooming_keeps_the_place_under_the_pointer(self, tab):
        moved = """async () => {
            const { WHOLE, bounded, zoomed } = await import("/static/js/zoom.js");
            const view = zoomed(zoomed(WHOLE, 3, [40, -10]), 2, [-25, 60]);
            const limited = bounded({ ...view, x: 9000 }, [100, 100], [200, 100]);
            return [view, zoomed(view, 100, [0, 0]), limited];
        }"""
        view, nearest, limited = tab().evaluate(moved)
        at = lambda q, axis: view["xy"[axis]] + view["scale"] * q  # noqa: E731
        # What was at (-25, 60) after the first zoom: q with t + 3 q = p.
        q = [(-25 - (40 - 3 * 40)) / 3, (60 - (-10 + 3 * 10)) / 3]
        assert [at(q[0], 0), at(q[1], 1)] == pytest.approx([-25, 60])
        assert nearest["scale"] == 16
        assert limited["x"] == pytest.approx((6 * 100 - 100) / 2)


class TestHands:
    def test_strokes_that_leave_or_begin_outside_are_whole(self, edit, selected):
        drag(edit, [(-0.05, 0.2), (0.5, 0.2), (1.2, 0.2), (1.2, 0.6), (-0.1, 0.6), (-0.1, 0.9), (0.3, 0.9)])
        drawn = selected(edit)
        assert drawn[13].all()  # in from the left and out to the right
        assert drawn[38].all()  # back again, all the way
        assert drawn[57, :18].all()
        assert not drawn[26].any()

    def test_a_lasso_takes_what_it_goes_round_and_alt_takes_it_away(self, edit, selected):
        edit.keyboard.press("l")
        drag(edit, [(0.2, 0.2), (0.8, 0.2), (0.8, 0.8), (0.2, 0.8)])
        whole = selected(edit)
        assert whole[14:50, 14:50].all()
        assert whole.sum() < 42**2
        edit.keyboard.down("Alt")
        drag(edit, [(0.4, 0.4), (0.6, 0.4), (0.6, 0.6), (0.4, 0.6)])
        edit.keyboard.up("Alt")
        assert not selected(edit)[27:37, 27:37].any()
        button(edit, "Fill outline").click()
        assert np.array_equal(selected(edit), whole)

    def test_an_outline_is_set_corner_by_corner(self, edit, selected):
        button(edit, "Lasso").click()
        for point in [(0.25, 0.25), (0.75, 0.25), (0.75, 0.75), (0.25, 0.75)]:
            edit.mouse.click(*place(edit, *point))
        assert not selected(edit).any()
        edit.mouse.click(*place(edit, 0.252, 0.252))  # where it began
        assert np.argwhere(selected(edit)).min(0) == pytest.approx(16, abs=1)
        assert np.argwhere(selected(edit)).max(0) == pytest.approx(47, abs=1)
        edit.mouse.click(*place(edit, 0.9, 0.9))
        edit.keyboard.press("Escape")
        button(edit, "Undo").click()
        assert not selected(edit).any()

    def test_keys_draw_an_outline_and_change_the_mask(self, edit, selected):
        edit.keyboard.press("l")
        edit.locator("#edit .mask").focus()
        for key in ["Space", *["ArrowRight"] * 4, "Space", *["ArrowDown"] * 4, "Space", "Enter"]:
            edit.keyboard.press(key)
        triangle = selected(edit).sum()
        assert triangle == pytest.approx(16 * 16 / 2, abs=16)
        edit.keyboard.press("g")
        grown = selected(edit).sum()
        edit.keyboard.press("i")
        assert selected(edit).sum() == 64**2 - grown
        edit.keyboard.press("i")
        edit.keyboard.press("s")
        assert triangle <= selected(edit).sum() < grown
        edit.keyboard.press("x")
        assert not selected(edit).any()
        for _ in range(5):
            edit.keyboard.press("Control+z")
        assert selected(edit).sum() == triangle

    def test_wheel_and_keys_zoom_and_strokes_go_where_they_are_seen(self, edit, selected):
        edit.mouse.move(*place(edit, 0.75, 0.25))
        before = place(edit, 0.75, 0.25)
        edit.mouse.wheel(0, -600)
        expect(edit.locator(".zoom .number")).to_have_text("448 %")
        assert place(edit, 0.75, 0.25) == pytest.approx(before, abs=1)
        drag(edit, [(0.75, 0.25), (0.76, 0.25)])
        rows, columns = np.nonzero(selected(edit))
        assert (rows.mean(), columns.mean()) == pytest.approx((16, 48), abs=1)
        drag(edit, [(0.75, 0.25), (0.7, 0.3)], button="middle")
        assert place(edit, 0.8, 0.2) == pytest.approx(before, abs=2)  # the picture went with the hand
        assert np.array_equal(np.nonzero(selected(edit)), (rows, columns))
        edit.locator("#edit .mask").focus()
        left = place(edit, 0, 0)[0]
        edit.keyboard.press("Shift+ArrowLeft")
        assert place(edit, 0, 0)[0] == pytest.approx(left + 40)
        edit.keyboard.press("0")
        expect(edit.locator(".zoom .number")).to_have_text("100 %")
        edit.keyboard.press("+")
        expect(edit.locator(".zoom .number")).to_have_text("150 %")

    def test_one_finger_paints_and_two_zoom(self, edit, selected):
        touch = fingers(edit)
        (x, y), width = place(edit, 0.5, 0.5), edit.locator("#edit .mask").bounding_box()["width"]
        touch("touchStart", (x, y))
        touch("touchMove", (x + 40, y))
        touch("touchStart", (x + 40, y), (x - 40, y))
        assert not selected(edit).any()  # the first was not meant to paint
        touch("touchMove", (x + 80, y), (x - 80, y))
        touch("touchEnd")
        wide = edit.locator("#edit .mask").bounding_box()["width"]
        assert wide == pytest.approx(2 * width, rel=0.05)
        touch("touchStart", (x, y))
        touch("touchMove", (x + 60, y))
        touch("touchEnd")
        assert selected(edit)[32].any()
        assert edit.locator("#edit .mask").bounding_box()["width"] == wide

    def test_after_a_pen_fingers_only_move(self, edit, selected):
        hand = edit.context.new_cdp_session(edit)
        (x, y), pen = (
            place(edit, 0.5, 0.5),
            {"button": "left", "buttons": 1, "pointerType": "pen", "force": 0.5},
        )
        hand.send(
            "Input.dispatchMouseEvent", {"type": "mousePressed", "x": x, "y": y, "clickCount": 1, **pen}
        )
        hand.send("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x + 50, "y": y, **pen})
        hand.send("Input.dispatchMouseEvent", {"type": "mouseReleased", "x": x + 50, "y": y, **pen})
        drawn = selected(edit)
        assert drawn[32, 32:36].all()
        touch = fingers(edit)
        touch("touchStart", (x, y + 90))
        touch("touchMove", (x + 40, y + 90))
        touch("touchEnd")
        assert np.array_equal(selected(edit), drawn)


class TestMasks:
    def test_a_mask_is_saved_and_opened(self, edit, selected, tmp_path):
        paint(edit, [(0.3, 0.3), (0.6, 0.5)])
        drawn = selected(edit)
        with edit.expect_download() as download:
            button(edit, "Save mask").click()
        download.value.save_as(tmp_path / "mask.png")
        with Image.open(tmp_path / "mask.png") as mask:
            assert np.array_equal(np.asarray(mask.convert("L")) > 127, drawn)
        edit.keyboard.press("x")
        edit.get_by_label("Mask file").set_input_files(tmp_path / "mask.png")
        expect(button(edit, "Redraw selection")).to_be_enabled()
        assert np.array_equal(selected(edit), drawn)

    def test_a_mask_of_another_shape_is_refused_in_words(self, edit, tmp_path):
        Image.new("L", (80, 40), 255).save(tmp_path / "mask.png")
        edit.get_by_label("Mask file").set_input_files(tmp_path / "mask.png")
        expect(edit.get_by_role("alert")).to_contain_text(
            "the mask has 128×64 pixels, but the image has 64×64"
        )

    def test_colour_and_opacity_stay(self, edit, look):
        edit.get_by_label("Mask colour").fill("#ff0000")
        field(edit, "Mask opacity").fill("0.3")
        edit.reload()
        open_portrait(edit, "edit")
        paint(edit, [(0.5, 0.5), (0.6, 0.5)])
        assert tuple(look(edit, "#edit .mask")[32, 33]) == (255, 0, 0, 255)
        assert edit.locator("#edit .mask").evaluate("mask => getComputedStyle(mask).opacity") == "0.3"

    def test_the_seam_is_as_wide_as_asked_for(self, edit, look, selected, shot, steps):
        before, asked = look(edit, "#edit .paper canvas"), []
        edit.on("request", lambda request: request.method == "POST" and asked.append(request.post_data))
        edit.keyboard.press("r")
        drag(edit, [(0.25, 0.25), (0.75, 0.75)])
        set_range(edit, "Seam", 0)
        set_range(edit, "Versions", 2)
        set_range(edit, "Steps", steps)
        button(edit, "Redraw selection").click()
        edit.get_by_label("Version 1").click()
        expect(edit.get_by_label("Version 1")).to_have_attribute("aria-pressed", "true")
        changed = (before != look(edit, "#edit .paper canvas")).any(2)
        assert changed.any()
        assert not (changed & ~selected(edit)).any()
        assert json.loads(asked[0])["seam"] == 0
        shot(edit, "mask")
