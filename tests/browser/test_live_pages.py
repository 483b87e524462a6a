"""Open pages stay what the host knows: equal, through reloads, restarts, long chats, without moving (ui.md §8)."""

import re
import time
from typing import Any

from playwright.sync_api import expect

from innkeeper.client import Client

SHOWN = """() => [...document.querySelectorAll('#log, #sessions, #bar, #waiting')].map((one) => {
  const copy = one.cloneNode(true);
  copy.querySelectorAll('[data-since], time').forEach((clock) => clock.remove());
  return copy.innerHTML;
})"""


def send(page: Any, text: str) -> None:
    page.get_by_label("Message to the agent").fill(text)
    page.keyboard.press("Enter")


def test_two_browsers_on_one_session_show_the_same(stage: Any, tab: Any) -> None:
    """B.7: what one sends, answers and renames, the other shows; also one that came in the middle."""
    path = stage.session("say before", title="Together")
    one, two = tab(path), tab(path)
    send(one, "slow together 8")
    two.get_by_text("Paragraph 2 has").wait_for()
    late = tab(path)
    stage.go("together")
    for page in (one, two, late):
        page.get_by_text("The end.").wait_for()
        page.locator(".turn-end").nth(1).wait_for()
    send(two, "say after")
    one.get_by_text("after", exact=True).wait_for()
    one.get_by_role("button", name="Together").click()
    one.get_by_role("textbox", name="Title").fill("Renamed")
    one.keyboard.press("Enter")
    for page in (one, two, late):
        expect(page.locator("h1")).to_have_text("Renamed")
        page.locator(".turn-end").nth(2).wait_for()
        expect(page.locator('#sessions [aria-current="page"].unread')).to_have_count(0)
    late.reload()
    expect(late.locator("h1")).to_have_text("Renamed")
    shown = [page.evaluate(SHOWN) for page in (one, two, late)]
    assert shown[0] == shown[1] == shown[2]


def test_the_list_tells_what_needs_a_person_and_what_is_unread(stage: Any, tab: Any) -> None:
    quiet, asking = stage.session("say hi", title="Quiet one"), stage.session(title="Asking one")
    page = tab("/")
    row = page.get_by_role("link", name=re.compile("Quiet one"))
    expect(row).to_have_accessible_name(re.compile("done, unread"))
    other = tab(asking)
    send(other, "gates 1")
    expect(page.locator("#sessions .group").first).to_have_text("Needs you 1")
    expect(page.get_by_role("link", name=re.compile("Asking one"))).to_have_accessible_name(re.compile("needs you"))
    page.goto(stage.url + quiet)
    expect(page.locator('#sessions [aria-current="page"].unread')).to_have_count(0)
    other.get_by_role("button", name="Deny").click()
    expect(page.locator("#group-needs")).to_have_count(0)


def test_the_list_is_searched_and_archived_from(stage: Any, tab: Any) -> None:
    stage.session(title="Tax of carts")
    stage.session(title="Something else")
    page = tab("/")
    page.keyboard.press("/")
    page.keyboard.type("carts")
    expect(page.locator("#sessions .session .name")).to_have_text(["Tax of carts"])
    page.get_by_role("searchbox").fill("tuba")
    expect(page.locator("#sessions-none")).to_contain_text("Nothing for “tuba”.")
    page.get_by_role("link", name="Clear search").click()
    row = page.locator(".session-item", has_text="Tax of carts")
    row.hover()
    row.get_by_role("button", name="Archive").click()
    expect(row).to_have_count(0)
    page.get_by_role("link", name=re.compile("Archived")).click()
    expect(page.locator("#sessions .session .name")).to_have_text(["Tax of carts"])


def test_a_host_that_restarts_under_an_open_page_is_found_again(stage: Any, tab: Any) -> None:
    """The page stays readable, says what is so, comes back by itself; what was typed stays."""
    page = tab(stage.session("say before the restart", title="Restart"))
    page.get_by_label("Message to the agent").fill("a draft")
    stage.stop()
    expect(page.locator("#away")).to_have_text(re.compile(r"Host not reachable. Trying again in \d s."))
    expect(page.get_by_text("before the restart", exact=True)).to_be_visible()
    stage.start()
    expect(page.locator("#away")).to_have_count(0, timeout=12_000)
    expect(page.get_by_label("Message to the agent")).to_have_value("a draft")
    send(page, "say after the restart")
    page.get_by_text("after the restart", exact=True).wait_for()


