"""The agents behind the sessions: opened when first needed, closed with their session (AHP §9.1).

Rules
* One open agent a session. Whoever asks first opens it; the others wait for the same opening.
* An opening that failed is tried again by the next turn, so that a repaired agent needs no new session.
* Closing never waits for an agent longer than the given time, and an agent that fails to close harms nothing.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

from innkeeper.host.core import Core
from innkeeper.ports.customizations import Eligible
from innkeeper.protocol.uris import local_path
from innkeeper.providers.spi import Provider, ProviderError, ProviderSession, SessionOpening
from innkeeper.texts import text

log = logging.getLogger(__name__)


class Handing(Protocol):
    """Who says what may reach an agent, and is told that it did."""

    async def eligible(self, session: str) -> Eligible: ...

    def launched(self, session: str, handed: Eligible) -> None: ...


class Backings:
    """Open agents by session."""

    def __init__(self, core: Core, providers: Mapping[str, Provider], handing: Handing) -> None:
        self._core = core
        self._providers = providers
        self._handing = handing
        self._open: dict[str, asyncio.Task[ProviderSession]] = {}

    async def get(self, session: str) -> ProviderSession:
        """The session's agent. Raises ProviderError when it cannot be had."""
        opening = self._open.get(session)
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception() is not None)):
            opening = asyncio.get_running_loop().create_task(self._opened(session), name=f"open {session}")
            self._open[session] = opening
        return await asyncio.shield(opening)

    def peek(self, session: str) -> ProviderSession | None:
        """The session's agent if it is open."""
        opening = self._open.get(session)
        if opening is None or not opening.done() or opening.cancelled() or opening.exception() is not None:
            return None
        return opening.result()

    def is_opening(self, session: str) -> bool:
        opening = self._open.get(session)
        return opening is not None and not opening.done()

    async def close(self, session: str, seconds: float) -> None:
        """End the session's agent. Idempotent."""
        opening = self._open.pop(session, None)
        if opening is None:
            return
        opening.cancel()
        try:
            async with asyncio.timeout(seconds):
                agent = await opening
                await agent.close()
        except (asyncio.CancelledError, ProviderError):
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
        except TimeoutError:
            log.warning("the agent of %s did not close in %g s", session, seconds)
        except Exception:
            log.exception("the agent of %s failed to close", session)

    async def close_all(self, seconds: float) -> None:
        await asyncio.gather(*(self.close(session, seconds) for session in tuple(self._open)))

    def sessions(self) -> Sequence[str]:
        return tuple(self._open)

    async def _opened(self, session: str) -> ProviderSession:
        state = self._core.head(session)
        if state is None:
            raise ProviderError("sessionGone", text("turn.sessionGone"))
        provider = self._providers.get(state["provider"])
        if provider is None:
            known = ", ".join(self._providers)
            why = text("error.PROVIDER_UNKNOWN.meaning", provider=state["provider"], known=known)
            raise ProviderError("PROVIDER_UNKNOWN", why)
        directories = [path for uri in state.get("workingDirectories") or () if (path := local_path(uri)) is not None]
        values = (state.get("config") or {}).get("values") or {}
        eligible = await self._handing.eligible(session)
        opened = await provider.open_session(SessionOpening(session, directories, values, eligible))
        self._handing.launched(session, eligible)
        return opened
