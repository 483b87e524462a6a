"""What the loader says of an entry: before an edit in memory, after it from the disk (M8.5).

Rules
* The presets that are on decide together, so that a conflict with another file is seen; for a file of a preset that is
  off, that preset alone.
* What is only missing on this machine (a variable, an input, an environment file) does not undo an edit of an entry
  that lacked it before; a new entry must load. Whatever else is wrong is found behind what is missing, and refused
  unless it was wrong before.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from innkeeper.editing.replacing import Content
from innkeeper.mcp.declarations.custom import Available
from innkeeper.mcp.declarations.entries import read_entry
from innkeeper.mcp.declarations.model import DeclaredServer, Diagnostic
from innkeeper.mcp.declarations.resolve import Reading, Resolved, Resolver, source_of
from innkeeper.mcp.editor.refusals import EditRefused, EditRolledBack
from innkeeper.mcp.editor.sheets import Sheet, Target, sheet_of
from innkeeper.ports.mcp import DeclarationFinding

OF_THIS_MACHINE: Final = frozenset({"VARIABLE_MISSING", "INPUT_MISSING", "ENV_FILE_MISSING"})

STAND_INS: Final = ("1", "https", "https://x.invalid/")
"""Values that a missing variable may have had: a word or a port, a scheme, a whole address."""

_HARMLESS: Final = frozenset({"LIMIT_ENTRIES", "SERVERS_MISSING", "SERVERS_WRONG_KEY", "FILE_EMPTY"})
"""What may be said of a file from which a server was taken."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What reading depends on. `reading` gives what holds now, `available` the presets that there are."""

    reading: Callable[[], Reading]
    available: Callable[[], Available]


def declared(ground: Ground, workspace: str, sheet: Sheet, name: str) -> DeclaredServer | None:
    """The entry as the loader reads it by itself, from the sheet's content; None when it is not there."""
    return _read(ground.reading(), workspace, sheet, name)


def check_content(
    ground: Ground, workspace: str, target: Target, wanted: bytes, name: str, before: DeclaredServer | None
) -> DeclaredServer:
    """The entry of a content that is not written yet. Raises EditRefused with what would keep it from loading."""
    sheet = sheet_of(target, Content(wanted))
    found = declared(ground, workspace, sheet, name)
    if found is None:
        raise EditRefused("EDIT_UNSAFE", target.file, server=name)
    error = _error(found, before)
    if error is not None:
        raise EditRefused(error.code, target.file, line=error.line, server=name, detail=error.detail, hint=error.hint)
    return found


def check_no_worse(ground: Ground, workspace: str, old: tuple[Sheet, str], wanted: bytes, name: str) -> None:
    """What a variable that is missing here would hide: with any stand-in for it there is no new error. `old` is the
    sheet and the server before. Raises EditRefused."""
    sheet, server = old
    new = sheet_of(sheet.target, Content(wanted))
    worse: list[Diagnostic] = []
    for word in STAND_INS:
        was, now = (_behind(ground.reading(), workspace, *one, word) for one in ((sheet, server), (new, name)))
        if now is None or (was is not None and (was.code, was.detail) == (now.code, now.detail)):
            return
        worse.append(now)
    error = worse[0]
    raise EditRefused(error.code, sheet.file, line=error.line, server=name, detail=error.detail, hint=error.hint)


def resolved(ground: Ground, workspace: str, targets: Sequence[Target]) -> Resolved:
    """What the workspace declares now, read from the disk by an edit that holds it."""
    available, reading = ground.available(), ground.reading()
    if any(target.preset.id not in available.enabled_ids for target in targets):
        reading = replace(reading, presets=tuple({target.preset.id: target.preset for target in targets}.values()))
    return Resolver(lambda _workspace: contextlib.nullcontext()).resolve(workspace, reading)


def check_written(found: Resolved, target: Target, name: str, before: DeclaredServer | None) -> DeclaredServer:
    """The written entry as the loader gives it. Raises EditRolledBack with the reason that it does not load."""
    whole = [one for one in found.diagnostics if one.file == target.file and one.severity == "error"]
    servers = [entry.server for entry in found.entries if entry.server.file == target.file]
    server = next((one for one in servers if one.name == name), None)
    if server is None:
        code, line = (whole[0].code, whole[0].line) if whole else ("EDIT_NO_SERVER", 0)
        raise EditRolledBack(code, target.file, line=line, server=name, detail=whole[0].detail if whole else "")
    error = _error(server, before)
    if error is not None:
        raise EditRolledBack(
            error.code, target.file, line=error.line, server=name, detail=error.detail, hint=error.hint
        )
    return server


def check_gone(found: Resolved, target: Target, name: str) -> None:
    """Raises EditRolledBack when the file cannot be read any more, or still declares the server."""
    for one in found.diagnostics:
        broken = one.file == target.file and one.severity == "error" and one.server is None
        if broken and one.code not in _HARMLESS:
            raise EditRolledBack(one.code, target.file, line=one.line, detail=one.detail)
    for entry in found.entries:
        if entry.server.file == target.file and entry.server.name == name:
            raise EditRolledBack("EDIT_UNSAFE", target.file, line=entry.server.line, server=name)


def findings(server: DeclaredServer | None) -> tuple[DeclarationFinding, ...]:
    return tuple(
        DeclarationFinding(one.severity, one.code, one.message, one.file, one.line, one.server)
        for one in (server.diagnostics if server is not None else ())
    )


def finding(one: Diagnostic) -> DeclarationFinding:
    return DeclarationFinding(one.severity, one.code, one.message, one.file, one.line, one.server)


def _error(found: DeclaredServer, before: DeclaredServer | None) -> Diagnostic | None:
    """What keeps the entry from loading, unless it is only missing here and was before."""
    error = next((one for one in found.diagnostics if one.severity == "error"), None)
    if error is None:
        return None
    same = before is not None and before.code == error.code
    return None if same and error.code in OF_THIS_MACHINE else error


def _read(reading: Reading, workspace: str, sheet: Sheet, name: str) -> DeclaredServer | None:
    member = sheet.member(name)
    if member is None or sheet.document is None:
        return None
    return read_entry(source_of(workspace, reading, sheet.target.preset, sheet.file, sheet.document), member)


def _behind(reading: Reading, workspace: str, sheet: Sheet, name: str, word: str) -> Diagnostic | None:
    """What is wrong with the entry where each variable and input that is missing is `word`."""
    known: set[str] = set()
    while True:
        found = _read(reading, workspace, sheet, name)
        error = _error(found, None) if found is not None else None
        if error is None or error.code not in ("VARIABLE_MISSING", "INPUT_MISSING"):
            return None if error is None or error.code in OF_THIS_MACHINE else error
        missing = error.detail.rpartition(": ")[2]
        if missing in known:
            return None
        known.add(missing)
        if error.code == "INPUT_MISSING":
            reading = replace(reading, inputs={**reading.inputs, missing: word})
        else:
            reading = replace(reading, environment={**reading.environment, missing: word})
