"""What other clients do with an entry (M11.1): the table is whole, in both languages, and right for known cases."""

from typing import Any

import pytest

from innkeeper.mcp.declarations.presets import BUILT_IN, OFF_BY_DEFAULT
from innkeeper.mcp.declarations.traits import CLIENTS, DIFFERENCES, differences
from innkeeper.texts import text

URL = "https://x.example/mcp"


def test_every_difference_has_its_text_in_both_languages() -> None:
    assert DIFFERENCES.keys() == CLIENTS.keys()
    for client, traits in DIFFERENCES.items():
        assert len(set(traits)) == len(traits)
        for trait in traits:
            english = text(f"declaration.hint.{client}{trait}")
            assert english != text(f"declaration.hint.{client}{trait}", lang="zh_Hans")
    assert {preset.client for preset in (*BUILT_IN, *OFF_BY_DEFAULT)} - {""} <= CLIENTS.keys()


@pytest.mark.parametrize(
    ("preset", "entry", "expected"),
    [
        ("root", {"url": URL}, {"claude": ["claudeUrlWithoutType"], "qwen": ["qwenUrlWithoutType"], "vscode": []}),
        ("root", {"type": "http", "url": URL}, {"claude": [], "gemini": [], "qwen": [], "codex": []}),
        ("root", {"command": "n", "disabled": True}, {"claude": ["claudeSwitch"], "codex": []}),
        ("root", {"command": "n", "cwd": "x"}, {"claude": ["claudeCwd"], "vscode": []}),
        (
            "root",
            {"command": "n", "args": ["${TOKEN}"]},
            {"vscode": ["vscodePlainVariable"], "codex": ["codexAnyVariable"]},
        ),
        ("root", {"command": "n", "args": ["${NOPE}"]}, {"claude": ["claudeMissingVariable"]}),
        ("vscode", {"command": "n", "args": ["${env:TOKEN}"]}, {"claude": ["claudeForeignVariable"], "vscode": []}),
        ("root", {"command": "n", "args": ["${workspaceFolder}"]}, {"vscode": [], "gemini": ["geminiForeignVariable"]}),
        ("root", {"command": "n", "env": {"A": 1}}, {"claude": ["claudeEnvNumber"], "codex": ["codexEnvNumber"]}),
        ("cursor", {"command": "n", "envFile": ".env"}, {"claude": ["claudeEnvFile"], "codex": ["codexEnvFile"]}),
        ("gemini", {"httpUrl": URL}, {"claude": ["claudeHttpUrl"], "gemini": [], "vscode": ["vscodeHttpUrl"]}),
        ("gemini", {"command": "n", "includeTools": ["a"]}, {"cursor": ["cursorFilter"], "gemini": []}),
        ("root", {"type": "sse", "url": URL}, {"codex": ["codexTypeSse"]}),
    ],
)
def test_known_differences(workspace: Any, preset: str, entry: object, expected: dict[str, list[str]]) -> None:
    workspace.write(".env", "A=1")
    server = workspace.one(preset, entry)
    assert {client: differences(server, client) for client in expected} == expected


def test_literal_placeholders_of_codex_would_be_expanded_elsewhere(workspace: Any) -> None:
    server = workspace.codex('[mcp_servers."a b"]\ncommand = "n"\nargs = ["${HOME}"]\nenv_vars = ["HOME"]\n')[
        "a b"
    ].server
    assert differences(server, "codex") == ["codexOddName"]
    assert differences(server, "claude") == ["claudeLiteralVariable", "claudeCodexSources"]


def test_only_the_own_client_is_a_note_of_the_entry(workspace: Any) -> None:
    notes = [found.hint for found in workspace.one("root", {"url": URL}).diagnostics]
    assert notes == ["claudeUrlWithoutType"]
    (workspace.root / ".mcp.json").unlink()
    assert workspace.one("vscode", {"url": URL}).diagnostics == ()


def test_file_that_its_client_cannot_use_is_noted(workspace: Any) -> None:
    workspace.write(".mcp.json", '{"mcpServers": {"a": {"command": "n"},}}')
    (found,) = workspace.resolve().diagnostics
    assert (found.code, found.severity, found.hint) == ("CLIENT_DIFFERS", "note", "claudeStrictJson")
    workspace.write(".mcp.json", '\ufeff{"mcpServers": {"a": {"command": "n"}}}')
    assert workspace.resolve().diagnostics == ()
