"""One running turn of a Codex thread, with the children it has (AHP §9, K14).

Rules
* It ends when Codex says so, when the process is gone, or when it is cancelled; then its children are stopped too, so
  that nothing acts which no client can see.
* A cancelled turn is interrupted at once and waited for at most `STOP_SECONDS`; open questions are withdrawn.
* A silence of `SILENCE_SECONDS` in which nothing is asked is looked into: a process that does not answer is ended.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.protocol.chat.state import ToolCallContributor, ToolCallResult
from innkeeper.providers.codex.approvals import Approvals
from innkeeper.providers.codex.install import AGENT
from innkeeper.providers.codex.items import Items
from innkeeper.providers.codex.messages import Part, words
from innkeeper.providers.codex.rpc import Message, Refused
from innkeeper.providers.codex.server import AppServer
from innkeeper.providers.spi import ClientTool, ProviderError, ToolInputDelta, ToolStarted, TurnOutput
from innkeeper.providers.telling import exited, logged_out, refused
from innkeeper.texts import text
from innkeeper.wire.json import encode

log = logging.getLogger(__name__)

STOP_SECONDS: Final = 0.8
SILENCE_SECONDS: Final = 60.0
GRACE_SECONDS: Final = 0.15
"""Codex asks about a call right before or after it tells of it; one that it has not asked about by then runs."""


class RunningTurn:
    """Listens to the thread and its children from before the turn is started until it has ended."""

    def __init__(self, server: AppServer, thread: str, items: Items, output: TurnOutput) -> None:
        self.server = server
        self.thread = thread
        self.items = items
        self.output = output
        self.id: str | None = None
        self.ended: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self.approvals: Approvals | None = None
        self.client_tools: Mapping[str, ClientTool] = {}
        self._over: dict[str, Mapping[str, Any]] = {}
        self._turns: dict[str, str] = {}
        """The running turn of each child's thread."""
        self._heard = asyncio.Event()
        self._asking = 0

    # -- Listener ------------------------------------------------------------------------------------------------

    def note(self, method: str, params: Message) -> None:
        self._heard.set()
        thread, turn = str(params.get("threadId")), params.get("turn") or {}
        if method == "turn/started":
            self._began(thread, str(turn.get("id")))
        elif method == "turn/completed":
            self._ended(thread, turn)
        else:
            self.items.take(method, params)
            if method == "item/started":
                id = str((params.get("item") or {}).get("id"))
                asyncio.get_running_loop().call_later(GRACE_SECONDS, self.items.run_unasked, id)

    async def request(self, method: str, params: Message) -> Mapping[str, object]:
        self._asking += 1
        try:
            if method == "item/tool/call":
                return await self._client_tool(params)
            assert self.approvals is not None
            return await self.approvals.request(method, params)
        finally:
            self._asking -= 1
            self._heard.set()

    def lost(self) -> None:
        if not self.ended.done():
            self.ended.set_exception(exited(AGENT, self.server.process.exit_code))
            self.ended.exception()

    # -- what the session does -----------------------------------------------------------------------------------

    def adopt(self, thread: str, call: str) -> None:
        """A child of this turn."""
        self.server.claim(thread, self)

    async def run(self, start: Mapping[str, object]) -> None:
        """Start it and wait for its end. Raises ProviderError."""
        self.server.claim(self.thread, self)
        try:
            try:
                started = await self.server.call("turn/start", threadId=self.thread, **start)
            except Refused as error:
                raise refused(AGENT, error.message) from None
            self.id = str((started.get("turn") or {}).get("id"))
            self._settle()
            result = await self._watched()
        except asyncio.CancelledError:
            await self._stop()
            raise
        finally:
            self._release()
        if result.get("status") == "failed":
            raise failure(result.get("error") or {})

    async def steer(self, message: str | None, parts: list[Part], subagent: str | None = None) -> bool:
        """Give the running turn, or that of a child, a message. False: there is none that takes it."""
        thread, turn = self._where(subagent)
        if thread is None or turn is None or self.ended.done():
            return False
        if message is not None:
            self.items.steered.add(message)
        given = {"threadId": thread, "expectedTurnId": turn, "input": parts, "clientUserMessageId": message}
        try:
            await self.server.call("turn/steer", **given)
        except (Refused, ProviderError):
            self.items.steered.discard(message or "")
            return False
        return True

    async def tell(self, subagent: str | None, message: str) -> None:
        await self.steer(None, [words(message)], subagent)

    # -- inside --------------------------------------------------------------------------------------------------

    def _where(self, subagent: str | None) -> tuple[str | None, str | None]:
        if subagent is None:
            return self.thread, self.id
        thread = next((t for t, call in self.items.children.items() if call == subagent), None)
        return thread, self._turns.get(thread or "")

    def _began(self, thread: str, turn: str) -> None:
        if thread != self.thread:
            self._turns[thread] = turn

    def _ended(self, thread: str, turn: Mapping[str, Any]) -> None:
        if thread != self.thread:
            self._turns.pop(thread, None)
            self.items.child_ended(thread)
        else:
            self._over[str(turn.get("id"))] = turn
            self._settle()

    def _settle(self) -> None:
        """A turn is over when its own id is: an earlier one of the thread may still be on its way out."""
        if self.id in self._over and not self.ended.done():
            self.ended.set_result(self._over[self.id])

    async def _watched(self) -> Mapping[str, Any]:
        """The end of the turn; while nothing is heard, the process is asked whether it is there."""
        while True:
            self._heard.clear()
            done, _ = await asyncio.wait([self.ended], timeout=SILENCE_SECONDS)
            if done:
                return self.ended.result()
            if not self._heard.is_set() and not self._asking:
                with contextlib.suppress(Refused):
                    await self.server.call("thread/loaded/list")

    async def _stop(self) -> None:
        """Interrupt the turn and its children; a person who cancels does not wait for a model."""
        stopping = [self.server.interrupt(thread, turn) for thread, turn in self._turns.items()]
        if self.id is not None:
            stopping.append(self.server.interrupt(self.thread, self.id))
        waits: list[Any] = [*stopping, *([self.ended] if not self.ended.done() else [])]
        if waits:
            await asyncio.wait(waits, timeout=STOP_SECONDS)

    def _release(self) -> None:
        for thread, turn in self._turns.items():
            self.server.interrupt(thread, turn)
        for thread in (self.thread, *self.items.children):
            self.server.release(thread)

    async def _client_tool(self, params: Message) -> Mapping[str, object]:
        call, name = str(params.get("callId")), str(params.get("tool"))
        subagent = self.items.subagent(params.get("threadId"))
        given = encode(params.get("arguments") or {}).decode()
        tool = self.client_tools.get(name)
        if tool is None:
            why = text("codex.clientGone", tool=name)
            return _answer({"success": False, "pastTenseMessage": why, "error": {"message": why}})
        shown = str(tool.definition.get("title") or name)
        contributor: ToolCallContributor = {"kind": "client", "clientId": tool.client}
        self.output.emit(ToolStarted(call, name, shown, contributor=contributor, subagent=subagent))
        self.output.emit(ToolInputDelta(call, given, subagent=subagent))
        return _answer(await self.output.run_client_tool(call, given, shown))


def _answer(result: ToolCallResult) -> Mapping[str, object]:
    said = [str(block["text"]) for block in result.get("content") or () if block["type"] == "text"]
    if not result["success"] and (error := result.get("error")) is not None:
        said.append(error["message"])
    return {"contentItems": [{"type": "inputText", "text": words} for words in said], "success": result["success"]}


def failure(error: Mapping[str, Any]) -> ProviderError:
    """What a failed turn says, with Codex's own kind of error in front."""
    info = error.get("codexErrorInfo")
    kind = next(iter(info), "other") if isinstance(info, Mapping) else str(info or "other")
    if kind == "unauthorized":
        return logged_out(AGENT)
    message = str(error.get("message") or kind)
    details = error.get("additionalDetails")
    return refused(AGENT, f"{kind}: {message}" + (f" ({details})" if details else ""))
