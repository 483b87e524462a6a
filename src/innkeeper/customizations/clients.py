"""Plugins that clients publish: what they say, whose word counts, which copies are wanted (C2.1, C2.4, C6.6, C7.4).

Rules
* Everything is made anew from the clients' present entries, never appended to (C5.2): a client that leaves, or stops
  sending a plugin, leaves nothing behind.
* Of two clients with the same plugin the first one counts, for content and for decisions alike.
* A client speaks for the global scope only, and only about its plugin and the children that it names.
* An equal entry is the same object again. One plugin that fails does not touch another one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from innkeeper.customizations.items import UnreadPlugin
from innkeeper.protocol.session.state import (
    ClientPluginCustomization,
    CustomizationEnablement,
    CustomizationLoadState,
    PluginCustomization,
)

COPIES_A_PLUGIN: Final = 8
COPIES: Final = 64
CLIENT_PLUGINS: Final = 64
"""Plugins that one client may publish; the rest is left out with a note."""

NO_NONCE: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPlugin:
    """One plugin as one client publishes it. `says` is its global decision about the plugin; `children` has a key for
    every child that the client bundled, with its global decision or None."""

    client: str
    uri: str
    name: str
    nonce: str = NO_NONCE
    version: str | None = None
    says: bool | None = None
    children: Mapping[str, bool | None] = field(default_factory=dict)

    @property
    def revision(self) -> tuple[str, str]:
        return (self.uri, self.nonce)


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one client publishes, in its order, and what in it was passed over."""

    client: str
    plugins: tuple[ClientPlugin, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClientPlugins:
    """The contributions to a session, in the order in which the clients joined."""

    contributions: tuple[Contribution, ...] = ()
    effective: Mapping[str, ClientPlugin] = field(init=False, compare=False)
    """By URI, the first client's."""

    def __post_init__(self) -> None:
        found: dict[str, ClientPlugin] = {}
        for contribution in self.contributions:
            for plugin in contribution.plugins:
                found.setdefault(plugin.uri, plugin)
        object.__setattr__(self, "effective", found)

    def joined(self, contribution: Contribution) -> "ClientPlugins":
        """With what this client publishes now; it keeps its turn. The same value when it says nothing new."""
        clients = [known.client for known in self.contributions]
        if contribution.client not in clients:
            return ClientPlugins((*self.contributions, contribution))
        place = clients.index(contribution.client)
        if self.contributions[place] == contribution:
            return self
        return ClientPlugins((*self.contributions[:place], contribution, *self.contributions[place + 1 :]))

    def left(self, client: str) -> "ClientPlugins":
        kept = tuple(known for known in self.contributions if known.client != client)
        return self if len(kept) == len(self.contributions) else ClientPlugins(kept)


NO_CLIENTS: Final = ClientPlugins()


def read_contribution(client: str, entries: Sequence[ClientPluginCustomization | PluginCustomization]) -> Contribution:
    """What a client's entry in `activeClients` publishes. Never raises for what has AHP's shape."""
    plugins: dict[str, ClientPlugin] = {}
    notes: list[str] = []
    for entry in entries:
        uri = entry["uri"]
        if uri in plugins:
            notes.append(f"{uri} is published twice; the first one counts")
        elif len(plugins) == CLIENT_PLUGINS:
            notes.append(f"a client publishes {CLIENT_PLUGINS} plugins at most; {uri} is left out")
        else:
            plugins[uri] = _read(client, entry, notes)
    return Contribution(client, tuple(plugins.values()), tuple(notes))


def _read(client: str, entry: ClientPluginCustomization | PluginCustomization, notes: list[str]) -> ClientPlugin:
    # Both forms come in the same list; only the client's has these two fields.
    fields: Mapping[str, object] = {**entry}
    nonce, children = fields.get("nonce"), fields.get("childEnablement")
    bundled = children if isinstance(children, Mapping) else {}
    name = entry["name"]
    return ClientPlugin(
        client=client,
        uri=entry["uri"],
        name=name,
        nonce=nonce if isinstance(nonce, str) else NO_NONCE,
        version=entry.get("version"),
        says=_global(name, entry.get("enablement", ()), notes),
        children={str(child): _global(f"{name}: {child}", said, notes) for child, said in bundled.items()},
    )


def _global(about: str, enablement: Iterable[CustomizationEnablement], notes: list[str]) -> bool | None:
    said: bool | None = None
    for decision in enablement:
        if decision["kind"] != "global":
            notes.append(f"{about}: a client has no say at the {decision['kind']} scope; that is the host's")
        elif said is not None:
            notes.append(f"{about}: two global decisions; the first one counts")
        else:
            said = decision["enabled"]
    return said


@dataclass(frozen=True, slots=True)
class Copies:
    """How the copying of client plugins stands: by URI, the nonce that is here or failed, and how it ended."""

    by_uri: Mapping[str, tuple[str, CustomizationLoadState]] = field(default_factory=dict)

    def wanted(self, clients: ClientPlugins) -> tuple[ClientPlugin, ...]:
        """What has to be fetched: not what is here with that nonce. What failed is wanted again."""
        return tuple(plugin for plugin in clients.effective.values() if not self._here(plugin))

    def arrived(self, plugin: ClientPlugin, load: CustomizationLoadState, clients: ClientPlugins) -> "Copies":
        """With the outcome of one fetch; the same value when nobody waits for that revision any more."""
        now = clients.effective.get(plugin.uri)
        if now is None or now.nonce != plugin.nonce or now.client != plugin.client:
            return self
        return Copies({**self.by_uri, plugin.uri: (plugin.nonce, load)})

    def kept(self, clients: ClientPlugins) -> "Copies":
        """Without those that no client publishes any more."""
        gone = self.by_uri.keys() - clients.effective.keys()
        return Copies({uri: copy for uri, copy in self.by_uri.items() if uri not in gone}) if gone else self

    def unread(self, clients: ClientPlugins) -> tuple[UnreadPlugin, ...]:
        """The plugins that cannot be read yet, as items: loading, or failed with the reason."""
        items: list[UnreadPlugin] = []
        for plugin in clients.effective.values():
            if not self._here(plugin):
                nonce, load = self.by_uri.get(plugin.uri, (None, None))
                failed = load is not None and nonce == plugin.nonce
                items.append(
                    UnreadPlugin(
                        uri=plugin.uri,
                        name=plugin.name,
                        source="client",
                        version=plugin.version,
                        load=load if failed and load is not None else {"kind": "loading"},
                    )
                )
        return tuple(items)

    def _here(self, plugin: ClientPlugin) -> bool:
        nonce, load = self.by_uri.get(plugin.uri, (None, None))
        return load is not None and nonce == plugin.nonce and load["kind"] in ("loaded", "degraded")


def superseded_copies(
    stored: Sequence[tuple[str, str]], in_use: Iterable[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """Which stored copies (URI, nonce), least recently used first, are to be deleted: more than `COPIES_A_PLUGIN` of
    one plugin, or than `COPIES` in all. What is in use stays, and counts."""
    used = set(in_use)
    a_plugin: dict[str, int] = {}
    total, deleted = 0, set[tuple[str, str]]()
    newest_first = stored[::-1]
    for copy in sorted(newest_first, key=lambda copy: copy not in used):
        a_plugin[copy[0]] = a_plugin.get(copy[0], 0) + 1
        total += 1
        if copy not in used and (a_plugin[copy[0]] > COPIES_A_PLUGIN or total > COPIES):
            a_plugin[copy[0]] -= 1
            total -= 1
            deleted.add(copy)
    return tuple(copy for copy in stored if copy in deleted)
