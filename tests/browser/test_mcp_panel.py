"""The MCP control and its panel in a real browser (issue 7 B.2; ui.md §3-§8; M4.3, M4.5, M6.7, M7.6, M9.1)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.mcp_project import server, write
from browser.scans import serious

SWITCH = '[role="switch"]'


@pytest.fixture
def project(stage: Any, tmp_path: Path) -> Path:
    """A folder of its own, so that no grant of another test holds."""
    folder = tmp_path / "shop"
    folder.mkdir()
    write(folder)
    return folder


def opened(stage: Any, tab: Any, project: Path, **more: Any) -> tuple[Any, str]:
    """The page of a new session with its panel open, and the session's URI."""
    path = stage.session(title="Fix rounding", folder=project)
    page = tab(path, **more)
    page.locator("#mcp-control").click()
    page.locator("#mcp-box").wait_for()
    return page, "ahp-session:/" + path.removeprefix("/s/")


def words(page: Any, name: str) -> str:
    return str(page.locator(f"#server-{name}-state").inner_text())


def command(stage: Any, session: str, name: str, **params: Any) -> Any:
    """What another client does meanwhile."""

    async def asked(client: Any) -> Any:
        return await client.request(f"x-innkeeper/mcp/{name}", {"channel": session, **params})

    return stage.run(asked)


def test_the_panel_says_of_each_server_what_it_is_and_what_can_be_done(stage: Any, tab: Any, project: Path) -> None:
    """M7.6, M9.1; ui.md §3 table of states."""
    page, _ = opened(stage, tab, project)
    control = page.locator("#mcp-control")
    expect(control).to_have_text("MCP 0/5")
    expect(control).to_have_attribute("aria-label", "MCP servers, 0 of 5 connected. None is selected.")
    names = page.locator(".mcp-rows .name-link").all_inner_texts()
    assert names == ["ledger", "search", "playwright", "sentry", "docs"]
    assert words(page, "sentry") == "Not allowed yet · runs sentry-mcp serve"
    assert words(page, "docs") == "Disabled by project"
    expect(page.locator(f"#server-docs {SWITCH}")).to_have_count(0)
    expect(page.locator("#server-docs form")).to_have_count(0)  # what the project disabled has no act
    expect(page.locator("#mcp-head")).to_contain_text("follows policy")


def test_connect_shows_the_command_first_and_the_set_becomes_the_sessions_own(
    stage: Any, tab: Any, project: Path
) -> None:
    """M4.3, M4.5: connecting what policy does not allow makes the selection `custom` until Follow policy."""
    page, _ = opened(stage, tab, project)
    page.get_by_role("button", name="Connect ledger").click()
    ask = page.locator("#server-ledger-ask")
    expect(ask.locator("code")).to_contain_text("fixture_server.py")
    expect(ask).to_contain_text("outside every agent's sandbox")
    page.keyboard.press("Tab")
    ask.get_by_role("button", name="Cancel").click()
    expect(ask).to_be_hidden()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Connect ledger"
    page.get_by_role("button", name="Connect ledger").click()
    ask.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_text("Connected · 10 tools · about").wait_for()
    expect(page.locator("#mcp-control")).to_have_text("MCP 1/5")
    head = page.locator("#mcp-head")
    expect(head).to_contain_text("custom set")
    head.get_by_role("button", name="Follow policy").click()
    page.get_by_text("follows policy").wait_for()
    page.locator("#server-ledger-state", has_text="Not allowed yet").wait_for()


def test_a_tool_is_always_allowed_by_its_switch_and_every_page_shows_it(stage: Any, tab: Any, project: Path) -> None:
    """M6.1, M9.1; two browsers on one session stay equal."""
    page, session = opened(stage, tab, project)
    command(stage, session, "connect", server="ledger")
    other = tab("/s/" + session.removeprefix("ahp-session:/"))
    page.get_by_role("button", name="Details of ledger").click()
    switch = page.get_by_role("switch", name="Always allow query_invoices")
    expect(switch).to_have_attribute("aria-checked", "false")
    switch.click()
    page.locator('#server-ledger [aria-checked="true"]').wait_for()
    expect(page.locator("#server-ledger-more")).to_be_visible()  # an open fold stays open (ui.md §8.3)
    tools = command(stage, session, "tools", server="ledger")["items"]
    assert [one["tool"] for one in tools if one["why"] == "grant"] == ["query_invoices"]
    other.locator("#mcp-control").click()
    other.get_by_role("button", name="Details of ledger").click()
    expect(other.get_by_role("switch", name="Always allow query_invoices")).to_have_attribute("aria-checked", "true")