def test_nothing_moves_while_an_answer_streams(stage: Any, tab: Any) -> None:
    """ui.md §8: measured by the browser's own layout-shift score; composer, caret and a selection stay."""
    page = tab(stage.session("say one", title="Still"))
    page.evaluate(
        """() => { window.shift = 0; new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) window.shift += entry.value;
        }).observe({ type: 'layout-shift', buffered: false }); }"""
    )
    send(page, "slow still 12")
    page.get_by_text("Paragraph 1 has").wait_for()
    text = page.get_by_label("Message to the agent")
    text.press_sequentially("typed meanwhile")
    text.evaluate("one => one.setSelectionRange(2, 7)")
    place = page.locator("#composer").bounding_box()
    page.get_by_text("Paragraph 11 has").wait_for()
    assert page.locator("#composer").bounding_box() == place
    assert text.evaluate("one => [one.value, one.selectionStart, one.selectionEnd]") == ["typed meanwhile", 2, 7]
    expect(page.locator("#text")).to_be_focused()
    stage.go("still")
    page.get_by_text("The end.").wait_for()
    assert page.evaluate("window.shift") < 0.02


def test_a_reader_s_place_and_what_is_open_stay_while_text_comes(stage: Any, tab: Any) -> None:
    """ui.md §8.1, §8.3"""
    page = tab(stage.session(*(f"say paragraph {n}\n\n" * 12 for n in range(4)), title="Place"), height=500)
    send(page, "slow place 10")
    thought = page.get_by_role("button", name="Thought")
    thought.click()
    page.locator("#main").evaluate("one => { one.scrollTop = 40; }")
    page.get_by_role("button", name="New below").wait_for()
    page.get_by_text("Paragraph 9 has").wait_for()
    assert page.locator("#main").evaluate("one => one.scrollTop") == 40
    expect(thought).to_have_attribute("aria-expanded", "true")
    page.get_by_role("button", name="New below").click()
    stage.go("place")
    page.get_by_text("The end.").wait_for()
    expect(page.get_by_role("button", name="New below")).to_be_hidden()
    assert page.locator("#main").evaluate("one => one.scrollHeight - one.scrollTop - one.clientHeight") <= 48


def test_a_chat_of_two_thousand_turns_opens_in_a_second_and_scrolls(stage: Any, tab: Any) -> None:
    """B.7; older turns come when they are asked for, and what is read stays where it is."""

    async def adopt(client: Client) -> str:
        uri, root = "ahp-session:/two-thousand", "ahp-root://"
        named = {"channel": root, "provider": "claude", "transcript": "long", "session": uri}
        await client.request("x-innkeeper/transcripts/adopt", named)
        return "/s/two-thousand"

    path = stage.run(adopt)
    page = tab("/")
    took = []
    for _ in range(2):
        began = time.monotonic()
        page.goto(stage.url + path)
        page.get_by_text("line 1999").first.wait_for()
        took.append(time.monotonic() - began)
    assert min(took) < 1.0, "the one bound in seconds that a person feels"
    turns = page.locator("#log .turn")
    loaded = turns.count()
    first = turns.first.get_attribute("id")
    page.locator("#main").evaluate("one => { one.scrollTop = 0; }")
    page.get_by_role("button", name="Load earlier messages").click()
    expect(turns).not_to_have_count(loaded)
    box = page.locator(f"[id='{first}']").bounding_box()
    assert box is not None and -200 < box["y"] < 900, "what was read is still in view"
    assert turns.count() < 200


def test_a_page_that_is_older_than_its_files_says_so_once_and_keeps_the_draft(stage: Any, tab: Any) -> None:
    """B: a stale page is told to reload by the hash of its files."""
    page = tab(stage.session(title="Stale"))
    page.get_by_label("Message to the agent").fill("half")
    page.evaluate("document.body.dataset.files = 'an-older-one'")
    stage.restart()
    expect(page.locator("#stale")).to_contain_text("A newer version runs.", timeout=12_000)
    page.get_by_role("button", name="Reload").click()
    expect(page.locator("#stale")).to_have_count(0)
    expect(page.get_by_label("Message to the agent")).to_have_value("half")


