"""The Customizations page in a browser (issue 7 B.3; design, ui.md §3, §6, §7)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.conftest import TOKEN
from browser.editor_client import Editor
from browser.scans import STILL, serious

HOSTILE = '<img src=x onerror="document.title=1">'


@pytest.fixture(scope="module")
def folder(stage: Any) -> Path:
    """A folder with an agent, two skills (one of them broken), rules and two servers."""
    root: Path = stage.home / "work" / "api"
    files = {
        "AGENTS.md": "# Rules\n",
        ".claude/agents/reviewer.md": "---\nname: reviewer\ndescription: Reviews\n---\nx",
        ".claude/skills/profile/SKILL.md": "---\nname: profile\ndescription: P\n---\nx",
        ".claude/skills/broken/SKILL.md": "---\nname: [\n---\nx",
        ".claude/rules/python.md": "x",
        ".mcp.json": json.dumps({"mcpServers": {"ledger": {"command": "true"}, HOSTILE: {"command": "true"}}}),
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


@pytest.fixture
def session(stage: Any, folder: Path) -> Iterator[str]:
    yield str(stage.session("say hi", title="Shorten the cold start", folder=folder))


def switch(page: Any, scope: str, name: str) -> Any:
    return page.get_by_role("radiogroup", name=f"{scope} decision for {name}", exact=True)


def row(page: Any, name: str) -> Any:
    return page.locator("tr.tree-row", has=page.get_by_role("button", name=name, exact=True)).first


def test_everything_that_a_session_exposes_stands_in_the_tree_with_its_switches(session: str, tab: Any) -> None:
    page = tab(session + "/customizations")
    names = page.locator("tr.tree-row .item-name").all_inner_texts()
    assert {"reviewer", "profile", "python", "AGENTS.md", "ledger", ".mcp.json"} <= set(names)
    expect(row(page, "broken").locator(".tag")).to_have_text("degraded")
    expect(row(page, "broken")).to_contain_text("not valid YAML")
    expect(switch(page, "Session", "reviewer").get_by_role("radio")).to_have_count(3)
    expect(switch(page, "Workspace", "reviewer").get_by_label("Inherits")).to_be_checked()
    assert page.evaluate("document.title") != "1"
    expect(page.locator("main img")).to_have_count(0)


def test_a_switch_acts_for_every_browser_and_says_who_decided(session: str, tab: Any) -> None:
    """B.7: two browsers on one session stay equal; C1.3."""
    page, other = tab(session + "/customizations"), tab(session + "/customizations")
    switch(page, "Session", "reviewer").get_by_label("Off").check()
    other.locator("tr.is-off", has_text="reviewer").wait_for()
    expect(row(other, "reviewer").locator(".tree-by")).to_have_text("Off · Session")
    expect(switch(other, "Session", "reviewer").get_by_label("Off")).to_be_checked()
    switch(other, "Session", "reviewer").get_by_label("Inherits").check()
    page.locator("tr.is-on", has_text="reviewer").wait_for()
    expect(switch(page, "Session", "reviewer").get_by_label("Inherits")).to_be_checked()


def test_a_container_that_is_off_takes_its_children_and_leaves_their_switches(session: str, tab: Any) -> None:
    """C1.5."""
    page = tab(session + "/customizations")
    switch(page, "Session", "python").get_by_label("Off").check()
    page.locator("tr.is-off", has_text="python").wait_for()
    switch(page, "Session", "python").get_by_label("Inherits").check()
    switch(page, "Session", ".claude/rules").get_by_label("Off").check()
    page.locator("tr.is-off .tree-by", has_text="its folder is off").wait_for()
    expect(switch(page, "Session", "python").get_by_label("Inherits")).to_be_checked()
    row(page, "python").locator("[data-why]").click()
    page.locator(".chain [aria-current=true]", has_text=".claude/rules").wait_for()
    page.get_by_role("button", name="Clear its container's decision").click()
    page.locator("tr.is-on", has_text="python").wait_for()
    expect(switch(page, "Session", ".claude/rules").get_by_label("Inherits")).to_be_checked()


def test_why_tells_the_chain_and_the_act_that_undoes_it(session: str, tab: Any) -> None:
    """C5.3."""
    page = tab(session + "/customizations")
    switch(page, "Workspace", "ledger").get_by_label("Off").check()
    row(page, "ledger").locator("[data-why]").click()
    page.get_by_role("heading", name="Why ledger is off").wait_for()
    deciding = page.locator(".chain [aria-current=true]")
    expect(deciding).to_have_count(1)
    expect(deciding).to_contain_text("Off · decides")
    expect(deciding).to_contain_text("~/work/api")
    expect(page.locator(".key")).to_have_text("mcp/workspace/ledger")
    expect(page.get_by_role("complementary", name="Why ledger is off").locator(".note")).to_have_count(1)
    page.get_by_role("button", name="Clear workspace decision").click()
    page.get_by_role("heading", name="Why ledger is on").wait_for()
    expect(page.get_by_role("button", name="Clear workspace decision")).to_have_count(0)


def test_a_value_is_pinned_and_let_go(session: str, tab: Any) -> None:
    """C2.3b."""
    page = tab(session + "/customizations")
    row(page, "profile").locator("[data-why]").click()
    page.get_by_role("button", name="Pin Session").click()
    row(page, "profile").locator(".pinned").wait_for()
    expect(switch(page, "Session", "profile, pinned")).to_have_count(1)
    page.get_by_role("button", name="Unpin Session").click()
    row(page, "profile").locator(".pinned").wait_for(state="detached")
    expect(row(page, "profile").locator(".tree-by")).to_have_text("On · by default")


def test_a_filter_keeps_the_parents_and_nothing_found_says_so(session: str, tab: Any) -> None:
    page = tab(session + "/customizations")
    page.locator("#filter").fill("reviewer")
    page.locator("tr.tree-row", has_text="python").wait_for(state="detached")
    expect(page.locator("tr.tree-row .item-name")).to_have_text([".claude/agents", "reviewer"])
    page.locator("#filter").fill("zzz")
    page.get_by_text("Nothing has these words, type and state.").wait_for()
    page.locator("#filter").fill("")
    page.locator("tr.tree-row", has_text="reviewer").wait_for()
    page.get_by_label("Type").select_option("mcpServer")
    page.locator("tr.tree-row", has_text="reviewer").wait_for(state="detached")
    expect(page.locator("tr.tree-row .item-name").first).to_have_text(".mcp.json")


def test_the_tree_is_operated_by_keys(session: str, tab: Any) -> None:
    """ui.md §6: rows by arrows, → and ← open, close and go into the switches, w tells why."""
    page = tab(session + "/customizations")
    first = page.locator("tr.tree-row").first
    page.locator('tr.tree-row[tabindex="0"]').first.wait_for()
    first.focus()
    page.keyboard.press("ArrowLeft")
    page.locator("tr.tree-row[aria-expanded=false]").wait_for()
    page.keyboard.press("ArrowRight")
    page.locator("tr.tree-row", has_text="reviewer").wait_for()
    page.keyboard.press("ArrowDown")
    assert "reviewer" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.locator("tr.is-off", has_text="reviewer").wait_for()
    expect(switch(page, "Session", "reviewer").get_by_label("Off")).to_be_checked()
    page.keyboard.press("w")
    page.get_by_role("heading", name="Why reviewer is off").wait_for()
    page.keyboard.press("ArrowRight")
    page.locator("tr.is-on", has_text="reviewer").wait_for()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.matches('tr.tree-row')")


def test_a_refused_switch_goes_back_and_the_reason_is_told(stage: Any, session: str, tab: Any) -> None:
    page = tab(session + "/customizations")
    page.route("**/toggle", lambda route: route.fulfill(status=409, json={"message": "No room for decisions."}))
    switch(page, "Session", "profile").get_by_label("Off").click()
    page.locator(".toast.bad", has_text="No room for decisions.").wait_for()
    expect(switch(page, "Session", "profile").get_by_label("Inherits")).to_be_checked()


def test_without_a_script_the_switches_are_plain_forms(stage: Any, browser: Any, session: str) -> None:
    context = browser.new_context(java_script_enabled=False, locale="en-US")
    page = context.new_page()
    page.goto(f"{stage.url}/?tkn=token-of-the-browser-tests")
    page.goto(stage.url + session + "/customizations")
    switch(page, "Session", "python").get_by_label("Off").check()
    row(page, "python").locator("form").first.get_by_role("button", name="Set").click()
    page.locator("tr.is-off", has_text="python").wait_for()
    expect(switch(page, "Session", "python").get_by_label("Off")).to_be_checked()
    assert row(page, "python").locator(".tree-by").inner_text().startswith("Off")
    context.close()


def test_history_tells_what_the_agent_was_given(session: str, tab: Any) -> None:
    """C5.4."""
    page = tab(session + "/customizations")
    page.get_by_role("button", name="History").click()
    page.get_by_text("The agent was started").wait_for()
    expect(page.locator(".records > li", has_text="Tools of a request")).to_have_count(1)
    switch(page, "Session", "reviewer").get_by_label("Off").check()
    row(page, "reviewer").locator("[data-why]").click()
    page.get_by_role("button", name="Its history").click()
    page.get_by_role("heading", name="History of reviewer").wait_for()
    page.locator(".records > li", has_text="Something changed").wait_for()
    assert page.locator(".records li li").all_inner_texts()[0].startswith("reviewer: withheld")


def test_on_a_phone_the_switches_stand_below_the_name_in_chinese(session: str, tab: Any) -> None:
    page = tab(session + "/customizations", lang="zh", width=360, height=780)
    group = page.get_by_role("radiogroup", name="reviewer 的会话决定")
    expect(group).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    expect(page.locator("tr.tree-row", has_text="reviewer").locator(".tree-by")).to_have_text("开 · 默认")


def test_a_global_that_an_editor_owns_is_named_and_an_overlay_on_it_is_told(stage: Any, session: str, tab: Any) -> None:
    """C6.6: the switch names the client; a value against its own is the host's, and is removed by giving it back."""
    editor = Editor(f"ws://127.0.0.1:{stage.port}/", TOKEN, "ahp-session:/" + session.removeprefix("/s/"))
    try:
        page = tab(session + "/customizations")
        row(page, "tracker").wait_for()
        expect(row(page, "release-kit").locator(".tree-by")).to_have_text("On · VS Code, Global")
        everywhere = switch(page, "Global", "tracker, owned by VS Code")
        everywhere.get_by_label("Off").check()
        row(page, "tracker").locator(".tree-by", has_text="Off · VS Code, Global").wait_for()
        row(page, "tracker").locator("[data-why]").click()
        page.locator(".chain [aria-current=true]", has_text="Owned by VS Code").wait_for()
        expect(page.locator(".chain [aria-current=true]")).to_contain_text("This host says otherwise")
        page.get_by_role("button", name="Clear global decision").click()
        row(page, "tracker").locator(".tree-by", has_text="On · VS Code, Global").wait_for()
        expect(everywhere.get_by_label("On")).to_be_checked()
    finally:
        editor.close()


@pytest.mark.parametrize(("theme", "lang", "width"), [("light", "en", 1440), ("dark", "zh", 360)])
def test_axe_finds_nothing_on_the_page_and_in_its_drawer(
    session: str, tab: Any, theme: str, lang: str, width: int
) -> None:
    page = tab(session + "/customizations", theme=theme, lang=lang, width=width)
    page.get_by_role("radiogroup").first.get_by_role("radio").first.click()  # the session's: nothing is left to others
    page.locator("tr.is-off").first.wait_for()
    assert serious(page) == []
    page.locator("[data-why]").first.click()
    page.locator(".why").wait_for()
    page.evaluate(STILL)
    assert serious(page) == []
