"""The rows of the Customizations page: what a session exposes, who decided, and what waits for an answer. Pure.

Rules
* The host's list decides (C5.1). The session's state, which has this client's unanswered toggles in it, only says what
  a switch was set to just now; where both differ the switch is on its way, or queued while its item is pending (C4.3).
* What its container switches off is shown off, with its own switches as they were set (C1.5).
* A Global that a client owns carries that client's name (C6.6). Servers stand below the file that declares them.
* A filter keeps the containers of what it finds.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from innkeeper.web.names import last_part

State = Mapping[str, Any]
Value = Literal["off", "inherit", "on"]
Standing = Literal["on", "off", "waiting"]
SCOPES: Final = ("session", "workspace", "global")
TYPES: Final = ("plugin", "directory", "mcpServer", "agent", "skill", "prompt", "rule", "hook")
PENDING: Final = ("session", "workingDirectory", "discovery")
HERE: Final = "."


class Switch(NamedTuple):
    """One scope of one item. `owner` is the client whose Global it is; `sent` that the host has not answered yet;
    `possible` is false where there is no such scope here."""

    scope: str
    value: Value
    owner: str = ""
    sent: bool = False
    pinned: bool = False
    possible: bool = True


class Row(NamedTuple):
    """One line of the tree. `by` names what decided: a scope, `client`, `default`, `plugin` or `directory` that is
    off, `unreadable`, or a reason to wait. A row of type `file` groups servers and decides nothing."""

    id: str
    dom: str
    type: str
    name: str
    origin: str
    level: int
    parent: str
    children: int
    standing: Standing
    by: str
    owner: str
    switches: tuple[Switch, ...]
    tools: int
    fault: str


class Counts(NamedTuple):
    on: int
    off: int
    waiting: int

    @property
    def all(self) -> int:
        return self.on + self.off + self.waiting


def rows(items: Iterable[State], session: State, *, me: str, tools: Mapping[str, int] | None = None) -> list[Row]:
    """Every row, containers before what they hold. `me` is this client's id, `tools` counts by the id of a server."""
    shown = {str(one["id"]): one for one in _published(session)}
    clients = {str(one["clientId"]): str(one.get("displayName") or one["clientId"]) for one in _clients(session)}
    make = _Maker(shown, clients, me, bool(session.get("workingDirectories")), tools or {})
    found: list[Row] = []
    files: dict[str, list[State]] = {}
    loose: list[Row] = []
    for item in items:
        if item["type"] == "mcpServer" and (file := _file_of(item)):
            files.setdefault(file, []).append(item)
        elif item.get("children") or item["type"] in ("plugin", "directory"):
            found += make.container(item)
        else:
            loose.append(make.row(item))
    for file, servers in files.items():
        found += make.file(file, servers)
    return found + loose


def counted(found: Iterable[Row]) -> Counts:
    """How many are on, off and not decided; groups are not counted."""
    real = [row.standing for row in found if row.type != "file"]
    return Counts(real.count("on"), real.count("off"), real.count("waiting"))


def filtered(found: Sequence[Row], *, words: str = "", type: str = "", standing: str = "") -> list[Row]:
    """The rows that have all words in their name or kind, and the containers of such rows."""
    wanted = words.casefold().split()

    def hit(row: Row) -> bool:
        text = f"{row.name} {row.type} {row.origin}".casefold()
        return (
            all(word in text for word in wanted)
            and (not type or row.type == type)
            and (not standing or row.standing == standing)
            and (row.type != "file" or not (type or standing))
        )

    hits = {row.dom for row in found if hit(row)}
    kept = hits | {row.parent for row in found if row.dom in hits}
    return [row for row in found if row.dom in kept]


def dom_id(id: str) -> str:
    """A DOM id for any id of an item."""
    return "c-" + hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class _Maker:
    def __init__(
        self, shown: Mapping[str, State], clients: Mapping[str, str], me: str, placed: bool, tools: Mapping[str, int]
    ) -> None:
        self._shown, self._clients, self._me, self._placed, self._tools = shown, clients, me, placed, tools

    def container(self, item: State) -> list[Row]:
        children: Sequence[State] = item.get("children") or ()
        head = self.row(item, children=len(children))
        return [head, *(self.row(child, parent=head, container=str(item["type"])) for child in children)]

    def file(self, file: str, servers: Sequence[State]) -> list[Row]:
        name = last_part(file)
        head = Row(
            f"file:{file}", dom_id("file:" + file), "file", name, "", 1, "", len(servers), "on", "", "", (), 0, ""
        )
        return [head, *(self.row(server, parent=head) for server in servers)]

    def row(self, item: State, *, parent: Row | None = None, container: str = "", children: int = 0) -> Row:
        id, owner = str(item["id"]), self._client(item)
        standing, by = _verdict(item, container, owned=bool(owner))
        return Row(
            id=id,
            dom=dom_id(id),
            type=str(item["type"]),
            name=str(item["name"]),
            origin=owner or ("" if parent is not None else str(item.get("source") or "")),
            level=1 if parent is None else 2,
            parent="" if parent is None else parent.dom,
            children=children,
            standing=standing,
            by=by,
            owner=owner,
            switches=tuple(self._switch(item, scope, owner, standing) for scope in SCOPES),
            tools=self._tools.get(id, 0),
            fault=str(item.get("fault") or ""),
        )

    def _client(self, item: State) -> str:
        """The client that owns its Global, by name; this client is nobody's other."""
        client = str(item.get("owner") or "").removeprefix("client:")
        is_client = str(item.get("owner") or "").startswith("client:") and client != self._me
        return self._clients.get(client, client) if is_client else ""

    def _switch(self, item: State, scope: str, owner: str, standing: Standing) -> Switch:
        known = _value(item.get("enablement"), scope)
        published = self._shown.get(str(item["id"]))
        wanted = known if published is None else _value(published.get("enablement"), scope)
        return Switch(
            scope,
            wanted,
            owner if scope == "global" else "",
            sent=wanted != known,
            pinned=scope in (item.get("pinned") or ()),
            possible=scope != "workspace" or self._placed,
        )


def _verdict(item: State, container: str, *, owned: bool) -> tuple[Standing, str]:
    withheld = item.get("withheld")
    if withheld in PENDING:
        return "waiting", str(withheld)
    if withheld == "container":
        return "off", container or "plugin"
    if withheld == "unreadable":
        return "off", "unreadable"
    scope = str(item.get("scope") or "")
    by = "client" if scope == "global" and owned else scope or "default"
    return ("on" if withheld is None else "off"), by


def _value(enablement: Sequence[State] | None, scope: str) -> Value:
    found = next((one["enabled"] for one in enablement or () if one["kind"] == scope), None)
    return "inherit" if found is None else "on" if found else "off"


def _file_of(item: State) -> str:
    uri, _, _ = str(item.get("uri") or "").partition("#mcp=")
    return uri if uri != item.get("uri") else ""


def _clients(session: State) -> Sequence[State]:
    return session.get("activeClients") or ()


def _published(session: State) -> Iterator[State]:
    for item in session.get("customizations") or ():
        yield item
        yield from item.get("children") or ()
