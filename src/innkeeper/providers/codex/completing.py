"""A question to the model outside every conversation (K18): a thread that is kept nowhere, without tools."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from innkeeper.ports.questions import Answer, Caller, Confirmation
from innkeeper.protocol.chat.state import ChatInputRequest, ToolCallResult
from innkeeper.providers.codex.approvals import Approvals
from innkeeper.providers.codex.install import AGENT
from innkeeper.providers.codex.items import Items
from innkeeper.providers.codex.messages import words
from innkeeper.providers.codex.rpc import Refused
from innkeeper.providers.codex.server import AppServer
from innkeeper.providers.codex.turn import RunningTurn
from innkeeper.providers.spi import Completion, InputAnswer, Signal, TextDelta
from innkeeper.providers.telling import refused, unresponsive

NOTHING: Final[Mapping[str, Any]] = {
    "project_doc_max_bytes": 0,
    "skills": {"include_instructions": False},
    "web_search": "disabled",
    "features.shell_tool": False,
    "features.unified_exec": False,
    "features.multi_agent": False,
    "features.view_image": False,
}


class _Words:
    """A `TurnOutput` that keeps the text and allows nothing."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def emit(self, signal: Signal) -> None:
        if isinstance(signal, TextDelta) and signal.subagent is None:
            self.said.append(signal.text)

    def caller(self, call: str, *, subagent: str | None = None) -> Caller:
        return Caller("", "", "", call, subagent is not None)

    async def confirm(self, call: str, confirmation: Confirmation, *, subagent: str | None = None) -> Answer:
        return Answer(False, reason="no-conversation")

    async def ask(self, request: ChatInputRequest) -> InputAnswer:
        return InputAnswer("cancel")

    async def run_client_tool(self, call: str, tool_input: str, invocation: str) -> ToolCallResult:
        return {"success": False, "pastTenseMessage": "", "error": {"message": "there is no client"}}


async def complete(server: AppServer, completion: Completion, directory: str, now: Callable[[], float]) -> str:
    """Raises ProviderError, also when the time is over."""
    cwd = completion.directory or directory
    try:
        started = await server.call(
            "thread/start",
            cwd=cwd,
            ephemeral=True,
            approvalPolicy="never",
            sandbox="read-only",
            baseInstructions=completion.instructions,
            config={**NOTHING, "projects": {cwd: {"trust_level": "untrusted"}}},
        )
    except Refused as error:
        raise refused(AGENT, error.message) from None
    thread = str((started.get("thread") or {}).get("id"))
    server.loaded[thread] = None
    output = _Words()
    items = Items(output.emit, thread, {}, asks=False, now=now, child=lambda child, call: None)
    turn = RunningTurn(server, thread, items, output)
    turn.approvals = Approvals(output, items, turn.tell)
    try:
        async with asyncio.timeout(completion.seconds):
            await turn.run({"input": [words(completion.text)]})
    except TimeoutError:
        raise unresponsive(AGENT) from None
    finally:
        server.unload(thread)
    return "".join(output.said).strip()
