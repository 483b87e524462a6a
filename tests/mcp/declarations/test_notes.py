"""Notes: what is remarkable without rejecting (M2.9, M10), and what looks like a secret."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.mcp.declarations import secrets
from innkeeper.mcp.declarations.secrets import MASK, mask_address, mask_arguments

KEY = "3b7de852-de07-1852-b30e-18c2963bc4ef"
TOKEN = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    ("entry", "places"),
    [
        ({"command": "n", "args": ["--key", KEY]}, "args"),
        ({"command": "n", "args": [f"--api-key={KEY}"]}, "args"),
        ({"command": "n", "args": [f'API_KEY="{KEY}"']}, "args"),
        ({"command": "n", "args": [TOKEN]}, "args"),
        ({"command": "n", "env": {"GITHUB_TOKEN": TOKEN}}, "GITHUB_TOKEN"),
        ({"command": "n", "env": {"MY_SECRET": KEY}}, "MY_SECRET"),
        ({"url": "https://x.example", "headers": {"Authorization": f"Bearer {TOKEN}"}}, "Authorization"),
        ({"url": "https://u:p4ss@x.example"}, "url"),
        ({"url": f"https://x.example/?api_key={KEY}"}, "url"),
    ],
)
def test_literal_secret_is_noted_by_its_place_and_never_blocks(
    workspace: Any, notes: Any, entry: object, places: str
) -> None:
    """Report V6"""
    server = workspace.one("cursor", entry)
    assert server.status == "accepted"
    assert notes(server)["LITERAL_SECRET"] == places
    assert KEY not in repr(server) and TOKEN not in repr(server)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "n", "args": ["--key", "${TOKEN}", "--profile", "profile-AAAAA1"]},
        {"command": "n", "args": ["--token", "YOUR_TOKEN_1234567890"]},
        {"command": "n", "env": {"TOKEN": "${TOKEN}", "KEYBOARD": "layout-de-1234567890", "TOKEN_FILE": "short"}},
        {
            "url": "https://x.example/?project_ref=abcdefabcdefabcdefab",
            "headers": {"Authorization": "Bearer test-local"},
        },
        {"url": "https://${TOKEN}@x.example/?key=${TOKEN}"},
    ],
)
def test_what_is_no_literal_secret_is_not_noted(workspace: Any, notes: Any, entry: object) -> None:
    assert "LITERAL_SECRET" not in notes(workspace.one("cursor", entry))


@pytest.mark.parametrize(
    "value",
    ["YOUR_TOKEN", "http://your-host:1/", "<your-key>", "[REDACTED_KEY]", "REPLACE_WITH_X", "change-me", "xxxxxxxx"],
)
def test_placeholder_is_noted(workspace: Any, notes: Any, value: str) -> None:
    assert "PLACEHOLDER_VALUE" in notes(workspace.one("root", {"command": "n", "env": {"K": value}}))
    assert "PLACEHOLDER_VALUE" in notes(workspace.one("root", {"command": "n", "args": [value]}))


@pytest.mark.parametrize("value", ["yours", "server-name", "max-2", "<", "/path/to/x", "html <b>bold</b> text"])
def test_ordinary_value_is_no_placeholder(value: str) -> None:
    assert not secrets.is_placeholder(value)


@pytest.mark.parametrize(
    ("command", "noted"),
    [
        ("C:\\Program Files\\node.exe", True),
        ("node.exe", True),
        ("npx.cmd", True),
        ("/mnt/c/node.exe", True),
        ("cmd", True),
        ("wsl", True),
        ("cmdline", False),
        ("./x.executable", False),
        ("node", False),
    ],
)
def test_command_of_another_system_is_noted(workspace: Any, notes: Any, command: str, noted: bool) -> None:
    """Report F10"""
    assert ("PLATFORM_COMMAND" in notes(workspace.one("root", {"command": command}))) is noted


def test_unknown_fields_are_named_with_what_may_be_meant(workspace: Any, notes: Any) -> None:
    server = workspace.one("root", {"command": "n", "timeout_ms": 1, "$comment": "x", "enabled": True})
    assert notes(server)["UNKNOWN_FIELD"] == "$comment, enabled, timeout_ms"
    (found,) = [found for found in server.diagnostics if found.code == "UNKNOWN_FIELD"]
    assert found.hint == "nearField"
    (found,) = workspace.one("vscode", {"command": "n", "disabled": False}).diagnostics
    assert (found.code, found.hint) == ("UNKNOWN_FIELD", "foreignSwitch")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("trust", True),
        ("autoApprove", ["*"]),
        ("alwaysAllow", ["x"]),
        ("permission_policy", "always_allow"),
        ("default_tools_approval_mode", "auto"),
        ("tools", [{"name": "x", "permission_policy": "always_allow"}]),
        ("tools", {"x": {"approval_mode": "approve"}}),
    ],
)
def test_claims_of_trust_are_noted_and_change_nothing(workspace: Any, notes: Any, field: str, value: object) -> None:
    """M2.9, report T4: a project cannot declare itself trusted."""
    plain = workspace.one("gemini", {"command": "n"})
    claiming = workspace.one("gemini", {"command": "n", field: value})
    assert notes(claiming)["TRUST_CLAIM_IGNORED"] == field
    assert (claiming.launch, claiming.tools, claiming.enabled_in_file) == (plain.launch, plain.tools, True)
    assert claiming.fingerprint == plain.fingerprint


@pytest.mark.parametrize(("field", "value"), [("trust", False), ("alwaysAllow", []), ("autoApprove", None)])
def test_a_claim_of_nothing_is_no_claim(workspace: Any, notes: Any, field: str, value: object) -> None:
    assert "TRUST_CLAIM_IGNORED" not in notes(workspace.one("gemini", {"command": "n", field: value}))


def test_claims_outside_the_table_are_noted_with_their_line(workspace: Any) -> None:
    content = (
        '{\n"mcpServers": {},\n"security": {"folderTrust": {"enabled": false}},\n"enableAllProjectMcpServers": true}'
    )
    workspace.write(".mcp.json", content)
    assert [(found.code, found.line, found.detail) for found in workspace.resolve().diagnostics] == [
        ("TRUST_CLAIM_IGNORED", 4, "enableAllProjectMcpServers"),
        ("TRUST_CLAIM_IGNORED", 3, "security.folderTrust"),
    ]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://u:p4ss@x.example:8/mcp?k=v#f", f"https://{MASK}@x.example:8/mcp?{MASK}#{MASK}"),
        ("https://x.example/mcp", "https://x.example/mcp"),
        (f"https://x.example/{TOKEN}/mcp", f"https://x.example/{MASK}/mcp"),
        ("https://${HOST}/${PATH}", "https://${HOST}/${PATH}"),
        ("https://exаmple.test/", "https://xn--exmple-4nf.test/"),
        ("https://[x", MASK),
    ],
)
def test_addresses_are_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    """Report V4"""
    assert mask_address(url) == shown


def test_arguments_are_shown_without_what_may_be_secret() -> None:
    given_ = ["-y", "--key", "short", f"--token={KEY}", f"API_KEY={KEY}", TOKEN, KEY, "@scope/package-1234567890123456"]
    shown = ["-y", "--key", MASK, f"--token={MASK}", f"API_KEY={MASK}", MASK, MASK, "@scope/package-1234567890123456"]
    assert mask_arguments(given_) == shown
    assert mask_arguments(["https://u:p@x.example"]) == [f"https://{MASK}@x.example"]


@given(st.lists(st.text(max_size=20), max_size=5))
def test_masking_never_raises_and_keeps_the_number_of_words(arguments: list[str]) -> None:
    assert len(mask_arguments(arguments)) == len(arguments)
    assert all(isinstance(mask_address(text), str) for text in arguments)
