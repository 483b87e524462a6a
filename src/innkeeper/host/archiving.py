"""An archived session keeps no servers running (M5.8). Routing: it follows what has left, and decides nothing else.

Rules
* Archiving ends the servers of an idle session at once, those of a busy one with the end of its last turn.
* They start again by policy at the session's next request.
"""

from innkeeper.engine.effects import Released
from innkeeper.host.core import Core
from innkeeper.host.driver import Observed
from innkeeper.host.views import active_turn
from innkeeper.ports.mcp import McpServers
from innkeeper.protocol.status import ACTIVITY_MASK, IN_PROGRESS, IS_ARCHIVED


class ArchivedSessions:
    """An observer of the driver."""

    def __init__(self, core: Core, mcp: McpServers) -> None:
        self._core = core
        self._mcp = mcp

    def observe(self, observed: Observed) -> None:
        """An action has left the host."""
        if not isinstance(observed, Released) or observed.rejection is not None:
            return
        if observed.kind == "session" and observed.action["type"] == "session/isArchivedChanged":
            self._release(observed.channel)
        elif observed.kind == "chat" and active_turn(observed.before) and active_turn(observed.after) is None:
            session = self._core.owner(observed.channel)
            if session is not None:
                self._release(session)

    def _release(self, session: str) -> None:
        status = int((self._core.head(session) or {}).get("status", 0))
        if status & IS_ARCHIVED and not (status & ACTIVITY_MASK) & IN_PROGRESS:
            self._core.spawn(self._mcp.release_session(session), f"release the servers of {session}")
