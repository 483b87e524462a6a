"""Settings in a real browser (issue 7 B.4; M9.2, M9.3, M9.4; ui.md §3, §6)."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.mcp_project import write
from browser.scans import serious


def stored(stage: Any) -> dict[str, Any]:
    file = stage.home / "config" / "config.toml"
    return tomllib.loads(file.read_text()) if file.exists() else {}


def until(page: Any, stage: Any, holds: Any) -> None:
    """Waits until the file says so."""
    for _ in range(400):
        if holds(stored(stage)):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"the file says {stored(stage)}")


def test_presets_are_ticked_on_and_off_and_act_at_once(stage: Any, tab: Any) -> None:
    """M9.2: saved at once, in the file's own words; the order stays."""
    page = tab("/settings/mcp")
    codex = page.locator(".setting-row", has_text=".codex/config.toml").get_by_role("checkbox")
    codex.check()  # it is, unless this test runs a second time
    codex.uncheck()
    until(page, stage, lambda found: found.get("enabled_builtins") == ["root", "vscode", "cursor", "gemini"])
    codex.check()
    until(page, stage, lambda found: found["enabled_builtins"] == ["root", "vscode", "codex", "cursor", "gemini"])
    expect(page.locator("#settings-bar")).to_contain_text("All changes saved")


def test_a_custom_preset_is_added_changed_and_removed(stage: Any, tab: Any) -> None:
    """M1.3, M9.2: validated by the resolver of the loader; what was typed stays when it is refused."""
    page = tab("/settings/mcp")
    page.get_by_role("button", name="Add a custom preset").click()
    page.locator("#preset-new-id").fill("team")
    page.locator("#preset-new-files").fill("../outside.json")
    page.locator("#preset-new").get_by_role("button", name="Save preset").click()
    page.locator(".toast.bad").wait_for()
    expect(page.locator("#preset-new-files")).to_have_value("../outside.json")
    assert "presets" not in stored(stage)
    page.locator("#preset-new-extends").fill("root")
    page.locator("#preset-new-files").fill("tools/mcp.json\nmore/mcp.json")
    page.locator("#preset-new").get_by_role("button", name="Save preset").click()
    page.locator(".setting-row", has_text="tools/mcp.json").wait_for()
    preset = {"id": "team", "extends": "root", "files": ["tools/mcp.json", "more/mcp.json"]}
    assert stored(stage)["presets"] == [preset]
    page.get_by_role("button", name="Edit team").click()
    page.locator("#preset-0-files").fill("tools/mcp.json")
    page.locator("#preset-0").get_by_role("checkbox", name="Its files are read").uncheck()
    page.locator("#preset-0").get_by_role("button", name="Save preset").click()
    until(page, stage, lambda found: found["presets"] == [{**preset, "files": ["tools/mcp.json"], "enabled": False}])
    page.get_by_role("button", name="Remove team").click()
    until(page, stage, lambda found: not found.get("presets"))


def test_trusting_everything_needs_a_second_confirmation_with_the_commands(
    stage: Any, tab: Any, tmp_path: Path
) -> None:
    """M4.5"""
    write(tmp_path)
    stage.session(title="Waits", folder=tmp_path)
    page = tab("/settings/mcp")
    page.locator("[type=radio][value=all]").click()  # shown as chosen only until the page is told what is stored
    dialog = page.locator("#trust-all")
    dialog.locator("li", has_text=str(tmp_path)).filter(has_text="sentry-mcp serve").first.wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("radio", name="Manual")).to_be_checked()
    assert "trust_mode" not in stored(stage)
    page.locator("[type=radio][value=all]").click()
    expect(dialog.locator("button.sure")).to_have_text("Start all servers")
    dialog.locator("button.sure").click()
    until(page, stage, lambda found: found.get("trust_mode") == "all")
    page.locator("[type=radio][value=all][checked]").wait_for()
    expect(page.locator("[type=radio][value=all]")).to_be_checked()
    page.get_by_role("radio", name="Manual").check()
    until(page, stage, lambda found: found.get("trust_mode") == "manual")


def test_workspaces_and_names_are_allowed_and_taken_back_and_bare_names_are_marked(
    stage: Any, tab: Any, tmp_path: Path
) -> None:
    """M4.2b, M9.2: grants for a declaration and bare names stand side by side."""
    write(tmp_path)
    session = "ahp-session:/" + stage.session(title="Grant", folder=tmp_path).removeprefix("/s/")

    async def allow(client: Any) -> None:
        await client.request("x-innkeeper/mcp/allow", {"channel": session, "server": "ledger"})

    stage.run(allow)
    page = tab("/settings/mcp")
    page.get_by_role("button", name="Add a workspace").click()
    page.locator("#workspace-new [name=workspace]").fill("~/work/ledger")
    page.keyboard.press("Enter")
    until(page, stage, lambda found: found.get("trusted_workspaces") == [str(stage.home / "work/ledger")])
    page.get_by_role("button", name="Remove ~/work/ledger").click()
    until(page, stage, lambda found: not found.get("trusted_workspaces"))
    page.get_by_role("button", name="Allow a name").click()
    fields = page.locator("#allowance-new")
    fields.locator("[name=workspace]").fill(str(tmp_path))
    fields.locator("[name=name]").fill("mcp__ledger__echo")
    fields.get_by_role("button", name="Allow this name").click()
    bare = page.locator("#group-allowances tr", has_text="mcp__ledger__echo")
    bare.locator(".tag.warn", has_text="Name only, not checked").wait_for()
    assert stored(stage)["workspace_allowances"][0]["allow_tools"] == ["mcp__ledger__echo"]
    grant = page.locator("#group-allowances tr", has_text="this declaration")
    expect(grant).to_contain_text("ledger")
    expect(grant.locator(".tag")).to_have_count(0)
    grant.get_by_role("button", name="Remove ledger").click()
    grant.wait_for(state="detached")
    page.get_by_role("button", name="Remove mcp__ledger__echo").click()
    until(page, stage, lambda found: not found.get("workspace_allowances"))


