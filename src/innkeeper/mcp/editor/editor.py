"""Create, change, rename, delete, copy and migrate servers in a workspace's files (M8).

Rules
* One path of one document changes; the engine proves it. Before writing the loader has accepted the new entry in
  memory, and after writing from the disk: else everything is put back, and the reason is told.
* A version token guards each file; planning, writing and reading back happen while the workspace is held.
* Which file and key changed is logged, never a value.
* Blocks: meant for a thread.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from innkeeper.editing.edits import Delete, Edit, Path, Put, Rename
from innkeeper.editing.engine import edit_bytes, version_of
from innkeeper.editing.refusals import EditConflict, EditUnsafe
from innkeeper.editing.replacing import Content
from innkeeper.limits import KIB
from innkeeper.mcp.declarations.files import Refused
from innkeeper.mcp.declarations.model import DeclaredServer, printable
from innkeeper.mcp.editor.conversion import converted
from innkeeper.mcp.editor.diffs import diff
from innkeeper.mcp.editor.drafts import check_name, entry_edits, new_entry
from innkeeper.mcp.editor.fields import form_of, transport_key
from innkeeper.mcp.editor.folders import real_path
from innkeeper.mcp.editor.locations import (
    all_targets,
    new_target,
    place_of,
    target_of,
)
from innkeeper.mcp.editor.origins import as_it_was
from innkeeper.mcp.editor.readback import (
    Ground,
    check_content,
    check_gone,
    check_no_worse,
    check_written,
    declared,
    findings,
    resolved,
)
from innkeeper.mcp.editor.refusals import EditRefused, refused
from innkeeper.mcp.editor.remembered import Remembered
from innkeeper.mcp.editor.scan import scan
from innkeeper.mcp.editor.sheets import SYNTAXES, Sheet, Target, forget_large, read_sheet, sheet_of
from innkeeper.mcp.editor.transaction import Transaction
from innkeeper.mcp.settings import McpSettings, key_of_directory
from innkeeper.ports.mcp_editing import (
    DeclarationDraft,
    DeclarationForm,
    DeclarationPlace,
    EditOutcome,
    OpenedDeclaration,
    ScanReport,
)

log = logging.getLogger(__name__)

LARGE: Final = 64 * KIB


@dataclass(frozen=True, slots=True)
class _Planned:
    """A file and what it is to be; None: it goes."""

    sheet: Sheet
    wanted: bytes | None

    @property
    def changes(self) -> bool:
        return self.wanted != self.sheet.content.data


@dataclass(frozen=True, slots=True)
class _Transfer:
    """A copy that is asked for, or with `move` a migration."""

    workspace: str
    source: Target
    server: str
    target: Target
    name: str
    tokens: Mapping[str, str]
    move: bool


class Editor:
    """`settings` are those that trust reads."""

    def __init__(
        self, ground: Ground, settings: Callable[[], McpSettings], remembered: Remembered | None = None
    ) -> None:
        self._ground = ground
        self._settings = settings
        self._remembered = remembered or Remembered()

    # -- looking -------------------------------------------------------------------------------------------------

    def places(self, workspace: str) -> list[DeclarationPlace]:
        """Where a server can be declared, the best place for a new one first (M8.10)."""
        available = self._ground.available()
        best = new_target(available, workspace, self._remembered)
        others = [*all_targets(available.enabled), *all_targets(available.presets)]
        ordered = {(target.preset.id, target.file): target for target in (best, *others)}
        return [place_of(target, available, workspace) for target in ordered.values()]

    def target(self, workspace: str, preset: str | None, file: str | None, server: str | None = None) -> Target:
        """The file that is meant: the one that is named, that declares the server, or the best one for a new server.
        Raises EditRefused."""
        available = self._ground.available()
        if preset is not None:
            return self._declaring(target_of(available, preset, file, workspace), workspace, server, file)
        if server is None:
            return new_target(available, workspace, self._remembered)
        found = self.declaring(workspace, server)
        if not found:
            raise EditRefused("EDIT_NO_SERVER", "", server=server)
        return found[0]

    def declaring(self, workspace: str, server: str) -> list[Target]:
        """The files of enabled presets that declare the server, each once; what cannot be read declares nothing."""
        found: dict[str, Target] = {}
        for target in all_targets(self._ground.available().enabled):
            try:
                if self._read(workspace, target).member(server) is not None:
                    found.setdefault(target.file, target)
            except EditRefused:
                continue
        return list(found.values())

    def open(
        self, workspace: str, server: str | None, preset: str | None, file: str | None, *, reveal: bool = False
    ) -> OpenedDeclaration:
        """What a form shows. Raises EditRefused."""
        target = self.target(workspace, preset, file, server)
        sheet = self._read(workspace, target)
        place = place_of(target, self._ground.available(), workspace)
        key = transport_key(target.preset)
        shown = None if key is None else ".".join(key)
        if server is None:
            form = DeclarationForm("stdio")
            return OpenedDeclaration(
                place, sheet.content.version, None, form, None, shown, (), self._loads_by(workspace, None)
            )
        member = sheet.require(server)
        found = declared(self._ground, workspace, sheet, server)
        return OpenedDeclaration(
            place,
            sheet.content.version,
            server,
            form_of(target.preset, member.value, reveal=reveal),
            sheet.line(member),
            shown,
            findings(found),
            self._loads_by(workspace, server),
        )

    def scan(self, workspace: str) -> ScanReport:
        """Who declares the same server where (M11.3)."""
        return scan(self._ground, workspace)

    # -- changing ------------------------------------------------------------------------------------------------

    def save(
        self,
        workspace: str,
        target: Target,
        server: str | None,
        name: str,
        draft: DeclarationDraft,
        token: str | None,
        *,
        dry_run: bool = False,
        show_values: bool = False,
    ) -> EditOutcome:
        """Make, change or rename an entry. Raises HostError."""
        check_name(name, target.file)

        def plan(known: _Planned | None = None) -> _Planned:
            sheet = self._guarded(workspace, target, token)
            if known is not None and known.sheet.content == sheet.content:
                return known
            return _Planned(sheet, _edited(sheet, _save_edits(sheet, server, name, draft)))

        planned = plan()
        before = None if server is None else declared(self._ground, workspace, planned.sheet, server)
        found = check_content(self._ground, workspace, target, planned.wanted or b"", name, before)
        if server is not None and found.code is not None:
            check_no_worse(self._ground, workspace, (planned.sheet, server), planned.wanted or b"", name)
        shown = diff(planned.sheet, planned.wanted, show_values=show_values)
        if dry_run or not planned.changes:
            return self._outcome(workspace, target, name, shown, [planned.sheet], found, written=False)
        with Transaction(workspace) as writing:
            planned = plan(planned)
            writing.put(target.file, planned.sheet.content, planned.wanted)
            writing.commit()
            found = check_written(resolved(self._ground, workspace, [target]), target, name, before)
        self._note("changed" if server else "added", workspace, name, planned)
        after = self._read(workspace, target)
        return self._outcome(workspace, target, name, shown, [after], found, written=True)

    def delete(
        self,
        workspace: str,
        target: Target,
        server: str,
        token: str | None,
        *,
        dry_run: bool = False,
        show_values: bool = False,
    ) -> EditOutcome:
        """Take an entry out. Raises HostError."""

        def plan(known: _Planned | None = None) -> _Planned:
            sheet = self._guarded(workspace, target, token)
            if known is not None and known.sheet.content == sheet.content:
                return known
            return _Planned(sheet, self._without(workspace, sheet, server))

        planned = plan()
        shown = diff(planned.sheet, planned.wanted, show_values=show_values)
        if dry_run:
            return self._outcome(workspace, target, server, shown, [planned.sheet], None, written=False)
        with Transaction(workspace) as writing:
            planned = plan(planned)
            writing.put(target.file, planned.sheet.content, planned.wanted)
            writing.commit()
            check_gone(resolved(self._ground, workspace, [target]), target, server)
        self._note("deleted", workspace, server, planned)
        after = self._read(workspace, target)
        return self._outcome(workspace, target, server, shown, [after], None, written=True)

    def copy(
        self,
        workspace: str,
        source: Target,
        server: str,
        target: Target,
        name: str,
        tokens: Mapping[str, str],
        *,
        move: bool,
        dry_run: bool = False,
        show_values: bool = False,
    ) -> EditOutcome:
        """Into the dialect of another preset; with `move` the original goes (M8.8). Raises HostError."""
        check_name(name, target.file)
        _require_other_file(workspace, source, target)
        if name == server and not move:
            raise EditRefused("EDIT_NAME_TAKEN", source.file, server=name)
        asked = _Transfer(workspace, source, server, target, name, tokens, move)
        added, left = self._plan(asked)
        before = declared(self._ground, workspace, left.sheet, server)
        found = check_content(self._ground, workspace, target, added.wanted or b"", name, before)
        _require_same_meaning(before, found, target)
        shown = diff(added.sheet, added.wanted, show_values=show_values)
        if move:
            shown += diff(left.sheet, left.wanted, show_values=show_values)
        if not dry_run:
            found = self._transfer(asked, before)
        sheets = [self._read(workspace, one) for one in (target, source)]
        outcome = self._outcome(workspace, target, name, shown, sheets, found, written=not dry_run)
        return replace(outcome, source=place_of(source, self._ground.available(), workspace))

    # -- inside --------------------------------------------------------------------------------------------------

    def _plan(self, asked: "_Transfer") -> tuple[_Planned, _Planned]:
        """What the target and the source are to be."""
        old = self._guarded(asked.workspace, asked.source, asked.tokens.get(asked.source.file))
        new = self._guarded(asked.workspace, asked.target, asked.tokens.get(asked.target.file))
        data = converted(asked.source, old.require(asked.server).value, asked.target, asked.server)
        added = _Planned(new, _edited(new, _new_edits(new, asked.name, data)))
        left = self._without(asked.workspace, old, asked.server) if asked.move else old.content.data
        return added, _Planned(old, left)

    def _transfer(self, asked: "_Transfer", before: DeclaredServer | None) -> DeclaredServer:
        """Write both files, or none; the entry as it then is."""
        with Transaction(asked.workspace) as writing:
            added, left = self._plan(asked)
            writing.put(asked.target.file, added.sheet.content, added.wanted)
            if asked.move:
                writing.put(asked.source.file, left.sheet.content, left.wanted)
            writing.commit()
            read = resolved(self._ground, asked.workspace, [asked.target, asked.source])
            found = check_written(read, asked.target, asked.name, before)
            if asked.move:
                check_gone(read, asked.source, asked.server)
        what, written = ("migrated", (added, left)) if asked.move else ("copied", (added,))
        self._note(what, asked.workspace, asked.name, *written)
        return found

    def _declaring(self, target: Target, workspace: str, server: str | None, file: str | None) -> Target:
        """Of a preset with several files the one that declares the server."""
        for one in target.preset.files if server is not None and file is None else ():
            candidate = Target(target.preset, one)
            if server is not None and self._read(workspace, candidate).member(server) is not None:
                return candidate
        return target

    def _read(self, workspace: str, target: Target) -> Sheet:
        return read_sheet(workspace, target, self._ground.reading().file_limit)

    def _guarded(self, workspace: str, target: Target, token: str | None) -> Sheet:
        """The sheet, if it is the version that the edit was made for. Raises EditConflict."""
        sheet = self._read(workspace, target)
        if token is not None and token != sheet.content.version:
            raise EditConflict(sheet.content.version, target.file)
        return sheet

    def _loads_by(self, workspace: str, server: str | None) -> str | None:
        settings, key = self._settings(), key_of_directory(workspace)
        if settings.trust_mode == "all":
            return "trustMode"
        if settings.trusts(key):
            return "trustedWorkspace"
        return "allowance" if server is not None and settings.allows_server(key, server) else None

    def _without(self, workspace: str, sheet: Sheet, server: str) -> bytes | None:
        """Without the entry; what was made for the first one goes with the last."""
        origin = self._remembered.origin(workspace, sheet.file, sheet.content.version)
        return as_it_was(sheet.target, _without(sheet, server), origin)

    def _note(self, what: str, workspace: str, name: str, *written: _Planned) -> None:
        """Remember and log a write; its target is the first of the files."""
        sheet = written[0].sheet
        versions = {one.sheet.file: version_of(one.wanted) for one in written}
        made = {one.sheet.file: one.sheet.content.version for one in written if one.sheet.servers is None}
        self._remembered.wrote(workspace, sheet.target, versions, made)
        log.info("%s %s in %s of %s", what, printable(".".join((*sheet.table, name))), sheet.file, workspace)

    def _outcome(
        self,
        workspace: str,
        target: Target,
        name: str,
        shown: str,
        sheets: Sequence[Sheet],
        found: DeclaredServer | None,
        *,
        written: bool,
    ) -> EditOutcome:
        if any(len(sheet.content.data or b"") > LARGE for sheet in sheets):
            forget_large()
        return EditOutcome(
            server=name,
            place=place_of(target, self._ground.available(), workspace),
            written=written,
            diff=shown,
            tokens={sheet.file: sheet.content.version for sheet in sheets},
            line=None if found is None else found.line,
            findings=findings(found),
            loads_by=None if found is None else self._loads_by(workspace, name),
            fingerprint="" if found is None else found.fingerprint,
        )


def _save_edits(sheet: Sheet, server: str | None, name: str, draft: DeclarationDraft) -> list[Edit]:
    preset, base = sheet.target.preset, (*sheet.table, name)
    if server is None:
        return _new_edits(sheet, name, new_entry(preset, draft, sheet.file, name))
    member = sheet.require(server)
    if member.value.kind != "object":
        raise EditRefused("ENTRY_NOT_OBJECT", sheet.file, line=sheet.line(member), server=server)
    edits: list[Edit] = []
    if name != server:
        if sheet.member(name) is not None:
            raise EditRefused("EDIT_NAME_TAKEN", sheet.file, server=name)
        edits.append(Rename((*sheet.table, server), name))
    return edits + entry_edits(preset, member.value, draft, base, sheet.file, name)


def _new_edits(sheet: Sheet, name: str, data: dict[str, object]) -> list[Edit]:
    known = sheet.member(name)
    if known is not None:
        raise EditRefused("EDIT_NAME_TAKEN", sheet.file, line=sheet.line(known), server=name)
    return [Put((*sheet.table, name), data)]


def _edited(sheet: Sheet, edits: Sequence[Edit]) -> bytes:
    """The content with the edits. Raises EditUnsafe, with the file."""
    try:
        return edit_bytes(SYNTAXES[sheet.target.preset.format], sheet.content.data or b"", edits)
    except EditUnsafe as error:
        raise EditUnsafe(error.reason, line=error.line, file=sheet.file) from error


def _without(sheet: Sheet, server: str) -> bytes:
    """Without the entry; a table that it leaves empty goes too where a file need not have one."""
    sheet.require(server)
    path: Path = (*sheet.table, server)
    wanted = _edited(sheet, [Delete(path)])
    return _edited(sheet, [Delete(path), Delete(sheet.table)]) if _leaves_nothing(sheet, wanted) else wanted


def _leaves_nothing(sheet: Sheet, wanted: bytes) -> bool:
    """Whether a table that nobody needs is left without an entry and without a comment."""
    preset, document = sheet.target.preset, sheet.document
    if preset.table_required or preset.format == "toml" or not sheet.table or document is None:
        return False
    if len(document.root.members) == 1 and preset.dialect != "gemini":
        return False
    left = sheet_of(sheet.target, Content(wanted))
    if left.servers is None or left.document is None:
        return False
    return "".join(left.document.text[left.servers.start : left.servers.end].split()) == "{}"


def _require_other_file(workspace: str, source: Target, target: Target) -> None:
    """Never onto the same physical file (M8.8). Raises EditRefused."""
    try:
        same = real_path(workspace, source.file) == real_path(workspace, target.file)
    except Refused as error:
        raise refused(error, target.file) from None
    if same:
        raise EditRefused("EDIT_SAME_FILE", target.file, detail=source.file)


def _require_same_meaning(before: DeclaredServer | None, after: DeclaredServer, target: Target) -> None:
    """What would run is the same. Raises EditRefused EDIT_LOSES."""
    if before is None or before.launch is None or after.launch is None:
        return
    differs = [
        word
        for word, same in (
            ("launch", before.launch == after.launch),
            ("enabled", before.enabled_in_file == after.enabled_in_file),
            ("tools", before.tools == after.tools),
            ("timeout", before.timeouts == after.timeouts),
            ("required", before.required == after.required),
        )
        if not same
    ]
    if differs:
        raise EditRefused("EDIT_LOSES", target.file, server=after.name, detail=", ".join(differs))