def test_a_server_that_is_allowed_and_dies_counts_down_in_the_browser(stage: Any, tab: Any, project: Path) -> None:
    """M7.2, M7.6, ui.md §8.7: attempt, local countdown, Stop connecting, Retry now; the dot is not green."""
    once = project / "once"
    entry = server("--name", "flaky", "--log", str(project / "log"))
    entry["command"] = "/bin/sh"
    arguments = " ".join(str(one) for one in server("--name", "flaky")["args"])  # type: ignore[attr-defined]
    python = str(server()["command"])
    entry["args"] = ["-c", f"test -e {once} && exit 1; touch {once}; exec {python} {arguments}"]
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"flaky": {"type": "stdio", **entry}}}))
    page, session = opened(stage, tab, project)
    command(stage, session, "allow", server="flaky")
    command(stage, session, "connect", server="flaky")
    command(stage, session, "call", server="flaky", tool="leave", arguments={"code": 3})
    page.locator("#server-flaky-state", has_text="Reconnecting in").wait_for(timeout=15000)
    assert re.search(r"Reconnecting in \d+ s · attempt \d+", words(page, "flaky").replace("\n", ""))
    expect(page.locator("#mcp-control .dot.warn")).to_have_count(1)
    hidden = page.locator("#server-flaky-state [aria-hidden='true'][data-until]")
    expect(hidden).to_have_count(1)  # the countdown is not read aloud every second
    page.get_by_role("button", name="Stop connecting flaky").click()
    page.locator("#server-flaky-state", has_text="Stopped by you").wait_for()


def test_a_changed_declaration_shows_old_beside_new_and_is_allowed_again(stage: Any, tab: Any, project: Path) -> None:
    """M4.2b"""
    page, session = opened(stage, tab, project)
    command(stage, session, "allow", server="sentry")
    (project / ".codex" / "config.toml").write_text('[mcp_servers.sentry]\ncommand = "sentry-mcp"\nargs = ["other"]\n')
    command(stage, session, "reload")
    page.locator("#server-sentry-state", has_text="Declaration changed").wait_for()
    page.get_by_role("button", name="Allow sentry again").click()
    table = page.locator("#server-sentry-ask .compare")
    expect(table.locator("tbody tr").first.locator("code")).to_have_text(["sentry-mcp serve", "sentry-mcp other"])
    page.locator("#server-sentry-ask").get_by_role("button", name="Allow again").click()
    page.locator("#server-sentry-state", has_text="Failed").wait_for()
    assert "SPAWN_FAILED" in words(page, "sentry")


def test_what_an_agent_wrote_waits_for_a_person_who_has_read_it(stage: Any, tab: Any, project: Path) -> None:
    """M4.1b: also in a trusted workspace; confirming the file lets policy decide."""
    page, session = opened(stage, tab, project)
    path = "/s/" + session.removeprefix("ahp-session:/")
    page.keyboard.press("Escape")
    page.locator("#text").fill(f"declare {project}")
    page.keyboard.press("Enter")
    page.get_by_text("Write").first.wait_for()
    command(stage, session, "reload")
    page.goto(stage.url + path)
    page.locator("#mcp-control").click()
    page.locator("#server-planted-state", has_text="Added by an agent in this session").wait_for()
    page.get_by_role("button", name="Review planted").click()
    ask = page.locator("#server-planted-ask")
    expect(ask).to_contain_text("An agent wrote this entry in .gemini/settings.json")
    expect(ask.locator("pre")).to_contain_text("planted-by-an-agent")
    ask.get_by_role("button", name="Confirm the file").click()
    page.locator("#server-planted-state", has_text="Not allowed yet").wait_for()


def test_trusting_the_workspace_lists_the_commands_before_it_is_pressed(stage: Any, tab: Any, project: Path) -> None:
    """M4.4, M4.5: the switch is a setting of the person's, and acts at once."""
    (project / ".vscode" / "mcp.json").unlink()
    (project / ".codex" / "config.toml").unlink()
    page, _ = opened(stage, tab, project)
    foot = page.locator("#mcp-foot")
    expect(foot).to_contain_text("run as you, outside every agent's sandbox")
    expect(foot).to_contain_text("Starts now:")
    expect(foot).to_contain_text("fixture_server.py")
    switch = foot.get_by_role("switch", name="Always trust this workspace")
    switch.click()
    page.get_by_text("Connected · 10 tools").wait_for()
    assert str(project) in (stage.home / "config" / "config.toml").read_text()
    expect(foot.get_by_role("switch")).to_have_attribute("aria-checked", "true")
    page.get_by_role("button", name="Details of ledger").click()
    expect(page.locator("#server-ledger-more")).to_contain_text("Allowed: workspace trusted")
    foot.get_by_role("switch").click()
    page.locator("#server-ledger-state", has_text="Not allowed yet").wait_for()
    assert str(project) not in (stage.home / "config" / "config.toml").read_text()


