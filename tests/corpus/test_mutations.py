"""Mutated declaration files never raise and never leak a value (issue 3, item 2).

The seeds are our own; with the shared corpus at hand, its files are mutated too.
"""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from innkeeper.errors import ERRORS
from innkeeper.mcp.check.explain import explain
from innkeeper.mcp.check.report import report
from innkeeper.mcp.check.sarif import sarif
from innkeeper.mcp.declarations.custom import available_presets
from innkeeper.mcp.declarations.presets import BUILT_IN
from innkeeper.mcp.declarations.resolve import Reading, Resolver
from innkeeper.mcp.settings import McpSettings

CANARY = "C4n4ryV4lue7f3a9"
SECRETS = {"TOKEN": CANARY, "HOME": "/home/u", "PATH": "/usr/bin"}
YAML = {"id": "yaml", "files": ["mcp.yaml"], "format": "yaml", "servers_paths": ["servers"]}
PRESETS = available_presets([preset.id for preset in BUILT_IN], [YAML]).enabled

ENTRIES = {
    "local": {"command": "n", "args": ["--key", CANARY, "${TOKEN}"], "env": {"A": CANARY, "B": "${TOKEN}"}},
    "far": {"url": f"https://u:{CANARY}@x.example/?api_key={CANARY}", "headers": {"X": f"Bearer {CANARY}"}},
    "input": {"command": "n", "env": {"K": "${input:k}"}, "envFile": ".env", "timeout": 5, "trust": True},
}
SEEDS = {
    ".mcp.json": json.dumps({"mcpServers": ENTRIES}, indent=1),
    ".vscode/mcp.json": "// head\n" + json.dumps({"servers": ENTRIES, "inputs": [{"id": "k"}]}, indent="\t"),
    ".codex/config.toml": (
        f'model = "m"\n[mcp_servers.local]\ncommand = "n"\nargs = ["--key", "{CANARY}"]\nenv = {{ A = "{CANARY}" }}\n'
        f'env_vars = ["TOKEN"]\n\n[mcp_servers."f.ar"]\nurl = "https://x.example"\n'
        f'http_headers = {{ X = "{CANARY}" }}\n'
        'bearer_token_env_var = "TOKEN"\nrequired = true\n'
    ),
    ".gemini/settings.json": json.dumps({"mcpServers": {"g": {"httpUrl": "https://x.example/$TOKEN"}}}),
    "mcp.yaml": (
        f"b: &b {{command: n, args: [--token, {CANARY}]}}\nservers:\n  y: *b\n"
        f"  z:\n    <<: *b\n    env: {{A: {CANARY}, B: '${{TOKEN}}'}}\n"
    ),
}
"""File -> content. Every value that may be a secret is the canary."""


@dataclass(frozen=True)
class Mutation:
    """One way to damage bytes; `at` and `more` are fractions of their length."""

    kind: str
    at: float
    more: float

    def apply(self, content: bytes) -> bytes:
        start = int(self.at * len(content))
        end = min(len(content), start + int(self.more * 40))
        return MUTATIONS[self.kind](content, start, end)


def repeated_line(content: bytes, start: int, _end: int) -> bytes:
    line_start = content.rfind(b"\n", 0, start) + 1
    line_end = content.find(b"\n", start)
    line = content[line_start:] if line_end < 0 else content[line_start : line_end + 1]
    return content[:line_start] + line + content[line_start:]


def wrong_type(content: bytes, start: int, _end: int) -> bytes:
    opening = content.find(b'"', start)
    closing = content.find(b'"', opening + 1)
    if opening < 0 or closing < 0:
        return content
    return content[:opening] + b"[1]" + content[closing + 1 :]


