"""The first start: what is missing of each agent, a folder, the first message (design, ui.md §4)."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.mcp_project import write
from browser.scans import serious


@pytest.fixture(scope="module", autouse=True)
def missing(stage: Any) -> None:
    """Codex is not signed in; the folder declares five servers in four files."""
    (stage.home / "missing-codex").write_text("AGENT_LOGIN_MISSING\nNot signed in.\ncodex login")
    write(stage.project)
    servers = {"<b>x</b>": {"command": "true"}, "ledger": {"command": "true"}}
    (stage.project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    stage.restart()


def test_the_first_page_has_three_steps_with_the_remedy_of_each_agent(tab: Any, shots: Path) -> None:
    page = tab("/")
    page.locator("#folder").fill("~/work/shop")
    page.locator("#first-folder .note").wait_for()
    page.wait_for_timeout(200)
    page.screenshot(path=str(shots / "empty-state-light.png"))
    expect(page.get_by_role("heading", name="Start your first session")).to_be_visible()
    codex = page.locator(".agent-row", has_text="Codex")
    expect(codex.locator("code")).to_have_text("codex login")
    expect(page.get_by_role("radio", name="Codex")).to_be_disabled()
    expect(page.get_by_role("radio", name="Claude")).to_be_checked()
    expect(page.locator("#sessions")).to_contain_text("None yet. Your sessions appear here")


def test_look_again_finds_what_was_mended(stage: Any, tab: Any) -> None:
    page = tab("/welcome")
    page.locator(".agent-row", has_text="Not signed in").wait_for()
    (stage.home / "missing-codex").unlink()
    page.get_by_role("button", name="Look again").click()
    page.locator(".agent-row.is-ok", has_text="Codex").wait_for()
    expect(page.get_by_role("radio", name="Codex")).to_be_enabled()


def test_a_folder_says_what_it_declares_and_a_wrong_one_why_it_is_none(tab: Any) -> None:
    page = tab("/welcome")
    page.locator("#folder").fill("~/work/shop")
    note = page.locator("#first-folder .note")
    note.wait_for()
    expect(note).to_contain_text("declares 5 MCP servers in 4 files")
    page.get_by_role("button", name="See them").click()
    names = page.locator("#declared b").all_inner_texts()
    assert names == ["<b>x</b>", "docs", "ledger", "playwright", "sentry"]
    page.locator("#folder").fill("shop")
    page.locator("#new-config [role=alert]").wait_for()
    expect(page.locator("#first-folder .note")).to_have_count(0)


def test_the_first_message_makes_the_session_and_leads_to_it(tab: Any) -> None:
    page = tab("/")
    page.locator("#folder").fill("~/work/shop")
    page.locator("#text").fill("say Begun.")
    page.keyboard.press("Enter")
    page.locator("#log", has_text="Begun.").wait_for()
    assert "/s/" in page.url
    page.goto(page.url.partition("/s/")[0] + "/")
    expect(page.get_by_role("heading", name="Start your first session")).to_have_count(0)


@pytest.mark.parametrize(("theme", "lang", "width"), [("light", "en", 1440), ("dark", "zh", 360)])
def test_axe_finds_nothing_on_the_first_start(tab: Any, theme: str, lang: str, width: int) -> None:
    page = tab("/welcome", theme=theme, lang=lang, width=width, height=780)
    page.locator("#folder").fill("~/work/shop")
    page.locator("#first-folder .note").wait_for()
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
