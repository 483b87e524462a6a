"""One name in several sources (M3.1), limits (M1.7, M1.8), names that look alike."""

from typing import Any

import pytest

from innkeeper.limits import DIAGNOSTICS
from innkeeper.mcp.declarations.custom import available_presets

NODE = {"command": "node", "args": ["s.js"]}
OTHER = {"command": "node", "args": ["t.js"]}


def outcome(workspace: Any, **changes: Any) -> list[tuple[str, str | None, bool]]:
    return [(entry.status, entry.reason, entry.stands) for entry in workspace.resolve(**changes).entries]


def test_different_entries_of_one_name_disable_both_and_name_both_places(workspace: Any) -> None:
    workspace.declare("root", a=NODE, b=NODE)
    workspace.declare("vscode", a=OTHER)
    resolved = workspace.resolve()
    first, _, second = resolved.entries
    for entry, other in ((first, ".vscode/mcp.json:1"), (second, ".mcp.json:1")):
        assert (entry.status, entry.reason, entry.server.launch, entry.server.fingerprint) == (
            "rejected", "NAME_CONFLICT", None, "",
        )  # fmt: skip
        assert entry.others == (other,)
        assert ".mcp.json:1, .vscode/mcp.json:1" in entry.server.diagnostics[-1].message
    assert resolved.failed
    assert [(server.name, server.code) for server in resolved.loaded.servers] == [("a", "NAME_CONFLICT"), ("b", None)]


@pytest.mark.parametrize(("policy", "file"), [("first-wins", ".mcp.json"), ("last-wins", ".cursor/mcp.json")])
def test_a_whole_entry_wins_and_credentials_are_never_mixed(workspace: Any, policy: str, file: str) -> None:
    workspace.declare("root", a={**NODE, "env": {"A": "root"}})
    workspace.declare("vscode", a=OTHER)
    workspace.declare("cursor", a={**NODE, "env": {"B": "cursor"}})
    (server,) = workspace.resolve(conflict_policy=policy).loaded.servers
    assert server.file == file
    assert len(server.launch.environment) == 1
    assert sorted(outcome(workspace, conflict_policy=policy), key=str) == [
        ("accepted", None, True),
        ("shadowed", "NAME_CONFLICT", False),
        ("shadowed", "NAME_CONFLICT", False),
    ]


def test_identical_declarations_are_one(workspace: Any) -> None:
    workspace.declare("root", a=NODE)
    workspace.declare("cursor", a=dict(reversed(NODE.items())))
    workspace.write(".codex/config.toml", '[mcp_servers.a]\ncommand = "node"\nargs = ["s.js"]\n')
    assert outcome(workspace) == [("accepted", None, True), ("shadowed", None, False), ("shadowed", None, False)]
    resolved = workspace.resolve()
    assert [server.file for server in resolved.loaded.servers] == [".mcp.json"]
    assert resolved.entries[0].others == (".codex/config.toml:1", ".cursor/mcp.json:1")
    assert not resolved.failed


@pytest.mark.parametrize(
    "change",
    [
        {"env": {"A": "1"}},
        {"cwd": "/tmp"},
        {"disabled": True},
        {"timeout": 5},
        {"args": []},
        {"command": "${NOPE}"},
    ],
)
def test_identical_means_the_whole_resolved_entry(workspace: Any, change: dict[str, object]) -> None:
    """Report F6"""
    workspace.declare("root", a=NODE)
    workspace.declare("cursor", a={**NODE, **change})
    assert {reason for _, reason, _ in outcome(workspace)} <= {"NAME_CONFLICT", "VARIABLE_MISSING"}
    assert workspace.resolve().entries[0].reason == "NAME_CONFLICT"


def test_same_command_with_other_values_is_a_conflict_without_showing_them(workspace: Any) -> None:
    workspace.declare("root", a={**NODE, "env": {"K": "${TOKEN}"}})
    workspace.declare("cursor", a={**NODE, "env": {"K": "other-secret"}})
    resolved = workspace.resolve()
    assert resolved.entries[0].reason == "NAME_CONFLICT"
    assert workspace.environment["TOKEN"] not in repr(resolved)
    assert "other-secret" not in repr(resolved)


