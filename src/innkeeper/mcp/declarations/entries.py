"""One entry of a servers table: from a parsed node to what it asks for (M2.1-M2.10).

Rules
* An entry is taken whole or rejected whole; the first thing that is wrong with it rejects it, and harms no other.
* Authentication or isolation that is not implemented rejects: never run without it (M2.2). What a file claims about its
  own trust is ignored with a note (M2.9).
* The fingerprint covers what is written; what is launched is what came out of the variables, once.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from innkeeper.mcp.declarations import checks
from innkeeper.mcp.declarations.fingerprint import fingerprint
from innkeeper.mcp.declarations.jsonc import Document, Member, Node
from innkeeper.mcp.declarations.model import (
    DeclaredServer,
    Diagnostic,
    HttpLaunch,
    Launch,
    Preset,
    StdioLaunch,
    diagnostic,
    printable,
)
from innkeeper.mcp.declarations.variables import VariableError, Variables
from innkeeper.mcp.names import safe_server_name

Transport = Literal["stdio", "http", "unknown"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where entries come from. `file` is relative to the workspace, both paths are absolute and local."""

    preset: Preset
    file: str
    document: Document
    workspace: str
    variables: Variables


class _Rejected(Exception):
    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True)
class _Written:
    """The fields as written, types checked, variables unexpanded."""

    transport: Literal["stdio", "http"]
    command: str | None
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    directory: str | None
    url: str | None
    headers: Mapping[str, str]
    enabled: bool


def read_entry(source: Source, member: Member, *, repeated: bool = False) -> DeclaredServer:
    """The server of one member of the table. `repeated` says that its name stands there twice. Never raises."""
    name = printable(member.key) if checks.check_text(member.key) else member.key
    line, column = source.document.position(member.start)
    end_line, end_column = source.document.position(member.end)
    written: _Written | None = None
    launch: Launch | None = None
    found: list[Diagnostic] = []
    try:
        _check_name(member, repeated)
        written = _read_fields(source.preset, member.value)
        launch = _expand(written, source)
    except _Rejected as rejected:
        found.append(diagnostic(rejected.code, source.file, line + 1, name, rejected.detail))
    notes = _notes(source.preset, member, written)
    found.extend(diagnostic(code, source.file, line + 1, name, detail) for code, detail in notes)
    return DeclaredServer(
        name=name,
        safe_name=safe_server_name(member.key),
        preset=source.preset.id,
        file=source.file,
        line=line + 1,
        range={
            "start": {"line": line, "character": column},
            "end": {"line": end_line, "character": end_column},
        },
        transport=_guess_transport(source.preset, member.value) if written is None else written.transport,
        fingerprint="" if written is None or launch is None else _fingerprint(source, written),
        launch=launch,
        command=() if written is None or written.command is None else (written.command, *written.arguments),
        enabled_in_file=written is None or written.enabled,
        diagnostics=tuple(found),
    )


def _check_name(member: Member, repeated: bool) -> None:
    if not member.key or checks.check_text(member.key):
        raise _Rejected("NAME_INVALID")
    if repeated:
        raise _Rejected("DUPLICATE_KEY")
    if member.value.kind != "object":
        raise _Rejected("ENTRY_NOT_OBJECT")
    for duplicate in member.value.duplicates():
        raise _Rejected("DUPLICATE_KEY", duplicate.key)


def _read_fields(preset: Preset, entry: Node) -> _Written:
    for key, code in preset.unsupported.items():
        asked = entry.get(key)
        if asked is not None and asked.kind != "null" and asked.value is not False:
            raise _Rejected(code, key)
    keys = preset.fields
    command = _text(entry, keys["command"])
    url = _text(entry, keys["url"])
    disabled = _boolean(entry, keys["disabled"])
    enabled = _boolean(entry, keys["enabled"])
    return _Written(
        transport=_transport(preset, entry, command, url),
        command=command,
        arguments=_texts(entry, keys["args"]),
        environment=_environment(entry, keys["env"]),
        directory=_text(entry, keys["cwd"]),
        url=url,
        headers=_headers(entry, keys["headers"]),
        enabled=disabled is not True and enabled is not False,
    )


def _transport(preset: Preset, entry: Node, command: str | None, url: str | None) -> Literal["stdio", "http"]:
    stated = _text(entry, preset.fields["transport"])
    meaning = None if stated is None else preset.transports.get(stated, "TRANSPORT_UNKNOWN")
    if meaning is not None and meaning not in ("stdio", "http"):
        raise _Rejected(meaning, preset.fields["transport"])
    if command is not None and url is not None:
        raise _Rejected("TRANSPORT_CONFLICT")
    if meaning is None:
        if command is None and url is None:
            raise _Rejected("TRANSPORT_MISSING")
        return "stdio" if command is not None else "http"
    if (command if meaning == "stdio" else url) is None:
        raise _Rejected("TRANSPORT_MISSING", preset.fields["command" if meaning == "stdio" else "url"])
    return "stdio" if meaning == "stdio" else "http"