MUTATIONS: dict[str, Callable[[bytes, int, int], bytes]] = {
    "truncate": lambda content, start, _: content[:start],
    "cut": lambda content, start, end: content[:start] + content[end:],
    "repeat": lambda content, start, end: content[:end] + content[start:end] + content[end:],
    "repeat line": repeated_line,
    "wrong type": wrong_type,
    "nest": lambda content, start, _: content[:start] + b"[" * 300 + content[start:],
    "nest objects": lambda content, start, _: content[:start] + b'{"a":' * 300 + content[start:],
    "nul": lambda content, start, _: content[:start] + b"\0" + content[start:],
    "escaped nul": lambda content, start, _: content[:start] + b"\\u0000" + content[start:],
    "bom": lambda content, _, __: b"\xef\xbb\xbf" + content,
    "utf16": lambda content, _, __: content.decode("utf-8", "replace").encode("utf-16"),
    "crlf": lambda content, _, __: content.replace(b"\n", b"\r\n"),
    "cr": lambda content, _, __: content.replace(b"\n", b"\r"),
    "latin": lambda content, start, _: content[:start] + b"\xe9" + content[start:],
    "surrogate": lambda content, start, _: content[:start] + b"\\ud800" + content[start:],
    "swap": lambda content, start, end: content[:start] + content[start:end][::-1] + content[end:],
    "brace": lambda content, start, _: content[:start] + b"${" + content[start:],
    "quote": lambda content, start, _: content[:start] + b'"' + content[start:],
}
MUTATION = st.builds(Mutation, st.sampled_from(sorted(MUTATIONS)), st.floats(0, 1, exclude_max=True), st.floats(0, 1))


def check_what_is_told(root: Path, canary: str | None) -> None:
    """Reads the workspace and tells of it in every way; asserts that nothing is wrong with what is told."""
    resolved = Resolver().resolve(os.fspath(root), Reading(SECRETS, {"k": CANARY}, PRESETS))
    told = [
        json.dumps(report(os.fspath(root), resolved)),
        json.dumps(sarif(resolved, "1")),
        repr(
            [explain(entry.server.name, os.fspath(root), resolved, McpSettings(), None) for entry in resolved.entries]
        ),
        repr(resolved),
    ]
    for entry in resolved.entries:
        assert (entry.server.launch is None) == (entry.status == "override" or entry.server.code is not None)
    for found in (*resolved.diagnostics, *(d for e in resolved.entries for d in e.server.diagnostics)):
        assert found.code in ERRORS and found.message.isprintable()
    if canary is not None:
        leaks = [text for text in told if canary in text]
        assert leaks == []


@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(sorted(SEEDS)), st.lists(MUTATION, min_size=0, max_size=4))
def test_mutated_files_never_raise_and_never_leak(
    tmp_path_factory: pytest.TempPathFactory, file: str, mutations: list[Mutation]
) -> None:
    root = tmp_path_factory.getbasetemp() / "mutated"
    shutil.rmtree(root, ignore_errors=True)
    content = SEEDS[file].encode()
    for mutation in mutations:
        content = mutation.apply(content)
    (root / file).parent.mkdir(parents=True)
    (root / file).write_bytes(content)
    (root / ".env").write_text(f"X={CANARY}\n")
    # A canary that a mutation moved into a key or a name is no value any more.
    intact = all(mutation.kind in KEEPS_PLACES for mutation in mutations)
    check_what_is_told(root, CANARY if intact else None)


KEEPS_PLACES = frozenset(
    {"truncate", "nest", "nest objects", "nul", "bom", "utf16", "crlf", "cr", "latin", "wrong type", "repeat line"}
)


