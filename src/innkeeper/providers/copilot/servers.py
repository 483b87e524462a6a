"""The MCP servers of one Copilot session (C6.1-C6.3, M6.3c, architecture §5).

Rules
* At the launch the agent is given those that are on, and told the names that are off. While its session lives one
  change is made at a time, and awaited: the agent would do two that overlap in any order.
* What was switched is read back. A server that should be gone counts as gone when the agent says `disabled`, `stopped`,
  `failed`, or nothing of it; a status that may mean anything (`pending`, `not_configured`) is an error then, and never
  means that a server is on.
* A server that a plugin defines for its agent is started by the agent, under the name that it would give it; its calls
  are asked about like those of the agent's own tools.
* The agent's own server for GitHub is none of those that the host knows, so it is off.
* The agent starts no login at a server: it is given no way to ask for one, so none can be pending when it is
  switched off.
* Servers are the host's loopback endpoints. One that comes back has another address, so it is started anew.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from innkeeper.ports.customizations import Eligible
from innkeeper.providers.brought import brought
from innkeeper.providers.copilot.install import AGENT
from innkeeper.providers.copilot.runtime import Refused, Runtime
from innkeeper.providers.copilot.sdk import rpc
from innkeeper.providers.mounted import Mounts
from innkeeper.providers.spi import ProviderError
from innkeeper.providers.telling import refused
from innkeeper.texts import text

log = logging.getLogger(__name__)

GONE: Final = frozenset({"disabled", "stopped", "failed"})
ON: Final = "connected"
BUILT_IN: Final = ("github-mcp-server",)
"""Servers that the agent starts by itself, with the token of its login, where nobody says no."""
TRIES: Final = 3
SERVER_SECONDS: Final = 60.0
"""How long a server may take to start or end: whatever else is asked about servers waits for it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Servers by the name that the agent gives them, whose customization each is, and names that are off."""

    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    ids: Mapping[str, str] = field(default_factory=dict)
    off: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()
    """Those that the agent starts itself, from the definition of a plugin: no gate stands before them."""

    def gated(self, name: str) -> bool:
        """A server that is an endpoint of the host's: its calls are asked about by the gate."""
        return name in self.configs and name not in self.own

    def tool(self, name: str) -> tuple[str, str] | None:
        """The server and its own name of a tool that the model calls by `name`."""
        for server in sorted(self.configs, key=len, reverse=True):
            if name.startswith(f"{server}-"):
                return server, name[len(server) + 1 :]
        return None


class Servers:
    """Of one session of the host: which servers its agent is to have now."""

    def __init__(self, mounts: Mounts, patience: float) -> None:
        self._mounts = mounts
        self._patience = patience
        self.now = Wanted()

    async def look(self, eligible: Eligible) -> Wanted:
        """Ask what is on and connected. What is not has no endpoint any more when this returns."""
        configs: dict[str, Mapping[str, Any]] = {}
        ids: dict[str, str] = {}
        for server, offer in await self._mounts.look(eligible):
            configs[offer.name] = {
                "type": "http",
                "tools": ["*"],
                "url": offer.url,
                "headers": dict(offer.headers),
                "timeout": int(self._patience * 1000),
            }
            ids[offer.name] = server.customization_id
        mounted = set(ids.values())
        others = [one for one in eligible.servers if one.id not in mounted]
        found = await asyncio.to_thread(brought, others, eligible.plugins)
        own = {name: (id, _own(config)) for name, (id, config) in found.items() if name not in configs}
        configs |= {name: config for name, (_, config) in own.items()}
        ids |= {name: id for name, (id, _) in own.items()}
        off = tuple(name for name in (*BUILT_IN, *eligible.names_off()) if name not in configs)
        self.now = Wanted(configs, ids, off, frozenset(own))
        return self.now

    async def close(self) -> None:
        await self._mounts.close()


def _own(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """A plugin's definition in the agent's words."""
    names: tuple[str, ...] = ("url", "headers") if "url" in config else ("command", "args", "env", "cwd")
    kind = config["type"] if "url" in config else "local"
    return {"type": kind, "tools": ["*"], **{name: config[name] for name in names if name in config}}


class Served:
    """What one open session of the agent has. `given` is what it was opened with."""

    def __init__(self, runtime: Runtime, session: Any, given: Wanted) -> None:
        self._runtime = runtime
        self._mcp = session.rpc.mcp
        self._told: dict[str, Mapping[str, Any]] = dict(given.configs)
        self._gone: set[str] = set(given.off)
        self._lock = asyncio.Lock()

    async def set(self, wanted: Wanted) -> Sequence[str]:
        """The agent has these and no others when this returns, or an error says which it could not be rid of. The
        names of those that it says are connected. Raises ProviderError."""
        left: list[str] = []
        async with self._lock:
            try:
                for _ in range(TRIES):
                    await self._take_away(wanted, left)
                    await self._bring(wanted)
                    statuses = await self._listed()
                    gone = self._gone - set(wanted.configs)
                    left = [name for name in gone if name in statuses and statuses[name] not in GONE]
                    if not left:
                        return sorted(name for name in wanted.configs if statuses.get(name) == ON)
            except Refused as error:
                log.warning("copilot did not take its servers")
                raise refused(AGENT, str(error)) from None
        raise ProviderError("AGENT_REFUSED", text("agent.serversLeft", names=", ".join(sorted(left))))

    async def _take_away(self, wanted: Wanted, again: Sequence[str]) -> None:
        away = [name for name in self._told if name not in wanted.configs]
        away += [name for name in wanted.off if name not in self._gone and name not in away]
        for name in dict.fromkeys((*away, *again)):
            self._gone.add(name)
            await self._ask(self._mcp.disable(rpc().MCPDisableRequest(server_name=name)))
            self._told.pop(name, None)

    async def _bring(self, wanted: Wanted) -> None:
        shapes = rpc()
        for name, config in wanted.configs.items():
            if self._told.get(name) == config:
                continue
            if self._told.pop(name, None) is not None:
                await self._ask(self._mcp.stop_server(shapes.MCPStopServerRequest(server_name=name)))
            given = shapes.MCPSerializableServerConfig.from_dict(config)
            await self._ask(self._mcp.start_server(shapes.MCPStartServerRequest(server_name=name, config=given)))
            self._told[name] = config
            self._gone.discard(name)

    async def _listed(self) -> dict[str, str]:
        found = await self._ask(self._mcp.list())
        return {str(server.name): str(server.status.value) for server in found.servers}

    async def _ask(self, work: Any) -> Any:
        return await self._runtime.ask(work, seconds=SERVER_SECONDS, outside=True)
