"""The MCP servers of one running agent (C6.1-C6.3, M6.3c, architecture §5).

Rules
* The wanted set is given as a whole, at the launch before the first message and whenever it is different, one change
  at a time; the agent drops what is not in it. Its own switch for servers is never used: that one is written to disk
  and reaches other sessions.
* Servers of the project and of the host are loopback endpoints. A server that a plugin brings for its agent is started
  by the agent, from the plugin's definition, under the name that the agent would give it.
* What was taken away is read back: a server that is still there is an error, not a success. A status is only ever
  read for that; none of them means that a server is on.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from innkeeper.ports.customizations import Eligible
from innkeeper.providers.brought import brought
from innkeeper.providers.claude.cli import Cli, Unanswered
from innkeeper.providers.claude.client_tools import NAME as CLIENT
from innkeeper.providers.claude.install import AGENT
from innkeeper.providers.mounted import Mounts
from innkeeper.providers.spi import ProviderError
from innkeeper.providers.telling import unresponsive
from innkeeper.texts import text

log = logging.getLogger(__name__)

UNSUPPORTED: Final = "Unsupported control request"
"""How the agent answers a request that it does not know."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Servers by the name that the agent gives them, and whose customization each is."""

    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    ids: Mapping[str, str] = field(default_factory=dict)


class Servers:
    """Of one session: which servers its agents are to have now."""

    def __init__(self, mounts: Mounts) -> None:
        self._mounts = mounts
        self.now = Wanted()

    async def look(self, eligible: Eligible) -> Wanted:
        """Ask what is on and connected."""
        configs: dict[str, Mapping[str, Any]] = {}
        ids: dict[str, str] = {}
        for server, offer in await self._mounts.look(eligible):
            configs[offer.name] = {"type": "http", "url": offer.url, "headers": dict(offer.headers)}
            ids[offer.name] = server.customization_id
        mounted = set(ids.values())
        found = await asyncio.to_thread(
            brought, [one for one in eligible.servers if one.id not in mounted], eligible.plugins
        )
        for name, (id, config) in found.items():
            configs.setdefault(name, config)
            ids.setdefault(name, id)
        self.now = Wanted(configs, ids)
        return self.now

    async def close(self) -> None:
        await self._mounts.close()


class Served:
    """What one running agent was told."""

    def __init__(self, cli: Cli) -> None:
        self._cli = cli
        self._told: Mapping[str, Mapping[str, Any]] | None = None
        self._lock = asyncio.Lock()

    async def set(self, wanted: Wanted, *, client_tools: bool) -> Sequence[str]:
        """The agent has these when this returns, or an error says which it could not be rid of. The names that it
        lists. Raises ProviderError."""
        configs = dict(wanted.configs)
        if client_tools:
            configs[CLIENT] = {"type": "sdk", "name": CLIENT}
        async with self._lock:
            try:
                if configs != self._told:
                    await self._cli.control("mcp_set_servers", servers=configs)
                    self._told = configs
                listed = await self._listed()
            except Unanswered as error:
                log.warning("the agent did not take its servers: %s", str(error).partition(":")[0])
                if UNSUPPORTED in str(error):  # another version, which lacks what enablement needs (M7.8)
                    missing = text("error.AGENT_UNSUPPORTED.meaning", agent=AGENT, missing="mcp_set_servers")
                    raise ProviderError("AGENT_UNSUPPORTED", missing) from error
                raise unresponsive(AGENT) from error
        left = [name for name in listed if name not in configs]
        if left:
            raise ProviderError("AGENT_REFUSED", text("agent.serversLeft", names=", ".join(left)))
        return listed

    async def _listed(self) -> list[str]:
        status = await self._cli.control("mcp_status")
        return [str(server.get("name")) for server in status.get("mcpServers") or ()]
