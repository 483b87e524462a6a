"""What the session's agent is handed, and the records of it (C5.4, C6.1, C6.4).

Rules
* An agent is handed an `Eligible` and nothing else: at launch, when all places have been looked at; with each request;
  and when it changes while the agent is open.
* Before each request and each steering message the agent is reconciled, and whenever what may reach it, or which
  servers are connected, is different. One that fails is told, and what failed is not recorded as applied.
* A record is made at each launch, at each later change, and one line is logged for each request: names only.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.customizations.explain import ProviderVerdict
from innkeeper.customizations.exposure import AuditRecord, Occasion, audit, expose
from innkeeper.host.core import Core
from innkeeper.host.customizations.service import Customizations
from innkeeper.ports.clock import Clock
from innkeeper.ports.customizations import Eligible
from innkeeper.ports.mcp import McpGateway, McpRefused
from innkeeper.ports.records import Records
from innkeeper.providers.spi import ProviderError, ProviderSession
from innkeeper.texts import text

log = logging.getLogger(__name__)

RECORDED_TYPES = frozenset({"plugin", "mcpServer"})
"""Types that a record of a launch always names; others only where somebody decided or something is withheld."""


class Handover:
    """`records` keeps what was handed over."""

    def __init__(
        self,
        core: Core,
        customizations: Customizations,
        gateway: McpGateway,
        records: Records,
        clock: Clock,
    ) -> None:
        self._core = core
        self._customizations = customizations
        self._gateway = gateway
        self._records = records
        self._clock = clock
        self._handed: dict[str, tuple[Eligible, frozenset[str]]] = {}
        self._audits: dict[str, AuditRecord] = {}
        self._tools: dict[str, dict[str, Sequence[str]]] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        customizations.when_closed(self._closed)

    async def eligible(self, session: str) -> Eligible:
        """What may reach the agent now, everything looked at. Raises ProviderError: the session is gone."""
        await self._customizations.read(session)
        found = self._customizations.eligible(session)
        if found is None:
            raise ProviderError("sessionGone", text("turn.sessionGone"))
        return found

    def launched(self, session: str, handed: Eligible) -> None:
        """An agent was opened with these."""
        self._handed[session] = (handed, self._connected(session))
        self._record(session, "launch", None)

    async def reconcile(self, session: str, agent: ProviderSession, wanted: Eligible) -> None:
        """The open agent has what is wanted when this returns. Raises ProviderError."""
        async with self._turns.setdefault(session, asyncio.Lock()):
            connected = self._connected(session)
            if self._handed.get(session) == (wanted, connected):
                return
            reported = await agent.reconcile(wanted)
            self._handed[session] = (wanted, connected)
            self._record(session, "change", reported)

    async def follow(self, session: str, agent: ProviderSession) -> None:
        """Something may be different: tell the agent at once. A failure is logged; the next request says it."""
        wanted = self._customizations.eligible(session)
        if wanted is None:
            return
        try:
            await self.reconcile(session, agent, wanted)
        except ProviderError as error:
            log.warning("the agent of %s does not follow a change of customizations: %s", session, error.error_type)

    def offered(self, session: str, request: str, eligible: Eligible) -> Eligible:
        """A request is sent: what holds now goes with it, `eligible` where nothing else is known; record its tools."""
        eligible = self._customizations.eligible(session) or eligible
        exposure = expose(session, request, *self._tool_names(session, eligible))
        log.info("%s", exposure.log_line())
        self._records.append({"kind": "exposure", "at": self._clock.now(), **exposure.to_json()})
        return eligible

    def verdict(self, session: str, id: str) -> ProviderVerdict | None:
        """What the agent was told about an item; None before its launch."""
        record = self._audits.get(session)
        return None if record is None else record.verdict_on(id)

    async def history(self, session: str, name: str | None = None) -> Sequence[Mapping[str, Any]]:
        """The records about a session in which an item of that name or id is named, oldest first; None: all."""
        return history_of(await self._records.read(), session, name)

    # -- inside --------------------------------------------------------------------------------------------------

    def _connected(self, session: str) -> frozenset[str]:
        try:
            return frozenset(server.customization_id for server in self._gateway.tools(session))
        except McpRefused:
            return frozenset()

    def _tool_names(self, session: str, eligible: Eligible) -> tuple[list[str], list[str]]:
        """Offered, and all that have been seen in this session."""
        known = self._tools.setdefault(session, {})
        withheld = {item.id for item in eligible.withheld}
        offered: list[str] = []
        try:
            served = self._gateway.tools(session)
        except McpRefused:
            served = ()
        for server in served:
            names = [f"mcp__{server.server}__{tool['name']}" for tool in server.tools]
            known[server.customization_id] = names
            if server.customization_id not in withheld:
                offered.extend(names)
        return offered, [name for names in known.values() for name in names]

    def _record(self, session: str, occasion: Occasion, reported: Sequence[str] | None) -> None:
        resolution = self._customizations.resolution(session)
        if resolution is None:
            return
        record = audit(resolution, occasion, self._clock.now(), self._tools.get(session, {}), reported)
        before = self._audits.get(session)
        self._audits[session] = record
        self._records.append({"kind": "audit", **_compact(record, before if occasion == "change" else None)})

    def _closed(self, session: str) -> None:
        for kept in (self._handed, self._audits, self._tools, self._turns):
            kept.pop(session, None)


def history_of(
    records: Sequence[Mapping[str, Any]], session: str | None, name: str | None
) -> Sequence[Mapping[str, Any]]:
    """Of these records, those that name the item, each with that item alone, and every request's tools, because a tool
    that is not in a list is what is looked for. `session` None: of every session; `name` None: of every item."""
    found: list[Mapping[str, Any]] = []
    for record in records:
        if session is not None and record.get("session") != session:
            continue
        if name is None or record.get("kind") == "exposure":
            found.append(record)
        else:
            items = [item for item in record.get("items", ()) if name in (item.get("name"), item.get("id"))]
            found += [{**record, "items": items}] if items else []
    return found


def _compact(record: AuditRecord, before: AuditRecord | None) -> Mapping[str, Any]:
    """A record that is kept: at a launch what is decided, withheld or in `RECORDED_TYPES`, later what is different."""
    earlier = {} if before is None else {item.id: item for item in before.items}
    kept = {
        item.id
        for item in record.items
        if (
            earlier.get(item.id) != item
            if before is not None
            else item.told == "withheld" or item.decisive is not None or item.type in RECORDED_TYPES
        )
    }
    whole: Mapping[str, Any] = record.to_json()
    gone = sorted(earlier.keys() - {item.id for item in record.items})
    return {
        **whole,
        "items": [item for item in whole["items"] if item["id"] in kept],
        **({"gone": gone} if gone else {}),
    }