def test_a_change_made_elsewhere_conflicts_marks_its_group_and_keeps_what_was_typed(stage: Any, tab: Any) -> None:
    """M9.2: compare-and-swap, HTTP 409; ui.md §3."""
    page = tab("/settings/mcp")
    page.get_by_role("button", name="Add a workspace").click()
    page.locator("#workspace-new [name=workspace]").fill("/typed/here")
    page.locator("#workspace-new [name=revision]").evaluate("field => { field.value = 'an-old-one'; }")
    with page.expect_response(lambda answer: answer.url.endswith("/workspace")) as response:
        page.locator("#workspace-new button").click()
    assert response.value.status == 409 and response.value.json()["code"] == "SETTINGS_CONFLICT"
    page.locator("#group-workspaces-conflict").wait_for()
    expect(page.locator(".conflict-note:visible")).to_have_count(1)  # that group only
    expect(page.locator("#workspace-new [name=workspace]")).to_have_value("/typed/here")
    assert not stored(stage).get("trusted_workspaces")
    page.reload()


def test_a_broken_file_says_that_the_last_good_settings_apply(stage: Any, tab: Any) -> None:
    """M9.6, ui.md §4; an open page sees a change of the file by itself."""
    page = tab("/settings/mcp")
    file = stage.home / "config" / "config.toml"
    before = file.read_text() if file.exists() else ""
    try:
        file.write_text(before + "\nconflict_policy = 7\n")
        note = page.locator("#group-fault [role=alert]")
        note.wait_for(timeout=15000)
        expect(note).to_contain_text("The last good settings apply")
        expect(note).to_contain_text("SETTINGS_INVALID")
    finally:
        file.write_text(before)
    note.wait_for(state="detached", timeout=15000)


def test_the_policy_for_names_that_collide_is_a_choice_of_three(stage: Any, tab: Any) -> None:
    page = tab("/settings/mcp")
    with page.expect_response("**/settings/mcp/conflict"):
        page.locator("label.segment", has_text="Take the first").click()
    until(page, stage, lambda found: found.get("conflict_policy") == "first-wins")
    page.get_by_role("radio", name="Take the first").press("ArrowLeft")
    until(page, stage, lambda found: found.get("conflict_policy") == "error")
    expect(page.get_by_role("radio", name="Switch both off and say so")).to_be_checked()


def test_language_appearance_and_keys_belong_to_the_browser(stage: Any, tab: Any) -> None:
    """M9.4, ui.md §1, §6"""
    page = tab("/settings/look")
    page.locator("label.segment", has_text="Dark").click()
    page.locator('html[data-theme="dark"]').wait_for(state="attached")
    page.locator("[name=lang]").select_option("zh_Hans")
    page.locator('html[lang="zh-Hans"]').wait_for(state="attached")
    expect(page.get_by_role("heading", name="语言", exact=True)).to_be_visible()
    page.goto(stage.url + "/settings")
    page.get_by_role("switch").click()
    page.locator('html[data-keys="off"]').wait_for(state="attached")
    page.goto(stage.url + stage.session(title="No keys"))
    page.locator("#log").click()
    page.keyboard.press("m")
    expect(page.locator("#mcp-box")).to_be_hidden()
    page.locator("#mcp-control").click()
    expect(page.locator("#mcp-box")).to_be_visible()


def test_agents_are_shown_with_their_state_and_the_host_with_its_version(stage: Any, tab: Any) -> None:
    page = tab("/settings/agents")
    rows = page.locator(".agent-row")
    expect(rows.filter(has_text="Claude").locator("p").last).to_have_text("Ready · 2 models")
    page.get_by_role("button", name="Look again").click()
    page.locator(".agent-row", has_text="Claude").wait_for()
    page.goto(stage.url + "/settings/about")
    assert page.locator(".facts-list dd").first.inner_text() != ""
    page.goto(stage.url + "/settings/nothing")
    assert page.locator("h1").inner_text() != ""


@pytest.mark.parametrize(("lang", "theme", "width"), [("en", "light", 1440), ("zh", "dark", 360)])
def test_screen_readers_and_narrow_screens_have_every_section(
    stage: Any, tab: Any, lang: str, theme: str, width: int
) -> None:
    """Issue 7 B.5"""
    page = tab("/settings/mcp", lang=lang, theme=theme, width=width, height=780)
    for section in ("", "/mcp", "/agents", "/look", "/about"):
        page.goto(f"{stage.url}/settings{section}")
        assert serious(page) == [], section
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), section
