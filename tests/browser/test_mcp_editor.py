"""The editor of declarations in a real browser (issue 7 B.2; M8.2, M8.4, M8.7-M8.10, M9.5, M11.3, M11.5)."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.mcp_project import write
from browser.scans import serious

SECRET = "s3cret-of-the-browser"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    write(folder)
    return folder


def opened(stage: Any, tab: Any, project: Path, name: str | None = "playwright", **more: Any) -> tuple[Any, str]:
    """A new session's page with the editor open at a server, or at a new one, and the session's URI."""
    path = stage.session(title="Edit", folder=project)
    page = tab(path, **more)
    page.locator("#mcp-control").click()
    opener = page.locator(f"#server-{name} .name-link") if name else page.locator(".mcp-new")
    opener.click()
    page.locator("#edit-name").wait_for()
    return page, "ahp-session:/" + path.removeprefix("/s/")


def test_a_change_shows_its_difference_and_saves_only_its_own_bytes(stage: Any, tab: Any, project: Path) -> None:
    """M8.1, M8.9: comments stay, values are masked in the page and in the difference; saving starts nothing."""
    file = project / ".vscode" / "mcp.json"
    before = file.read_text()
    page, _ = opened(stage, tab, project)
    expect(page.locator("#edit-save")).to_be_disabled()
    expect(page.locator("#edit-connect")).to_be_disabled()
    page.locator("#edit-args").press("Control+End")
    page.locator("#edit-args").type("\n--headless")
    page.locator("#edit-diff tr.added", has_text="--headless").wait_for()
    expect(page.locator(".edit-server[aria-current] .unsaved-word")).to_be_visible()
    expect(page.locator("#edit-diff")).to_contain_text("A changed declaration needs a new permission")
    assert SECRET not in page.content()
    page.keyboard.press("Control+s")
    page.locator(".saved").wait_for()
    expect(page.locator("#tab-form")).to_be_focused()  # focus stays in the dialog
    assert file.read_text() == before.replace('"1"\n', '"1",\n        "--headless"\n')
    assert page.locator("#server-playwright-state").text_content().strip().startswith("Not allowed yet")  # type: ignore[union-attr]


def test_a_value_is_shown_for_its_row_alone_and_then_saved_or_kept(stage: Any, tab: Any, project: Path) -> None:
    """M8.9; ui.md §3: show is per row and ends with the dialog."""
    page, _ = opened(stage, tab, project)
    rows = page.locator("#edit-env-rows .pair-row")
    first = rows.nth(0).locator("[name=env_value]")
    expect(first).to_have_attribute("type", "password")
    expect(first).to_have_value("")
    rows.nth(0).get_by_role("button", name="Show the value").click()
    page.locator('#edit-env-rows [aria-pressed="true"]').wait_for()
    expect(first).to_have_value(SECRET)
    expect(first).to_have_attribute("type", "text")
    expect(rows.nth(1).locator("[name=env_value]")).to_have_value("")
    expect(page.locator("#edit-save")).to_be_disabled()  # to look changes nothing
    rows.nth(1).locator("[name=env_value]").fill("another")
    page.locator("#edit-save:not(:disabled)").click()
    page.locator(".saved").wait_for()
    text = (project / ".vscode" / "mcp.json").read_text()
    assert f'"BROWSER_TOKEN": "{SECRET}"' in text and '"PW_SERVER": "another"' in text
    expect(page.locator("#edit-env-rows [name=env_value]").first).to_have_attribute("type", "password")


def test_rows_are_added_and_removed_and_a_key_twice_blocks_saving(stage: Any, tab: Any, project: Path) -> None:
    """M8.9; ui.md §3: errors stand under their field and are counted in the foot, the count jumps to the first."""
    page, _ = opened(stage, tab, project)
    page.get_by_role("button", name="Add variable").click()
    expect(page.get_by_role("group", name="Variable 3")).to_have_count(1)
    page.keyboard.type("PW_SERVER")
    page.get_by_text("This key is already above. Rename or remove one of the two.").wait_for()
    key = page.locator("#edit-env-rows .pair-row").nth(2).locator("[name=env_key]")
    expect(key).to_have_attribute("aria-invalid", "true")
    described = key.get_attribute("aria-describedby")
    assert page.locator(f"#{described}").inner_text().startswith("This key is already above")
    expect(page.locator("#edit-save")).to_be_disabled()
    page.locator("#edit-name").focus()
    page.get_by_role("button", name="1 problem").click()
    assert page.evaluate("document.activeElement.value") == "PW_SERVER"
    key.fill("EXTRA")
    page.locator("#edit-env-rows .pair-row").nth(0).get_by_role("button", name="Remove").click()
    page.locator("#edit-save:not(:disabled)").click()
    page.locator(".saved").wait_for()
    entry = (project / ".vscode" / "mcp.json").read_text()
    assert "BROWSER_TOKEN" not in entry and '"EXTRA": ""' in entry


def test_a_file_that_changed_meanwhile_conflicts_and_the_text_is_kept(stage: Any, tab: Any, project: Path) -> None:
    """M8.4, M9.5: nothing is written and nothing is lost; the new file counts only after it was asked for."""
    file = project / ".vscode" / "mcp.json"
    page, _ = opened(stage, tab, project)
    page.locator("#edit-cwd").fill("sub")
    page.locator("#edit-diff tr.added").first.wait_for()
    file.write_text(file.read_text().replace("// keep in step", "// still in step"))
    with page.expect_response(lambda answer: answer.url.endswith("/editor/save")) as response:
        page.locator("#edit-save").click()
    assert response.value.status == 409 and response.value.json()["code"] == "EDIT_CONFLICT"
    note = page.locator("#edit-note [role=alert]")
    note.wait_for()
    expect(note).to_contain_text("The file changed on disk while you were editing")
    expect(page.locator("#edit-cwd")).to_have_value("sub")
    expect(page.locator("#edit-save")).to_be_disabled()
    expect(page.locator("#toasts .toast")).to_have_count(0)  # the note above the form is enough
    note.get_by_role("button", name="Show new file").click()
    page.locator("#edit-note", has_text="against the new file").wait_for()
    page.locator("#edit-save:not(:disabled)").click()
    page.locator(".saved").wait_for()
    assert "still in step" in file.read_text() and '"cwd": "sub"' in file.read_text()


def test_unsaved_text_is_asked_about_before_it_is_lost(stage: Any, tab: Any, project: Path) -> None:
    """M9.5: closing, switching, reloading."""
    page, _ = opened(stage, tab, project)
    page.locator("#edit-command").fill("other")
    page.keyboard.press("Escape")
    question = page.get_by_role("heading", name="Discard unsaved changes to playwright?")
    question.wait_for()
    page.get_by_role("button", name="Keep editing").click()
    expect(page.locator("#edit-command")).to_have_value("other")
    page.locator(".edit-server", has_text="ledger").click()
    question.wait_for()
    page.keyboard.press("Escape")
    expect(page.locator("#mcp-editor")).to_be_visible()
    expect(page.locator("#edit-command")).to_have_value("other")
    told: list[str] = []
    page.once("dialog", lambda dialog: (told.append(dialog.type), dialog.dismiss()))
    page.evaluate("setTimeout(() => location.reload(), 0)")
    page.wait_for_timeout(300)
    assert told == ["beforeunload"]
    expect(page.locator("#edit-command")).to_have_value("other")
    page.locator(".edit-server", has_text="ledger").click()
    page.get_by_role("button", name="Discard", exact=True).click()
    page.locator('#edit-name[value="ledger"]').wait_for()
    page.keyboard.press("Escape")
    expect(page.locator("#mcp-editor")).to_be_hidden()
    expect(page.locator("#mcp-control")).to_be_focused()


def test_a_new_server_is_made_in_a_file_that_is_not_there_and_connected(stage: Any, tab: Any, tmp_path: Path) -> None:
    """M8.3, M8.7, M8.9, M8.10: transport first; its draft stays while one looks at the other."""
    page, _ = opened(stage, tab, tmp_path, None)
    place = page.locator("#edit-place")
    expect(place).to_have_value("root\n.mcp.json")
    place.select_option("vscode\n.vscode/mcp.json")
    page.locator("#edit-name").fill("notes")
    page.locator("#edit-command").fill(__import__("sys").executable)
    page.locator("label.segment", has_text="HTTP").click()
    expect(page.locator("#edit-command")).to_be_hidden()
    expect(page.locator("#edit-url")).to_be_visible()
    page.locator("label", has_text="Local command").click()
    assert page.locator("#edit-command").input_value().endswith("python")
    page.locator("#edit-args").fill("-m\ninnkeeper.mcp.example_server")
    page.locator("#edit-diff tr.added", has_text="example_server").wait_for()
    expect(page.locator("#edit-diff .note.warn")).to_contain_text("outside every agent's sandbox")
    page.locator("#edit-connect").click()
    page.locator(".saved").wait_for(timeout=15000)
    entry = json.loads((tmp_path / ".vscode" / "mcp.json").read_text())["servers"]["notes"]
    assert entry["type"] == "stdio" and entry["args"] == ["-m", "innkeeper.mcp.example_server"]
    page.locator("#edit-server-notes", has_text="Connected").wait_for()
    expect(page.locator("#edit-place")).to_have_count(0)
    expect(page.locator("#edit-name")).to_have_value("notes")


def test_what_cannot_be_edited_safely_names_its_place_and_what_does_not_load_is_taken_back(
    stage: Any, tab: Any, project: Path
) -> None:
    """M8.1, M8.5; ui.md §3: cannot be edited safely, rolled back."""
    file = project / ".vscode" / "mcp.json"
    page, _ = opened(stage, tab, project)
    page.locator("#edit-cwd").fill("${NO_SUCH_VARIABLE_HERE}")
    note = page.locator("#edit-note [role=alert]")
    note.wait_for()
    expect(note).to_contain_text("VARIABLE_MISSING")
    expect(page.locator("#edit-save")).to_be_disabled()
    expect(page.locator("#edit-cwd")).to_have_value("${NO_SUCH_VARIABLE_HERE}")
    page.locator("#edit-cwd").fill("other")
    note.wait_for(state="detached")
    told = {"message": "It did not load.", "code": "EDIT_ROLLED_BACK", "remedy": "Look at `cwd`."}
    page.route("**/editor/save", lambda route: route.fulfill(status=400, json=told))
    page.locator("#edit-save:not(:disabled)").click()
    note.wait_for()
    expect(note).to_contain_text("It did not load.")
    expect(note).to_contain_text("EDIT_ROLLED_BACK")
    expect(page.locator("#edit-cwd")).to_have_value("other")
    twice = '{"servers": {"playwright": {"type": "stdio", "command": "a", "cwd": "x", "cwd": "y"}}}'
    file.write_text(twice)
    page.locator("#edit-cwd").fill("sub")
    page.get_by_role("button", name="Show new file").click()
    page.locator("#edit-note", has_text="EDIT_UNSAFE").wait_for()
    assert page.locator("#edit-where").inner_text().startswith(".vscode/mcp.json")
    expect(page.locator("#edit-note").get_by_role("button", name="Copy")).to_be_visible()
    assert file.read_text() == twice


def test_in_a_trusted_workspace_save_says_that_it_loads(stage: Any, tab: Any, project: Path) -> None:
    """M8.7"""
    (project / ".mcp.json").unlink()
    (project / ".codex" / "config.toml").unlink()
    (project / ".vscode" / "mcp.json").write_text('{"servers": {"playwright": {"command": "/nonexistent"}}}')
    page, _ = opened(stage, tab, project)
    page.keyboard.press("Escape")
    page.locator("#mcp-control").click()
    page.get_by_role("switch", name="Always trust this workspace").click()
    page.locator('#mcp-trust[aria-checked="true"]').wait_for()
    page.locator("#server-playwright .name-link").click()
    page.locator("#edit-command").fill("/nonexistent/either")
    page.locator("#edit-save", has_text="Save · loads with the next request").wait_for()
    expect(page.locator("#edit-diff")).to_contain_text("Policy allows it")
    page.locator("#edit-save").click()
    page.locator(".saved").wait_for()
    page.keyboard.press("Escape")
    page.locator("#mcp-control").click()
    page.get_by_role("switch", name="Always trust this workspace").click()
    page.locator('#mcp-trust[aria-checked="false"]').wait_for()
    assert str(project) not in (stage.home / "config" / "config.toml").read_text()


def test_the_json_mode_has_the_same_fields_and_masks_values(stage: Any, tab: Any, project: Path) -> None:
    """M8.9"""
    page, _ = opened(stage, tab, project)
    page.get_by_role("button", name="Edit as JSON").click()
    text = page.locator("#edit-json")
    text.wait_for()
    entry = json.loads(text.input_value())
    assert entry["env"] == {"BROWSER_TOKEN": "••••••", "PW_SERVER": "••••••"}
    text.fill("{")
    page.get_by_text("Not JSON from line 1 on.").wait_for()
    expect(page.locator("#edit-save")).to_be_disabled()
    text.fill(json.dumps({**entry, "autoApprove": True}))
    page.get_by_text("autoApprove is not one of the six fields").wait_for()
    text.fill(json.dumps({**entry, "cwd": "sub", "env": {"PW_SERVER": "••••••"}}))
    page.locator("#edit-save:not(:disabled)").click()
    page.locator(".saved").wait_for()
    saved = (project / ".vscode" / "mcp.json").read_text()
    assert '"cwd": "sub"' in saved and "BROWSER_TOKEN" not in saved and '"PW_SERVER": "s3cret-of-the-server"' in saved


def test_a_server_is_moved_to_another_clients_file_and_deleted_there(stage: Any, tab: Any, project: Path) -> None:
    """M8.8, M8.1"""
    page, _ = opened(stage, tab, project)
    page.get_by_role("button", name="Copy to…").click()
    page.locator("#copy-to").select_option("codex\n.codex/config.toml")
    page.locator("#edit-copy-diff tr.added", has_text="[mcp_servers.playwright]").wait_for()
    page.get_by_role("button", name="Copy server").click()
    page.locator('#edit-form [name=file][value=".codex/config.toml"]').wait_for(state="attached")
    toml = (project / ".codex" / "config.toml").read_text()
    assert "[mcp_servers.playwright]" in toml and SECRET in toml
    assert "playwright" not in (project / ".vscode" / "mcp.json").read_text()
    page.get_by_role("button", name="Delete server").click()
    dialog = page.locator("#edit-delete")
    expect(dialog.locator("h2")).to_have_text("Delete playwright from .codex/config.toml?")
    dialog.locator(".danger").click()
    page.get_by_text("playwright is no longer in .codex/config.toml").wait_for()
    expected = '[mcp_servers.sentry]\ncommand = "sentry-mcp"\nargs = ["serve"]\n'
    assert (project / ".codex" / "config.toml").read_text() == expected


def test_a_copy_under_the_same_name_is_refused_before_anything_is_written(stage: Any, tab: Any, project: Path) -> None:
    """M8.8"""
    page, _ = opened(stage, tab, project)
    page.get_by_role("button", name="Copy to…").click()
    page.get_by_text("stays; the copy needs another name").click()
    page.locator("#edit-copy-diff", has_text="EDIT_NAME_TAKEN").wait_for()
    assert "playwright" in (project / ".vscode" / "mcp.json").read_text()


def test_the_other_tabs_tell_permissions_calls_and_reasons(stage: Any, tab: Any, project: Path) -> None:
    """M9.1, M11.1, M11.5: the log has no argument."""
    page, session = opened(stage, tab, project, "ledger")

    async def work(client: Any) -> None:
        params = {"channel": session, "server": "ledger"}
        await client.request("x-innkeeper/mcp/connect", params)
        await client.request("x-innkeeper/mcp/call", {**params, "tool": "echo", "arguments": {"text": "canary-text"}})

    stage.run(work)
    page.locator("#tab-form").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-permissions")).to_be_focused()
    auto = page.get_by_role("switch", name="May start by itself in")
    expect(auto).to_have_attribute("aria-checked", "false")
    auto.click()
    page.locator("#edit-permissions", has_text="Allowed by you for this declaration").wait_for()
    page.locator("#edit-permissions").get_by_role("switch", name="Always allow echo").click()
    page.locator('#edit-permissions .mcp-tool [aria-checked="true"]').wait_for()
    page.keyboard.press("Tab")
    page.get_by_role("tab", name="Call log").click()
    row = page.locator("#edit-calls tbody tr")
    row.wait_for()
    expect(row).to_contain_text("echo")
    expect(row).to_contain_text("You")
    assert "canary-text" not in page.content()
    page.get_by_role("tab", name="Why").click()
    deciding = page.locator("#edit-why [aria-current]")
    deciding.wait_for()
    expect(deciding).to_contain_text("State")
    expect(deciding).to_contain_text("Connected")
    expect(page.locator("#edit-why")).to_contain_text(".mcp.json, line 3, read as root")


def test_duplicates_are_found_and_opened(stage: Any, tab: Any, project: Path) -> None:
    """M11.3"""
    (project / ".gemini").mkdir()
    same = {"mcpServers": {"sentry": {"command": "sentry-mcp", "args": ["other"]}}}
    (project / ".gemini" / "settings.json").write_text(json.dumps(same))
    page, _ = opened(stage, tab, project)
    page.get_by_role("button", name="Find duplicates").click()
    group = page.locator(".scan-group", has_text="sentry")
    group.wait_for()
    expect(group).to_contain_text("different")
    expect(group).to_contain_text("differs in args")
    group.get_by_role("button", name="Open").last.click()
    page.locator('#edit-form [name=file][value=".gemini/settings.json"]').wait_for(state="attached")


def test_a_session_that_may_only_look_shows_fields_as_text_and_says_why(stage: Any, tab: Any, project: Path) -> None:
    """M8.6b"""
    path = stage.session(title="Look", folder=project)
    session = "ahp-session:/" + path.removeprefix("/s/")

    async def plan(client: Any) -> None:
        state = await client.subscribe_session(session)
        await state.dispatch({"type": "session/configChanged", "config": {"permissionMode": "plan"}})

    stage.run(plan)
    page = tab(path)
    page.locator("#mcp-control").click()
    page.locator("#server-ledger .name-link").click()
    page.locator("#edit-command[readonly]").wait_for()
    expect(page.locator("#edit-note .note")).to_contain_text("agent")
    expect(page.locator("#edit-save, #edit-connect, [data-add], [data-drop]")).to_have_count(0)


@pytest.mark.parametrize(("lang", "theme", "width"), [("en", "light", 1440), ("zh", "dark", 360)])
def test_screen_readers_and_narrow_screens_can_edit(
    stage: Any, tab: Any, project: Path, lang: str, theme: str, width: int
) -> None:
    """Issue 7 B.5: axe; a full page at 360 px with the list as a select and the difference as a tab."""
    page, _ = opened(stage, tab, project, lang=lang, theme=theme, width=width, height=780)
    page.locator("#edit-args").fill("--other")
    page.locator("#edit-save:not(:disabled)").wait_for()
    assert serious(page, "#mcp-editor") == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if width == 360:
        expect(page.locator(".edit-select")).to_be_visible()
        expect(page.locator("#mcp-edit-rows")).to_be_hidden()
        page.get_by_role("tab", name="改动").click()
        expect(page.locator("#edit-diff tr.added").first).to_be_visible()
        page.locator("#mcp-editor .edit-head button").click()
        expect(page.get_by_role("heading", name="放弃对 playwright 的未保存更改？")).to_be_visible()
