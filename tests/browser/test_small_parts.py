"""Small parts of the page: tooltips, what takes long, what waits for the host, the menu of a row (design, ui.md §3)."""

from typing import Any

from playwright.sync_api import expect


def test_an_icon_says_what_it_is_to_who_comes_by_the_keyboard(stage: Any, tab: Any) -> None:
    """ui.md §3: after 500 ms, also on focus; gone with the focus, and never out of the window."""
    page = tab(stage.session(title="Tips"))
    page.get_by_role("button", name="More").focus()
    expect(page.locator(".tip")).to_have_count(0)
    page.locator("#bar-terminal button").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="More")).to_be_focused()
    expect(page.locator(".tip")).to_have_text("More")
    box = page.locator(".tip").bounding_box()
    assert box is not None and box["x"] + box["width"] <= 1440
    page.keyboard.press("Shift+Tab")
    expect(page.locator(".tip")).to_have_text("Terminals")
    page.keyboard.press("Escape")
    expect(page.locator(".tip")).to_have_count(0)


def test_what_takes_over_two_seconds_says_that_it_goes_on(tab: Any) -> None:
    page = tab("/new")
    page.clock.install()
    held: list[Any] = []
    page.route("**/new", lambda route: held.append(route) if route.request.method == "POST" else route.continue_())
    page.locator("#folder").fill("~/work/shop")
    page.locator("#text").fill("say Begun.")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("button", name="Start")).to_be_disabled()
    page.clock.run_for(1900)
    expect(page.locator(".toast")).to_have_count(0)
    page.clock.run_for(200)
    expect(page.locator(".toast.working")).to_have_text("Working")
    held[0].fulfill(status=400, json={"message": "It cannot be made."})
    expect(page.locator(".toast.working")).to_have_count(0)
    expect(page.get_by_role("alert")).to_contain_text("It cannot be made.")
    expect(page.get_by_role("alert").locator(".icon")).to_be_visible()
    expect(page.locator("#text")).to_have_value("say Begun.")


def test_a_message_waits_for_a_host_that_is_away_and_says_so(stage: Any, tab: Any) -> None:
    """ui.md §3, composer, offline: the text stays."""
    page = tab(stage.session(title="Offline"))
    expect(page.locator("#waits")).to_be_hidden()
    page.get_by_label("Message to the agent").fill("say Later.")
    stage.stop()
    expect(page.locator("#waits")).to_have_text("Waiting for the host")
    expect(page.locator("#waits")).to_be_visible()
    page.get_by_label("Message to the agent").press("Enter")
    expect(page.get_by_label("Message to the agent")).to_have_value("say Later.")
    expect(page.locator(".toast")).to_have_count(0)
    stage.start()
    expect(page.locator("#waits")).to_be_hidden(timeout=12_000)
    page.get_by_label("Message to the agent").press("Enter")
    expect(page.locator("#log .md").last).to_have_text("Later.")


def test_a_session_is_renamed_and_deleted_from_the_list_and_the_page_stays(stage: Any, tab: Any) -> None:
    """ui.md §3, session row: archive and more appear at hover and focus in the place of the time."""
    stage.session(title="From the list")
    page = tab(stage.session("say still here", title="Open one"))
    row = page.locator(".session-item", has_text="From the list")
    expect(row.get_by_role("button", name="More")).to_be_hidden()
    row.get_by_role("link").focus()
    expect(row.locator(".when")).to_be_hidden()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    row.get_by_role("menuitem", name="Rename").click()
    page.get_by_role("textbox", name="Title").fill("Renamed in the list")
    page.keyboard.press("Enter")
    row = page.locator(".session-item", has_text="Renamed in the list")
    row.hover()
    row.get_by_role("button", name="More").click()
    row.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("Delete Renamed in the list?")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)
    expect(page.locator("h1")).to_have_text("Open one")
    expect(page.get_by_text("still here", exact=True)).to_be_visible()


def test_arrows_go_from_row_to_row_of_the_list(stage: Any, tab: Any) -> None:
    """ui.md §6: not through the buttons that a row shows while it has the focus."""
    for title in ("Third row", "Second row", "First row"):
        stage.session(title=title)
    page = tab("/")
    rows = page.locator("#sessions .session")
    rows.filter(has_text="First row").focus()
    for key, title in (("ArrowDown", "Second row"), ("ArrowDown", "Third row"), ("ArrowUp", "Second row")):
        page.keyboard.press(key)
        expect(rows.filter(has_text=title)).to_be_focused()
    page.keyboard.press("Home")
    expect(rows.first).to_be_focused()
    page.keyboard.press("End")
    expect(rows.last).to_be_focused()
