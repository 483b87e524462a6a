"""A session's MCP servers as its clients see them (AHP §10.1, §10.2, M5.1, M5.6).

Rules
* The session's state shows what `ports.mcp` reports, in the order in which it is reported; nothing is shown as running
  that this process does not run.
* Declarations are read once a session and process, when somebody looks at the session or its first turn begins.
* Start, stop and toggle requests of clients are carried out after their echo, one after the other for one session.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.host.core import Core, act
from innkeeper.host.views import State, customization, mcp_servers
from innkeeper.ports.mcp import McpRefused, McpServers
from innkeeper.protocol.session.state import McpServerCustomization

log = logging.getLogger(__name__)

STOPPED = {"kind": "stopped"}


class Servers:
    """The host's side of `McpServers`; an `McpListener`."""

    def __init__(self, core: Core, mcp: McpServers) -> None:
        self._core = core
        self._mcp = mcp
        self._reading: dict[str, asyncio.Task[None]] = {}
        self._busy: dict[str, asyncio.Lock] = {}

    async def read(self, session: str) -> None:
        """The session's declarations have been read when this returns. Never raises for what they contain."""
        reading = self._reading.get(session)
        if reading is None:
            if self._core.head(session) is None:
                return
            reading = asyncio.get_running_loop().create_task(self._read(session), name=f"declarations {session}")
            self._reading[session] = reading
        await asyncio.shield(reading)

    async def close(self, session: str) -> None:
        """End the session's servers. Idempotent."""
        reading = self._reading.pop(session, None)
        if reading is not None:
            reading.cancel()
        self._busy.pop(session, None)
        await self._mcp.close_session(session)

    async def close_all(self) -> None:
        """End every session's servers."""
        for reading in self._reading.values():
            reading.cancel()
        self._reading.clear()
        await self._mcp.close()

    def requested(self, session: str, action: Mapping[str, Any]) -> None:
        """A client's start, stop or toggle has been accepted."""
        self._core.spawn(self._carry_out(session, action), f"{action['type']} {session}")

    # -- McpListener ---------------------------------------------------------------------------------------------

    def customizations_changed(self, session: str, customizations: Sequence[McpServerCustomization]) -> None:
        state = self._core.head(session)
        if state is None:
            return
        others = [entry for entry in state.get("customizations") or () if entry.get("type") != "mcpServer"]
        wanted = [*others, *customizations]
        if wanted != list(state.get("customizations") or ()):
            act(self._core, session, {"type": "session/customizationsChanged", "customizations": wanted})

    def state_changed(self, session: str, customization: McpServerCustomization) -> None:
        state = self._core.head(session)
        if state is not None:
            act(self._core, session, *_update(state, customization))

    # -- inside --------------------------------------------------------------------------------------------------

    async def _read(self, session: str) -> None:
        state = self._core.head(session)
        directories = (state or {}).get("workingDirectories") or ()
        try:
            found = await self._mcp.open_session(session, directories[0] if directories else None)
        except Exception:
            self._reading.pop(session, None)
            log.exception("the declarations of %s could not be read", session)
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
            case "session/customizationToggled":
                for other in self._touched(session, action["enablement"]):
                    await self._mcp.reconcile(other)

    def _touched(self, session: str, enablement: Sequence[Mapping[str, Any]]) -> list[str]:
        """The session itself first; a decision for more than one session touches all that have been read."""
        wide = any(decision.get("kind") != "session" for decision in enablement) or not enablement
        return [session, *(other for other in tuple(self._reading) if wide and other != session)]


def stale_states(session: State) -> list[dict[str, Any]]:
    """After a restart: no server runs, whatever the stored state says."""
    return [
        {"type": "session/mcpServerStateChanged", "id": server["id"], "state": STOPPED}
        for server in mcp_servers(session)
        if (server.get("state") or {}).get("kind") != "stopped"
    ]


def _update(state: State, new: McpServerCustomization) -> list[dict[str, Any]]:
    """The narrow action where only state and channel differ, else the whole entry, else nothing."""
    old = customization(state, new["id"])
    if old == new:
        return []
    moving = ("state", "channel")
    if old is None or {k: v for k, v in old.items() if k not in moving} != {
        k: v for k, v in new.items() if k not in moving
    }:
        return [{"type": "session/customizationUpdated", "customization": new}]
    moved: dict[str, Any] = {"type": "session/mcpServerStateChanged", "id": new["id"], "state": new["state"]}
    if "channel" in new:
        moved["channel"] = new["channel"]
    return [moved]
