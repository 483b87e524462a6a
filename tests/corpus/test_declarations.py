"""Every file of the corpus gives the outcome that its index names (issue 3, item 2).

Where this project disagrees with the index, or the index says more than specification §10 has codes for, the place is a
constant here with its reason. Everything else is compared.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from innkeeper.errors import ERRORS
from innkeeper.mcp.declarations.custom import available_presets
from innkeeper.mcp.declarations.model import HttpLaunch, Preset, StdioLaunch
from innkeeper.mcp.declarations.presets import BUILT_IN, OFF_BY_DEFAULT
from innkeeper.mcp.declarations.resolve import Reading, Resolved, Resolver
from innkeeper.mcp.declarations.secrets import mask_address
from innkeeper.mcp.names import qualified_tool_name

ENVIRONMENT = {"HOME": "/home/u", "PATH": "/usr/bin:/bin"}
OWN_PRESETS = (
    {"id": "custom-yaml", "files": ["mcp.yaml"], "format": "yaml", "servers_paths": ["servers"]},
    {"id": "continue", "files": ["continue.yaml"], "format": "yaml", "servers_paths": ["mcpServers"]},
    # Claude Desktop knows no envFile.
    {
        "id": "desktop",
        "files": ["d.json"],
        "format": "jsonc",
        "servers_paths": ["mcpServers"],
        "fields": {"envFile": ""},
    },
)
PRESETS = {preset.id: preset for preset in (*BUILT_IN, *OFF_BY_DEFAULT)} | {
    preset.id: preset for preset in available_presets((), OWN_PRESETS).enabled
}

MORE_NOTES = frozenset({"CLIENT_DIFFERS", "ENV_SENSITIVE", "TRUST_CLAIM_IGNORED"})
"""Notes that M2.9 and M10 ask for and that the index's list of a real file leaves out: committed `trust: true` and
approval modes (gemini/01, codex/01, other/01, other/02), `PYTHONPATH` (root/11), what the file's own client does."""

CLAIMS_OF_TRUST = frozenset({"alwaysAllow"})
"""root/01: the index calls it UNKNOWN_FIELD; M2.9 leaves the choice, and it is a claim of trust."""

MORE_UNKNOWN = {
    # The format of these files does not know the field; the index lists no notes for them.
    "other/03.json": {"debugmcp": {"description"}, "mcp-windbg": {"args"}},
    "other/06.json": {"linear": {"envFile"}},
}
ENVIRONMENT_FILES = {"vscode/03.json": ".env"}
"""The index accepts it as if the file were there; M2.6 rejects the server while it is missing (tested below)."""

NO_CODE = ("note:TRAILING_COMMA", "note:COMMENTS", "note:BOM")
"""Properties of the text, no findings: §10 has no code for them. Comments and trailing commas in a `.mcp.json` are
CLIENT_DIFFERS."""


@pytest.fixture(scope="module")
def corpus(shared: Path) -> Path:
    folder = shared / "corpus" / "declarations"
    if not (folder / "index.json").exists():
        pytest.skip("shared reference data not found; set INNKEEPER_SHARED")
    return folder