def test_names_that_would_get_one_safe_name_are_a_conflict(workspace: Any) -> None:
    workspace.declare("root", **{"a.b": NODE})
    (entry,) = workspace.resolve().entries
    workspace.declare("vscode", **{entry.server.safe_name: NODE})
    assert [reason for _, reason, _ in outcome(workspace)] == ["NAME_CONFLICT", "NAME_CONFLICT"]


def test_override_conflicts_with_nothing(workspace: Any) -> None:
    workspace.declare("root", a=NODE)
    workspace.write(".codex/config.toml", "[mcp_servers.a]\nenabled = false\n")
    assert outcome(workspace) == [("accepted", None, True), ("override", "OVERRIDE_ONLY", False)]


def test_one_file_under_two_presets_is_read_as_one(workspace: Any) -> None:
    workspace.declare("root", a=NODE)
    (workspace.root / ".cursor").mkdir()
    (workspace.root / ".cursor/mcp.json").symlink_to("../.mcp.json")
    assert outcome(workspace) == [("accepted", None, True), ("shadowed", None, False)]


def test_entries_over_the_limit_are_counted_in_every_file(workspace: Any) -> None:
    """M1.7: first come, first checked; the rest is named."""
    workspace.declare("root", **{f"r{n}": NODE for n in range(3)})
    workspace.declare("vscode", **{f"v{n}": NODE for n in range(3)})
    workspace.declare("cursor", **{f"c{n}": NODE for n in range(3)})
    resolved = workspace.resolve(entry_limit=4)
    assert [entry.server.name for entry in resolved.entries] == ["r0", "r1", "r2", "v0"]
    assert [(found.code, found.file, found.detail) for found in resolved.diagnostics] == [
        ("LIMIT_ENTRIES", ".vscode/mcp.json", "2"),
        ("LIMIT_ENTRIES", ".cursor/mcp.json", "3"),
    ]


def test_file_over_the_limit_harms_no_other(workspace: Any) -> None:
    workspace.declare("root", a={**NODE, "description": "x" * 500})
    workspace.declare("vscode", b=NODE)
    resolved = workspace.resolve(file_limit=300)
    assert [found.code for found in resolved.diagnostics] == ["FILE_TOO_LARGE"]
    assert [entry.server.name for entry in resolved.entries] == ["b"]


def test_diagnostics_are_bounded_and_the_rest_is_one_number(workspace: Any) -> None:
    """M1.8: at most 100; why an entry does not load is never cut."""
    noisy = {"command": "C:\\x.exe", "args": 1, "description": 1, "env": {"PATH": "x"}, "trust": True}
    workspace.declare("gemini", **{f"bad {n}": {**noisy, "env": 1} for n in range(32)})
    workspace.declare("root", **{f"noisy {n}": {**noisy, "args": []} for n in range(32)})
    resolved = workspace.resolve(entry_limit=64)
    count = len(resolved.diagnostics) + sum(len(entry.server.diagnostics) for entry in resolved.entries)
    assert count == DIAGNOSTICS + 1
    assert all(entry.server.code for entry in resolved.entries if entry.server.preset == "gemini")
    more = resolved.diagnostics[-1]
    assert (more.code, more.severity, int(more.detail)) == ("DIAGNOSTICS_OMITTED", "note", resolved.omitted)
    assert resolved.omitted > 50
    assert all(len(found.message) <= 200 for entry in resolved.entries for found in entry.server.diagnostics)


def test_names_that_look_alike_stay_apart_and_are_noted(workspace: Any, notes: Any) -> None:
    """M2.10, M10"""
    alike = ["Git", "git", "gіt", "git\u200b"]
    workspace.declare("root", **dict.fromkeys([*alike, "other"], NODE))
    found = workspace.entries()
    assert len({entry.server.safe_name for entry in found.values()}) == 5
    for name in alike:
        assert "NAME_CONFUSABLE" in notes(found[name].server)
        assert all(part.isascii() for part in notes(found[name].server)["NAME_CONFUSABLE"])
    assert "NAME_CONFUSABLE" not in notes(found["other"].server)


def test_presets_that_are_off_are_not_even_looked_at(workspace: Any) -> None:
    workspace.write(".mcp.json", b"\xff\xfe broken")
    workspace.declare("vscode", a=NODE)
    resolved = workspace.resolve(presets=available_presets(("vscode",)).enabled)
    assert resolved.diagnostics == ()
    assert len(resolved.entries) == 1
