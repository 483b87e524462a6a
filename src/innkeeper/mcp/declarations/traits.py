"""How an entry is written, and what the clients make of that (M11.1): CLIENT_DIFFERS as a table.

Rules
* A trait is a fact about the text; a row says that a client treats that fact differently from this host. What each
  client does was read from its documents or found by running it (docs/reference/loading.md has versions and dates).
* Only what the file's own client does is a note of the entry; `explain` asks about all of them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from innkeeper.editing.tree import Member, Node
from innkeeper.mcp.declarations.expanding import Source
from innkeeper.mcp.declarations.model import DeclaredServer, Diagnostic, diagnostic
from innkeeper.mcp.declarations.written import Written

CLIENTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "claude": "Claude Code",
        "vscode": "VS Code",
        "codex": "Codex CLI",
        "cursor": "Cursor",
        "gemini": "Gemini CLI",
        "qwen": "Qwen Code",
    }
)

DIFFERENCES: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "claude": (
            "UrlWithoutType",
            "HttpUrl",
            "Switch",
            "Cwd",
            "EnvFile",
            "EnvNumber",
            "ForeignVariable",
            "MissingVariable",
            "LiteralVariable",
            "CodexSources",
        ),
        "vscode": ("HttpUrl", "Switch", "PlainVariable", "Filter", "CodexSources"),
        "codex": ("HttpUrl", "EnvFile", "EnvNumber", "AnyVariable", "OddName", "TypeSse"),
        "cursor": ("HttpUrl", "Switch", "Filter", "CodexSources", "LongName"),
        "gemini": ("BareUrl", "Switch", "EnvFile", "ForeignVariable", "LiteralVariable", "CodexSources"),
        "qwen": ("UrlWithoutType", "Switch", "EnvFile", "ForeignVariable", "LiteralVariable", "CodexSources"),
    }
)
"""Client -> traits that it treats differently. The text is `declaration.hint.<client><trait>`."""

_PLAIN_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]{0,200})?\}")
_NAMED_VARIABLE: Final = re.compile(
    r"\$\{(input|env):|\$\{(workspaceFolder|workspaceFolderBasename|userHome|pathSepar)"
)
_OWN: Final = frozenset({"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "configDir"})
CURSOR_NAME_LIMIT: Final = 30
SCANNED: Final = 8_192
"""A file may be made to be slow to look at: no more characters of a value are looked at."""


def traits_of(source: Source, member: Member, written: Written | None) -> frozenset[str]:
    """The traits of one entry."""
    preset, entry = source.preset, member.value
    stated = entry.at(preset.fields["transport"]) if "transport" in preset.fields else None
    url = entry.at(preset.fields["url"]) if "url" in preset.fields else None
    found = {
        "HttpUrl": entry.get("httpUrl") is not None,
        "UrlWithoutType": url is not None and stated is None,
        "BareUrl": url is not None and stated is None and entry.get("httpUrl") is None,
        "TypeSse": stated is not None and preset.transports.get(str(stated.value)) == "UNSUPPORTED_SSE",
        "Switch": any(entry.at(preset.fields[name]) is not None for name in preset.foreign if name in preset.fields),
        "OddName": re.fullmatch(r"[a-zA-Z0-9_-]+", member.key) is None,
        "LongName": len(member.key) > CURSOR_NAME_LIMIT,
    }
    variables = _variables(entry)
    if preset.interpolation == "none":
        variables = {"LiteralVariable"} if variables else set()
    return frozenset({trait for trait, holds in found.items() if holds} | variables | _of_written(entry, written))


def _of_written(entry: Node, written: Written | None) -> set[str]:
    if written is None:
        return set()
    numbers = any(value.kind == "number" for key in ("env", "environment") for value in _values(entry.get(key)))
    found = {
        "Cwd": written.directory is not None,
        "EnvFile": written.environment_file is not None,
        "EnvNumber": numbers,
        "Filter": written.tools.included is not None or bool(written.tools.excluded),
        "CodexSources": bool(written.forwarded or written.header_variables or written.bearer_variable),
    }
    return {trait for trait, holds in found.items() if holds}


def _variables(entry: Node) -> set[str]:
    texts = [text[:SCANNED] for text in _strings(entry, 0) if "${" in text]
    plain = [match for text in texts for match in _PLAIN_VARIABLE.findall(text)]
    bare = {m[0].removeprefix("${").partition(":-")[0].rstrip("}") for t in texts for m in _PLAIN_VARIABLE.finditer(t)}
    named = any(_NAMED_VARIABLE.search(text) for text in texts)
    found = set()
    if plain and bare - _OWN:
        found.add("PlainVariable")
    if named:
        found.add("ForeignVariable")
    if plain or named:
        found.add("AnyVariable")
    return found


def _strings(node: Node, depth: int) -> Iterator[str]:
    """The texts of an entry's own fields; deeper ones hold no placeholder."""
    if node.kind == "string":
        yield str(node.value)
    elif depth < 2:
        for member in node.members:
            yield from _strings(member.value, depth + 1)
        for item in node.items:
            yield from _strings(item, depth + 1)


def _values(node: Node | None) -> list[Node]:
    return [] if node is None else [member.value for member in node.members]


def differences(server: DeclaredServer, client: str) -> list[str]:
    """The hints of what a client would do differently with this entry; empty when it reads it alike."""
    held = set(server.traits)
    if server.code == "VARIABLE_MISSING":
        held.add("MissingVariable")
    return [f"{client}{trait}" for trait in DIFFERENCES[client] if trait in held]


def own_client_notes(source: Source, name: str, line: int, traits: frozenset[str]) -> list[Diagnostic]:
    """What the client whose file this is does differently with the entry."""
    client = source.preset.client
    return [
        diagnostic("CLIENT_DIFFERS", source.file, line, name, CLIENTS[client], f"{client}{trait}")
        for trait in DIFFERENCES.get(client, ())
        if trait in traits and trait != "Switch"
    ]
