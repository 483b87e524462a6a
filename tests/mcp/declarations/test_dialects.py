"""What each dialect means (M2.1-M2.9): transports, variables, sources, time-outs, filters."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.mcp.declarations.model import HttpLaunch, ToolFilter
from innkeeper.mcp.declarations.variables import VariableError, Variables
from innkeeper.mcp.declarations.written import LONGEST_SECONDS

URL = "https://x.example/mcp"


@pytest.mark.parametrize(
    ("entry", "outcome"),
    [
        ({"httpUrl": URL}, "accepted"),
        ({"type": "http", "url": URL}, "accepted"),
        ({"httpUrl": URL, "url": "https://x.example/sse"}, "accepted"),
        ({"url": URL}, "UNSUPPORTED_SSE"),
        ({"type": "sse", "url": URL}, "UNSUPPORTED_SSE"),
        ({"tcp": "localhost:1"}, "TRANSPORT_UNKNOWN"),
        ({"command": "n", "httpUrl": URL}, "TRANSPORT_CONFLICT"),
        ({"httpUrl": 1}, "FIELD_TYPE"),
        ({"httpUrl": URL, "targetAudience": "x"}, "UNSUPPORTED_OAUTH"),
        ({"httpUrl": URL, "oauth": {"enabled": False}}, "accepted"),
    ],
)
def test_gemini_addresses(workspace: Any, entry: object, outcome: str) -> None:
    """M2.1: never confuse SSE and Streamable HTTP silently."""
    server = workspace.one("gemini", entry)
    assert (server.code or server.status) == outcome
    if outcome == "accepted":
        assert isinstance(server.launch, HttpLaunch) and server.launch.url == URL


def test_old_sse_names_the_three_remedies(workspace: Any) -> None:
    """M2.1: `httpUrl`, `type`, the preset's `bareUrl`; and what newer Gemini CLI does."""
    (found,) = [d for d in workspace.one("gemini", {"url": URL}).diagnostics if d.severity == "error"]
    for word in ("httpUrl", "type", "bareUrl", "newer Gemini CLI"):
        assert word in found.message


def test_gemini_allowed_and_excluded_lists_switch_servers_off(workspace: Any) -> None:
    content = {
        "mcpServers": {name: {"command": "n"} for name in ("a", "b", "c")},
        "mcp": {"allowed": ["a", "b"], "excluded": ["b"]},
    }
    workspace.write(".gemini/settings.json", content)
    assert [entry.status for entry in workspace.entries().values()] == ["accepted", "disabled", "disabled"]


VARIABLES = Variables({"userHome": "/home/u"}, {"A": "1", "B": "$A${A}%A%", "E": ""}, {"i": "v"}, "shell")


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$A", "1"),
        ("$A/$A.b", "1/1.b"),
        ("%A%", "1"),
        ("${A}${NOPE:-d}", "1d"),
        ("${input:i}", "v"),
        ("$B", "$A${A}%A%"),
        ("%B%", "$A${A}%A%"),
        ("$(git x) $1 $ $$ 100%", "$(git x) $1 $ $$ 100%"),
        ("a%20b%2Fc", "a%20b%2Fc"),
        ("%C3%A9", "%C3%A9"),
        ("%C3%A%A%", "%C31A%"),
    ],
)
def test_shell_variables(text: str, expanded: str) -> None:
    """M2.3, M2.4: once, and percent-encoded characters are not variables."""
    assert VARIABLES.expand(text) == expanded


@pytest.mark.parametrize("text", ["$NOPE", "%NOPE%", "${NOPE}", "$E", "%E%"])
def test_missing_shell_variable_rejects(text: str) -> None:
    with pytest.raises(VariableError) as caught:
        VARIABLES.expand(text)
    assert caught.value.code == "VARIABLE_MISSING"


@given(st.text())
def test_interpolation_none_is_literal(text: str) -> None:
    assert Variables({}, {}, {}, "none").expand(text) == text


@given(st.text(alphabet="ab${}%:-_ANOPE", max_size=20), st.sampled_from(["standard", "shell"]))
def test_expansion_gives_text_or_its_own_error(text: str, interpolation: Any) -> None:
    variables = Variables({}, {"A": "1"}, {}, interpolation)
    try:
        expanded = variables.expand(text)
    except VariableError as error:
        assert error.code.startswith(("VARIABLE_", "INPUT_"))
    else:
        assert "$" in text or "%" in text or expanded == text