@pytest.fixture(scope="module")
def index(corpus: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((corpus / "index.json").read_text())
    return found


class Read:
    """One corpus file in a workspace of its own."""

    def __init__(self, corpus: Path, root: Path) -> None:
        self.corpus = corpus
        self.root = root

    def __call__(self, file: str, preset: str, *beside: str, **changes: Any) -> Resolved:
        found: Preset = PRESETS[preset]
        workspace = self.root / file.replace("/", "-")
        target = workspace / found.files[0]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((self.corpus / file).read_bytes())
        for name in beside:
            (workspace / name).write_text("A=1")
        environment = {**ENVIRONMENT, **changes.pop("environment", {})}
        return Resolver().resolve(os.fspath(workspace), Reading(environment, presets=[found], **changes))


@pytest.fixture
def read(corpus: Path, tmp_path: Path) -> Read:
    return Read(corpus, tmp_path)


def test_every_real_file_gives_its_outcome(index: Mapping[str, Any], read: Read) -> None:
    assert len(index["real"]) == 50
    wrong = [line for row in index["real"] for line in differences(row, read)]
    assert wrong == []


def differences(row: Mapping[str, Any], read: Read) -> Iterator[str]:
    file = row["file"]
    resolved = read(file, row["preset"], *filter(None, [ENVIRONMENT_FILES.get(file)]))
    errors = [found for found in resolved.diagnostics if found.severity == "error"]
    expected = [code for code in row["expected"]["file"] if code not in NO_CODE]
    if [found.code for found in errors] != [code.partition(":")[0] for code in expected]:
        yield f"{file}: {[found.code for found in errors]}, not {expected}"
    for found, code in zip(errors, expected, strict=True):
        if not found.detail.startswith(code.partition(":")[2]):
            yield f"{file}: {found.code} names {found.detail}, not {code}"
    if len(resolved.entries) != len(row["expected"]["servers"]):
        yield f"{file}: {len(resolved.entries)} servers"
    for entry, told in zip(resolved.entries, row["expected"]["servers"], strict=True):
        server = entry.server
        transport = None if server.transport == "unknown" else server.transport
        codes = [found.code for found in server.diagnostics if found.severity == "error"]
        got = (server.name, transport, entry.status, codes)
        want = (told["name"], told["transport"], told["status"], told.get("codes", []))
        if got != want:
            yield f"{file}: {got}, not {want}"
        notes = {found.code: found.detail for found in server.diagnostics if found.severity == "note"}
        yield from (f"{file}: {server.name}: {problem}" for problem in wrong_notes(file, server.name, notes, told))


def wrong_notes(file: str, name: str, notes: Mapping[str, str], told: Mapping[str, Any]) -> Iterator[str]:
    expected = dict(note.partition(":")[::2] for note in told.get("notes", []))
    unknown = set(filter(None, expected.pop("UNKNOWN_FIELD", "").split(","))) - CLAIMS_OF_TRUST
    unknown |= MORE_UNKNOWN.get(file, {}).get(name, set())
    found = set(filter(None, notes.get("UNKNOWN_FIELD", "").split(", ")))
    if found != unknown:
        yield f"unknown fields {found}, not {unknown}"
    if missing := expected.keys() - notes.keys():
        yield f"lacks {missing}"
    if more := notes.keys() - expected.keys() - MORE_NOTES - {"UNKNOWN_FIELD"}:
        yield f"has {more}"


def test_missing_environment_file_rejects_the_server(read: Read) -> None:
    """M2.6, against the index's `accepted` of vscode/03."""
    (entry,) = read("vscode/03.json", "vscode").entries
    assert entry.reason == "ENV_FILE_MISSING"


A = "accepted"
SYNTHETIC: Mapping[str, tuple[list[str], dict[str, str] | None]] = {
    # file -> codes of the file (errors), and status or code of each server; None: see the tests below.
    "j01-duplicate-server.json": ([], {"a": "DUPLICATE_KEY", "b": A}),
    "j02-duplicate-field.json": ([], {"a": "DUPLICATE_KEY"}),
    "j03-duplicate-table.json": (["DUPLICATE_KEY"], {}),
    "j04-escaped-key.json": ([], {"a": A}),
    "j05-bom-crlf.json": ([], {"a": A}),
    "j06-utf16le.json": (["FILE_ENCODING"], {}),
    "j07-latin1.json": (["FILE_ENCODING"], {}),
    "j08-mixed-eol.json": ([], {"a": A, "b": A}),
    "j09-cr-only.json": ([], {"a": A}),
    "j10-nul-in-args.json": ([], {"a": "NUL_BYTE", "b": A}),
    "j11-deep.json": (["FILE_TOO_DEEP"], {}),
    "j12-merge-conflict.json": (["FILE_SYNTAX"], {}),
    "j13-hash-comment.json": (["FILE_SYNTAX"], {}),
    "j14-json5.json": (["FILE_SYNTAX"], {}),
    "j15-comments-everywhere.jsonc": ([], {"a": A}),
    "j16-url-in-string.jsonc": ([], {"a": A}),
    "j17-table-array.json": (["SERVERS_NOT_TABLE"], {}),
    "j18-table-null.json": (["SERVERS_NOT_TABLE"], {}),
    "j19-both-tables.json": (["BOTH_TABLES"], {}),
    "j20-entry-types.json": (
        [],
        {
            "nul": "ENTRY_NOT_OBJECT",
            "str": "ENTRY_NOT_OBJECT",
            "list": "ENTRY_NOT_OBJECT",
            "empty": "TRANSPORT_MISSING",
            "good": A,
        },
    ),
    "j21-field-types.json": (
        [],
        {
            "argstr": "FIELD_TYPE",
            "argnum": "FIELD_TYPE",
            "cmdlist": "FIELD_TYPE",
            # A blank text is no wrong type: it begins and ends with white space.
            "cmdblank": "FIELD_WHITESPACE",
            "envnull": "ENV_VALUE_TYPE",
            "envnum": A,
            "envbool": "ENV_VALUE_TYPE",
            "envlist": "FIELD_TYPE",
            "hdrnum": "FIELD_TYPE",
            "typenum": "FIELD_TYPE",
        },
    ),
    "j22-transports.json": (
        [],
        {
            "sse": "UNSUPPORTED_SSE",
            "ws": "UNSUPPORTED_WS",
            "alias": A,
            "upper": "TRANSPORT_UNKNOWN",
            "unknown": "TRANSPORT_UNKNOWN",
            "both": "TRANSPORT_CONFLICT",
            "typeonly": "TRANSPORT_MISSING",
            "stdiourl": "TRANSPORT_MISSING",
            "notype": A,
        },
    ),
    "j23-urls.json": (
        [],
        {
            "file": "URL_SCHEME",
            "js": "URL_SCHEME",
            "cred": A,
            "frag": A,
            "rel": "URL_SCHEME",
            "space": "FIELD_WHITESPACE",
            "empty": "URL_SCHEME",
            "idn": A,
            "key": A,
        },
    ),
    "j24-headers.json": (
        [],
        {
            "crlf": "HEADER_INVALID",
            "name": "HEADER_INVALID",
            "host": "HEADER_INVALID",
            "dup": "HEADER_INVALID",
            "helper": "UNSUPPORTED_AUTH_HELPER",
            # "until implemented": a public client by its id is one that this host can be.
            "oauth": A,
        },
    ),
    "j25-variables.json": (
        [],
        {
            "nested": "VARIABLE_SYNTAX",
            "open": "VARIABLE_SYNTAX",
            "empty": "VARIABLE_SYNTAX",
            "dollar": A,
            "default": A,
            "missing": "VARIABLE_MISSING",
            "colon": "VARIABLE_UNSUPPORTED",
            "once": A,
            "key": A,
            "bare": A,
        },
    ),
    "j26-names.json": ([], None),
    "j27-name-collision.json": ([], {"a.b": A, "a b": A, "a_b": A, "a-b": A}),
    "j28-limits.json": (["LIMIT_ENTRIES"], {f"s{n:02}": A for n in range(32)}),
    "j29-envfile.json": (
        [],
        {"up": "PATH_ESCAPE", "abs": "PATH_ESCAPE", "var": "ENV_FILE_MISSING", "list": "FIELD_TYPE", "http": A},
    ),
    "j30-injection-env.json": ([], {"a": A}),
    "j31-self-trust.json": ([], {"a": A}),
    "j32-disabled-pairs.json": (
        [],
        {"d": "disabled", "e": "disabled", "both": "disabled", "str": "FIELD_TYPE", "zero": "FIELD_TYPE"},
    ),
    "j33-timeouts.json": (
        [],
        {"zero": "FIELD_VALUE", "neg": "FIELD_VALUE", "float": A, "str": "FIELD_VALUE", "huge": A, "ms": A},
    ),
    "j34-empty.json": (["FILE_EMPTY"], {}),
    "j35-blank.json": (["FILE_EMPTY"], {}),
    "j36-null.json": (["FILE_NOT_OBJECT"], {}),
    "j37-array.json": (["FILE_NOT_OBJECT"], {}),
    "j38-only-comment.jsonc": (["FILE_EMPTY"], {}),
    "j39-numbers.json": ([], {"a": A}),
    "j40-surrogate.json": ([], {"a": "FIELD_VALUE"}),
    "j41-one-line.json": ([], {"a": A, "b": A}),
    "j42-gemini-url.json": (
        [],
        {"u": "UNSUPPORTED_SSE", "s": "UNSUPPORTED_SSE", "h": A, "both": A, "t": A, "tcp": "TRANSPORT_UNKNOWN"},
    ),
    "j43-inputs.jsonc": ([], {"a": A, "b": "INPUT_MISSING", "c": "INPUT_MISSING", "d": "INPUT_MISSING"}),
    "j44-sandbox.jsonc": ([], {"a": "UNSUPPORTED_SANDBOX", "b": A, "c": "URL_SCHEME", "d": A}),
    "t01-dotted.toml": ([], {"a": A}),
    "t02-inline.toml": ([], {"a": A, "b": A}),
    "t03-subtable-first.toml": ([], {"a": A, "b": A}),
    "t04-duplicate.toml": (["FILE_SYNTAX"], {}),
    "t05-multiline-string.toml": ([], {"a": A, "b": A}),
    "t06-comments.toml": ([], {"a": A, "b": A}),
    "t07-override-only.toml": ([], {"docs": "override"}),
    "t08-mixed.toml": (
        [],
        {
            "mix": "TRANSPORT_CONFLICT",
            "tok": "LITERAL_SECRET_FIELD",
            "num": "ENV_VALUE_TYPE",
            "remote": "UNSUPPORTED_REMOTE_STDIO",
            "good": A,
        },
    ),
    "t09-names.toml": ([], {"my server": A, "a.b": A, "lit": A}),
    "t10-bom-crlf.toml": ([], {"a": A}),
    "t11-toml11.toml": ([], {"a": A}),
    "t12-swallowed.toml": ([], {"a": A}),
    "t13-array-tables.toml": (["SERVERS_NOT_TABLE"], {}),
    "t14-no-eol.toml": ([], {"a": A}),
    "t15-env-literal.toml": ([], {"a": "VARIABLE_MISSING"}),
    "y01-anchor.yaml": ([], {"a": A, "b": A}),
    "y02-duplicate.yaml": ([], {"a": "DUPLICATE_KEY"}),
    "y03-types.yaml": ([], {"a": "ENV_VALUE_TYPE"}),
    "y04-tag.yaml": ([], {"a": "ENTRY_NOT_OBJECT"}),
    "y05-style.yaml": ([], {"a": A, "b": A}),
    "y06-multi.yaml": (["FILE_SYNTAX"], {}),
    "y07-bomb.yaml": ([], {"a": "FIELD_TYPE"}),
    "y08-tab.yaml": (["FILE_SYNTAX"], {}),
}


def test_every_synthetic_file_gives_its_outcome(index: Mapping[str, Any], read: Read) -> None:
    assert {row["file"].removeprefix("synthetic/") for row in index["synthetic"]} == SYNTHETIC.keys()
    for row in index["synthetic"]:
        codes, servers = SYNTHETIC[row["file"].removeprefix("synthetic/")]
        given = {"environment": {"SECRET_WITH_DOLLAR": "${HOME}"}, "inputs": {"k": "v${HOME}"}}
        resolved = read(row["file"], row["preset"], **given)
        errors = [found.code for found in resolved.diagnostics if found.severity == "error"]
        outcome = {e.server.name: e.server.code or e.status for e in resolved.entries}
        assert errors == codes, row["file"]
        assert servers is None or outcome == servers, row["file"]
        assert all(d.code in ERRORS for e in resolved.entries for d in e.server.diagnostics)


def stdio(resolved: Resolved, name: str) -> StdioLaunch:
    (launch,) = [entry.server.launch for entry in resolved.entries if entry.server.name == name]
    assert isinstance(launch, StdioLaunch)
    return launch


def test_values_of_the_synthetic_files(read: Read) -> None:
    """What their index says about values, lines and hints, beyond the codes."""
    variables = read("synthetic/j25-variables.json", "root", environment={"SECRET_WITH_DOLLAR": "${HOME}"})
    assert stdio(variables, "default").arguments == ("d", "")
    assert stdio(variables, "dollar").arguments == ("$$", "$HOME", "%HOME%")
    assert stdio(variables, "once").environment == {"P": "${HOME}"}
    assert stdio(variables, "key").environment == {"${HOME}": "1"}
    inputs = read("synthetic/j43-inputs.jsonc", "vscode", inputs={"k": "v${HOME}"})
    assert stdio(inputs, "a").environment == {"K": "v${HOME}"}
    assert stdio(read("synthetic/t15-env-literal.toml", "codex", environment={"NOPE_X": "1"}), "a") == StdioLaunch(
        "a", ("${HOME}", "$HOME"), {"K": "${HOME}", "NOPE_X": "1"}, str(read.root / "synthetic-t15-env-literal.toml")
    )
    assert stdio(read("synthetic/j21-field-types.json", "root"), "envnum").environment == {"A": "1"}
    (address,) = [e.server.launch for e in read("synthetic/j16-url-in-string.jsonc", "vscode").entries]
    assert address == HttpLaunch("https://x.example/mcp//a/*b*/", {})
    both = {e.server.name: e.server.launch for e in read("synthetic/j42-gemini-url.json", "gemini").entries}["both"]
    assert isinstance(both, HttpLaunch) and both.url == "https://x.example/h"


def test_lines_and_hints_of_the_synthetic_files(read: Read) -> None:
    def first(file: str, preset: str) -> tuple[int, str, str]:
        resolved = read(f"synthetic/{file}", preset)
        found = [*resolved.diagnostics, *(d for e in resolved.entries for d in e.server.diagnostics)][0]
        return found.line, found.detail, found.hint

    assert first("j01-duplicate-server.json", "root") == (5, "3, 5", "lines")
    assert first("j12-merge-conflict.json", "root") == (3, "", "mergeConflict")
    assert first("j13-hash-comment.json", "gemini") == (1, "", "hashComment")
    assert first("j14-json5.json", "root")[2] == "json5"
    assert first("j28-limits.json", "root") == (0, "8", "")
    assert first("t04-duplicate.toml", "codex")[0] == 3
    assert first("t08-mixed.toml", "codex") == (0, "Codex CLI", "codexWholeFile")
    assert first("t12-swallowed.toml", "codex") == (1, "model, sandbox_mode", "swallowed")
    assert first("y03-types.yaml", "custom-yaml")[1] == "env.DATE, env.N"
    assert first("y08-tab.yaml", "custom-yaml")[0] == 2


def test_notes_of_the_synthetic_files(read: Read) -> None:
    def notes(file: str, preset: str, name: str) -> dict[str, tuple[str, str]]:
        (server,) = [e.server for e in read(f"synthetic/{file}", preset).entries if e.server.name == name]
        return {found.code: (found.detail, found.hint) for found in server.diagnostics}

    assert notes("j22-transports.json", "root", "notype")["CLIENT_DIFFERS"] == ("Claude Code", "claudeUrlWithoutType")
    assert notes("j22-transports.json", "root", "upper")["TRANSPORT_UNKNOWN"] == ("type", "lowerCase")
    assert notes("j21-field-types.json", "root", "cmdlist")["FIELD_TYPE"] == ("command", "commandList")
    # The index's FIELD_IGNORED is no code of §10: the field has no effect there.
    assert "envFile" in notes("j29-envfile.json", "cursor", "http")["UNKNOWN_FIELD"][0]
    sensitive = notes("j30-injection-env.json", "root", "a")["ENV_SENSITIVE"][0]
    assert sensitive == "PATH, NODE_OPTIONS, LD_PRELOAD, PYTHONPATH, HTTPS_PROXY"
    claims = notes("j31-self-trust.json", "gemini", "a")["TRUST_CLAIM_IGNORED"][0]
    assert claims == "trust, autoApprove, alwaysAllow, tools"
    assert notes("j33-timeouts.json", "root", "huge")["CLIENT_DIFFERS"] == ("timeout", "timeoutClamped")
    assert notes("j44-sandbox.jsonc", "vscode", "d")["CLIENT_DIFFERS"] == ("dev", "devIgnored")
    file_claims = [found.detail for found in read("synthetic/j31-self-trust.json", "gemini").diagnostics]
    assert file_claims == ["enableAllProjectMcpServers", "security.folderTrust"]


def test_names_of_the_synthetic_file(read: Read) -> None:
    """M2.10: all but the empty name, distinct, short, and never raw on a terminal."""
    entries = read("synthetic/j26-names.json", "root").entries
    assert [entry.reason for entry in entries] == ["NAME_INVALID", *[None] * 17]
    assert len({entry.server.safe_name for entry in entries}) == 18
    assert all(len(qualified_tool_name(entry.server.name, "a_tool_with_a_name" * 4)) <= 64 for entry in entries)
    alike = [e.server.name for e in entries if "NAME_CONFUSABLE" in {d.code for d in e.server.diagnostics}]
    assert alike == ["Git", "git", "gіt", "git\u200b"]
    messages = "".join(found.message for entry in entries for found in entry.server.diagnostics)
    assert messages.isprintable()


def test_addresses_are_never_shown_unmasked(read: Read) -> None:
    shown = {
        entry.server.name: mask_address(entry.server.address)
        for entry in read("synthetic/j23-urls.json", "root").entries
    }
    assert "pa55" not in shown["cred"] and "S3CRET" not in shown["key"]
    assert "xn--" in shown["idn"]
