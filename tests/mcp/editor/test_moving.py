"""Copy and migrate between all presets, with the same meaning or not at all (M8.8); the import scan (M11.3)."""

import itertools
import json
from typing import Any

import pytest

from innkeeper.editing.refusals import EditConflict
from innkeeper.errors import HostError
from innkeeper.mcp.declarations.presets import BUILT_IN, OFF_BY_DEFAULT
from innkeeper.mcp.editor.refusals import EditRefused, EditRolledBack

IDS = [preset.id for preset in (*BUILT_IN, *OFF_BY_DEFAULT)]
PAIRS = list(itertools.permutations(IDS, 2))
STDIO = {"command": "npx", "args": ["-y", "pkg"], "env": {"A": "b"}, "cwd": "sub"}
HTTP = {"url": "https://x.example/mcp", "headers": {"H": "v"}}


def entry_of(workspace: Any, name: str) -> Any:
    return next(entry.server for entry in workspace.resolve().entries if entry.server.name == name)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[f"{a}-{b}" for a, b in PAIRS])
def test_a_server_moves_from_any_preset_to_any_other_and_runs_the_same(
    workspace: Any, source: str, target: str
) -> None:
    """The whole launch is equal, whatever the dialects; all or nothing over both files."""
    workspace.builtins = [source, target]
    workspace.add(source, "a", **STDIO)
    workspace.add(source, "b", **HTTP)
    old = workspace.read(workspace.target(source).file)
    before = {name: entry_of(workspace, name).launch for name in "ab"}
    workspace.copy(source, "a", target, "copied")
    assert entry_of(workspace, "copied").launch == before["a"]
    assert workspace.read(workspace.target(source).file) == old
    for name in "ab":
        moved = workspace.copy(source, name, target, move=True)
        assert (entry_of(workspace, name).file, entry_of(workspace, name).launch) == (moved.place.file, before[name])
    assert {entry.server.preset for entry in workspace.resolve().entries} == {target}


@pytest.mark.parametrize(
    ("source", "entry", "target", "lost"),
    [
        ("vscode", {"command": "x", "envFile": ".env"}, "codex", "envFile"),
        ("codex", "command = 'x'\nenv_vars = ['TOKEN']\nenabled_tools = ['t']", "root", "enabled_tools"),
        ("codex", "command = 'x'\nrequired = true\nstartup_timeout_sec = 5", "cursor", "startup_timeout_sec, required"),
        ("gemini", {"command": "x", "includeTools": ["t(a)"]}, "codex", "includeTools"),
        ("gemini", {"command": "x", "trust": True, "description": "d"}, "root", "trust, description"),
        ("root", {"command": "x", "timeout": 5000}, "vscode", "timeout"),
        ("root", {"command": "x", "alwaysLoad": True}, "vscode", "alwaysLoad"),
        ("root", {"command": "x", "$comment": "why"}, "cursor", "$comment"),
        ("codex", "command = 'x'\nenabled = false", "root", "enabled"),
        ("root", {"command": "${TOKEN}"}, "codex", "command"),
        ("root", {"command": "x", "args": ["${workspaceFolder}"]}, "codex", "args[0]"),
        ("codex", "command = 'x'\nargs = ['${NOT}']", "root", "args[0]"),
        ("root", {"command": "x", "args": ["$HOME"]}, "gemini", "args[0]"),
        ("root", {"command": "x", "args": ["%HOME%"]}, "qwen", "args[0]"),
        ("vscode", {"command": "x", "cwd": "${configDir}"}, "root", "cwd"),
        ("root", {"command": "x", "env": {"A": "pre-${TOKEN}"}}, "codex", "env.A"),
        ("root", {"command": "x", "args": ["{env:TOKEN}"]}, "opencode", "args[0]"),
    ],
)
def test_a_field_that_the_target_cannot_express_makes_the_copy_fail_with_its_name(
    workspace: Any, source: str, entry: Any, target: str, lost: str
) -> None:
    workspace.builtins = list(dict.fromkeys([source, target]))
    workspace.write(".env", "A=b\n")
    file = workspace.target(source).file
    table = {"vscode": "servers"}.get(source, "mcpServers")
    workspace.write(file, f"[mcp_servers.a]\n{entry}\n" if isinstance(entry, str) else {table: {"a": entry}})
    assert entry_of(workspace, "a").launch is not None
    before = workspace.files()
    with pytest.raises(EditRefused) as caught:
        workspace.copy(source, "a", target, "b")
    assert (caught.value.code, caught.value.detail) == ("EDIT_LOSES", lost)
    assert workspace.files() == before


