"""Reading `.mcp.json` (M1, M2, M4.2b): every kind of bad entry has its code, harms no other, and shows no value."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.errors import ERRORS
from innkeeper.limits import DECLARATION_BYTES, DECLARATION_ENTRIES
from innkeeper.mcp.declarations.model import DeclaredServer, HttpLaunch, Loaded, StdioLaunch
from innkeeper.mcp.declarations.resolve import Reading, load

CANARY = "s3cret-canary"
ENVIRONMENT = {"HOME": "/home/u", "TOKEN": CANARY, "EMPTY": "", "DOLLAR": "${HOME}"}
GOOD = {"command": "node", "args": ["s.js"]}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path


def read(workspace: Path, content: object, **changes: object) -> Loaded:
    text = content if isinstance(content, str) else json.dumps(content)
    (workspace / ".mcp.json").write_text(text)
    return load(os.fspath(workspace), Reading(ENVIRONMENT, **changes))  # type: ignore[arg-type]


def one(workspace: Path, entry: object) -> DeclaredServer:
    """The entry as read beside a good one, which must stay good."""
    loaded = read(workspace, {"mcpServers": {"it": entry, "good": GOOD}})
    it, good = loaded.servers
    assert good.launch is not None
    return it


def launched(workspace: Path, entry: object) -> StdioLaunch:
    launch = one(workspace, entry).launch
    assert isinstance(launch, StdioLaunch)
    return launch


def test_absent_file_declares_nothing_and_is_no_finding(workspace: Path) -> None:
    assert load(os.fspath(workspace), Reading(ENVIRONMENT)) == Loaded()


@pytest.mark.parametrize("table", ["mcpServers", "servers"])
def test_both_table_names_are_read(workspace: Path, table: str) -> None:
    """M1.1"""
    (server,) = read(workspace, {table: {"a": GOOD}}).servers
    assert (server.name, server.transport, server.preset, server.file) == ("a", "stdio", "root", ".mcp.json")
    assert server.launch == StdioLaunch("node", ("s.js",), {}, os.fspath(workspace))


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        ("", "FILE_EMPTY", 0),
        (" \n", "FILE_EMPTY", 0),
        ("null", "FILE_NOT_OBJECT", 0),
        ("[]", "FILE_NOT_OBJECT", 0),
        ('{"mcpServers": {}, "servers": {}}', "BOTH_TABLES", 1),
        ('{"mcpServers": {},\n"mcpServers": {}}', "DUPLICATE_KEY", 2),
        ('{"mcpServers": []}', "SERVERS_NOT_TABLE", 1),
        ('{"mcpServers": null}', "SERVERS_NOT_TABLE", 1),
        ('{\n"mcp": {"a": {"command": "x"}}}', "SERVERS_WRONG_KEY", 2),
        ('{"a": {"command": "x"}}', "SERVERS_WRONG_KEY", 1),
        ("{}", "SERVERS_MISSING", 0),
        ("{\n<<<<<<< HEAD\n}", "FILE_SYNTAX", 2),
        ("[" * 300, "FILE_TOO_DEEP", 1),
    ],
)
def test_broken_file_has_its_code_and_line(workspace: Path, content: str, code: str, line: int) -> None:
    loaded = read(workspace, content)
    assert not loaded.servers
    (found,) = loaded.diagnostics
    assert (found.code, found.line, found.file, found.severity) == (code, line, ".mcp.json", "error")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ('{"mcpServers": {}}'.encode("utf-16"), "FILE_ENCODING"),
        (b'{"mcpServers": {"\xe9": {}}}', "FILE_ENCODING"),
        (b" " * (DECLARATION_BYTES + 1), "FILE_TOO_LARGE"),
    ],
)
def test_bytes_that_are_no_text_of_allowed_size(workspace: Path, content: bytes, code: str) -> None:
    (workspace / ".mcp.json").write_bytes(content)
    (found,) = load(os.fspath(workspace), Reading(ENVIRONMENT)).diagnostics
    assert found.code == code


def test_link_out_of_the_workspace_is_refused_and_one_inside_is_followed(tmp_path: Path) -> None:
    """M1.6"""
    inside = tmp_path / "ws"
    inside.mkdir()
    (tmp_path / "outside.json").write_text(json.dumps({"mcpServers": {"a": GOOD}}))
    (inside / ".mcp.json").symlink_to(tmp_path / "outside.json")
    loaded = load(os.fspath(inside), Reading(ENVIRONMENT))
    assert [found.code for found in loaded.diagnostics] == ["PATH_ESCAPE"]
    assert not loaded.servers
    (inside / ".mcp.json").unlink()
    (inside / "real.json").write_text(json.dumps({"mcpServers": {"a": GOOD}}))
    (inside / ".mcp.json").symlink_to("real.json")
    assert [server.name for server in load(os.fspath(inside), Reading(ENVIRONMENT)).servers] == ["a"]


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: os.mkfifo(path)], ids=["folder", "fifo"])
def test_what_is_no_regular_file_is_unreadable_and_does_not_block(workspace: Path, make: object) -> None:
    assert callable(make)
    make(workspace / ".mcp.json")
    (found,) = load(os.fspath(workspace), Reading(ENVIRONMENT)).diagnostics
    assert found.code == "FILE_UNREADABLE"


HTTP = {"type": "http", "url": "https://x.example/mcp"}


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        (None, "ENTRY_NOT_OBJECT"),
        ("node s.js", "ENTRY_NOT_OBJECT"),
        (["node"], "ENTRY_NOT_OBJECT"),
        ({}, "TRANSPORT_MISSING"),
        ({"type": "http"}, "TRANSPORT_MISSING"),
        ({"type": "stdio", "url": "https://x.example"}, "TRANSPORT_MISSING"),
        ({"command": "n", "url": "https://x.example"}, "TRANSPORT_CONFLICT"),
        ({"type": "HTTP", "url": "https://x.example"}, "TRANSPORT_UNKNOWN"),
        ({"type": "grpc", "url": "https://x.example"}, "TRANSPORT_UNKNOWN"),
        ({"type": "sse", "url": "https://x.example"}, "UNSUPPORTED_SSE"),
        ({"type": "ws", "url": "wss://x.example"}, "UNSUPPORTED_WS"),
        ({"command": "n", "args": "s.js"}, "FIELD_TYPE"),
        ({"command": "n", "args": [1]}, "FIELD_TYPE"),
        ({"command": ["n"]}, "FIELD_TYPE"),
        ({"command": ""}, "FIELD_VALUE"),
        ({"command": " n"}, "FIELD_WHITESPACE"),
        ({"command": "n", "env": {"A": None}}, "ENV_VALUE_TYPE"),
        ({"command": "n", "env": {"A": True}}, "ENV_VALUE_TYPE"),
        ({"command": "n", "env": ["A=1"]}, "FIELD_TYPE"),
        ({"command": "n", "env": {"A=B": "1"}}, "FIELD_VALUE"),
        ({"command": "n", "args": ["a\0b"]}, "NUL_BYTE"),
        ({"command": "n", "cwd": "a\0b"}, "NUL_BYTE"),
        ({"command": "n", "args": ["\ud800"]}, "FIELD_VALUE"),
        ({"command": "n", "disabled": "false"}, "FIELD_TYPE"),
        ({"command": "n", "enabled": 0}, "FIELD_TYPE"),
        ({"command": "n", "sandbox": {}}, "UNSUPPORTED_SANDBOX"),
        ({**HTTP, "url": "file:///etc/passwd"}, "URL_SCHEME"),
        ({**HTTP, "url": "javascript:alert(1)"}, "URL_SCHEME"),
        ({**HTTP, "url": "/mcp"}, "URL_SCHEME"),
        ({**HTTP, "url": ""}, "URL_SCHEME"),
        ({**HTTP, "url": "https://[x"}, "URL_SCHEME"),
        ({**HTTP, "url": " https://x.example "}, "FIELD_WHITESPACE"),
        ({**HTTP, "headers": {"X": "a\r\nEvil: 1"}}, "HEADER_INVALID"),
        ({**HTTP, "headers": {"Bad Name": "1"}}, "HEADER_INVALID"),
        ({**HTTP, "headers": {"Host": "evil.example"}}, "HEADER_INVALID"),
        ({**HTTP, "headers": {"authorization": "a", "Authorization": "b"}}, "HEADER_INVALID"),
        ({**HTTP, "headers": {"Authorization": "Bearer ${NOPE:-}"}}, "HEADER_INVALID"),
        ({**HTTP, "headers": {"A": 1}}, "FIELD_TYPE"),
        ({**HTTP, "headersHelper": "./h.sh"}, "UNSUPPORTED_AUTH_HELPER"),
        ({**HTTP, "oauth": {"clientId": "c", "clientSecret": "s"}}, "UNSUPPORTED_OAUTH"),
        ({"command": "n", "oauth": {"clientId": "c"}}, "UNSUPPORTED_OAUTH"),
        ({"command": "n", "args": ["${NOPE}"]}, "VARIABLE_MISSING"),
        ({"command": "n", "args": ["${EMPTY}"]}, "VARIABLE_MISSING"),
        ({"command": "n", "args": ["${env:NOPE}"]}, "VARIABLE_MISSING"),
        ({"command": "n", "args": ["${A:-${B}}"]}, "VARIABLE_SYNTAX"),
        ({"command": "n", "args": ["${A"]}, "VARIABLE_SYNTAX"),
        ({"command": "n", "args": ["${}"]}, "VARIABLE_SYNTAX"),
        ({"command": "n", "args": ["${a b}"]}, "VARIABLE_SYNTAX"),
        ({"command": "n", "args": ["${config:x.y}"]}, "VARIABLE_UNSUPPORTED"),
        ({"command": "n", "args": ["${command:z}"]}, "VARIABLE_UNSUPPORTED"),
        ({"command": "n", "args": ["${workspaceFolder:other}"]}, "VARIABLE_UNSUPPORTED"),
        ({"command": "n", "env": {"K": "${input:key}"}}, "INPUT_MISSING"),
    ],
)
def test_bad_entry_is_rejected_with_its_code_and_harms_no_other(workspace: Path, entry: object, code: str) -> None:
    server = one(workspace, entry)
    assert server.launch is None
    assert server.code == code
    assert server.fingerprint == ""


def test_two_entries_of_one_name_reject_that_name_only(workspace: Path) -> None:
    """M2.8b: two parsers may disagree on which command a user approved."""
    loaded = read(workspace, '{"servers": {"a": {"command": "safe"}, "b": {"command": "n"}, "a": {"command": "evil"}}}')
    assert [(server.name, server.code) for server in loaded.servers] == [("a", "DUPLICATE_KEY"), ("b", None)]
    loaded = read(workspace, '{"servers": {"a": {"command": "safe", "command": "evil"}, "b": {"command": "n"}}}')
    assert [(server.name, server.code) for server in loaded.servers] == [("a", "DUPLICATE_KEY"), ("b", None)]


def test_transport_is_inferred_and_the_alias_is_http(workspace: Path) -> None:
    """M2.1"""
    for entry in ({"url": "https://x.example"}, {"type": "streamable-http", "url": "https://x.example"}):
        server = one(workspace, entry)
        assert server.transport == "http"
        assert server.launch == HttpLaunch("https://x.example", {})


def test_variables_expand_once_and_only_where_they_may(workspace: Path) -> None:
    """M2.3, M2.4: `$VAR` is literal, keys are literal, what comes out is never expanded again."""
    launch = launched(
        workspace,
        {
            "command": "${HOME}/bin/x",
            "args": ["$$", "$HOME", "%HOME%", "${NOPE:-d}", "${NOPE:-}", "${EMPTY:-d}", "${/}${pathSeparator}"],
            "env": {"${HOME}": "k", "P": "${DOLLAR}", "T": "${env:TOKEN}", "N": 1.50, "E": ""},
            "cwd": "sub",
        },
    )
    assert launch.program == "/home/u/bin/x"
    assert launch.arguments == ("$$", "$HOME", "%HOME%", "d", "", "d", "//")
    assert launch.environment == {"${HOME}": "k", "P": "${HOME}", "T": CANARY, "N": "1.5", "E": ""}
    assert launch.directory == os.fspath(workspace / "sub")


def test_names_of_places_expand_to_the_workspace(workspace: Path) -> None:
    names = ["workspaceFolder", "workspaceFolderBasename", "userHome", "configDir", "CLAUDE_PROJECT_DIR"]
    launch = launched(workspace, {"command": "n", "args": [f"${{{name}}}" for name in names]})
    place = os.fspath(workspace)
    assert launch.arguments == (place, workspace.name, "/home/u", place, place)


def test_inputs_come_from_the_operator_only(workspace: Path) -> None:
    """M2.5"""
    loaded = read(
        workspace,
        {"inputs": [{"id": "k", "default": "x"}], "servers": {"a": {"command": "n", "env": {"K": "${input:k}"}}}},
        inputs={"k": "v${HOME}"},
    )
    launch = loaded.servers[0].launch
    assert isinstance(launch, StdioLaunch)
    assert launch.environment == {"K": "v${HOME}"}


@pytest.mark.parametrize(
    ("extra", "enabled"),
    [
        ({"disabled": True}, False),
        ({"enabled": False}, False),
        ({"enabled": True, "disabled": True}, False),
        ({}, True),
    ],
)
def test_file_can_switch_its_server_off(workspace: Path, extra: Mapping[str, object], enabled: bool) -> None:
    server = one(workspace, {**GOOD, **extra})
    assert server.launch is not None
    assert server.enabled_in_file is enabled


def test_notes_inform_and_do_not_reject(workspace: Path) -> None:
    """M2.9: a project cannot declare itself trusted."""
    entry = {**GOOD, "trust": True, "autoApprove": ["x"], "$comment": "y", "env": {"LD_PRELOAD": "z"}}
    server = one(workspace, entry)
    assert server.launch is not None
    assert [(note.code, note.severity) for note in server.diagnostics] == [
        ("TRUST_CLAIM_IGNORED", "note"),
        ("UNKNOWN_FIELD", "note"),
        ("ENV_SENSITIVE", "note"),
    ]


def test_over_the_limit_the_first_entries_load_and_the_rest_is_counted(workspace: Path) -> None:
    """M1.7"""
    loaded = read(workspace, {"mcpServers": {f"s{n:02}": GOOD for n in range(DECLARATION_ENTRIES + 8)}})
    assert [server.name for server in loaded.servers] == [f"s{n:02}" for n in range(DECLARATION_ENTRIES)]
    (found,) = loaded.diagnostics
    assert found.code == "LIMIT_ENTRIES"
    assert "[8]" in found.message


def test_range_and_line_point_at_the_entry(workspace: Path) -> None:
    server = read(workspace, '{\n  "servers": {\n    "a": {\n      "command": "n"\n    }\n  }\n}').servers[0]
    assert server.line == 3
    assert server.range == {"start": {"line": 2, "character": 4}, "end": {"line": 4, "character": 5}}


@pytest.mark.parametrize(
    "change",
    [
        {"command": "evil"},
        {"args": ["t.js"]},
        {"args": ["s.js", ""]},
        {"env": {"A": "2"}},
        {"env": {"B": "1"}},
        {"env": {"A": "${TOKEN}"}},
        {"cwd": "/tmp"},
    ],
)
def test_fingerprint_covers_every_field(workspace: Path, change: Mapping[str, object]) -> None:
    """M4.2b"""
    base = {**GOOD, "env": {"A": "1"}}
    assert one(workspace, base).fingerprint != one(workspace, {**base, **change}).fingerprint


def test_fingerprint_is_of_the_unexpanded_text_and_not_of_the_order(workspace: Path) -> None:
    first = one(workspace, {"command": "n", "env": {"A": "${TOKEN}", "B": "1"}})
    (workspace / ".mcp.json").write_text(
        json.dumps({"servers": {"it": {"env": {"B": "1", "A": "${TOKEN}"}, "command": "n", "$comment": "moved"}}})
    )
    other = load(os.fspath(workspace), Reading({**ENVIRONMENT, "TOKEN": "rotated"})).servers[0]
    assert first.fingerprint.startswith("sha256:")
    assert first.fingerprint == other.fingerprint


HTTP_FINGERPRINTS = [{"url": "https://x.example/other"}, {"headers": {"A": "2"}}, {"headers": {"B": "1"}}]


@pytest.mark.parametrize("change", HTTP_FINGERPRINTS)
def test_fingerprint_covers_address_and_headers(workspace: Path, change: Mapping[str, object]) -> None:
    base = {**HTTP, "headers": {"A": "1"}}
    assert one(workspace, base).fingerprint != one(workspace, {**base, **change}).fingerprint


def test_no_value_appears_in_any_representation(workspace: Path) -> None:
    """M7.7, M1.8"""
    entries = {
        "ok": {"command": "n", "args": ["${TOKEN}"], "env": {"T": "${TOKEN}"}},
        "http": {
            "url": f"https://user:{CANARY}@x.example/?k={CANARY}",
            "headers": {"Authorization": "Bearer ${TOKEN}"},
        },
        "bad": {"command": "n", "env": {"T": [CANARY]}},
        "header": {"url": "https://x.example", "headers": {"X": f"{CANARY}\r\n"}},
        "scheme": {"url": f"ftp://{CANARY}"},
    }
    loaded = read(workspace, {"mcpServers": entries})
    assert len(loaded.servers) == len(entries)
    assert CANARY not in repr(loaded)


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_content_of_a_file_raises(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """M1.8"""
    place = tmp_path_factory.getbasetemp() / "fuzz"
    place.mkdir(exist_ok=True)
    (place / ".mcp.json").write_bytes(content)
    loaded = load(os.fspath(place), Reading(ENVIRONMENT))
    assert all(found.code in ERRORS for found in loaded.diagnostics)


VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["${TOKEN}", "${", "http", "stdio"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
FIELDS = ["type", "command", "args", "env", "cwd", "url", "headers", "enabled", "disabled", "oauth", "trust"]


@given(st.dictionaries(st.sampled_from(FIELDS), VALUE))
def test_any_entry_is_launchable_or_has_an_error_and_never_shows_the_secret(
    tmp_path_factory: pytest.TempPathFactory, entry: dict[str, object]
) -> None:
    place = tmp_path_factory.getbasetemp() / "fuzz-entry"
    place.mkdir(exist_ok=True)
    (place / ".mcp.json").write_text(json.dumps({"servers": {"it": entry}}))
    (server,) = load(os.fspath(place), Reading(ENVIRONMENT)).servers
    assert (server.launch is None) == (server.code is not None)
    assert CANARY not in repr(server)
