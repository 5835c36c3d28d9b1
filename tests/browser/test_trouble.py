"""What the page does when something is not as it should be."""

from playwright.sync_api import expect

from tests.browser.actions import button, set_range


def create(page):
    set_range(page, "Images", 1)
    set_range(page, "Steps", 2)
    button(page, "Create images").click()


def test_a_studio_that_is_gone_is_noticed(tab):
    page, tries = tab(), []

    def answer(route):
        tries.append(route.request.url)
        if len(tries) == 1:
            route.fulfill(content_type="text/event-stream", body="retry: 10\n\n")
        else:
            route.abort()

    page.route("**/api/v1/jobs/**", answer)
    create(page)
    expect(page.locator("#create .status")).to_have_text("The Studio does not answer. Is it still running?")
    expect(button(page, "Create images")).to_be_visible()


def test_an_answer_in_plain_text_becomes_a_sentence(tab):
    page = tab()
    page.route("**/api/v1/sample", lambda route: route.fulfill(status=503, body="Service Unavailable"))
    create(page)
    expect(page.locator("#create .status")).to_contain_text("The Studio failed to answer (503).")


def test_a_picture_that_was_dropped_is_said_to_be_gone_where_one_looks(tab):
    page = tab()
    create(page)
    page.locator(".batch .tile:enabled").click()
    page.route("**/pictures/*", lambda route: route.fulfill(status=404, json={"error": "dropped"}))
    viewer = page.locator("#viewer")
    viewer.get_by_role("button", name="Save").click()
    expect(viewer.get_by_role("alert")).to_contain_text("This image is gone")
    viewer.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_text("This image is gone")).to_have_count(0)
    viewer.get_by_role("button", name="Save").click()
    page.keyboard.press("Escape")
    expect(page.locator("body > #notices")).to_contain_text("This image is gone")
    button(page, "Dismiss").click()


def test_a_browser_that_keeps_nothing_is_enough(tab):
    page = tab()
    page.add_init_script(
        """for (const name of ["localStorage", "sessionStorage"])
            Object.defineProperty(window, name, { get() { throw new Error("blocked"); } });"""
    )
    page.reload()
    page.wait_for_selector("html[data-ready]")
    button(page, "Theme: auto").click()
    expect(button(page, "Theme: light")).to_be_visible()
    create(page)
    expect(page.locator(".batch .tile:enabled")).to_have_count(1)


def test_a_model_that_cannot_edit_has_no_view_for_it(tab, address):
    page = tab()
    page.route(
        "**/api/v1/model",
        lambda route: route.fulfill(json=route.fetch().json() | {"kind": "autoregressive"}),
    )
    page.goto(f"{address}#/edit")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#create")).to_be_visible()
    expect(page.locator("#edit")).to_be_hidden()
    expect(page.locator("nav a:visible")).to_have_text(["Create", "Inspect", "Gallery", "Training"])
