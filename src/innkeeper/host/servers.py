"""A session's MCP servers as its clients see them (AHP §10.1, §10.2, M5.1, M5.6).

Rules
* What `ports.mcp` reports goes to the customizations, which publish it; nothing is shown as running that this process
  does not run.
* Declarations are read once a session and process, when somebody looks at the session or its first turn begins.
* Start and stop requests of clients, and new decisions, are carried out after their echo, one after the other for one
  session.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.host.core import Core
from innkeeper.host.customizations.service import Customizations
from innkeeper.host.views import State, mcp_servers
from innkeeper.ports.mcp import McpRefused, McpServers
from innkeeper.protocol.session.state import McpServerCustomization

log = logging.getLogger(__name__)

STOPPED = {"kind": "stopped"}


class Servers:
    """The host's side of `McpServers`; an `McpListener`."""

    def __init__(self, core: Core, mcp: McpServers, customizations: Customizations) -> None:
        self._core = core
        self._mcp = mcp
        self._customizations = customizations
        customizations.when_decided(self.decided)
        customizations.read_servers_by(self.read)
        self._reading: dict[str, asyncio.Task[None]] = {}
        self._busy: dict[str, asyncio.Lock] = {}

    async def read(self, session: str) -> None:
        """The session's declarations have been read when this returns. Never raises for what they contain."""
        reading = self._reading.get(session) or self._begin(session)
        if reading is not None:
            await asyncio.shield(reading)

    def read_again(self, session: str) -> None:
        """The session's primary directory is another one: read what that declares, if the session was read at all.
        Whoever asks from now on waits for that, a turn that goes on in the other directory above all."""
        if self._reading.pop(session, None) is not None:
            self._begin(session)

    async def close(self, session: str) -> None:
        """End the session's servers. Idempotent."""
        reading = self._reading.pop(session, None)
        if reading is not None:
            reading.cancel()
        self._busy.pop(session, None)
        await self._mcp.close_session(session)

    def is_busy(self, session: str) -> bool:
        """Whether its declarations are being read, or somebody's change of a server is being carried out."""
        reading, busy = self._reading.get(session), self._busy.get(session)
        return (reading is not None and not reading.done()) or (busy is not None and busy.locked())

    async def release(self, session: str) -> None:
        """The session leaves memory: its servers end, and nothing that a person decided about them is
        forgotten (M5.8)."""
        self._reading.pop(session, None)
        self._busy.pop(session, None)
        await self._mcp.release_session(session)

    async def close_all(self) -> None:
        """End every session's servers."""
        for reading in self._reading.values():
            reading.cancel()
        self._reading.clear()
        await self._mcp.close()

    def requested(self, session: str, action: Mapping[str, Any]) -> None:
        """A client's start or stop has been accepted."""
        self._core.spawn(self._carry_out(session, action), f"{action['type']} {session}")

    def decided(self, sessions: Sequence[str]) -> None:
        """Decisions that count in these sessions have been accepted: what is off now stops."""
        read = [session for session in sessions if session in self._reading]
        if read:
            self._core.spawn(self._reconcile(read), "decisions")

    # -- McpListener ---------------------------------------------------------------------------------------------

    def customizations_changed(self, session: str, customizations: Sequence[McpServerCustomization]) -> None:
        self._customizations.servers_are(session, customizations)

    def state_changed(self, session: str, customization: McpServerCustomization) -> None:
        self._customizations.server_is(session, customization)

    # -- inside --------------------------------------------------------------------------------------------------

    def _begin(self, session: str) -> "asyncio.Task[None] | None":
        if self._core.head(session) is None:
            return None
        reading = asyncio.get_running_loop().create_task(self._read(session), name=f"declarations {session}")
        self._reading[session] = reading
        return reading

    async def _read(self, session: str) -> None:
        state = self._core.head(session)
        directories = (state or {}).get("workingDirectories") or ()
        await self._customizations.situate(session)
        try:
            found = await self._mcp.open_session(session, directories[0] if directories else None)
        except Exception:
            self._reading.pop(session, None)
            log.exception("the declarations of %s could not be read", session)
            self._customizations.servers_are(session, ())
            return
        self.customizations_changed(session, found)

    async def _carry_out(self, session: str, action: Mapping[str, Any]) -> None:
        await self.read(session)
        async with self._busy.setdefault(session, asyncio.Lock()):
            try:
                await self._one(session, action)
            except McpRefused as refused:
                log.info("%s of %s: %s", action["type"], session, refused.code)

    async def _one(self, session: str, action: Mapping[str, Any]) -> None:
        match action["type"]:
            case "session/mcpServerStartRequested":
                await self._mcp.start(session, action["id"])
            case "session/mcpServerStopRequested":
                await self._mcp.stop(session, action["id"])

    async def _reconcile(self, sessions: Sequence[str]) -> None:
        for session in sessions:
            async with self._busy.setdefault(session, asyncio.Lock()):
                await self._mcp.reconcile(session)


def stale_states(session: State) -> list[dict[str, Any]]:
    """After a restart: no server runs, whatever the stored state says."""
    return [
        {"type": "session/mcpServerStateChanged", "id": server["id"], "state": STOPPED}
        for server in mcp_servers(session)
        if (server.get("state") or {}).get("kind") != "stopped"
    ]
