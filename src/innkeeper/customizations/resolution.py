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
        found: dict[str, _Identified] = {}
        duplicates: list[str] = []
        for one in _identify(items, enablement.context):
            if one.id in found:
                duplicates.append(one.id)
            else:
                found[one.id] = one
        base = ClientBase({one.target.key: one.says for one in found.values() if one.target and one.says is not None})
        unclear = Pending("discovery")
        self.context: Final = enablement.context
        self.base: Final = base
        self.duplicates: Final = tuple(duplicates)
        self.items: Final[Mapping[str, Item]] = {
            id: Item(
                id,
                one.raw,
                one.target,
                unclear if one.target is None else enablement.decide(one.target, base),
                one.owner,
                one.container,
                one.plugin,
            )
            for id, one in found.items()
        }

    def sharing(self, id: str) -> tuple[str, ...]:
        """The ids of all items with the key of this one: one server seen in two places has one decision (C3.1)."""
        target = self.items[id].target
        if target is None:
            return (id,)
        return tuple(item.id for item in self.items.values() if item.target and item.target.key == target.key)


class _Identified(NamedTuple):
    id: str
    raw: RawItem | DiscoveredChild
    target: Target | None
    owner: str = HOST
    container: str | None = None
    plugin: str | None = None
    says: bool | None = None


def _identify(items: Sequence[RawItem], context: Context) -> Iterator[_Identified]:
    definitions = Definitions(context.owners, declared_sources(items), context.discovered)
    for item in sorted(items, key=_rank):
        if isinstance(item, ServerItem):
            yield _server(item, definitions, context)
        elif item.type == "directory":
            yield from _contained(item, _directory(item, context), None)
        elif item.source != "client":
            yield from _contained(item, PluginIdentity(item.uri), None)
        elif (plugin := context.clients.effective.get(item.uri)) is not None:
            yield from _contained(item, PluginIdentity(item.uri), plugin)


def _rank(item: RawItem) -> tuple[int, str, str]:
    """Host plugins, those of clients as they joined, directories by type and URI, servers as they are declared."""
    if isinstance(item, ServerItem):
        return (3, "", "")
    if item.type == "directory":
        return (2, item.contents, item.uri)
    return (1 if item.source == "client" else 0, "", "")


def _server(item: ServerItem, definitions: Definitions, context: Context) -> _Identified:
    identity: ServerIdentity | None
    if item.owner is not None or item.source is not None:
        identity = ServerIdentity(item.name, item.source or "", owner=item.owner)
    else:
        identity = identify_sighting(item.name, definitions, context.provider)
    if identity is None:
        return _Identified(item.id, item, None)
    plugin = None if identity.owner is None else context.clients.effective.get(identity.owner)
    bundled = plugin is not None and item.name in plugin.children
    target = Target(key_of(identity), item.default, bundled, (*older_keys(identity), item.id))
    if plugin is None or not bundled:
        return _Identified(item.id, item, target, HOST, None, identity.owner)
    return _Identified(
        item.id, item, target, f"client:{plugin.client}", None, identity.owner, plugin.children[item.name]
    )


def _directory(item: DiscoveredDirectory, context: Context) -> DirectoryIdentity:
    source: str = item.source
    if source == WORKSPACE_SOURCE:
        source = _root(item, context.place)
    return DirectoryIdentity(source, item.name, item.contents)


def _root(item: DiscoveredDirectory, place: Place | Pending) -> str:
    if isinstance(place, Pending) or place.directory is None:
        return WORKSPACE_SOURCE
    return place.source_of(item.uri, item.name)


def _contained(item: RawContainer, identity: Identity, plugin: ClientPlugin | None) -> Iterator[_Identified]:
    """A container and its children; `plugin` is the client's word on it, if it is a client's."""
    key, id = key_of(identity), container_id(item)
    owner = HOST if plugin is None else f"client:{plugin.client}"
    says = None if plugin is None else plugin.says
    yield _Identified(id, item, Target(key, bundled=plugin is not None, older=(id,)), owner, None, None, says)
    names: Mapping[str, bool | None] = {} if plugin is None else plugin.children
    within = item.uri if isinstance(identity, PluginIdentity) else None
    for child in children_of(item):
        own_id = child_id(id, child.type, child.name)
        bundled = child.name in names
        target = Target(_child_key(child, key, identity), True, bundled, (own_id,))
        yield _Identified(own_id, child, target, owner if bundled else HOST, id, within, names.get(child.name))


def _child_key(child: DiscoveredChild, container: Key, identity: Identity) -> Key:
    if not isinstance(child, DiscoveredServer):
        return key_of(LeafIdentity(container, child.type, child.name))
    if isinstance(identity, PluginIdentity):
        return key_of(ServerIdentity(child.name, "", owner=identity.uri))
    return key_of(ServerIdentity(child.name, container))
