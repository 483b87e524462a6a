"""The declarations of one workspace, read from disk (M1.1, M1.6-M1.8, M5.1).

Rules
* Only the workspace itself: no parent search. A file that a link leads out of the workspace is refused.
* Reading writes nothing, starts nothing, and never raises for what a file says: it becomes a diagnostic.
* A file that is not there is no finding. What is over a limit is named; the rest still loads.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from innkeeper.limits import DECLARATION_BYTES, DECLARATION_ENTRIES
from innkeeper.mcp.declarations.entries import Source, read_entry
from innkeeper.mcp.declarations.jsonc import Document, JsoncError, Member, Node, line_of, parse
from innkeeper.mcp.declarations.model import DeclaredServer, Diagnostic, Loaded, Preset, diagnostic
from innkeeper.mcp.declarations.presets import BUILT_IN, WRONG_TABLES
from innkeeper.mcp.declarations.variables import workspace_variables


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading depends on besides the files."""

    environment: Mapping[str, str] = field(repr=False)
    inputs: Mapping[str, str] = field(default_factory=dict, repr=False)
    presets: Sequence[Preset] = BUILT_IN
    file_limit: int = DECLARATION_BYTES
    entry_limit: int = DECLARATION_ENTRIES


class _Refused(Exception):
    def __init__(self, code: str, line: int = 0, detail: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.line = line
        self.detail = detail


def load(workspace: str, reading: Reading) -> Loaded:
    """All servers that the workspace's files declare, in file order. `workspace` is an absolute local path."""
    servers: list[DeclaredServer] = []
    found: list[Diagnostic] = []
    for preset in reading.presets:
        for file in preset.files:
            try:
                entries, left_out = _load_file(workspace, file, preset, reading, reading.entry_limit - len(servers))
            except _Refused as refused:
                found.append(diagnostic(refused.code, file, refused.line, detail=refused.detail))
                continue
            taken = {server.safe_name for server in servers}
            for server in entries:
                if server.safe_name in taken:
                    found.append(diagnostic("NAME_CONFLICT", file, server.line, server.name))
                    continue
                taken.add(server.safe_name)
                servers.append(server)
            if left_out:
                found.append(diagnostic("LIMIT_ENTRIES", file, 0, detail=str(left_out)))
    return Loaded(tuple(servers), tuple(found))


def _load_file(
    workspace: str, file: str, preset: Preset, reading: Reading, room: int
) -> tuple[Sequence[DeclaredServer], int]:
    """The file's servers and how many are over the limit. Raises _Refused for the whole file."""
    path = os.path.join(workspace, file)
    text = _read(workspace, path, reading.file_limit)
    if text is None:
        return (), 0
    try:
        document = parse(text)
    except JsoncError as error:
        raise _Refused(error.code, 0 if error.code == "FILE_EMPTY" else line_of(text, error.offset)) from None
    table = _servers_table(document, preset)
    variables = workspace_variables(workspace, os.path.dirname(path), reading.environment, reading.inputs)
    source = Source(preset, file, document, workspace, variables)
    members = _last_of_each(table.members)
    servers = [read_entry(source, member, repeated=repeated) for member, repeated in members[:room]]
    return servers, len(members) - len(servers)


def _read(workspace: str, path: str, limit: int) -> str | None:
    """The text, or None when there is no such file. Raises _Refused."""
    try:
        real, root = os.path.realpath(path, strict=True), os.path.realpath(workspace)
        if os.path.commonpath([real, root]) != root:
            raise _Refused("PATH_ESCAPE")
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise _Refused("FILE_UNREADABLE")
            content = opened.read(limit + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        raise _Refused("FILE_UNREADABLE") from None
    if len(content) > limit:
        raise _Refused("FILE_TOO_LARGE")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise _Refused("FILE_ENCODING") from None


def _servers_table(document: Document, preset: Preset) -> Node:
    root = document.root
    if root.kind != "object":
        raise _Refused("FILE_NOT_OBJECT")
    present = [member for member in root.members if member.key in preset.tables]
    names = {member.key for member in present}
    if len(present) > len(names):
        raise _Refused("DUPLICATE_KEY", document.position(present[-1].start)[0] + 1, present[-1].key)
    if len(names) > 1:
        raise _Refused("BOTH_TABLES", document.position(present[-1].start)[0] + 1)
    if not present:
        raise _missing_table(document, preset)
    member = present[0]
    if member.value.kind != "object":
        raise _Refused("SERVERS_NOT_TABLE", document.position(member.start)[0] + 1, member.key)
    return member.value


def _missing_table(document: Document, preset: Preset) -> _Refused:
    """Names the key under which the servers seem to stand instead."""
    for member in document.root.members:
        if member.key in WRONG_TABLES:
            return _Refused("SERVERS_WRONG_KEY", document.position(member.start)[0] + 1, member.key)
    for member in document.root.members:
        if any(member.value.get(preset.fields[name]) is not None for name in ("command", "url")):
            return _Refused("SERVERS_WRONG_KEY", document.position(member.start)[0] + 1, "{}")
    return _Refused("SERVERS_MISSING")


def _last_of_each(members: Sequence[Member]) -> list[tuple[Member, bool]]:
    """Each name once, in file order, with whether it stands there more than once."""
    count: dict[str, int] = {}
    for member in members:
        count[member.key] = count.get(member.key, 0) + 1
    kept = {member.key: member for member in members}
    return [(member, count[name] > 1) for name, member in kept.items()]
