"""What a host does with what an earlier process left (AHP §13.13, K14, K17, architecture §7).

Rules
* Sessions are in memory, chats are read when somebody needs them; those that were at work are read at once, so that a
  turn of the dead process does not look alive to anybody.
* A turn that was running ends as interrupted, resumable where its agent says so. Queue, steering message and draft are
  state, and stay.
* No server is shown as running; a session that was being created is opened again; active clients get a grace period.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.engine.effects import Act, Change, Create
from innkeeper.host.clients import Clients
from innkeeper.host.core import Core
from innkeeper.host.kept import kept
from innkeeper.host.outcomes import StorageFailed
from innkeeper.host.servers import stale_states
from innkeeper.host.sessions import Sessions
from innkeeper.host.turns import Turns
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

    async def run(self, agents: Sequence[Mapping[str, Any]]) -> None:
        """The root channel says what this process offers, every stored session is put right. When this returns, no
        turn and no server of an earlier process looks alive to anybody."""
        changes: list[Change] = [*self._root(agents)]
        opening: list[str] = []
        for uri in self._core.channels("session"):
            session = self._core.head(uri)
            if session is None:
                continue
            changes.extend(Act(uri, action) for action in stale_states(session))
            if session.get("lifecycle") == "creating":
                opening.append(uri)
            for chat in session.get("chats") or ():
                if int(chat.get("status") or 0) & IN_PROGRESS:
                    await self._core.load(chat["resource"])
                    changes.extend(self._interruption(chat["resource"]))
        await self._kept(changes)
        for uri in opening:
            self._core.spawn(self._sessions.open(uri), f"start {uri}")
        self._clients.restored()

    async def _kept(self, changes: Sequence[Change]) -> None:
        """What is found at a start holds also when it cannot be stored now."""
        if not changes:
            return
        try:
            await self._core.commit(*changes, keep=True)
        except StorageFailed as failed:
            log.warning("the state after the restart is not stored yet: %s", failed.code)

    def _root(self, agents: Sequence[Mapping[str, Any]]) -> list[Change]:
        count = len(self._core.channels("session"))
        state = self._core.head(ROOT)
        if state is None:
            return [Create(ROOT, "root", None, {"agents": list(agents), "activeSessions": count})]
        changes: list[Change] = []
        if list(state.get("agents") or ()) != list(agents):
            changes.append(Act(ROOT, {"type": "root/agentsChanged", "agents": list(agents)}))
        if state.get("activeSessions") != count:
            changes.append(Act(ROOT, {"type": "root/activeSessionsChanged", "activeSessions": count}))
        return changes

    def looked_at(self, channel: str) -> None:
        """Somebody sees the channel. A chat whose last change was not mirrored any more is put right here."""
        if self._core.kind(channel) == "chat":
            self._core.post(*self._interruption(channel))

    def _interruption(self, chat: str) -> tuple[Change, ...]:
        session = self._core.head(self._core.owner(chat) or "") or {}
        provider = self._providers.get(str(session.get("provider")))
        resumable = provider is not None and provider.can_resume(kept(session, chat))
        return self._turns.interruption(chat, resumable=resumable)
