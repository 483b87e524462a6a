"""What passes between agents and a server beside its calls: progress, log messages, questions (M5.7).

Rules
* A server's question goes to the chat whose call runs. What a server asks of its own accord, or while calls of several
  chats run, has no addressee: the protocol does not say which call it belongs to. It is refused.
* Log levels: a server of the first generation is told once, one of the second with each call.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from innkeeper.mcp.connections.listing import dump
from innkeeper.mcp.connections.values import JsonObject
from innkeeper.ports.mcp import ElicitationRefused, Exchange

if TYPE_CHECKING:
    from mcp.client.client import Client

NO_ADDRESSEE = "Elicitation is answered only while calls of one chat are running."


class Exchanges:
    """Those of one connection. `elicitation` says whether anybody can be asked, and with it what the server is told."""

    def __init__(self) -> None:
        self.elicitation = False
        self.logged: Callable[[JsonObject], Awaitable[None]] | None = None
        self._running: list[Exchange | None] = []
        self._level: str | None = None

    @property
    def answers(self) -> Callable[[JsonObject], Awaitable[JsonObject]] | None:
        """What answers the server's questions; None: it is told not to ask."""
        return self._elicit if self.elicitation else None

    async def call(self, client: "Client", tool: str, arguments: JsonObject, exchange: Exchange | None) -> Any:
        """One call. A server that asks in its answer (second generation) is answered within the call."""
        from mcp_types import LOG_LEVEL_META_KEY

        progress = exchange.progress if exchange is not None and exchange.wants_progress else None
        level = self._level if exchange is None or exchange.log_level is None else exchange.log_level
        meta: Any = {LOG_LEVEL_META_KEY: level} if level is not None and _is_modern(client) else None
        self._running.append(exchange)
        try:
            if self.elicitation:
                return await client.call_tool(tool, dict(arguments), progress_callback=progress, meta=meta)
            return await client.session.call_tool(tool, dict(arguments), progress_callback=progress, meta=meta)
        finally:
            self._running.remove(exchange)

    async def set_log_level(self, client: "Client", level: Any) -> None:
        """The lowest level that anybody wants to hear of."""
        from mcp_types import EmptyResult, SetLevelRequest, SetLevelRequestParams

        self._level = level
        if not _is_modern(client) and client.server_capabilities.logging is not None:
            request = SetLevelRequest(params=SetLevelRequestParams(level=level))
            await client.session.send_request(request, EmptyResult)

    async def notified(self, message: Any) -> None:
        """A notification of the server came; log messages go on."""
        if self.logged is not None and getattr(message, "method", "") == "notifications/message":
            await self.logged(dump(message.params))

    async def _elicit(self, request: JsonObject) -> JsonObject:
        chats = {None if exchange is None else exchange.caller.chat for exchange in self._running}
        newest = self._running[-1] if self._running else None
        if newest is None or len(chats) != 1:
            raise ElicitationRefused(NO_ADDRESSEE)
        return await newest.elicit(request)


def _is_modern(client: "Client") -> bool:
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    return client.protocol_version in MODERN_PROTOCOL_VERSIONS
