"""What is known of one session's customizations, and the resolution of it (C3.1, C4.1, C5.2).

Rules
* Everything here is input of resolution; no verdict is kept but the last resolution, together with what it was made of,
  and it is made anew when any of that is another value.
* Clients' plugins are made anew from the session's state, never appended to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from innkeeper.customizations.clients import (
    NO_CLIENTS,
    ClientPlugin,
    ClientPlugins,
    Copies,
    read_contribution,
)
from innkeeper.customizations.discovery.items import DiscoveredContainer, DiscoveredPlugin
from innkeeper.customizations.enablement import Overlay
from innkeeper.customizations.items import RawItem
from innkeeper.customizations.places import SessionFacts, Workspaces
from innkeeper.customizations.resolution import Resolution, ScopedEnablement, context_of
from innkeeper.host.customizations.lookouts import Lookout
from innkeeper.host.customizations.servers import server_item
from innkeeper.ports.decisions import Decisions
from innkeeper.protocol.session.state import CustomizationLoadState

UNREACHABLE: Final[CustomizationLoadState] = {"kind": "error", "message": "its files cannot be had from the client"}

Entry = Mapping[str, Any]
Copied = tuple[DiscoveredPlugin, ...]


@dataclass(eq=False, slots=True)
class Followed:
    """One session. `servers` None: its declarations are not read yet. `copied`: the clients' plugins that are here."""

    session: str
    provider: str
    directories: tuple[str, ...]
    awaits_worktree: bool = False
    """Its directory is not known yet: it is going to work in a worktree (C4.1)."""
    lookout: Lookout | None = None
    servers: tuple[Entry, ...] | None = None
    clients: ClientPlugins = NO_CLIENTS
    copies: Copies = field(default_factory=Copies)
    copied: Copied = ()
    situated: bool = False
    _made_of: tuple[object, ...] = ()
    _resolution: Resolution | None = None

    @property
    def discovered(self) -> bool:
        looked = self.lookout is None or self.lookout.settled.is_set()
        return self.situated and looked and self.servers is not None

    def resolution(self, decisions: Decisions, workspaces: Workspaces) -> Resolution:
        """The verdicts on everything that is known now."""
        made_of: tuple[object, ...] = (decisions, workspaces, self._containers(), self.servers, self.clients)
        made_of = (*made_of, self.copies, self.copied, self.discovered, self.directories)
        same = len(made_of) == len(self._made_of) and all(a is b for a, b in zip(made_of, self._made_of, strict=True))
        if self._resolution is None or not same:
            self._resolution = self.resolved_with(Overlay(decisions), workspaces)
            self._made_of = made_of
        return self._resolution

    def resolved_with(self, overlay: Overlay, workspaces: Workspaces) -> Resolution:
        """The same with other decisions; nothing is kept of it."""
        items = self.items()
        facts = SessionFacts(
            session=self.session,
            decisions_read=True,
            workspaceless=not self.directories,
            worktree_pending=self.awaits_worktree,
            directories=self.directories if self.situated else None,
        )
        context = context_of(
            facts, workspaces, items, provider=self.provider, clients=self.clients, discovered=self.discovered
        )
        return Resolution(items, ScopedEnablement(context, overlay))

    def items(self) -> Sequence[RawItem]:
        """Everything that is there, unresolved."""
        servers = (server_item(entry) for entry in self.servers or ())
        return [*self._containers(), *self.copied, *self.copies.unread(self.clients), *servers]

    def clients_say(self, state: Entry) -> tuple[str, ...]:
        """Take over what the session's active clients publish now; the notes about what is passed over."""
        contributions = tuple(
            read_contribution(client["clientId"], client.get("customizations") or ())
            for client in state.get("activeClients") or ()
        )
        clients = ClientPlugins(contributions)
        if clients != self.clients:
            self.clients = clients
            self.copies = self.copies.kept(clients)
            self.copied = tuple(plugin for plugin in self.copied if self._is_current(plugin))
            return tuple(note for contribution in contributions for note in contribution.notes)
        return ()

    def arrived(self, plugin: ClientPlugin, found: DiscoveredPlugin | None) -> bool:
        """The outcome of one fetch; False when nobody waits for it any more."""
        load: CustomizationLoadState = UNREACHABLE if found is None else found.load
        copies = self.copies.arrived(plugin, load, self.clients)
        if copies is self.copies:
            return False
        self.copies = copies
        others = tuple(one for one in self.copied if one.uri != plugin.uri)
        self.copied = others if found is None or load["kind"] == "error" else (*others, found)
        return True

    def _is_current(self, plugin: DiscoveredPlugin) -> bool:
        wanted = {one.uri for one in self.copies.wanted(self.clients)}
        return plugin.uri in self.clients.effective and plugin.uri not in wanted

    def _containers(self) -> tuple[DiscoveredContainer, ...]:
        return () if self.lookout is None else self.lookout.containers
