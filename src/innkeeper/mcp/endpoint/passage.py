"""One call on its way from an agent to a server: progress, log messages and questions back (M6.4b, M7.5).

Rules
* Progress goes back under the agent's own token, and only if it gave one; it never falls, as MCP wants.
* While the gate's question stands open an agent that follows progress hears from us, so that it does not give up.
* What the server said during the call reaches the agent before the result does.
"""

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp_types import LOG_LEVEL_META_KEY, LoggingMessageNotification, LoggingMessageNotificationParams

from innkeeper.mcp.endpoint.elicitation import request_of, result_of
from innkeeper.ports.endpoints import Ask
from innkeeper.ports.mcp import ElicitationRefused, JsonObject
from innkeeper.ports.questions import Caller

BACKLOG: Final = 256
"""Messages on their way to an agent that does not read; more are dropped."""
_STEP: Final = 1e-6
_WAITING: Final = "Waiting for a person to allow this call."

Context = ServerRequestContext[Any, Any]


class Passage:
    """`ports.mcp.Exchange`. `heartbeat` is in seconds."""

    def __init__(self, ctx: Context, caller: Caller, server: str, ask: Ask | None, heartbeat: float) -> None:
        meta: dict[str, Any] = dict(ctx.meta or {})
        self.caller = caller
        self.log_level: str | None = meta.get(LOG_LEVEL_META_KEY)
        self.wants_progress = meta.get("progress_token") is not None
        self.result: JsonObject | None = None
        self.agent = agent_of(ctx)
        self._ctx = ctx
        self._server = server
        self._ask = ask
        self._heartbeat = heartbeat
        self._asked = 0
        self._last = -1.0
        self._sending: set[asyncio.Task[None]] = set()
        self._beat: asyncio.TimerHandle | None = None
        if self.wants_progress:
            self._arm()

    def began(self) -> None:
        if self._beat is not None:
            self._beat.cancel()
            self._beat = None

    def answered(self, result: JsonObject) -> None:
        self.result = result

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        if progress > self._last and len(self._sending) < BACKLOG:
            self._last = progress
            await self._sent(self._ctx.session.report_progress(progress, total, message))

    async def logged(self, message: JsonObject) -> None:
        """A log message of the server, on this call's own stream."""
        if len(self._sending) >= BACKLOG:
            return
        params = LoggingMessageNotificationParams.model_validate(message)
        notification = LoggingMessageNotification(params=params)
        await self._sent(self._ctx.session.send_notification(notification, self._ctx.request_id))

    async def elicit(self, request: JsonObject) -> JsonObject:
        if self._ask is None:
            raise ElicitationRefused("There is nobody to ask.")
        self._asked += 1
        asked = request_of(request, self._server, f"{self.caller.tool_call_id}-{self._asked}")
        return result_of(await self._ask(self.caller, asked), request)

    async def finished(self) -> None:
        """All that was said has been handed over."""
        self.began()
        while self._sending:
            await asyncio.wait(self._sending)

    def _arm(self) -> None:
        self._beat = asyncio.get_running_loop().call_later(self._heartbeat, self._tick)

    def _tick(self) -> None:
        task = asyncio.ensure_future(self.progress(self._last + _STEP if self._last >= 0 else 0.0, None, _WAITING))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        self._arm()

    async def _sent(self, sending: Awaitable[None]) -> None:
        """Nothing that fails here concerns the call: the agent may have stopped listening."""
        task = asyncio.current_task()
        assert task is not None
        self._sending.add(task)
        try:
            with contextlib.suppress(Exception):
                await sending
        finally:
            self._sending.discard(task)


def agent_of(ctx: Context) -> str | None:
    """The agent's MCP session; None for the second generation, which has none."""
    return None if ctx.request is None else ctx.request.headers.get("mcp-session-id")