def test_a_form_of_a_page_that_is_older_than_the_host_still_counts(stage: Any, tab: Any) -> None:
    """The form token is made of the access token, which a restart keeps here; the stream brings it otherwise."""
    page = tab(stage.session(title="Old form"))
    page.evaluate("document.querySelectorAll('[name=form_token]').forEach((one) => { one.value = 'old'; })")
    send(page, "say refused")
    expect(page.get_by_role("alert")).to_contain_text("FORM_STALE")
    expect(page.get_by_label("Message to the agent")).to_have_value("say refused")
    stage.restart()
    expect(page.locator("#away")).to_have_count(1, timeout=12_000)
    expect(page.locator("#away")).to_have_count(0, timeout=12_000)
    page.keyboard.press("Enter")
    page.get_by_text("refused", exact=True).wait_for()


def test_the_order_of_the_list_waits_until_nobody_is_in_it(stage: Any, tab: Any) -> None:
    """ui.md §8.6"""
    first, second = stage.session(title="Mover one"), stage.session(title="Mover two")
    page = tab("/")
    rows = page.locator("#sessions .session", has_text="Mover")
    expect(rows.locator(".name")).to_have_text(["Mover two", "Mover one"])
    rows.first.hover()
    send(tab(first), "say hi")
    page.locator(f'#sessions a[href="{first}"].unread, #sessions a[href="{first}"] .status-idle').first.wait_for()
    page.wait_for_timeout(300)
    expect(rows.locator(".name")).to_have_text(["Mover two", "Mover one"])
    page.mouse.move(900, 500)
    expect(rows.locator(".name")).to_have_text(["Mover one", "Mover two"])
    assert second


def test_a_session_that_is_deleted_elsewhere_says_so_and_stays_readable(stage: Any, tab: Any) -> None:
    path = stage.session("say still here", title="To be deleted")
    page, other = tab(path), tab(path)
    other.get_by_role("button", name="More").click()
    other.get_by_role("menuitem", name="Delete").click()
    other.locator("#delete").get_by_role("button", name="Delete").click()
    other.wait_for_url(stage.url + "/")
    page.get_by_text("This session was deleted.").wait_for()
    expect(page.get_by_text("still here", exact=True)).to_be_visible()
    assert page.goto(stage.url + path).status == 404


def test_with_reduced_motion_a_still_ring_has_the_word_running(stage: Any, tab: Any) -> None:
    """ui.md §1, motion"""
    path = stage.session(title="Still ring")
    calm, usual = tab(path, reduced_motion="reduce"), tab(path)
    send(calm, "slow still-ring 3")
    row = '#sessions [aria-current="page"]'
    expect(calm.locator(f"{row} .about")).to_have_text(re.compile("^Running · .*shop"))
    expect(calm.locator(f"{row} .still")).to_be_visible()
    expect(calm.locator(f"{row} .spinner")).to_have_css("animation-name", "none")
    expect(usual.locator(f"{row} .spinner")).to_have_css("animation-name", "turn")
    expect(usual.locator(f"{row} .still")).to_be_hidden()
    stage.go("still-ring")
    expect(calm.locator(".still")).to_have_count(0)


def test_a_skeleton_that_was_seen_stays_for_its_time(stage: Any, tab: Any) -> None:
    """ui.md §4: after 200 ms, and then for 300 at least, by the page's own clock, which the test holds."""
    path = stage.session(title="Before")
    page, other = tab(path), tab(path)
    page.clock.install(time=0)
    page.goto(stage.url + path)
    page.clock.pause_at(60_000)
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('p'), {id: 'seen', className: 'skeleton'}))"
    )
    expect(page.locator("#seen")).to_be_visible()
    other.get_by_role("button", name="Before", exact=True).click()
    other.get_by_role("textbox", name="Title").fill("After")
    other.keyboard.press("Enter")
    expect(other.locator("h1")).to_have_text("After")
    other.wait_for_timeout(300)
    expect(page.locator("h1")).to_have_text("Before")
    page.clock.run_for(300)
    expect(page.locator("h1")).to_have_text("After")
