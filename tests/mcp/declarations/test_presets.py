"""Built-in and custom presets (M1.1-M1.5, M11.6)."""

import json
from typing import Any

import pytest

from innkeeper.mcp.declarations.custom import KEYS, PresetInvalid, available_presets, key_path
from innkeeper.mcp.declarations.model import HttpLaunch, StdioLaunch
from innkeeper.mcp.declarations.presets import BUILT_IN, FIELDS, OFF_BY_DEFAULT
from innkeeper.mcp.declarations.resolve import Resolved
from innkeeper.texts import text

TEAM = {"id": "team", "files": ["team/mcp.yaml"], "format": "yaml", "servers_paths": ["tools.mcp"]}


def enabled(*custom: dict[str, Any], builtins: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"presets": available_presets(builtins, custom).enabled}


def names(resolved: Resolved) -> list[tuple[str, str]]:
    return [(entry.server.name, entry.server.preset) for entry in resolved.entries]


def test_five_presets_are_on_and_read_in_their_order(workspace: Any) -> None:
    """M1.1, M9.6"""
    entry = {"command": "n"}
    for preset in ("gemini", "cursor", "vscode", "root"):
        workspace.declare(preset, **{f"of-{preset}": entry})
    workspace.write(".codex/config.toml", '[mcp_servers.of-codex]\ncommand = "n"\n')
    expected = [(f"of-{preset}", preset) for preset in ("root", "vscode", "codex", "cursor", "gemini")]
    assert [preset.id for preset in BUILT_IN] == [preset for _, preset in expected]
    assert names(workspace.resolve()) == expected
    order = available_presets(("cursor", "root")).enabled
    assert names(workspace.resolve(presets=order)) == [("of-cursor", "cursor"), ("of-root", "root")]


@pytest.mark.parametrize("preset", [preset.id for preset in OFF_BY_DEFAULT])
def test_more_clients_are_off_until_a_preset_extends_them(workspace: Any, preset: str) -> None:
    """M11.6"""
    entry: dict[str, Any] = {"command": "n", "args": ["a"]}
    if preset == "opencode":
        entry = {"type": "local", "command": ["n", "a"]}
    workspace.declare(preset, it=entry)
    assert workspace.resolve().entries == ()
    found = workspace.resolve(**enabled({"id": preset, "extends": preset}))
    assert names(found) == [("it", preset)]
    launch = found.entries[0].server.launch
    assert isinstance(launch, StdioLaunch) and (launch.program, launch.arguments) == ("n", ("a",))


def test_opencode_commands_are_lists_and_its_placeholders_are_never_passed_on(workspace: Any) -> None:
    workspace.declare(
        "opencode",
        text={"type": "local", "command": "n"},
        empty={"type": "local", "command": []},
        remote={"type": "remote", "url": "https://x.example", "enabled": False},
        secret={"type": "remote", "url": "https://x.example", "headers": {"A": "{env:TOKEN}"}},
    )
    found = workspace.entries(**enabled({"id": "opencode", "extends": "opencode"}))
    outcome = {name: (entry.status, entry.reason) for name, entry in found.items()}
    assert outcome == {
        "text": ("rejected", "FIELD_TYPE"),
        "empty": ("rejected", "FIELD_VALUE"),
        "remote": ("disabled", "SERVER_DISABLED"),
        "secret": ("rejected", "VARIABLE_UNSUPPORTED"),
    }


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("", ()),
        ("a", ("a",)),
        ("a.b", ("a", "b")),
        ("/a.b/c", ("a.b", "c")),
        ("/a~1b/c~0d", ("a/b", "c~d")),
        ("/", ("",)),
    ],
)
def test_paths_are_dotted_or_pointers(written: str, path: tuple[str, ...]) -> None:
    """M1.4, RFC 6901"""
    assert key_path(written) == path


@pytest.mark.parametrize("written", [".", "a.", ".a", "a..b", "/a~", "/a~2"])
def test_a_bad_path_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"^an? "):
        key_path(written)


def test_custom_yaml_preset_maps_every_field(workspace: Any) -> None:
    """M1.3-M1.5: nested fields, a table deep in the file, literal text."""
    fields = {name: f"spec.{name}" for name in FIELDS}
    preset = {**TEAM, "fields": fields, "interpolation": "none"}
    workspace.write("a.env", "FROM_FILE='x'\nA=lost\n")
    workspace.write(
        "team/mcp.yaml",
        """tools:
  mcp:
    local:
      spec: {command: node, args: [s.js], env: {A: "${B}", N: 1}, cwd: sub, envFile: a.env, envVars: [TOKEN]}
    far:
      spec:
        transport: http
        url: https://x.example/mcp
        headers: {X: y}
        envHeaders: {Z: TOKEN}
        bearerTokenEnv: TOKEN
        timeoutSeconds: 5
    off:
      spec: {command: n, enabled: false, timeoutMs: 50}
    also-off:
      spec: {command: n, disabled: true}
""",
    )
    found = workspace.entries(**enabled(preset))
    local, far = found["local"].server.launch, found["far"].server.launch
    assert isinstance(local, StdioLaunch) and isinstance(far, HttpLaunch)
    token = workspace.environment["TOKEN"]
    assert local.environment == {"TOKEN": token, "FROM_FILE": "x", "A": "${B}", "N": "1"}
    assert local.directory == f"{workspace.root}/sub"
    assert far.headers == {"X": "y", "Z": token, "Authorization": f"Bearer {token}"}
    assert (found["far"].server.timeouts.call, found["off"].server.timeouts.call) == (5, 0.05)
    assert [found[name].status for name in ("off", "also-off")] == ["disabled", "disabled"]
    assert found["local"].server.line == 3


