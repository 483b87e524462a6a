"""The agents connected to one endpoint, and what is pushed to them: list changes and log messages (M5.7).

Rules
* First generation: a session with a stream that the agent opens when it likes. What changes before it is open is said
  as soon as it is; a change is a fact to look at again, so it is said once however often it happened.
* Second generation: subscriptions, served by the SDK. Log messages there belong to a call.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types import LoggingMessageNotification, LoggingMessageNotificationParams

from innkeeper.mcp.endpoint.levels import at_least
from innkeeper.mcp.endpoint.passage import Context, agent_of
from innkeeper.ports.mcp import JsonObject

EVENTS: Final[Mapping[str, ServerEvent]] = {
    "tools": ToolsListChanged(),
    "resources": ResourcesListChanged(),
    "prompts": PromptsListChanged(),
}
BACKLOG: Final = 256
"""Log messages on their way to agents that do not read; more are dropped."""


@dataclass(eq=False, slots=True)
class _Agent:
    session: ServerSession
    unsaid: set[str] = field(default_factory=set)
    level: str | None = None


class Agents:
    """`listen` is the handler of `subscriptions/listen`."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus)
        self._agents: dict[str, _Agent] = {}
        self._open: set[str] = set()
        """Those whose stream is open; it may be before they have introduced themselves."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._logging = 0

    @property
    def levels(self) -> list[str]:
        """The log levels that were asked for."""
        return [agent.level for agent in self._agents.values() if agent.level is not None]

    async def notice(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Middleware: an agent of the first generation has introduced itself."""
        if ctx.method == "notifications/initialized" and (id := agent_of(ctx)) is not None:
            self._agents.setdefault(id, _Agent(ctx.session))
        return await call_next(ctx)

    def set_level(self, id: str | None, level: str) -> None:
        if id is not None and (agent := self._agents.get(id)) is not None:
            agent.level = level

    def opened(self, id: str) -> None:
        """The agent's stream is open."""
        self._open.add(id)
        agent = self._agents.get(id)
        if agent is not None:
            unsaid, agent.unsaid = agent.unsaid, set()
            self._spawn(self._say(agent, unsaid))

    def closed(self, id: str) -> None:
        self._open.discard(id)

    def forget(self, id: str) -> None:
        self._agents.pop(id, None)

    def changed(self, parts: Iterable[str]) -> None:
        """These lists are others now."""
        parts = frozenset(parts)
        for id, agent in self._agents.items():
            if id in self._open:
                self._spawn(self._say(agent, parts))
            else:
                agent.unsaid |= parts
        self._spawn(self._publish(parts))

    async def logged(self, message: JsonObject, calling: Iterable[str | None]) -> None:
        """Everyone who listens and wanted it, except the agents in `calling`, who hear it with their call."""
        skipped = set(calling)
        params = LoggingMessageNotificationParams.model_validate(message)
        for id, agent in tuple(self._agents.items()):
            wanted = id in self._open and id not in skipped and at_least(params.level, agent.level)
            if wanted and self._logging < BACKLOG:
                self._logging += 1
                try:
                    with contextlib.suppress(Exception):  # it has gone
                        await agent.session.send_notification(LoggingMessageNotification(params=params))
                finally:
                    self._logging -= 1

    def wants(self, id: str | None, message: JsonObject) -> bool:
        agent = None if id is None else self._agents.get(id)
        return agent is not None and at_least(message.get("level"), agent.level)

    async def said(self) -> None:
        """What was begun to be said has been handed over."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _say(self, agent: _Agent, parts: Iterable[str]) -> None:
        tell = {
            "tools": agent.session.send_tool_list_changed,
            "resources": agent.session.send_resource_list_changed,
            "prompts": agent.session.send_prompt_list_changed,
        }
        with contextlib.suppress(Exception):  # it has gone
            for part in sorted(parts):
                await tell[part]()

    async def _publish(self, parts: Iterable[str]) -> None:
        for part in sorted(parts):
            await self._bus.publish(EVENTS[part])

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
