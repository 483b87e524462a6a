"""Declarations of one name in several sources (M3.1), and names that look alike.

Rules
* Identical declarations are one: the whole resolved entry is compared, not its command. The first one stands for all.
* `error` disables every one of a name that is declared differently, and names all places. `first-wins` and `last-wins`
  take a whole entry; nothing is ever mixed.
* Two names that would get one safe name are a conflict too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from innkeeper.mcp.declarations.model import ConflictPolicy, DeclaredServer, Status, diagnostic, printable
from innkeeper.mcp.names import skeleton

SHOWN_NAMES = 3


@dataclass(frozen=True, slots=True)
class Entry:
    """One declaration and what became of it among the others. `reason` is a code, None when it is accepted;
    `stands` says whether it is the one that represents its name; `others` are the places of the same name."""

    server: DeclaredServer
    status: Status
    reason: str | None
    stands: bool = True
    others: tuple[str, ...] = ()
    identical: bool = False


def settle(servers: Sequence[DeclaredServer], policy: ConflictPolicy) -> tuple[Entry, ...]:
    """An entry for each declaration, in the order given."""
    groups: dict[str, list[int]] = {}
    for index, server in enumerate(servers):
        if not server.override:
            groups.setdefault(server.safe_name, []).append(index)
    entries = [_alone(server) for server in servers]
    for indexes in groups.values():
        if len(indexes) > 1:
            settled = _together([servers[index] for index in indexes], policy)
            for index, entry in zip(indexes, settled, strict=True):
                entries[index] = entry
    return tuple(entries)


def note_lookalikes(servers: Sequence[DeclaredServer]) -> list[DeclaredServer]:
    """The same servers, with a note on each whose name looks like another one."""
    alike: dict[str, set[str]] = {}
    for server in servers:
        alike.setdefault(skeleton(server.name), set()).add(server.name)
    return [_noted(server, alike) for server in servers]


def _noted(server: DeclaredServer, alike: Mapping[str, set[str]]) -> DeclaredServer:
    others = sorted(alike[skeleton(server.name)] - {server.name})
    if not others:
        return server
    shown = ", ".join(printable(ascii(name)[1:-1]) for name in others[:SHOWN_NAMES])
    note = diagnostic("NAME_CONFUSABLE", server.file, server.line, server.name, shown)
    return replace(server, diagnostics=(*server.diagnostics, note))


def _alone(server: DeclaredServer) -> Entry:
    status = server.status
    if status == "override":
        return Entry(server, status, "OVERRIDE_ONLY", stands=False)
    return Entry(server, status, {"rejected": server.code, "disabled": "SERVER_DISABLED"}.get(status))


def _together(servers: Sequence[DeclaredServer], policy: ConflictPolicy) -> list[Entry]:
    places = [f"{server.file}:{server.line}" for server in servers]
    first = servers[0]
    if all(_content(server) == _content(first) for server in servers[1:]):
        return [
            _beside(server, places, index, stands=index == 0, identical=True) for index, server in enumerate(servers)
        ]
    if policy != "error":
        winner = 0 if policy == "first-wins" else len(servers) - 1
        return [
            _beside(server, places, index, stands=index == winner, identical=False)
            for index, server in enumerate(servers)
        ]
    return [_disabled(server, places, index) for index, server in enumerate(servers)]


def _beside(server: DeclaredServer, places: Sequence[str], index: int, *, stands: bool, identical: bool) -> Entry:
    others = _others(places, index)
    if stands:
        return replace(_alone(server), others=others, identical=identical)
    return Entry(server, "shadowed", None if identical else "NAME_CONFLICT", False, others, identical)


def _disabled(server: DeclaredServer, places: Sequence[str], index: int) -> Entry:
    found = diagnostic("NAME_CONFLICT", server.file, server.line, server.name, ", ".join(places))
    rejected = replace(server, launch=None, fingerprint="", diagnostics=(*server.diagnostics, found))
    return Entry(rejected, "rejected", "NAME_CONFLICT", index == 0, _others(places, index))


def _others(places: Sequence[str], index: int) -> tuple[str, ...]:
    return tuple(place for other, place in enumerate(places) if other != index)


def _content(server: DeclaredServer) -> tuple[object, ...]:
    """What makes two declarations the same one; a rejected one is the same as none."""
    if server.launch is None:
        return (object(),)
    return (
        server.name,
        server.launch,
        server.enabled_in_file,
        server.tools,
        server.timeouts,
        server.required,
    )