def test_root_of_the_object_can_be_the_table_and_a_list_can_not(workspace: Any) -> None:
    """M1.4"""
    bare = {"id": "bare", "files": ["bare.json"], "format": "json", "servers_paths": [""]}
    workspace.write("bare.json", {"a": {"command": "n"}})
    assert names(workspace.resolve(**enabled(bare))) == [("a", "bare")]
    workspace.write("team/mcp.yaml", "tools:\n  mcp:\n    - name: a\n      command: n\n")
    (found,) = workspace.resolve(**enabled(TEAM)).diagnostics
    assert (found.code, found.line) == ("SERVERS_NOT_TABLE", 3)


def test_file_without_servers_is_no_mistake_of_a_custom_preset(workspace: Any) -> None:
    workspace.write("team/mcp.yaml", "name: x\n")
    assert workspace.resolve(**enabled(TEAM)).diagnostics == ()


def test_dialect_decides_interpolation_and_bare_url(workspace: Any) -> None:
    """M1.3"""
    for dialect, interpolation, bare in (
        ("standard", "standard", "http"),
        ("codex", "none", "http"),
        ("gemini", "shell", "sse"),
    ):
        (preset,) = enabled({**TEAM, "dialect": dialect})["presets"]
        assert (preset.interpolation, preset.bare_url) == (interpolation, bare)
    (preset,) = enabled({**TEAM, "dialect": "gemini", "interpolation": "standard", "bareUrl": "http"})["presets"]
    assert (preset.interpolation, preset.bare_url) == ("standard", "http")
    workspace.declare("gemini", it={"url": "https://x.example"})
    assert workspace.entries()["it"].reason == "UNSUPPORTED_SSE"
    remedied = workspace.entries(**enabled({"id": "gemini", "extends": "gemini", "bareUrl": "http"}))
    assert remedied["it"].status == "accepted"


def test_same_id_overrides_a_built_in_where_it_stands(workspace: Any) -> None:
    found = available_presets(("vscode", "root"), [{"id": "root", "extends": "root", "files": ["mcp.json"]}, TEAM])
    assert [preset.id for preset in found.enabled] == ["vscode", "root", "team"]
    assert next(preset for preset in found.presets if preset.id == "root").files == ("mcp.json",)
    assert not next(preset for preset in found.presets if preset.id == "root").built_in


def test_later_presets_extend_earlier_ones_and_can_be_off() -> None:
    team = {**TEAM, "fields": {"url": "address"}}
    other = {"id": "other", "extends": "team", "files": ["other.yaml"], "fields": {"command": "run", "url": ""}}
    found = available_presets((), [team, other, {"id": "third", "extends": "other", "enabled": False}])
    assert [preset.id for preset in found.enabled] == ["team", "other"]
    third = next(preset for preset in found.presets if preset.id == "third")
    assert third.fields["command"] == ("run",)
    assert "url" not in third.fields
    assert third.tables == (("tools", "mcp"),)


def test_mapped_values_name_the_transport(workspace: Any) -> None:
    preset = {**TEAM, "transports": {"process": "stdio", "streamable": "http"}}
    workspace.write("team/mcp.yaml", json.dumps({"tools": {"mcp": {"a": {"type": "process", "command": "n"}}}}))
    assert workspace.entries(**enabled(preset))["a"].status == "accepted"


@pytest.mark.parametrize(
    ("custom", "key", "problem"),
    [
        ([{}], "id", "id"),
        ([{**TEAM, "id": "Team!"}], "id", "id"),
        ([{**TEAM, "id": 1}], "id", "type"),
        ([TEAM, TEAM], "id", "repeated"),
        ([{**TEAM, "script": "x"}], "script", "unknown"),
        ([{"id": "x"}], "files", "missing"),
        ([{"id": "x", "files": ["a"], "format": "json"}], "servers_paths", "missing"),
        ([{**TEAM, "extends": "nobody"}], "extends", "extends"),
        ([{**TEAM, "format": "ini"}], "format", "choice"),
        ([{**TEAM, "dialect": "x"}], "dialect", "choice"),
        ([{**TEAM, "interpolation": "x"}], "interpolation", "choice"),
        ([{**TEAM, "bareUrl": "ws"}], "bare_url", "choice"),
        ([{**TEAM, "enabled": "yes"}], "enabled", "type"),
        ([{**TEAM, "command_list": 1}], "command_list", "type"),
        ([{**TEAM, "files": []}], "files", "files"),
        ([{**TEAM, "files": "a"}], "files", "files"),
        ([{**TEAM, "files": ["../a"]}], "files", "files"),
        ([{**TEAM, "files": ["/etc/passwd"]}], "files", "files"),
        ([{**TEAM, "files": ["C:\\x"]}], "files", "files"),
        ([{**TEAM, "files": ["a\\..\\..\\b"]}], "files", "files"),
        ([{**TEAM, "files": ["*.json"]}], "files", "files"),
        ([{**TEAM, "servers_paths": []}], "servers_paths", "servers_paths"),
        ([{**TEAM, "serversPaths": ["a..b"]}], "servers_paths", "servers_paths"),
        ([{**TEAM, "fields": {"shell": "x"}}], "fields", "fields"),
        ([{**TEAM, "fields": {"url": 1}}], "fields", "fields"),
        ([{**TEAM, "transports": {"x": "sse"}}], "transports", "transports"),
    ],
)
def test_preset_that_cannot_be_used_names_its_key(custom: list[dict[str, Any]], key: str, problem: str) -> None:
    with pytest.raises(PresetInvalid) as caught:
        available_presets(("root",), custom)
    assert (caught.value.preset, caught.value.key, caught.value.problem) == (len(custom) - 1, key, problem)
    assert text(f"declaration.preset.{problem}", lang="zh_Hans")
    assert key in KEYS or problem == "unknown"