def _guess_transport(preset: Preset, entry: Node) -> Transport:
    """For a rejected entry, as far as it can be told."""
    if entry.kind != "object":
        return "unknown"
    if entry.get(preset.fields["command"]) is not None:
        return "stdio"
    return "http" if entry.get(preset.fields["url"]) is not None else "unknown"


def _expand(written: _Written, source: Source) -> Launch:
    if written.transport == "http":
        return _expand_http(written, source.variables)
    program = _expanded(source.variables, written.command or "", "command", checks.check_trimmed)
    directory = _expanded(source.variables, written.directory or source.workspace, "cwd", checks.check_trimmed)
    return StdioLaunch(
        program=program,
        arguments=tuple(
            _expanded(source.variables, argument, f"args[{index}]") for index, argument in enumerate(written.arguments)
        ),
        environment={
            name: _expanded(source.variables, value, f"env.{name}") for name, value in written.environment.items()
        },
        directory=os.path.join(source.workspace, directory),
    )


def _expand_http(written: _Written, variables: Variables) -> HttpLaunch:
    url = _expanded(variables, written.url or "", "url", checks.check_url)
    headers = {name: _expanded(variables, value, f"headers.{name}") for name, value in written.headers.items()}
    if bad := checks.check_headers(headers):
        raise _Rejected("HEADER_INVALID", bad)
    return HttpLaunch(url=url, headers=headers)


def _expanded(variables: Variables, value: str, path: str, check: object = checks.check_text) -> str:
    assert callable(check)
    try:
        expanded = variables.expand(value)
    except VariableError as error:
        raise _Rejected(error.code, f"{path}: {error.name}" if error.name else path) from None
    if code := check(expanded):
        raise _Rejected(code, path)
    if path in ("command", "cwd") and not expanded:
        raise _Rejected("FIELD_VALUE", path)
    return expanded


def _text(entry: Node, key: str) -> str | None:
    node = entry.get(key)
    if node is None:
        return None
    if node.kind != "string":
        raise _Rejected("FIELD_TYPE", key)
    return str(node.value)


def _boolean(entry: Node, key: str) -> bool | None:
    node = entry.get(key)
    if node is None:
        return None
    if node.kind != "boolean":
        raise _Rejected("FIELD_TYPE", key)
    return node.value is True


def _texts(entry: Node, key: str) -> tuple[str, ...]:
    node = entry.get(key)
    if node is None:
        return ()
    if node.kind != "array":
        raise _Rejected("FIELD_TYPE", key)
    for index, item in enumerate(node.items):
        if item.kind != "string":
            raise _Rejected("FIELD_TYPE", f"{key}[{index}]")
    return tuple(str(item.value) for item in node.items)


def _environment(entry: Node, key: str) -> Mapping[str, str]:
    values: dict[str, str] = {}
    for member in _table(entry, key):
        if member.value.kind not in ("string", "number"):
            raise _Rejected("ENV_VALUE_TYPE", f"{key}.{member.key}")
        if code := checks.check_environment_name(member.key):
            raise _Rejected(code, key)
        values[member.key] = str(member.value.value)
    return values


def _headers(entry: Node, key: str) -> Mapping[str, str]:
    for member in _table(entry, key):
        if member.value.kind != "string":
            raise _Rejected("FIELD_TYPE", f"{key}.{member.key}")
    return {member.key: str(member.value.value) for member in _table(entry, key)}


def _table(entry: Node, key: str) -> tuple[Member, ...]:
    node = entry.get(key)
    if node is None:
        return ()
    if node.kind != "object":
        raise _Rejected("FIELD_TYPE", key)
    return node.members


def _notes(preset: Preset, member: Member, written: _Written | None) -> list[tuple[str, str]]:
    notes: list[tuple[str, str]] = []
    if safe_server_name(member.key) != member.key:
        notes.append(("NAME_NORMALISED", safe_server_name(member.key)))
    known = {*preset.fields.values(), *preset.unsupported}
    claims = [field.key for field in member.value.members if field.key in preset.trust_claims]
    unknown = [field.key for field in member.value.members if field.key not in known | preset.trust_claims]
    if claims:
        notes.append(("TRUST_CLAIM_IGNORED", ", ".join(claims)))
    if unknown:
        notes.append(("UNKNOWN_FIELD", ", ".join(unknown)))
    names = () if written is None else tuple(written.environment)
    sensitive = [name for name in names if checks.SENSITIVE_ENVIRONMENT.fullmatch(name)]
    if sensitive:
        notes.append(("ENV_SENSITIVE", ", ".join(sensitive)))
    return notes


def _fingerprint(source: Source, written: _Written) -> str:
    return fingerprint(
        file=source.file,
        transport=written.transport,
        command=written.command,
        arguments=written.arguments,
        environment=written.environment,
        directory=written.directory,
        url=written.url,
        headers=written.headers,
    )
