"""The servers that the host has connected for a session, each as an endpoint for the session's agent (C6.1, M6.9).

Rules
* Only what is on and connected has an endpoint. What is not any more loses its own before anything else happens, so
  that its calls are refused whatever the agent still believes (C6.2).
"""

import asyncio
import logging
from typing import NamedTuple

from innkeeper.ports.customizations import Eligible
from innkeeper.ports.endpoints import EndpointOffer, McpEndpoints, Who
from innkeeper.ports.mcp import McpGateway, McpRefused, ServerTools

log = logging.getLogger(__name__)


class Mounted(NamedTuple):
    server: ServerTools
    offer: EndpointOffer


class Mounts:
    """Of one session. `patience` and `who` are those of `McpEndpoints.offer`."""

    def __init__(
        self, session: str, gateway: McpGateway, endpoints: McpEndpoints, patience: float | None, who: Who
    ) -> None:
        self._session = session
        self._gateway = gateway
        self._endpoints = endpoints
        self._patience = patience
        self._who = who
        self._offered: set[str] = set()
        self._looking = asyncio.Lock()

    async def look(self, eligible: Eligible) -> list[Mounted]:
        """What is on and connected now. One look comes after the other, so that the last one decides."""
        async with self._looking:
            return await self._look(eligible)

    async def _look(self, eligible: Eligible) -> list[Mounted]:
        withheld = {item.id for item in eligible.withheld}
        try:
            connected = self._gateway.tools(self._session)
        except McpRefused:
            connected = ()
        wanted = {one.customization_id: one for one in connected if one.customization_id not in withheld}
        for id in self._offered - wanted.keys():
            self._offered.discard(id)
            await self._endpoints.withdraw(self._session, id)
        found: list[Mounted] = []
        for id, server in wanted.items():
            try:
                offer = await self._endpoints.offer(self._session, id, patience=self._patience, who=self._who)
            except McpRefused as error:
                log.info("a server of %s is not offered (%s)", self._session, error.code)
                continue
            self._offered.add(id)
            found.append(Mounted(server, offer))
        return found

    async def close(self) -> None:
        """No agent of the session has an endpoint any more. Idempotent."""
        self._offered.clear()
        await self._endpoints.withdraw(self._session)