@pytest.mark.parametrize("kind", ["loop", "dangling", "folder", "outside", "device"])
def test_odd_things_in_place_of_a_file_never_raise(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "ws"
    for file in SEEDS:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        match kind:
            case "loop":
                path.symlink_to(path.name)
            case "dangling":
                path.symlink_to("nowhere")
            case "folder":
                path.mkdir()
            case "outside":
                path.symlink_to("/etc/passwd")
            case _:
                path.symlink_to("/dev/zero")
    check_what_is_told(root, CANARY)
    resolved = Resolver().resolve(os.fspath(root), Reading(SECRETS, presets=PRESETS))
    expected = {"dangling": set(), "outside": {"PATH_ESCAPE"}, "device": {"PATH_ESCAPE"}}
    assert {found.code for found in resolved.diagnostics} == expected.get(kind, {"FILE_UNREADABLE"})


def test_mutated_corpus_files_never_raise(shared: Path, tmp_path: Path) -> None:
    """Every corpus file under every mutation at five places: no exception, known codes, printable messages."""
    folder = shared / "corpus" / "declarations"
    files = [path for path in sorted(folder.rglob("*.*")) if path.suffix in (".json", ".jsonc", ".toml", ".yaml")]
    targets = {".toml": ".codex/config.toml", ".yaml": "mcp.yaml"}
    for number, path in enumerate(files):
        content = path.read_bytes()
        if path.name == "index.json" or len(content) > 20_000:
            continue
        target = targets.get(path.suffix, (".mcp.json", ".vscode/mcp.json", ".gemini/settings.json")[number % 3])
        (tmp_path / target).parent.mkdir(parents=True, exist_ok=True)
        for kind in sorted(MUTATIONS):
            (tmp_path / target).write_bytes(Mutation(kind, (number * 37 % 100) / 100, 0.5).apply(content))
            check_what_is_told(tmp_path, None)
        (tmp_path / target).unlink()
    assert len(files) > 100


SIZE = 1_000_000
HOSTILE = {
    "dotted key": (".codex/config.toml", lambda: "a." * (SIZE // 2) + "b = 1"),
    "dotted header": (".codex/config.toml", lambda: "[" + '"a".' * (SIZE // 4) + "b]"),
    "bare run": (".codex/config.toml", lambda: "a" * SIZE),
    "quotes": (".codex/config.toml", lambda: "'\"" * (SIZE // 2)),
    "many tables": (".codex/config.toml", lambda: "".join(f"[mcp_servers.s{n}]\n" for n in range(SIZE // 25))),
    "many fields": (".mcp.json", lambda: entry({f"comand{n}": 1 for n in range(SIZE // 20)})),
    "many servers": (".mcp.json", lambda: json.dumps({"mcpServers": {f"s{n}": {} for n in range(SIZE // 15)}})),
    "many arguments": (".mcp.json", lambda: entry({"command": "n", "args": ["--key", "x"] * (SIZE // 16)})),
    "many variables": (".mcp.json", lambda: entry({"command": "n", "args": ["${HOME}" * (SIZE // 8)]})),
    "open variables": (".mcp.json", lambda: entry({"command": "n", "args": ["${a:-" * (SIZE // 8)]})),
    "half tokens": (".mcp.json", lambda: entry({"command": "-eyJ" * (SIZE // 8)})),
    "query": (".mcp.json", lambda: entry({"url": "https://x.example/?" + "key" * (SIZE // 60)})),
    "long name": (".mcp.json", lambda: json.dumps({"mcpServers": {"x" * (SIZE // 2): {"command": "n"}}})),
    "comments": (".mcp.json", lambda: "/* */" * (SIZE // 5)),
    "open comments": (".mcp.json", lambda: "/*" * (SIZE // 2)),
    "shell": (".gemini/settings.json", lambda: json.dumps({"mcpServers": {"a": {"command": "$H%H" * (SIZE // 5)}}})),
    "environment": (".mcp.json", lambda: entry({"command": "n", "env": {f"K{n}": "v" for n in range(SIZE // 20)}})),
}


def entry(fields: dict[str, object]) -> str:
    return json.dumps({"mcpServers": {"a": fields}})


@pytest.mark.parametrize("case", sorted(HOSTILE))
def test_files_made_to_be_slow_are_read_all_the_same(tmp_path: Path, case: str) -> None:
    """A file of the largest size takes no time by the square of its length: a minute ends this test."""
    file, make = HOSTILE[case]
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(make())
    check_what_is_told(tmp_path, None)
    resolved = Resolver().resolve(os.fspath(tmp_path), Reading(SECRETS, presets=PRESETS))
    diagnostics = [*resolved.diagnostics, *(found for e in resolved.entries for found in e.server.diagnostics)]
    assert all(len(found.message) <= 200 and len(found.detail) <= 1_200 for found in diagnostics)
    assert resolved.entries or resolved.diagnostics
