"""One entry of a servers table: from a parsed node to what it asks for (M2.1-M2.10).

Rules
* An entry is taken whole or rejected whole; the first thing that is wrong with it rejects it, and harms no other.
* The fingerprint covers what is written; what is launched is what came out of the variables, once.
"""

from dataclasses import dataclass
from typing import Final

from innkeeper.editing.tree import Member
from innkeeper.mcp.declarations import checks, notes
from innkeeper.mcp.declarations.environment_file import EnvironmentFile
from innkeeper.mcp.declarations.expanding import Source, expand, fingerprint_sources
from innkeeper.mcp.declarations.files import Refused
from innkeeper.mcp.declarations.fingerprint import fingerprint
from innkeeper.mcp.declarations.model import DeclaredServer, Launch, diagnostic, printable
from innkeeper.mcp.declarations.traits import own_client_notes, traits_of
from innkeeper.mcp.declarations.written import (
    OverrideOnly,
    Written,
    guess_transport,
    is_required,
    read_fields,
    switched_off,
)
from innkeeper.mcp.names import safe_server_name
from innkeeper.protocol.common.state import TextRange

NOTHING_WRITTEN: Final = Written(transport="stdio")


@dataclass(frozen=True, slots=True)
class _Read:
    """What reading an entry came to. `written` may be there although `launch` is not."""

    written: Written | None = None
    launch: Launch | None = None
    environment_file: EnvironmentFile | None = None
    problems: tuple[notes.Note, ...] = ()
    override: bool = False


def read_entry(source: Source, member: Member, repeated: tuple[int, ...] = (), *, off: bool = False) -> DeclaredServer:
    """The server of one member of the table. `repeated` are the lines on which its name stands, when more than one;
    `off` says that the file switches it off elsewhere. Never raises for what the file says."""
    name = printable(member.key) if checks.check_text(member.key) else member.key
    line = source.document.position(member.start)[0] + 1
    read = _read(source, member, repeated)
    held = traits_of(source, member, read.written)
    found = [
        *(diagnostic(code, source.file, line, name, detail, hint) for code, detail, hint in read.problems),
        *(
            diagnostic(code, source.file, line, name, detail, hint)
            for code, detail, hint in notes.notes_of(source.preset, member, read.written)
        ),
        *own_client_notes(source, name, line, held),
    ]
    told = read.written or NOTHING_WRITTEN
    return DeclaredServer(
        name=name,
        safe_name=safe_server_name(member.key),
        preset=source.preset.id,
        file=source.file,
        line=line,
        range=_range(source, member),
        transport=guess_transport(source.preset, member.value) if read.written is None else told.transport,
        fingerprint="" if read.launch is None else _fingerprint(source, told, read.environment_file),
        launch=read.launch,
        command=() if told.command is None else (told.command, *told.arguments),
        enabled_in_file=not off and not switched_off(source.preset, member.value),
        diagnostics=tuple(found),
        tools=told.tools,
        timeouts=told.timeouts,
        required=is_required(source.preset, member.value),
        override=read.override,
        address=told.url or "",
        directory=told.directory,
        environment_file=None if read.environment_file is None else read.environment_file.path,
        environment_names=(*told.environment, *told.forwarded),
        header_names=(*told.headers, *told.header_variables),
        traits=held,
    )


def _read(source: Source, member: Member, repeated: tuple[int, ...]) -> "_Read":
    written: Written | None = None
    try:
        _check_name(member, repeated)
        written = read_fields(source.preset, member.value)
        launch, environment_file = expand(written, source)
    except OverrideOnly:
        return _Read(problems=(("OVERRIDE_ONLY", "", ""),), override=True)
    except Refused as refused:
        return _Read(written, problems=((refused.code, refused.detail, refused.hint),))
    return _Read(written, launch, environment_file)


def _check_name(member: Member, repeated: tuple[int, ...]) -> None:
    if not member.key or checks.check_text(member.key):
        raise Refused("NAME_INVALID")
    if repeated:
        raise Refused("DUPLICATE_KEY", detail=", ".join(map(str, repeated)), hint="lines")
    if member.value.kind != "object":
        raise Refused("ENTRY_NOT_OBJECT")
    for duplicate in member.value.duplicates():
        raise Refused("DUPLICATE_KEY", detail=duplicate.key)


def _range(source: Source, member: Member) -> TextRange:
    line, column = source.document.position(member.start)
    end_line, end_column = source.document.position(member.end)
    return {"start": {"line": line, "character": column}, "end": {"line": end_line, "character": end_column}}


def _fingerprint(source: Source, written: Written, found: EnvironmentFile | None) -> str:
    return fingerprint(
        file=source.file,
        transport=written.transport,
        command=written.command,
        arguments=written.arguments,
        environment=written.environment,
        directory=written.directory,
        url=written.url,
        headers=written.headers,
        sources=fingerprint_sources(written, found),
    )
