"""The one resolver (M1, M2, M3.1): from a workspace, settings and the environment to its declarations.

Loader, `mcp check`, `mcp explain`, settings and editor all ask here, so that they cannot disagree.

Rules
* Only the workspace itself: no parent search. Reading writes nothing, starts nothing, and never raises for what a file
  says: it becomes a diagnostic.
* A file that is not there is no finding. What is over a limit is named; the rest still loads.
* What did not change is not read again: files, environment files, environment and settings are compared.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Final

from innkeeper.editing.tree import Document, FormatError, Node
from innkeeper.limits import DECLARATION_BYTES, DECLARATION_ENTRIES, DIAGNOSTICS
from innkeeper.mcp.declarations import holding
from innkeeper.mcp.declarations.conflicts import Entry, note_lookalikes, settle
from innkeeper.mcp.declarations.entries import read_entry
from innkeeper.mcp.declarations.expanding import Source
from innkeeper.mcp.declarations.files import Content, Refused, decode, inside, read, signature
from innkeeper.mcp.declarations.formats import parse
from innkeeper.mcp.declarations.model import (
    ConflictPolicy,
    DeclaredServer,
    Diagnostic,
    Loaded,
    Preset,
    diagnostic,
)
from innkeeper.mcp.declarations.notes import file_notes
from innkeeper.mcp.declarations.presets import BUILT_IN
from innkeeper.mcp.declarations.tables import repeated_lines, servers_table
from innkeeper.mcp.declarations.variables import workspace_variables

WORKSPACES_KEPT: Final = 64
_CODEX_REFUSES: Final = frozenset({"TRANSPORT_CONFLICT", "LITERAL_SECRET_FIELD", "ENV_VALUE_TYPE", "FIELD_TYPE"})


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading depends on besides the files. `inputs` are the operator's `input_values`; `presets` are the enabled
    ones in their order."""

    environment: Mapping[str, str] = field(repr=False)
    inputs: Mapping[str, str] = field(default_factory=dict, repr=False)
    presets: Sequence[Preset] = BUILT_IN
    file_limit: int = DECLARATION_BYTES
    entry_limit: int = DECLARATION_ENTRIES
    conflict_policy: ConflictPolicy = "error"