def test_connect_all_beyond_policy_asks_with_every_command_and_repeats_the_act(
    stage: Any, tab: Any, project: Path
) -> None:
    """M4.5, ui.md §3"""
    page, _ = opened(stage, tab, project)
    page.locator(".mcp-wide").get_by_role("button", name="Connect all", exact=True).click()
    dialog = page.locator("#mcp-all")
    expect(dialog.locator("li")).to_have_count(4)
    expect(dialog).to_contain_text("sentry-mcp serve")
    expect(dialog).to_contain_text("fixture_server.py")
    expect(dialog.locator("button.primary")).to_have_text("Connect 4 servers")
    page.keyboard.press("Escape")
    page.locator("#mcp-box").wait_for()
    assert words(page, "ledger").startswith("Not allowed yet"), "a closed dialog did nothing"
    page.locator(".mcp-wide").get_by_role("button", name="Connect all", exact=True).click()
    dialog.locator("button.primary").click()
    page.locator("#mcp-control", has_text="MCP 1/5").wait_for(timeout=15000)
    page.locator("#mcp-box").wait_for()
    page.locator("#server-playwright-state", has_text="Failed").wait_for()
    page.locator(".mcp-wide").get_by_role("button", name="Disconnect all").click()
    page.locator("#server-ledger-state", has_text="Stopped by you").wait_for()


def test_a_broken_file_is_a_row_of_its_own_with_its_line(stage: Any, tab: Any, project: Path) -> None:
    """M1.8, ui.md §4"""
    (project / ".vscode" / "mcp.json").write_text('{\n  "servers": {\n    oops\n  }\n}\n')
    page, _ = opened(stage, tab, project)
    row = page.locator("#mcp-rows > li", has_text=".vscode/mcp.json")
    expect(row).to_contain_text("FILE_SYNTAX")
    assert re.search(r"line \d", row.inner_text())
    row.get_by_role("button", name="Open").click()
    note = page.locator("#mcp-editor [role=alert]")
    note.wait_for()
    expect(note).to_contain_text(".vscode/mcp.json")


def test_a_project_without_servers_says_so(stage: Any, tab: Any, tmp_path: Path) -> None:
    """ui.md §4"""
    page, _ = opened(stage, tab, tmp_path)
    expect(page.locator("#mcp-none")).to_have_text("This project declares no server.")
    expect(page.locator("#mcp-control")).to_have_text("MCP 0/0")


def test_names_commands_and_messages_are_never_markup(stage: Any, tab: Any, project: Path) -> None:
    """Issue 7 B.9"""
    evil = "<img src=x onerror=alert(1)>"
    entry = {"type": "stdio", "command": evil, "args": [evil, "</code><script>alert(2)</script>"]}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {evil: entry, "ok": entry}}))
    page, _ = opened(stage, tab, project)
    page.locator("#mcp-rows", has_text=evil).wait_for()
    page.get_by_role("button", name="Connect ok").click()
    page.locator("#server-ok-ask").get_by_role("button", name="Connect", exact=True).click()
    page.locator("#server-ok-state", has_text="Failed").wait_for()
    page.locator("#server-ok .mcp-dots").click()
    page.locator("#edit-command").wait_for()
    expect(page.locator("#edit-command")).to_have_value(evil)
    expect(page.locator("img, #mcp-panel script, #mcp-editor script")).to_have_count(0)


def test_the_key_opens_it_escape_gives_focus_back_and_nothing_moves(stage: Any, tab: Any, project: Path) -> None:
    """ui.md §6, §8.6"""
    page = tab(stage.session(title="Keys", folder=project))
    page.locator("#log").click()
    send = page.locator("#send").bounding_box()
    page.keyboard.press("m")
    page.locator("#mcp-box").wait_for()
    assert page.evaluate("document.activeElement.closest('#mcp-box') !== null")
    page.keyboard.press("Escape")
    expect(page.locator("#mcp-box")).to_be_hidden()
    expect(page.locator("#mcp-control")).to_be_focused()
    page.keyboard.press("m")
    page.get_by_role("button", name="Connect search").click()
    page.locator("#mcp-control .dot.bad").wait_for()
    assert page.locator("#send").bounding_box() == send
    assert page.locator(".mcp-rows .name-link").all_inner_texts()[:2] == ["ledger", "search"], "the order stays"


@pytest.mark.parametrize(("lang", "theme", "width"), [("en", "light", 1440), ("zh", "dark", 360)])
def test_screen_readers_and_narrow_screens_have_everything(
    stage: Any, tab: Any, project: Path, lang: str, theme: str, width: int
) -> None:
    """Issue 7 B.5: axe, both languages and themes; a sheet at 360 px that needs no sideways scrolling. A command too
    long for the warning makes it scroll, also by keys."""
    (project / ".gemini").mkdir()
    long = {"command": "long-mcp", "args": ["--words", *("word" for _ in range(200))]}
    (project / ".gemini" / "settings.json").write_text(json.dumps({"mcpServers": {"long": long}}))
    page, session = opened(stage, tab, project, lang=lang, theme=theme, width=width, height=780)
    command(stage, session, "connect", server="ledger")
    page.locator("#mcp-control .dot.ok").wait_for()
    page.locator("#server-ledger [aria-controls='server-ledger-more']").click()
    assert serious(page, "#mcp-box") == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if lang == "zh":
        expect(page.locator("#mcp-foot")).to_contain_text("它们以你的用户身份运行，不受智能体沙箱限制。")
        assert words(page, "sentry") == "尚未允许 · 将运行 sentry-mcp serve"
        page.locator(".mcp-narrow[data-leave]").click()
        expect(page.locator("#mcp-box")).to_be_hidden()