def test_variables_mean_the_same_in_every_field(workspace: Any, launched: Any) -> None:
    """Report V1"""
    entry = {"command": "${TOKEN}", "args": ["${TOKEN}"], "env": {"T": "${TOKEN}"}, "cwd": "/${TOKEN}"}
    launch, token = launched(workspace.one("root", entry)), workspace.environment["TOKEN"]
    assert (launch.program, launch.arguments, launch.environment) == (token, (token,), {"T": token})
    assert launch.directory == f"/{token}"
    remote = workspace.one("root", {"url": "https://${TOKEN}.example", "headers": {"X": "${TOKEN}"}}).launch
    assert isinstance(remote, HttpLaunch)
    assert remote == HttpLaunch(f"https://{token}.example", {"X": token})


@pytest.mark.parametrize(
    ("entry", "program"),
    [
        ({"command": "node"}, "node"),
        ({"command": "./bin/x"}, "{ws}/bin/x"),
        ({"command": "bin/../x", "cwd": "sub"}, "{ws}/sub/x"),
        ({"command": "/usr/bin/x", "cwd": "sub"}, "/usr/bin/x"),
        ({"command": "./x", "cwd": "/opt"}, "/opt/x"),
    ],
)
def test_commands_with_a_separator_belong_to_the_directory(
    workspace: Any, launched: Any, entry: object, program: str
) -> None:
    """M2.8"""
    assert launched(workspace.one("root", entry)).program == program.format(ws=workspace.root)


def test_claude_project_dir_is_the_workspace_in_its_own_file_only(workspace: Any, launched: Any) -> None:
    """M2.6, report V3: nothing is ever called `${CLAUDE_PROJECT_DIR}`."""
    entry = {"command": "n", "args": ["${CLAUDE_PROJECT_DIR}", "${CLAUDE_PROJECT_DIR:-.}"]}
    place = str(workspace.root)
    assert launched(workspace.one("root", entry)).arguments == (place, place)
    (workspace.root / ".mcp.json").unlink()
    assert workspace.one("cursor", entry).code == "VARIABLE_MISSING"


def test_environment_file_is_literal_and_explicit_values_win(workspace: Any, launched: Any) -> None:
    """M2.6"""
    workspace.write(
        "sub/.env",
        "\ufeff# c\nA=1\nexport B = two words\nC='${HOME}'\nD=\"x\\ny\"\nE=$(touch pwned)\n"
        "no assignment\nF=\nG=${TOKEN}\n",
    )
    entry = {"command": "n", "args": ["${B:-unset}"], "env": {"A": "explicit"}, "envFile": "sub/.env"}
    launch = launched(workspace.one("vscode", entry))
    assert launch.environment == {
        "A": "explicit",
        "B": "two words",
        "C": "${HOME}",
        "D": "x\ny",
        "E": "$(touch pwned)",
        "F": "",
        "G": "${TOKEN}",
    }
    assert launch.arguments == ("unset",)
    assert not (workspace.root / "pwned").exists()
    spelled = workspace.one("vscode", {**entry, "envFile": "${workspaceFolder}\\sub\\.env"})
    assert launched(spelled).environment == launch.environment


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../out.env", "PATH_ESCAPE"),
        ("/etc/passwd", "PATH_ESCAPE"),
        ("C:\\secrets.env", "PATH_ESCAPE"),
        ("\\\\server\\share", "PATH_ESCAPE"),
        ("link.env", "PATH_ESCAPE"),
        ("missing.env", "ENV_FILE_MISSING"),
        ("folder", "ENV_FILE_MISSING"),
        ("latin.env", "FILE_ENCODING"),
        ("nul.env", "NUL_BYTE"),
        ("${NOPE}", "VARIABLE_MISSING"),
        ("", "FIELD_VALUE"),
        (["a"], "FIELD_TYPE"),
    ],
)
def test_environment_file_that_cannot_be_taken_rejects(workspace: Any, path: object, code: str) -> None:
    """M1.6, M2.6"""
    outside = workspace.root.parent / "out.env"
    outside.write_text("A=1")
    (workspace.root / "link.env").symlink_to(outside)
    (workspace.root / "folder").mkdir()
    (workspace.root / "latin.env").write_bytes(b"A=\xe9")
    (workspace.root / "nul.env").write_bytes(b"A=x\0y")
    assert workspace.one("cursor", {"command": "n", "envFile": path}).code == code


