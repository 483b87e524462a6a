"""What a host does with what an earlier process left (AHP §13.13, K14, K17, architecture §7).

Rules
* A start reads the list of sessions and no states. Those that were at work by the list are read at once and put right,
  so that a turn of the dead process does not look alive to anybody; every other one when somebody needs it, before
  anybody sees it. One that cannot be read is told in the log and keeps no other from its place.
* A turn that was running ends as interrupted, resumable where its agent says so. Queue, steering message and draft are
  state, and stay.
* No server is shown as running; a session that was being created is opened again; active clients get a grace period.
* A session that is not in the list yet, from before there was one, is read once and listed.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.engine.effects import Act, Change, Create
from innkeeper.host.clients import Clients
from innkeeper.host.core import Core
from innkeeper.host.kept import kept
from innkeeper.host.listing import row, unreadable
from innkeeper.host.outcomes import StorageFailed
from innkeeper.host.servers import stale_states
from innkeeper.host.sessions import Sessions
from innkeeper.host.summaries import chat_changes
from innkeeper.host.turns import Turns
from innkeeper.host.views import active_turn
from innkeeper.protocol.status import IN_PROGRESS
from innkeeper.protocol.uris import ROOT
from innkeeper.providers.spi import Provider

log = logging.getLogger(__name__)


class Restore:
    def __init__(
        self, core: Core, sessions: Sessions, turns: Turns, clients: Clients, providers: Mapping[str, Provider]
    ) -> None:
        self._core = core
        self._providers = providers
        self._sessions = sessions
        self._turns = turns
        self._clients = clients
        core.describe_by(row)
        core.enter_by(self.entering)

    async def run(self, agents: Sequence[Mapping[str, Any]]) -> None:
        """The root channel says what this process offers, what was at work is put right. When this returns, no turn
        and no server of an earlier process looks alive to anybody."""
        self._clients.restored()
        await self._kept(self._root(agents))
        await self._list_the_unlisted()
        for uri in self._core.unfinished():
            await self._put_right(uri)

    async def _list_the_unlisted(self) -> None:
        for uri in self._core.known("session"):
            if self._core.listing(uri) is None and await self._core.load(uri) is not None:
                self._core.unload(uri)

    async def _put_right(self, uri: str) -> None:
        """By being read: `entering` does the rest."""
        session = await self._core.load(uri)
        shown = self._core.listing(uri)
        if session is None:
            if shown is not None:
                self._core.show(unreadable(shown))
            return
        for chat in session.get("chats") or ():
            if int(chat.get("status") or 0) & IN_PROGRESS:
                await self._core.load(chat["resource"])
        if session.get("lifecycle") == "creating":
            self._core.spawn(self._sessions.open(uri), f"start {uri}")

    async def entering(self, channel: str) -> Sequence[Change]:
        """What has to change in a channel that was just read."""
        state = self._core.head(channel)
        if self._core.kind(channel) == "chat":
            return self._interruption(channel) or self._told(channel)
        if state is None or self._core.kind(channel) != "session":
            return ()
        return [*(Act(channel, action) for action in stale_states(state)), *self._clients.entering(channel)]

    async def _kept(self, changes: Sequence[Change]) -> None:
        """What is found at a start holds also when it cannot be stored now."""
        if not changes:
            return
        try:
            await self._core.commit(*changes, keep=True)
        except StorageFailed as failed:
            log.warning("the state after the restart is not stored yet: %s", failed.code)

    def _root(self, agents: Sequence[Mapping[str, Any]]) -> list[Change]:
        count = self._core.count("session")
        state = self._core.head(ROOT)
        if state is None:
            return [Create(ROOT, "root", None, {"agents": list(agents), "activeSessions": count})]
        changes: list[Change] = []
        if list(state.get("agents") or ()) != list(agents):
            changes.append(Act(ROOT, {"type": "root/agentsChanged", "agents": list(agents)}))
        if state.get("activeSessions") != count:
            changes.append(Act(ROOT, {"type": "root/activeSessionsChanged", "activeSessions": count}))
        return changes

    def _told(self, chat: str) -> list[Change]:
        """What the session was not told of the chat's last change any more."""
        uri = self._core.owner(chat) or ""
        session, state = self._core.head(uri), self._core.head(chat)
        shown = next((c for c in (session or {}).get("chats") or () if c.get("resource") == chat), None)
        if session is None or state is None or shown is None:
            return []
        changed, _ = chat_changes(shown, state)
        updates = [{"type": "session/chatUpdated", "chat": chat, "changes": changed}] if changed else []
        waiting = [entry["id"] for entry in session.get("inputNeeded") or () if entry.get("chat") == chat]
        withdrawn = [{"type": "session/inputNeededRemoved", "id": id} for id in waiting if not active_turn(state)]
        return [Act(uri, action) for action in (*updates, *withdrawn)]

    def _interruption(self, chat: str) -> tuple[Change, ...]:
        session = self._core.head(self._core.owner(chat) or "") or {}
        provider = self._providers.get(str(session.get("provider")))
        resumable = provider is not None and provider.can_resume(kept(session, chat))
        return self._turns.interruption(chat, resumable=resumable)