def test_named_variables_and_placeholders_are_two_spellings(workspace: Any) -> None:
    workspace.write(
        ".mcp.json",
        {
            "mcpServers": {
                "s": {"command": "x", "env": {"TOKEN": "${TOKEN}", "L": "l"}},
                "h": {
                    "type": "http",
                    "url": "https://x/",
                    "headers": {"Authorization": "Bearer ${env:TOKEN}", "X": "${OTHER}", "Y": "y"},
                },
            }
        },
    )
    before = {name: entry_of(workspace, name).launch for name in "sh"}
    workspace.copy("root", "s", "codex", move=True)
    workspace.copy("root", "h", "codex", move=True)
    text = workspace.read(".codex/config.toml")
    assert 'env_vars = ["TOKEN"]' in text and 'bearer_token_env_var = "TOKEN"' in text
    assert 'env_http_headers = { X = "OTHER" }' in text
    assert {name: entry_of(workspace, name).launch for name in "sh"} == before
    workspace.copy("codex", "s", "vscode", move=True)
    workspace.copy("codex", "h", "gemini", move=True)
    assert '"${env:TOKEN}"' in workspace.read(".vscode/mcp.json")
    assert '"Bearer ${TOKEN}"' in workspace.read(".gemini/settings.json")
    assert {name: entry_of(workspace, name).launch.__class__ for name in "sh"} == {
        name: before[name].__class__ for name in "sh"
    }


def test_times_filters_and_switches_go_where_the_target_has_them(workspace: Any) -> None:
    workspace.builtins = ["codex", "gemini", "roo"]
    workspace.write(
        ".codex/config.toml",
        "[mcp_servers.a]\ncommand = 'x'\ntool_timeout_sec = 90\nenabled_tools = ['u', 't']\ndisabled_tools = ['v']\n",
    )
    workspace.copy("codex", "a", "gemini", move=True)
    assert json.loads(workspace.read(".gemini/settings.json"))["mcpServers"]["a"] == {
        "command": "x", "timeout": 90000, "includeTools": ["u", "t"], "excludeTools": ["v"],
    }  # fmt: skip
    workspace.write(".roo/mcp.json", {"mcpServers": {"b": {"command": "x", "timeout": 60, "disabledTools": ["v"]}}})
    workspace.copy("roo", "b", "codex", move=True)
    assert "tool_timeout_sec = 60" in workspace.read(".codex/config.toml")


def test_never_onto_the_same_physical_file(workspace: Any) -> None:
    workspace.write(".mcp.json", {"mcpServers": {"a": {"command": "x"}}})
    (workspace.root / ".cursor").mkdir()
    (workspace.root / ".cursor/mcp.json").symlink_to("../.mcp.json")
    before = workspace.read(".mcp.json")
    for new in ("a", "b"):
        for move in (True, False):
            with pytest.raises(EditRefused) as caught:
                workspace.copy("root", "a", "cursor", new, move=move)
            assert caught.value.code in ("EDIT_SAME_FILE", "EDIT_NAME_TAKEN")
    assert caught.value.code == "EDIT_SAME_FILE"
    assert workspace.read(".mcp.json") == before


