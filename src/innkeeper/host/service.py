"""The host as one object: everything above the driver, joined (architecture §2, §3.10).

Rules
* `HOST_METHODS` goes to the hub, `HostPolicy` too; then the driver, `Conversation` on it, what needs questions (the
  gateway, the agents), and last this. Nothing here is started before `start`.
* Every long-lived piece of work is a task of the driver with a name; `close` ends turns, agents and servers within the
  given time and leaves state as it is, so that the next start finds running turns as interrupted.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from innkeeper.contributions.dispatch import Dispatcher, Registry
from innkeeper.customizations.places import Place
from innkeeper.engine.effects import (
    ChannelIdle,
    ClientAttached,
    ClientDetached,
    ClientLeft,
    Released,
    Subscribed,
)
from innkeeper.host.adoption import ADOPTION_METHODS
from innkeeper.host.changesets.commands import CHANGESET_METHODS
from innkeeper.host.chat_settings import CHAT_SETTING_METHODS
from innkeeper.host.commands import STANDARD_METHODS, Commands, Handler
from innkeeper.host.completing import COMPLETION_METHODS
from innkeeper.host.conversation import Conversation, Outside
from innkeeper.host.customizations.commands import CUSTOMIZATION_METHODS
from innkeeper.host.driver import Driver, Observed
from innkeeper.host.extensions import EXTENSION_METHODS
from innkeeper.host.folders import FOLDER_METHODS
from innkeeper.host.joined import Joined
from innkeeper.host.policy import HostPolicy
from innkeeper.host.residency import Residency
from innkeeper.host.settings import HostSettings
from innkeeper.host.terminals.service import TERMINAL_METHODS
from innkeeper.ports.mcp import McpListener

__all__ = ["HOST_METHODS", "Conversation", "HostService", "Outside"]

log = logging.getLogger(__name__)

HOST_METHODS = STANDARD_METHODS | COMPLETION_METHODS | EXTENSION_METHODS | CUSTOMIZATION_METHODS
HOST_METHODS |= TERMINAL_METHODS | CHANGESET_METHODS | ADOPTION_METHODS | CHAT_SETTING_METHODS | FOLDER_METHODS

SERVER_REQUESTS = frozenset({"session/mcpServerStartRequested", "session/mcpServerStopRequested"})
WAITS = frozenset({"chat/pendingMessageSet", "chat/steeringMessageSet"})
DIRECTORY_CHANGES = frozenset(
    {"session/workingDirectorySet", "session/workingDirectoryRemoved", "session/workingDirectoryReplaced"}
)


class HostService:
    """A host on a driver. `extra` adds own commands (`x-innkeeper/…`) to the table."""

    def __init__(
        self,
        driver: Driver,
        conversation: Conversation,
        outside: Outside,
        policy: HostPolicy,
        settings: HostSettings,
        *,
        extra: Mapping[str, Handler] | None = None,
    ) -> None:
        joined = Joined(driver, conversation, outside, settings)
        self._joined, self._core, self._settings = joined, joined.core, settings
        self._agents, self._backings, self._servers = joined.agents, joined.backings, joined.servers
        self._customizations, self._toggles = joined.found.all, joined.found.toggles
        self._changes, self._worktrees, self._terminals = joined.changes, joined.worktrees, joined.terminals
        self._turns, self._steering, self._sites = joined.turns, joined.steering, joined.sites
        self._mirror, self._clients = joined.mirror, joined.clients
        self._watching: list[asyncio.Task[None]] = []
        self._customizations.listen(self._reconcile)
        policy.join(self._toggles, self._turns.so_far)
        if self._worktrees is not None:
            driver.observe(self._worktrees.observe)
        for observer in (self._observe, joined.residency.observe, joined.drafts.observe):
            driver.observe(observer)
        if self._changes is not None:
            driver.observe(self._changes.observe)
            joined.core.open_by(self._changes.offers, self._changes.open)
            driver.loading.when_left(self._changes.left)
        table = {**joined.handlers, **(extra or {})}
        driver.serve_commands(Commands(table, joined.ids, joined.drafts.used).run)
        joined.offer_services()

    @property
    def contributions(self) -> Registry:
        """Where `app` activates them, once everything is joined (K3b)."""
        return self._joined.contributions

    @property
    def hooks(self) -> Dispatcher:
        return self._joined.hooks

    @property
    def residency(self) -> Residency:
        return self._joined.residency

    async def read_declarations(self, session: str) -> None:
        """The session's declarations have been read when this returns."""
        await self._servers.read(session)

    @property
    def listener(self) -> McpListener:
        """Who is told what happens to servers."""
        return self._servers

    def place(self, session: str, directory: str | None) -> Place:
        """Where the workspace decisions of a session in that directory stand."""
        return self._customizations.place(session, directory)

    async def start(self) -> None:
        """Publish the root channel and put right what an earlier process left. Before the first client."""
        await self._joined.restore.run(self._agents.listed())
        await self._terminals.restored()
        self._watching = [self._core.spawn(watch(), name) for name, watch in self._joined.watches.items()]
        self._core.spawn(self._customizations.start(), "orphaned decisions")
        self._core.spawn(self._joined.attachments.sweep(), "attachments of sessions that are gone")
        if self._changes is not None:
            self._core.spawn(self._changes.sweep(), "changes of sessions that are gone")
        if self._worktrees is not None:
            self._core.spawn(self._worktrees.start(), "worktrees of an earlier host")

    async def close(self) -> None:
        """End turns, agents and servers, within the time that the settings give."""
        seconds = self._settings.close_timeout
        for watch in self._watching:
            watch.cancel()
        self._mirror.close()
        await asyncio.gather(
            self._turns.end_all(seconds),
            self._backings.close_all(seconds),
            self._close_servers(seconds),
            self._terminals.close(seconds),
        )
        await self._agents.close(seconds)
        self.hooks.close()
        await self._joined.outside.records.close()

    def _directories_changed(self, released: Released) -> None:
        self._customizations.directories_changed(released.channel)
        before, after = ((state.get("workingDirectories") or ())[:1] for state in (released.before, released.after))
        if list(before) != list(after):
            self._servers.read_again(released.channel)

    def _reconcile(self, session: str) -> None:
        agent = self._backings.peek(session)
        if agent is not None:
            self._core.spawn(self._joined.found.handover.follow(session, agent), f"reconcile {session}")

    async def _close_servers(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._customizations.close_all()
                await self._servers.close_all()
        except TimeoutError:
            log.warning("the MCP servers did not close in %g s", seconds)

    def _observe(self, observed: Observed) -> None:
        match observed:
            case Released():
                self._released(observed)
            case Subscribed(channel=channel):
                self._subscribed(channel)
            case ClientAttached(client_id=client_id):
                self._clients.attached(client_id)
            case ClientDetached(client_id=client_id):
                self._clients.detached(client_id)
            case ClientLeft(client_id=client_id, channel=channel):
                self._clients.left(client_id, channel)
            case ChannelIdle():
                return

    def _subscribed(self, channel: str) -> None:
        if self._core.kind(channel) == "session":
            self._core.spawn(self._customizations.read(channel), f"customizations of {channel}")

    def _released(self, released: Released) -> None:
        self._sites.dispatched(released)
        if released.rejection is not None:
            self._turns.refused(released)
            if released.action.get("type") == "session/customizationToggled":
                self._toggles.refused()
        elif released.kind == "chat":
            self._chat_released(released)
        elif released.kind == "session":
            self._session_released(released)
        elif released.kind == "terminal":
            self._terminals.released(released)
        elif released.kind == "root":
            self._terminals.root_changed(released)
        self._agents.released(released)
        self._sites.applied(released)

    def _chat_released(self, released: Released) -> None:
        if released.action["type"] in WAITS and released.origin is not None:
            self._waits(released)
        if released.action["type"] in ("chat/turnStarted", "chat/turnResume"):
            self._turns.started(released)
            self._steering.steer(released.channel)
        self._turns.changed(released)
        self._mirror.chat_changed(released)

    def _waits(self, released: Released) -> None:
        """A message waits, perhaps for longer than its sender stays."""
        waiting = released.action.get("steeringMessage") or released.action
        session, origin = self._core.owner(released.channel), released.origin
        if session is not None and origin is not None:
            message, attachments = waiting.get("message") or {}, self._joined.attachments
            attachments.prefetch(session, released.channel, waiting["id"], message, origin.client_id)

    def _session_released(self, released: Released) -> None:
        action: Mapping[str, Any] = released.action
        self._mirror.session_changed(released)
        if action["type"] in SERVER_REQUESTS and released.origin is not None:
            self._servers.requested(released.channel, action)
        elif action["type"] == "session/customizationToggled" and released.origin is not None:
            self._toggles.released()
        elif action["type"] == "session/activeClientRemoved":
            self._clients.removed(action["clientId"], released.channel)
            self._customizations.clients_changed(released.channel)
        elif action["type"] == "session/activeClientSet":
            self._customizations.clients_changed(released.channel)
        elif action["type"] in DIRECTORY_CHANGES:
            self._directories_changed(released)
