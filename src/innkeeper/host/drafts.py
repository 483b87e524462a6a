"""Sessions that a window opened and nobody used: they go when their last subscriber has left (reference §5.2, S1).

Correctness invariant, at home in the host (K1): it must never take a session that somebody wants.

Rules
* A draft is a session that was created in this process and that a client has taken as an active client: that is what a
  new, empty chat window does. One that a command line or a script created is none and stays.
* It is used, for good, with the first thing that is done in it: an action of a client other than coming and going as an
  active client, a command about it, a turn, another chat, a title. Used sessions stay.
* An unused draft is disposed of `DRAFT_SECONDS` after its last subscriber left; a new subscription cancels that. After
  a restart no session is a draft.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from innkeeper.engine.effects import ChannelIdle, Released, Subscribed
from innkeeper.host.core import Core
from innkeeper.host.driver import Observed
from innkeeper.host.outcomes import StorageFailed
from innkeeper.ports.clock import Clock

log = logging.getLogger(__name__)

PRESENCE: Final = frozenset({"session/activeClientSet", "session/activeClientRemoved"})
USES: Final = frozenset({"chat/turnStarted", "session/chatAdded", "session/titleChanged"})
"""What the host does because of somebody."""

Dispose = Callable[[str], Awaitable[None]]


@dataclass(slots=True)
class _Draft:
    taken: bool
    """A client has been an active client of it."""
    since: float | None = None
    """When its last subscriber left; None while there is one, or there was none yet."""


class Drafts:
    """One task of the driver waits for the next deadline, `watch`."""

    def __init__(self, core: Core, dispose: Dispose, clock: Clock, *, seconds: float) -> None:
        self._core = core
        self._dispose = dispose
        self._clock = clock
        self._seconds = seconds
        self._unused: dict[str, _Draft] = {}
        self._changed = asyncio.Event()

    def created(self, session: str) -> None:
        """`createSession` was accepted."""
        self._unused[session] = _Draft(taken=bool((self._core.head(session) or {}).get("activeClients")))

    def used(self, channel: str) -> None:
        """Something was done in the session, or in a chat of it."""
        self._unused.pop(self._core.owner(channel) or channel, None)

    def observe(self, observed: Observed) -> None:
        """An observer of the driver."""
        if not self._unused:
            return
        match observed:
            case Subscribed(channel=channel):
                draft = self._unused.get(self._core.owner(channel) or channel)
                if draft is not None:
                    draft.since = None
            case ChannelIdle(channel):
                self._idle(self._core.owner(channel) or channel)
            case Released(rejection=None, kind="session" | "chat"):
                self._released(observed)

    def _released(self, released: Released) -> None:
        kind = released.action["type"]
        draft = self._unused.get(released.channel)
        if kind == "session/activeClientSet" and draft is not None:
            draft.taken = True
        elif kind in USES or (released.origin is not None and kind not in PRESENCE):
            self.used(released.channel)

    def _idle(self, session: str) -> None:
        draft = self._unused.get(session)
        if draft is None or any(self._core.is_watched(uri) for uri in (session, *self._core.owned_by(session))):
            return
        draft.since = self._clock.monotonic()
        self._changed.set()

    async def watch(self) -> None:
        """Disposes of what is due, until it is cancelled."""
        while True:
            self._changed.clear()
            waiting = [draft.since for draft in self._unused.values() if draft.since is not None]
            wait = max(0.0, min(waiting) + self._seconds - self._clock.monotonic()) if waiting else None
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            except TimeoutError:
                await self._collect()

    async def _collect(self) -> None:
        now = self._clock.monotonic()
        for session, draft in tuple(self._unused.items()):
            if draft.since is None or draft.since + self._seconds > now:
                continue
            del self._unused[session]
            if not draft.taken or self._core.kind(session) is None:
                continue
            try:
                await self._dispose(session)
            except StorageFailed as failed:
                log.warning("the unused session %s stays for now: %s", session, failed.code)
                self._unused[session] = _Draft(draft.taken, now)
            else:
                log.info("nobody used the session %s, and nobody looks at it any more: disposed of", session)