@dataclass(frozen=True, slots=True)
class Resolved:
    """A workspace's declarations. `diagnostics` are those of files; each entry's server carries its own. `omitted`
    counts what was over the limit of diagnostics; `failed` says whether anything at all is an error."""

    entries: tuple[Entry, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    omitted: int = 0
    failed: bool = False

    @property
    def loaded(self) -> Loaded:
        """One server a name: what a session mounts. Changes of other places' servers are told as notes."""
        overrides = [d for entry in self.entries if entry.server.override for d in entry.server.diagnostics]
        servers = tuple(entry.server for entry in self.entries if entry.stands)
        return Loaded(servers, (*self.diagnostics, *overrides))


@dataclass(slots=True)
class _Memory:
    """The last answer for a workspace and what it came from."""

    reading: Reading
    files: dict[str, Content | None]
    resolved: Resolved
    whole: bool
    """Whether every file could be read: what is refused is looked at anew each time."""


class Resolver:
    """Keeps what it read, for `WORKSPACES_KEPT` workspaces. May be called from several threads. `holding` is how a
    reading keeps half-done edits away; the editor, which holds the workspace itself, brings its own."""

    def __init__(self, holding: Callable[[str], AbstractContextManager[None]] = holding.reading) -> None:
        self._holding = holding
        self._lock = threading.Lock()
        self._memory: dict[str, _Memory] = {}
        self._parsed: dict[tuple[str, str, str], tuple[bytes, Document]] = {}

    def resolve(self, workspace: str, reading: Reading) -> Resolved:
        """`workspace` is an absolute local path."""
        with self._lock:
            known = self._memory.pop(workspace, None)
            if known is None or known.reading != reading or not _unchanged(workspace, known):
                with self._holding(workspace):
                    known = self._read(workspace, reading)
            self._memory[workspace] = known
            while len(self._memory) > WORKSPACES_KEPT:
                self._forget(next(iter(self._memory)))
            return known.resolved

    def unchanged(self, workspace: str, reading: Reading) -> bool:
        """Whether the last answer for the workspace would be given again; looks at the files, reads none but young
        ones. False while another thread reads."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            known = self._memory.get(workspace)
            return known is not None and known.reading == reading and _unchanged(workspace, known)
        finally:
            self._lock.release()

    def _forget(self, workspace: str) -> None:
        del self._memory[workspace]
        self._parsed = {key: value for key, value in self._parsed.items() if key[0] != workspace}

    def _read(self, workspace: str, reading: Reading) -> _Memory:
        scan = _Scan(workspace, reading, self._parsed)
        for preset in reading.presets:
            for file in preset.files:
                scan.take(preset, file)
        frozen = replace(reading, environment=dict(reading.environment), inputs=dict(reading.inputs))
        return _Memory(frozen, scan.files, scan.resolved(), scan.whole)


class _Scan:
    """One reading of all files of a workspace."""

    def __init__(
        self, workspace: str, reading: Reading, parsed: dict[tuple[str, str, str], tuple[bytes, Document]]
    ) -> None:
        self.workspace = workspace
        self.reading = reading
        self.files: dict[str, Content | None] = {}
        self.whole = True
        self._parsed = parsed
        self._servers: list[DeclaredServer] = []
        self._found: list[Diagnostic] = []

    def take(self, preset: Preset, file: str) -> None:
        """Adds what one file of one preset says."""
        try:
            self._take(preset, inside(self.workspace, file))
        except Refused as refused:
            self._found.append(diagnostic(refused.code, file, refused.line, None, refused.detail, refused.hint))

    def resolved(self) -> Resolved:
        entries = settle(note_lookalikes(self._servers), self.reading.conflict_policy)
        failed = any(found.severity == "error" for found in (*self._found, *_of_entries(entries)))
        found, entries, omitted = _cut(self._found, entries)
        return Resolved(entries, found, omitted, failed)

    def _take(self, preset: Preset, file: str) -> None:
        document = self._document(preset, file)
        if document is None:
            return
        for claim, node in file_notes(preset, document.root):
            self._found.append(
                diagnostic("TRUST_CLAIM_IGNORED", file, document.position(node.start)[0] + 1, None, claim)
            )
        if preset.client == "claude" and not document.plain_json:
            self._found.append(diagnostic("CLIENT_DIFFERS", file, 0, None, "Claude Code", "claudeStrictJson"))
        table = servers_table(document, preset)
        if table is None:
            return
        members = repeated_lines(document, table)
        room = max(0, self.reading.entry_limit - len(self._servers))
        source = source_of(self.workspace, self.reading, preset, file, document)
        off = _excluded(preset, document.root, [member.key for member, _ in members])
        servers = [read_entry(source, member, lines, off=member.key in off) for member, lines in members[:room]]
        self.files.update(source.seen)
        self._servers.extend(servers)
        if len(members) > room:
            self._found.append(diagnostic("LIMIT_ENTRIES", file, 0, detail=str(len(members) - room)))
        if preset.client == "codex" and any(server.code in _CODEX_REFUSES for server in servers):
            self._found.append(diagnostic("CLIENT_DIFFERS", file, 0, None, "Codex CLI", "codexWholeFile"))

    def _document(self, preset: Preset, file: str) -> Document | None:
        self.files[file] = None
        try:
            content = read(self.workspace, file, self.reading.file_limit)
        except Refused:
            self.whole = False
            raise
        if content is None:
            return None
        self.files[file] = content
        key = (self.workspace, file, preset.format)
        known = self._parsed.get(key)
        if known is not None and known[0] == content.content:
            return known[1]
        try:
            document = parse(decode(content.content), preset.format)
        except FormatError as error:
            raise Refused(error.code, error.line, hint=error.hint) from None
        self._parsed[key] = (content.content, document)
        return document


def source_of(workspace: str, reading: Reading, preset: Preset, file: str, document: Document) -> Source:
    """What entries of a file are read with."""
    environment = reading.environment
    if preset.id == "root":
        environment = {**environment, "CLAUDE_PROJECT_DIR": workspace}
    folder = os.path.dirname(os.path.join(workspace, file))
    variables = workspace_variables(workspace, folder, environment, reading.inputs, preset.interpolation)
    return Source(preset, file, document, workspace, variables, reading.file_limit)


def load(workspace: str, reading: Reading) -> Loaded:
    """All servers that the workspace's files declare, one a name. `workspace` is an absolute local path."""
    return Resolver().resolve(workspace, reading).loaded


def _unchanged(workspace: str, known: _Memory) -> bool:
    if not known.whole:
        return False
    for file, content in known.files.items():
        if content is not None and content.fresh:
            try:
                again = read(workspace, file, known.reading.file_limit)
            except Refused:
                return False
            if again is None or again.content != content.content:
                return False
            known.files[file] = again
        elif signature(workspace, file) != (None if content is None else content.signature):
            return False
    return True


def _excluded(preset: Preset, root: Node, names: Sequence[str]) -> frozenset[str]:
    """Servers that Gemini's `mcp.allowed` and `mcp.excluded` switch off: what a project may narrow, it may."""
    if preset.dialect != "gemini":
        return frozenset()
    allowed, excluded = root.at(("mcp", "allowed")), root.at(("mcp", "excluded"))
    out = set() if excluded is None else {str(item.value) for item in excluded.items}
    kept = None if allowed is None or allowed.kind != "array" else {str(item.value) for item in allowed.items}
    return frozenset(name for name in names if name in out or (kept is not None and name not in kept))


def _of_entries(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    for entry in entries:
        yield from entry.server.diagnostics


def _cut(
    found: Sequence[Diagnostic], entries: Sequence[Entry]
) -> tuple[tuple[Diagnostic, ...], tuple[Entry, ...], int]:
    """At most `DIAGNOSTICS` of all, then one that counts the rest. The first error of an entry is never cut: it is why
    the entry does not load."""
    errors = sum(1 for entry in entries if entry.server.code is not None)
    total = len(found) + sum(len(entry.server.diagnostics) for entry in entries)
    if total <= DIAGNOSTICS:
        return tuple(found), tuple(entries), 0
    shown = list(found[: max(0, DIAGNOSTICS - errors)])
    room = max(0, DIAGNOSTICS - errors - len(shown))
    kept: list[Entry] = []
    for entry in entries:
        ordered = sorted(entry.server.diagnostics, key=lambda one: one.severity != "error")
        always = 0 if entry.server.code is None else 1
        part = ordered[: always + room]
        room -= len(part) - always
        kept.append(replace(entry, server=replace(entry.server, diagnostics=tuple(part))))
    omitted = total - len(shown) - sum(len(entry.server.diagnostics) for entry in kept)
    shown.append(diagnostic("DIAGNOSTICS_OMITTED", "", 0, detail=str(omitted)))
    return tuple(shown), tuple(kept), omitted