def test_content_of_the_environment_file_is_part_of_the_fingerprint(workspace: Any) -> None:
    """M4.2b, report T1"""
    workspace.write(".env", "A=1")
    entry = {"command": "n", "envFile": ".env"}
    first = workspace.one("cursor", entry).fingerprint
    assert workspace.entries()["it"].server.fingerprint == first
    workspace.write(".env", "A=2")
    assert workspace.entries()["it"].server.fingerprint not in ("", first)


def test_environment_file_of_an_address_has_no_effect(workspace: Any, notes: Any) -> None:
    server = workspace.one("cursor", {"url": URL, "envFile": "missing.env"})
    assert server.status == "accepted"
    assert notes(server) == {"UNKNOWN_FIELD": "envFile"}


CODEX = """
[mcp_servers.local]
command = "n"
args = ["${HOME}", "$HOME"]
env = { K = "${HOME}", TOKEN = "explicit" }
env_vars = ["TOKEN", { name = "DOLLAR", source = "local" }, { name = "HOME" }]
startup_timeout_sec = 20
tool_timeout_sec = 1.5
enabled_tools = ["a", "b"]
disabled_tools = ["b"]
required = true

[mcp_servers.far]
url = "https://x.example"
bearer_token_env_var = "TOKEN"
http_headers = { X = "${HOME}" }
env_http_headers = { Y = "DOLLAR" }
startup_timeout_ms = 500
enabled = false
"""


def test_codex_is_literal_and_takes_named_variables(workspace: Any, launched: Any) -> None:
    """M2.7, M2.8b, M2.9, M5.5"""
    found = workspace.codex(CODEX)
    local, far = found["local"].server, found["far"].server
    launch, token = launched(local), workspace.environment["TOKEN"]
    assert launch.arguments == ("${HOME}", "$HOME")
    assert launch.environment == {"K": "${HOME}", "TOKEN": "explicit", "DOLLAR": "${HOME}", "HOME": "/home/u"}
    assert (local.timeouts.start, local.timeouts.call, local.required) == (20, 1.5, True)
    assert local.tools == ToolFilter(frozenset("ab"), frozenset("b"))
    assert [local.tools.allows(tool) for tool in "abc"] == [True, False, False]
    assert isinstance(far.launch, HttpLaunch)
    assert far.launch.headers == {"X": "${HOME}", "Y": "${HOME}", "Authorization": f"Bearer {token}"}
    assert (far.timeouts.start, far.status, far.required) == (0.5, "disabled", False)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ('command = "n"\nurl = "https://x.example"', "TRANSPORT_CONFLICT"),
        ('url = "https://x.example"\nbearer_token = "x"', "LITERAL_SECRET_FIELD"),
        ('url = "https://x.example"\nhttp_headers_helper = "./h.sh"', "UNSUPPORTED_AUTH_HELPER"),
        ('url = "https://x.example"\nauth = "chatgpt"', "UNSUPPORTED_OAUTH"),
        ('url = "https://x.example"\noauth_resource = "x"', "UNSUPPORTED_OAUTH"),
        ('command = "n"\nenvironment_id = "e"', "UNSUPPORTED_REMOTE_STDIO"),
        ('command = "n"\nenv_vars = [{ name = "A", source = "remote" }]', "UNSUPPORTED_REMOTE_STDIO"),
        ('command = "n"\nenv_vars = ["NOPE"]', "VARIABLE_MISSING"),
        ('command = "n"\nenv_vars = ["EMPTY"]', "VARIABLE_MISSING"),
        ('command = "n"\nenv_vars = "TOKEN"', "FIELD_TYPE"),
        ('command = "n"\nenv_vars = [1]', "FIELD_TYPE"),
        ('command = "n"\nenv_vars = ["A=B"]', "FIELD_VALUE"),
        ('command = "n"\nenv = { A = 1 }', "ENV_VALUE_TYPE"),
        ('command = "n"\nrequired = "yes"', "FIELD_TYPE"),
        ('command = "n"\nenabled_tools = "a"', "FIELD_TYPE"),
        ('command = "n"\ntool_timeout_sec = 0', "FIELD_VALUE"),
        ('command = "n"\nstartup_timeout_sec = "1"', "FIELD_VALUE"),
        ('url = "https://x.example"\nbearer_token_env_var = "NOPE"', "VARIABLE_MISSING"),
        (
            'url = "https://x.example"\nbearer_token_env_var = "TOKEN"\nhttp_headers = { Authorization = "x" }',
            "HEADER_INVALID",
        ),
        (
            'url = "https://x.example"\nenv_http_headers = { authorization = "TOKEN", Authorization = "TOKEN" }',
            "HEADER_INVALID",
        ),
        ("args = []", "TRANSPORT_MISSING"),
        ("[mcp_servers.it.env]\nA = 'x'", "TRANSPORT_MISSING"),
    ],
)
def test_codex_entry_that_is_refused_harms_no_other(workspace: Any, lines: str, code: str) -> None:
    """M2.2, M2.7, report F2: the real client refuses the whole file for most of these."""
    found = workspace.codex(f'[mcp_servers.it]\n{lines}\n\n[mcp_servers.good]\ncommand = "n"\n')
    assert (found["it"].reason, found["it"].server.launch) == (code, None)
    assert found["good"].status == "accepted"


