"""Problems that users of such clients report, and what happens here (reference §3.4; the row in each docstring).

Rows of loading, variables, secrets in output, formats and names. Tests beside this one name those that they cover: T3,
T4, T6, V3, V6, F6 to F10, L3.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.mcp.check.explain import explain
from innkeeper.mcp.check.report import report
from innkeeper.mcp.check.sarif import sarif
from innkeeper.mcp.declarations.model import StdioLaunch
from innkeeper.mcp.names import ToolNames, qualified_tool_name, safe_server_name
from innkeeper.mcp.settings import McpSettings

NODE = {"command": "node", "args": ["s.js"]}


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"command": "evil"}, False),
        ({"args": []}, False),
        ({"env": {"PATH": "./evil"}}, False),
        ({"env": {"NODE_OPTIONS": "--require ./x"}}, False),
        ({"cwd": "/tmp"}, False),
        ({"description": "only words"}, True),
    ],
)
def test_t1_t2_fingerprint_is_of_all_that_runs(workspace: Any, change: dict[str, object], same: bool) -> None:
    """T1, T2"""
    first = workspace.one("root", NODE)
    second = workspace.one("root", {**NODE, **change})
    assert (first.fingerprint == second.fingerprint) is same


def test_t2_sensitive_variables_are_named(workspace: Any, notes: Any) -> None:
    """T2"""
    environment = {"PATH": "./evil", "NODE_OPTIONS": "x", "LD_PRELOAD": "x", "PLAIN": "x"}
    server = workspace.one("root", {**NODE, "env": environment})
    assert notes(server)["ENV_SENSITIVE"] == "PATH, NODE_OPTIONS, LD_PRELOAD"


def test_d4_disabled_wins_and_text_is_no_switch(workspace: Any) -> None:
    """D4"""
    entries = {
        "both": {**NODE, "enabled": True, "disabled": True},
        "off": {**NODE, "enabled": False},
        "text": {**NODE, "disabled": "false"},
        "number": {**NODE, "enabled": 1},
    }
    workspace.declare("root", **entries)
    outcome = {name: entry.server.code or entry.status for name, entry in workspace.entries().items()}
    assert outcome == {"both": "disabled", "off": "disabled", "text": "FIELD_TYPE", "number": "FIELD_TYPE"}


@pytest.mark.parametrize("preset", ["root", "vscode", "cursor"])
@pytest.mark.parametrize("form", ["${config:x.y}", "${command:z}", "${workspaceFolder:other}", "${file}/${x y}"])
def test_v1_unknown_forms_are_refused_in_every_field(workspace: Any, preset: str, form: str) -> None:
    """V1"""
    entries = [
        {"command": form},
        {"command": "n", "args": [form]},
        {"command": "n", "env": {"A": form}},
        {"command": "n", "cwd": form},
        {"type": "http", "url": f"https://x.example/{form}"},
        {"type": "http", "url": "https://x.example", "headers": {"A": form}},
    ]
    for entry in entries:
        server = workspace.one(preset, entry)
        assert server.launch is None
        assert server.code in ("VARIABLE_UNSUPPORTED", "VARIABLE_SYNTAX", "VARIABLE_MISSING")


@pytest.mark.parametrize(
    "value", ["Bearer ${NOPE}", "Bearer ${EMPTY}", "Bearer ${NOPE:-}", "${NOPE:-}", "Basic ${input:x}"]
)
def test_v2_missing_variable_is_never_an_empty_credential(workspace: Any, value: str) -> None:
    """V2: the variable is named, its value never."""
    entry = {"type": "http", "url": "https://x.example", "headers": {"Authorization": value}}
    server = workspace.one("root", entry)
    assert server.launch is None
    assert server.code in ("VARIABLE_MISSING", "HEADER_INVALID", "INPUT_MISSING")
    if server.code == "VARIABLE_MISSING":
        assert ("NOPE" in server.diagnostics[0].detail) or ("EMPTY" in server.diagnostics[0].detail)


def test_v4_no_value_in_anything_that_is_told(workspace: Any) -> None:
    """V4: canary in env, headers, inputs, userinfo, query, flags; over report, SARIF, explanation, representation."""
    canary = workspace.environment["TOKEN"]
    workspace.declare(
        "root",
        local={
            "command": "n",
            "args": ["--token", canary, "${TOKEN}", f"--api-key={canary}"],
            "env": {"A": canary, "B": "${TOKEN}"},
        },
        far={"url": f"https://u:{canary}@x.example/?k={canary}", "headers": {"X": canary, "Y": "${TOKEN}"}},
        input={"command": "n", "env": {"I": "${input:i}"}},
        bad={"command": "n", "env": {"A": [canary]}},
        header={"url": "https://x.example", "headers": {"X": f"{canary}\r\n"}},
        scheme={"url": f"ftp://u:{canary}@x.example"},
    )
    resolved = workspace.resolve(inputs={"i": canary})
    place = str(workspace.root)
    told = [
        json.dumps(report(place, resolved)),
        json.dumps(sarif(resolved, "1")),
        repr(resolved),
        *(repr(explain(entry.server.name, place, resolved, McpSettings(), None)) for entry in resolved.entries),
    ]
    assert len(resolved.entries) == 6
    assert [text for text in told if canary in text] == []


def test_v5_what_comes_out_of_a_secret_is_not_expanded_again(workspace: Any, launched: Any) -> None:
    """V5"""
    assert launched(workspace.one("root", {"command": "n", "args": ["${DOLLAR}"]})).arguments == ("${HOME}",)
    assert launched(workspace.one("gemini", {"command": "n", "args": ["$DOLLAR"]})).arguments == ("${HOME}",)


@pytest.mark.parametrize(
    ("preset", "content", "code", "named"),
    [
        ("root", {"mcp": {"a": NODE}}, "SERVERS_WRONG_KEY", "mcp"),
        ("root", {"a": NODE}, "SERVERS_WRONG_KEY", "(top level)"),
        ("vscode", {"mcpServers": {"a": NODE}}, "SERVERS_WRONG_KEY", "mcpServers"),
        ("cursor", {"servers": {"a": NODE}}, "SERVERS_WRONG_KEY", "servers"),
        ("gemini", {"servers": {"a": NODE}}, "SERVERS_WRONG_KEY", "servers"),
        ("root", {"mcpServers": [{"name": "a", **NODE}]}, "SERVERS_NOT_TABLE", "mcpServers"),
        ("cursor", {"tools": [NODE]}, "SERVERS_MISSING", "mcpServers"),
    ],
)
def test_f1_wrong_key_is_named(workspace: Any, preset: str, content: object, code: str, named: str) -> None:
    """F1"""
    workspace.write({"root": ".mcp.json", "vscode": ".vscode/mcp.json", "cursor": ".cursor/mcp.json"}.get(
        preset, ".gemini/settings.json"), content)  # fmt: skip
    (found,) = workspace.resolve().diagnostics
    assert (found.code, found.detail.split(" ")[0]) == (code, named.split(" ")[0])


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (".gemini/settings.json", {"theme": "x", "mcp": {"serverCommand": "x", "allowed": ["a"]}}),
        (".codex/config.toml", 'model = "x"\n[projects."/x"]\ntrust_level = "trusted"\n'),
    ],
)
def test_f1_general_settings_without_servers_are_no_mistake(workspace: Any, file: str, content: object) -> None:
    """F1"""
    workspace.write(file, content)
    assert workspace.resolve().diagnostics == ()


def test_f2_one_bad_entry_or_file_harms_no_other(workspace: Any) -> None:
    """F2"""
    workspace.declare("root", bad=1, good=NODE)
    workspace.write(".vscode/mcp.json", "{ broken")
    workspace.write(".codex/config.toml", '[mcp_servers.c]\ncommand = 1\n[mcp_servers.d]\ncommand = "n"\n')
    good = [entry.server.name for entry in workspace.resolve().entries if entry.status == "accepted"]
    assert good == ["good", "d"]


@pytest.mark.parametrize(
    "text",
    [
        '\ufeff{"servers": {"a": {"command": "n"}}}',
        '{\r\n"servers": {"a": {"command": "n"}}\r\n}\r\n',
        '{"servers": {"a": {"command": "n",},},}',
        '// c\n{/* c */"servers": {"a": {"command": "n"}}}// end',
        '{\r// old\r"servers": {"a": {"command": "n"}}\r}',
    ],
)
def test_f3_spellings_of_the_same_file(workspace: Any, text: str) -> None:
    """F3"""
    workspace.write(".vscode/mcp.json", text)
    assert workspace.entries()["a"].status == "accepted"


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\u00a0", "\u3000"])
def test_f4_white_space_around_is_seen(workspace: Any, space: str) -> None:
    """F4"""
    assert workspace.one("root", {"command": f"node{space}"}).code == "FIELD_WHITESPACE"
    assert workspace.one("root", {"type": "http", "url": f"{space}https://x.example"}).code == "FIELD_WHITESPACE"


def test_f5_the_row_shows_the_file_that_runs_and_names_the_others(workspace: Any) -> None:
    """F5"""
    workspace.declare("root", a=NODE)
    workspace.declare("cursor", a={"command": "other"})
    resolved = workspace.resolve(conflict_policy="last-wins")
    (server,) = resolved.loaded.servers
    assert (server.file, server.command) == (".cursor/mcp.json", ("other",))
    (standing,) = [entry for entry in resolved.entries if entry.stands]
    assert standing.others == (".mcp.json:1",)


def test_n1_n2_long_tool_names_are_hashed_stable_and_never_dropped() -> None:
    """N1, N2"""
    tools = [f"{'long_' * 20}{n}" for n in range(50)]
    table = ToolNames([("server-with-a-name", tool) for tool in tools])
    assert len(table) == 50
    assert all(len(name) <= 64 for name in table)
    again = ToolNames([("server-with-a-name", tool) for tool in reversed(tools)])
    assert sorted(table) == sorted(again)


@given(st.lists(st.tuples(st.text(max_size=6), st.text(max_size=6)), unique=True, max_size=12))
def test_n3_names_are_looked_up_and_never_split(pairs: list[tuple[str, str]]) -> None:
    """N3: injective, and back through the table."""
    table = ToolNames(pairs)
    assert len(table) == len(pairs)
    for server, tool in pairs:
        assert table.find(qualified_tool_name(server, tool)) == (server, tool)
    assert table.find("mcp__nobody__nothing_at_all") is None


@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString", "hasOwnProperty", "__init__"])
def test_n4_names_that_mean_something_to_a_language_are_names(workspace: Any, name: str) -> None:
    """N4"""
    workspace.declare("root", **{name: NODE})
    (entry,) = workspace.resolve().entries
    assert (entry.server.name, entry.status) == (name, "accepted")
    assert isinstance(entry.server.launch, StdioLaunch)
    assert ToolNames([(name, name)]).find(qualified_tool_name(name, name)) == (name, name)
    assert "__" not in safe_server_name(name)


def test_l1_an_edit_is_effective_in_the_next_reading(workspace: Any) -> None:
    """L1"""
    for program in ("one", "two", "three"):
        workspace.declare("root", a={"command": program})
        assert workspace.entries()["a"].server.command == (program,)
    (workspace.root / ".mcp.json").unlink()
    assert workspace.entries() == {}


def test_l2_unchanged_servers_keep_their_order_and_their_values(workspace: Any) -> None:
    """L2: an edit of one entry leaves the others equal, so what an agent was told of them stays byte for byte."""
    workspace.declare("root", a=NODE, b=NODE, c=NODE)
    before = workspace.entries()
    workspace.declare("root", a=NODE, b={"command": "new"}, c=NODE)
    after = workspace.entries()
    assert list(after) == list(before)
    same = [n for n in after if after[n].server.launch == before[n].server.launch]
    assert same == [n for n in after if after[n].server.fingerprint == before[n].server.fingerprint] == ["a", "c"]
