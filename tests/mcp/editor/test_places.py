"""Where a new server goes, and what a form is told of its place (M8.10, M8.7, M9.1)."""

import os
from typing import Any

import pytest

from innkeeper.mcp.editor.refusals import EditRefused
from innkeeper.mcp.editor.remembered import Remembered
from innkeeper.mcp.settings import McpSettings, WorkspaceAllowance, key_of_directory
from innkeeper.ports.notes import MemoryNotes


def first(workspace: Any) -> tuple[str, str]:
    place = workspace.editor.places(workspace.path)[0]
    return place.preset, place.file


def test_the_last_written_location_then_the_first_file_there_is_then_mcp_json(workspace: Any) -> None:
    assert first(workspace) == ("root", ".mcp.json")
    workspace.write(".gemini/settings.json", {"mcpServers": {}})
    workspace.write(".codex/config.toml", "")
    assert first(workspace) == ("codex", ".codex/config.toml")
    workspace.builtins = ["gemini", "codex"]
    assert first(workspace) == ("gemini", ".gemini/settings.json")
    workspace.add("codex", "a", command="x")
    assert first(workspace) == ("codex", ".codex/config.toml")
    workspace.builtins = ["gemini"]
    assert first(workspace) == ("gemini", ".gemini/settings.json"), "a preset that is off is no place"


def test_a_location_that_cannot_be_written_any_more_is_passed_over(
    workspace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The superuser may write everything, so the system's answer is given here."""
    workspace.add("cursor", "a", command="x")
    workspace.write(".mcp.json", {"mcpServers": {}})
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith(".cursor/mcp.json"))
    assert first(workspace) == ("root", ".mcp.json")


def test_a_location_that_leads_out_by_now_is_passed_over(workspace: Any, tmp_path: Any) -> None:
    workspace.add("cursor", "a", command="x")
    (workspace.root / ".cursor/mcp.json").unlink()
    (workspace.root / ".cursor/mcp.json").symlink_to(tmp_path / "elsewhere")
    assert first(workspace) == ("root", ".mcp.json")


@pytest.mark.parametrize(
    "entry",
    ["x", ["a", "b"], {"last": ["a"]}, {"last": [1, 2]}, {"origins": [".mcp.json"]}, {"origins": {".mcp.json": "x"}}],
)
def test_a_broken_note_is_no_note(workspace: Any, entry: object) -> None:
    notes = MemoryNotes()
    remembered = Remembered(notes)
    broken: list[object] = [None, [], "x", {key_of_directory(workspace.path): entry}]
    for document in broken:
        notes.document = document
        assert remembered.last(workspace.path) is None
        assert remembered.origin(workspace.path, ".mcp.json", "v") is None
    target = workspace.target("root")
    remembered.wrote(workspace.path, target, {".mcp.json": "w"}, {".mcp.json": "v"})
    assert remembered.last(workspace.path) == ("root", ".mcp.json")
    assert remembered.origin(workspace.path, ".mcp.json", "w") == "v"


def test_each_place_says_who_else_reads_it_and_whether_it_is_there(workspace: Any) -> None:
    """M9.1: a location shows which other clients read that file."""
    workspace.write(".mcp.json", {"mcpServers": {}})
    places = {place.preset: place for place in workspace.editor.places(workspace.path)}
    assert places["root"].exists and "Claude Code" in places["root"].clients
    assert (places["gemini"].exists, places["gemini"].clients) == (False, ("Gemini CLI",))
    assert (places["roo"].enabled, places["root"].enabled) == (False, True)


def test_the_form_says_by_what_a_save_starts_with_the_next_request(workspace: Any) -> None:
    """M8.7: an ordinary save grants nothing, but policy still applies."""
    workspace.add("root", "a", command="x")

    def loads(server: str | None) -> str | None:
        opened = workspace.editor.open(workspace.path, server, "root", None)
        found: str | None = opened.loads_by
        return found

    assert loads("a") is None
    workspace.settings = McpSettings(workspace_allowances=(WorkspaceAllowance(workspace.path, frozenset({"a"})),))
    assert (loads("a"), loads(None)) == ("allowance", None)
    workspace.settings = McpSettings(trusted_workspaces=frozenset({workspace.path}))
    assert (loads("a"), loads(None)) == ("trustedWorkspace", "trustedWorkspace")
    workspace.settings = McpSettings(trust_mode="all")
    assert loads(None) == "trustMode"


def test_an_unknown_preset_or_file_is_refused(workspace: Any) -> None:
    for preset, file in (("nope", None), ("root", "other.json")):
        with pytest.raises(EditRefused) as caught:
            workspace.editor.target(workspace.path, preset, file)
        assert caught.value.code == "EDIT_PRESET"
    workspace.presets = [
        {"id": "two", "files": ["one.json", "two.json"], "format": "json", "servers_paths": ["servers"]}
    ]
    workspace.write("two.json", {"servers": {"a": {"command": "x"}}})
    assert workspace.editor.target(workspace.path, "two", None).file == "two.json"
    workspace.write("one.json", {"servers": {}})
    assert workspace.editor.target(workspace.path, "two", None, "a").file == "two.json"
    assert workspace.editor.target(workspace.path, None, None, "a").file == "two.json"