def test_codex_override_is_no_server_and_no_error(workspace: Any) -> None:
    """Report F7"""
    text = '[mcp_servers.docs]\nenabled = true\n\n[mcp_servers.docs.tools.search]\napproval_mode = "approve"\n'
    workspace.write(".codex/config.toml", text)
    resolved = workspace.resolve()
    (entry,) = resolved.entries
    assert (entry.status, entry.reason, resolved.failed) == ("override", "OVERRIDE_ONLY", False)
    assert resolved.loaded.servers == ()
    assert [found.code for found in resolved.loaded.diagnostics] == ["OVERRIDE_ONLY", "TRUST_CLAIM_IGNORED"]


def test_required_is_known_of_a_rejected_entry_too(workspace: Any) -> None:
    """M5.5"""
    found = workspace.codex("[mcp_servers.it]\nargs = []\nrequired = true\nenabled = false\n")
    assert (found["it"].server.required, found["it"].server.enabled_in_file) == (True, False)


@pytest.mark.parametrize(
    ("preset", "entry", "seconds"),
    [
        ("root", {"timeout": 60_000}, 60),
        ("gemini", {"timeout": 1_500}, 1.5),
        ("root", {"timeout": 1.5}, 0.001),
        ("root", {"timeout": 10**15}, LONGEST_SECONDS),
        ("root", {}, None),
        ("vscode", {"timeout": 5}, None),
    ],
)
def test_call_timeouts_are_seconds_of_their_dialect(
    workspace: Any, preset: str, entry: dict[str, object], seconds: float | None
) -> None:
    """M2.8b"""
    server = workspace.one(preset, {"command": "n", **entry})
    assert server.status == "accepted"
    assert server.timeouts.call == seconds
    clamped = any(found.hint == "timeoutClamped" for found in server.diagnostics)
    assert clamped is (entry.get("timeout") in (1.5, 10**15))


@pytest.mark.parametrize("value", [0, -1, "30", None, True, [1]])
def test_impossible_timeout_rejects(workspace: Any, value: object) -> None:
    assert workspace.one("root", {"command": "n", "timeout": value}).code == "FIELD_VALUE"


@pytest.mark.parametrize(
    ("preset", "entry", "expected"),
    [
        ("gemini", {"includeTools": ["a", "b(x)"], "excludeTools": ["b"]}, {"a": True, "b": False, "c": False}),
        ("gemini", {"excludeTools": ["a"]}, {"a": False, "c": True}),
        ("gemini", {"includeTools": []}, {"a": False}),
        ("root", {"includeTools": ["a"]}, {"c": True}),
    ],
)
def test_filters_of_the_project(
    workspace: Any, preset: str, entry: dict[str, object], expected: dict[str, bool]
) -> None:
    """M2.9: exclusion wins."""
    tools = workspace.one(preset, {"command": "n", **entry}).tools
    assert {tool: tools.allows(tool) for tool in expected} == expected


def test_nothing_is_run_to_read_a_declaration(workspace: Any, tmp_path: Path) -> None:
    """M1.2, M2.5, reports T3 and T6"""
    mark = tmp_path / "ran"
    script = workspace.write("h.sh", f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    workspace.declare(
        "vscode",
        helper={"url": URL, "headersHelper": "./h.sh"},
        command={"command": "./h.sh"},
        input={"command": "n", "args": ["${command:h}", "${input:c}"]},
        shell={"command": "n", "args": ["$(./h.sh)", "`./h.sh`"]},
    )
    outcome = {name: entry.reason for name, entry in workspace.entries().items()}
    assert outcome == {
        "helper": "UNSUPPORTED_AUTH_HELPER",
        "command": None,
        "input": "VARIABLE_UNSUPPORTED",
        "shell": None,
    }
    assert not mark.exists()
