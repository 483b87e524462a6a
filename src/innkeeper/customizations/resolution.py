"""Unresolved items in, a verdict for each out (C3.1, C4.1, C5.1, C5.2).

Rules
* `Resolution` takes unresolved items and resolves inside. There is no other way to a verdict, and none to what is
  published (`publishing`) or handed over (`eligibility`) but through a `Resolution`.
* Nothing is kept between two: a pending verdict is made anew from what is known then. The clients' base is made from
  what they publish now.
* An item with an id that is taken is left out and reported; first come is host plugins, then clients', directories,
  servers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from innkeeper.customizations.clients import NO_CLIENTS, ClientPlugin, ClientPlugins
from innkeeper.customizations.discovery.items import DiscoveredChild, DiscoveredDirectory, DiscoveredServer
from innkeeper.customizations.enablement import ClientBase, Overlay, Resolved, Target, resolve
from innkeeper.customizations.identity import (
    WORKSPACE_SOURCE,
    Definitions,
    DirectoryIdentity,
    Identity,
    Key,
    LeafIdentity,
    PluginIdentity,
    ServerIdentity,
    identify_sighting,
    key_of,
    older_keys,
    owner_map,
)
from innkeeper.customizations.items import (
    RawContainer,
    RawItem,
    ServerItem,
    child_id,
    children_of,
    container_id,
    declared_sources,
    defined_servers,
)
from innkeeper.customizations.places import Pending, Place, SessionFacts, Workspaces, situate

HOST: Final = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What resolution depends on, besides decisions. `owners` is the owner map (`identity.owner_map`) and may not be
    left out; `discovered`: discovery has come to an end; `provider`: the session's agent. `context_of` makes one of
    what a host has."""

    session: str
    place: Place | Pending
    provider: str
    owners: Mapping[str, Sequence[str]]
    clients: ClientPlugins = NO_CLIENTS
    discovered: bool = True


def context_of(
    facts: SessionFacts,
    workspaces: Workspaces,
    items: Sequence[RawItem],
    *,
    provider: str,
    clients: ClientPlugins,
    discovered: bool,
) -> Context:
    """The context of a session with these items; the owner map is that of its plugins."""
    return Context(
        session=facts.session,
        place=situate(facts, workspaces),
        provider=provider,
        owners=owner_map(defined_servers(items)),
        clients=clients,
        discovered=discovered,
    )


class Enablement(Protocol):
    """Who decides: `ScopedEnablement`, or for tests and tools `testing.everything_on()`."""

    @property
    def context(self) -> Context: ...

    def decide(self, target: Target, base: ClientBase) -> Resolved | Pending: ...


@dataclass(frozen=True, slots=True)
class ScopedEnablement:
    """The decisions of people: the durable overlay, over what the clients of the session say."""

    context: Context
    overlay: Overlay

    def decide(self, target: Target, base: ClientBase) -> Resolved | Pending:
        place = self.context.place
        return place if isinstance(place, Pending) else resolve(target, place, self.overlay, base)


class Item(NamedTuple):
    """An item and its verdict. `target` None: it is not clear which one it is (C3.1b). `owner` has its Global:
    `HOST` or `client:<clientId>` (C6.6). `container`: the id of what it is in, for children. `plugin`: the URI of the
    plugin that it belongs to, for the children of one and for a server that one is known to define."""

    id: str
    raw: RawItem | DiscoveredChild
    target: Target | None
    verdict: Resolved | Pending
    owner: str = HOST
    container: str | None = None
    plugin: str | None = None

    @property
    def on(self) -> bool:
        """By its own decision, its container not counted."""
        return isinstance(self.verdict, Resolved) and self.verdict.enabled


class Resolution:
    """The verdicts on all items of one session by id, in the order of publication, each container before its children.
    `base` is what the clients say; `duplicates` are ids that came twice."""

    __slots__ = ("base", "context", "duplicates", "items")

    def __init__(self, items: Sequence[RawItem], enablement: Enablement) -> None:
        context = enablement.context
        base = _base(items, context.clients)
        found: dict[str, Item] = {}
        duplicates: list[str] = []
        for group in _resolved(items, enablement, base):
            if group[0].id in found:
                duplicates.append(group[0].id)
            else:
                found.update((item.id, item) for item in group)
        self.context: Final = context
        self.base: Final = base
        self.duplicates: Final = tuple(duplicates)
        self.items: Final[Mapping[str, Item]] = found

    def sharing(self, id: str) -> tuple[str, ...]:
        """The ids of all items with the key of this one: one server seen in two places has one decision (C3.1)."""
        target = self.items[id].target
        if target is None:
            return (id,)
        return tuple(item.id for item in self.items.values() if item.target and item.target.key == target.key)