def test_a_copy_of_the_same_name_is_refused_and_so_is_a_taken_one(workspace: Any) -> None:
    workspace.add("root", "a", command="x")
    workspace.add("vscode", "b", command="y")
    for source, name, new in (("root", "a", "a"), ("root", "a", "b")):
        with pytest.raises(EditRefused) as caught:
            workspace.copy(source, name, "vscode", new)
        assert caught.value.code == "EDIT_NAME_TAKEN"
    with pytest.raises(EditRefused) as caught:
        workspace.copy("root", "nope", "vscode", "n")
    assert caught.value.code == "EDIT_NO_SERVER"


def test_migration_is_all_or_nothing_under_both_guards(workspace: Any) -> None:
    """A third file declares the name too, differently: both files are put back exactly."""
    workspace.settings = workspace.settings
    workspace.write(".mcp.json", {"mcpServers": {"a": {"command": "x"}}})
    workspace.write(".cursor/mcp.json", {"mcpServers": {"b": {"command": "other"}}})
    target = workspace.write(".vscode/mcp.json", "{ // mine\n}\n")
    before = {file: workspace.read(file) for file in workspace.files()}
    inode = target.stat().st_ino
    with pytest.raises(EditRolledBack) as caught:
        workspace.copy("root", "a", "vscode", "b", move=True)
    assert (caught.value.reason, caught.value.file) == ("NAME_CONFLICT", ".vscode/mcp.json")
    assert {file: workspace.read(file) for file in workspace.files()} == before
    assert target.stat().st_ino == inode
    token = workspace.token("root")
    for tokens in ({".mcp.json": "0" * 16}, {".mcp.json": token, ".vscode/mcp.json": "none"}):
        with pytest.raises(EditConflict):
            workspace.editor.copy(
                workspace.path, workspace.target("root"), "a", workspace.target("vscode"), "a", tokens, move=True
            )
    assert {file: workspace.read(file) for file in workspace.files()} == before


def test_an_entry_that_does_not_load_is_not_copied(workspace: Any) -> None:
    workspace.write(".mcp.json", {"mcpServers": {"a": {"type": "sse", "url": "https://x/"}, "b": 5}})
    for name, code in (("a", "UNSUPPORTED_SSE"), ("b", "FIELD_TYPE")):
        with pytest.raises(HostError) as caught:
            workspace.copy("root", name, "codex", move=True)
        assert caught.value.code in (code, "ENTRY_NOT_OBJECT", "TRANSPORT_MISSING")
    assert workspace.files() == [".mcp.json"]


def test_the_scan_says_who_declares_the_same_server_and_what_differs(workspace: Any) -> None:
    """M11.3: "these four files declare the same server; two differ in args"."""
    workspace.add("root", "a", command="x", args=["1"])
    workspace.write(".vscode/mcp.json", {"servers": {"a": {"command": "x", "args": ["1"]}}})
    workspace.write(".cursor/mcp.json", {"mcpServers": {"a": {"command": "x", "args": ["2"]}}})
    workspace.write(".roo/mcp.json", {"mcpServers": {"a": {"command": "x", "args": ["3"], "env": {"K": "v"}}}})
    workspace.write(".kiro/settings/mcp.json", {"mcpServers": {"z": {"command": "x", "args": ["1"]}}})
    workspace.write(".zed/settings.json", '{"broken": ')
    report = workspace.editor.scan(workspace.path)
    same = next(group for group in report.groups if group.name == "a" and group.kind == "name")
    assert [(place.preset, place.enabled, place.differs) for place in same.places] == [
        ("root", True, ()),
        ("vscode", True, ()),
        ("cursor", True, ("args",)),
        ("roo", False, ("args", "env")),
    ]
    assert not same.identical
    alike = next(group for group in report.groups if group.kind == "alike")
    assert {place.server for place in alike.places} == {"a", "z"}
    assert [(one.code, one.file) for one in report.findings] == [("FILE_SYNTAX", ".zed/settings.json")]
