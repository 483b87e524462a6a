"""Who declares the same server where, and what differs (M11.3). Reads only.

Rules
* Every preset counts, on or off: the files of a client that nobody switched on are what one would migrate from.
* Declarations of one name are a group; the first one, in the order of the presets, is what the others are compared
  with. What is started by the same means under different names is a group too. Values are compared, never shown.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from innkeeper.mcp.declarations.model import DeclaredServer, HttpLaunch, StdioLaunch
from innkeeper.mcp.declarations.resolve import Resolver
from innkeeper.mcp.editor.readback import Ground, finding
from innkeeper.ports.mcp_editing import ScanGroup, ScanPlace, ScanReport

ENTRIES: Final = 1_000
_MISSING: Final = frozenset({"SERVERS_MISSING", "FILE_EMPTY"})


def scan(ground: Ground, workspace: str) -> ScanReport:
    """Every declaration of the workspace. Never raises for what a file says."""
    available = ground.available()
    on, off = available.enabled, tuple(p for p in available.presets if p.id not in available.enabled_ids)
    reading = replace(ground.reading(), presets=(*on, *off), conflict_policy="first-wins", entry_limit=ENTRIES)
    found = Resolver().resolve(workspace, reading)
    servers: dict[tuple[str, str], DeclaredServer] = {}
    for entry in found.entries:
        if not entry.server.override:
            servers.setdefault((entry.server.file, entry.server.name), entry.server)
    groups = [_group(members, "name", available.enabled_ids) for members in _by_name(servers.values())]
    groups += [_group(members, "alike", available.enabled_ids) for members in _alike(list(servers.values()))]
    problems = (finding(one) for one in found.diagnostics if one.severity == "error" and one.code not in _MISSING)
    return ScanReport(tuple(groups), tuple(problems))


def _by_name(servers: Iterable[DeclaredServer]) -> list[list[DeclaredServer]]:
    groups: dict[str, list[DeclaredServer]] = {}
    for server in servers:
        groups.setdefault(server.safe_name, []).append(server)
    return list(groups.values())


def _alike(servers: Sequence[DeclaredServer]) -> list[list[DeclaredServer]]:
    groups: dict[object, list[DeclaredServer]] = {}
    for server in servers:
        match server.launch:
            case StdioLaunch(program, arguments):
                groups.setdefault((program, arguments), []).append(server)
            case HttpLaunch(url):
                groups.setdefault(url, []).append(server)
    return [members for members in groups.values() if len({server.safe_name for server in members}) > 1]


def _group(members: Sequence[DeclaredServer], kind: str, enabled: frozenset[str]) -> ScanGroup:
    first = members[0]
    places = tuple(
        ScanPlace(
            server=server.name,
            preset=server.preset,
            file=server.file,
            line=server.line,
            enabled=server.preset in enabled,
            transport=server.transport,
            differs=tuple(_differs(first, server)),
            code=server.code or (None if server.enabled_in_file else "SERVER_DISABLED"),
        )
        for server in members
    )
    return ScanGroup(first.name, "name" if kind == "name" else "alike", places)


def _differs(one: DeclaredServer, other: DeclaredServer) -> Iterator[str]:
    if one.transport != other.transport:
        yield "transport"
        return
    match one.launch, other.launch:
        case StdioLaunch() as a, StdioLaunch() as b:
            pairs = [("command", a.program == b.program), ("args", a.arguments == b.arguments)]
            pairs += [("env", a.environment == b.environment), ("cwd", a.directory == b.directory)]
        case HttpLaunch() as a, HttpLaunch() as b:
            pairs = [("url", a.url == b.url), ("headers", a.headers == b.headers)]
        case _:
            pairs = [("command", one.command[:1] == other.command[:1]), ("args", one.command[1:] == other.command[1:])]
            pairs += [("env", one.environment_names == other.environment_names)]
            pairs += [("cwd", one.directory == other.directory)]
            pairs += [("url", one.address == other.address), ("headers", one.header_names == other.header_names)]
    pairs += [("enabled", one.enabled_in_file == other.enabled_in_file), ("tools", one.tools == other.tools)]
    pairs += [("timeout", one.timeouts == other.timeouts), ("required", one.required == other.required)]
    yield from (name for name, same in pairs if not same)