def _base(items: Sequence[RawItem], clients: ClientPlugins) -> ClientBase:
    """What the clients say of their plugins, of the servers in them, and of whatever else in them is named."""
    values: dict[str, bool | None] = {}
    for uri, plugin in clients.effective.items():
        values[key_of(PluginIdentity(uri))] = plugin.says
        for name, says in plugin.children.items():
            values[key_of(ServerIdentity(name, "", owner=uri))] = says
    for item in items:
        found = clients.effective.get(item.uri)
        if item.type == "plugin" and found is not None and found.children:
            identity = PluginIdentity(item.uri)
            for child in children_of(item):
                if child.name in found.children:
                    values[_child_key(child, key_of(identity), identity)] = found.children[child.name]
    return ClientBase({key: says for key, says in values.items() if says is not None})


def _resolved(items: Sequence[RawItem], enablement: Enablement, base: ClientBase) -> Iterator[list[Item]]:
    """The items with their verdicts, each container with its children."""
    context = enablement.context
    definitions = Definitions(context.owners, declared_sources(items), context.discovered)
    for item in sorted(items, key=_rank):
        if isinstance(item, ServerItem):
            yield [_server(item, definitions, enablement, base)]
        elif item.type == "directory":
            yield _contained(item, _directory(item, context), None, enablement, base)
        elif item.source != "client":
            yield _contained(item, PluginIdentity(item.uri), None, enablement, base)
        elif (plugin := context.clients.effective.get(item.uri)) is not None:
            yield _contained(item, PluginIdentity(item.uri), plugin, enablement, base)


def _rank(item: RawItem) -> tuple[int, str, str]:
    """Host plugins, those of clients as they joined, directories by type and URI, servers as they are declared."""
    if isinstance(item, ServerItem):
        return (3, "", "")
    if item.type == "directory":
        return (2, item.contents, item.uri)
    return (1 if item.source == "client" else 0, "", "")


def _server(item: ServerItem, definitions: Definitions, enablement: Enablement, base: ClientBase) -> Item:
    context = enablement.context
    identity: ServerIdentity | None
    if item.owner is not None or item.source is not None:
        identity = ServerIdentity(item.name, item.source or "", owner=item.owner)
    else:
        identity = identify_sighting(item.name, definitions, context.provider)
    if identity is None:
        return Item(item.id, item, None, Pending("discovery"))
    plugin = None if identity.owner is None else context.clients.effective.get(identity.owner)
    owner = f"client:{plugin.client}" if plugin is not None and item.name in plugin.children else HOST
    target = Target(key_of(identity), item.default, owner != HOST, (*older_keys(identity), item.id))
    return Item(item.id, item, target, enablement.decide(target, base), owner, None, identity.owner)


def _directory(item: DiscoveredDirectory, context: Context) -> DirectoryIdentity:
    source: str = item.source
    if source == WORKSPACE_SOURCE:
        source = _root(item, context.place)
    return DirectoryIdentity(source, item.name, item.contents)


def _root(item: DiscoveredDirectory, place: Place | Pending) -> str:
    if isinstance(place, Pending) or place.directory is None:
        return WORKSPACE_SOURCE
    return place.source_of(item.uri, item.name)


def _contained(
    item: RawContainer, identity: Identity, plugin: ClientPlugin | None, enablement: Enablement, base: ClientBase
) -> list[Item]:
    """A container and its children; `plugin` is the client's word on it, if it is a client's."""
    key, id = key_of(identity), container_id(item)
    owner = HOST if plugin is None else f"client:{plugin.client}"
    decide = enablement.decide
    target = Target(key, True, plugin is not None, (id,))
    found = [Item(id, item, target, decide(target, base), owner)]
    names: Mapping[str, bool | None] = {} if plugin is None else plugin.children
    within = item.uri if isinstance(identity, PluginIdentity) else None
    for child in children_of(item):
        own_id = child_id(id, child.type, child.name)
        bundled = child.name in names
        target = Target(_child_key(child, key, identity), True, bundled, (own_id,))
        found.append(Item(own_id, child, target, decide(target, base), owner if bundled else HOST, id, within))
    return found


def _child_key(child: DiscoveredChild, container: Key, identity: Identity) -> Key:
    if not isinstance(child, DiscoveredServer):
        return key_of(LeafIdentity(container, child.type, child.name))
    if isinstance(identity, PluginIdentity):
        return key_of(ServerIdentity(child.name, "", owner=identity.uri))
    return key_of(ServerIdentity(child.name, container))
