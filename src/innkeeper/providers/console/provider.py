"""The console agent: no model, no key, no process (issue 2 §6; providers.spi).

Rules
* It does what a line says and nothing else; what is no command is echoed.
* A tool is called through the gateway alone, as the turn it belongs to, so every gate and filter stands before it.
* It has what comes with the request and looks at nothing that is withheld there; between requests it has nothing.
* It offers forks and side chats, because it keeps nothing of its own: history and context come with each request.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from innkeeper.ports.customizations import Eligible
from innkeeper.ports.ids import Ids
from innkeeper.ports.mcp import McpGateway
from innkeeper.protocol.chat.state import Message
from innkeeper.protocol.root.state import AgentInfo
from innkeeper.protocol.session.state import SessionConfigSchema
from innkeeper.providers.spi import Backing, SessionOpening, TextDelta, TurnOutput, TurnRequest, Unavailable
from innkeeper.texts import text

PIECE = 24
"""Characters of one delta: small enough that streaming can be seen."""


class ConsoleProvider:
    def __init__(self, gateway: McpGateway, ids: Ids) -> None:
        self._gateway = gateway
        self._ids = ids

    @property
    def info(self) -> AgentInfo:
        return {
            "provider": "console",
            "displayName": text("console.name"),
            "description": text("console.description"),
            # VS Code offers an agent without a model to nobody; what answers here is no model, and its name says so.
            "models": [{"id": "console", "provider": "console", "name": text("console.model")}],
            "capabilities": {"multipleChats": {"fork": True, "sideChat": True}},
        }

    @property
    def unavailable(self) -> Unavailable | None:
        return None

    def watch(self, changed: Callable[[], None]) -> None:
        return

    def can_resume(self, backing: Backing | None) -> bool:
        return False

    def config_schema(self, directory: str | None, values: Mapping[str, object]) -> SessionConfigSchema:
        return {"type": "object", "properties": {}}

    async def open_session(self, opening: SessionOpening) -> "ConsoleSession":
        return ConsoleSession(self._gateway, self._ids)

    async def close(self) -> None:
        return


class ConsoleSession:
    """One session; it has nothing to close."""

    def __init__(self, gateway: McpGateway, ids: Ids) -> None:
        self._gateway = gateway
        self._ids = ids

    async def run_turn(self, request: TurnRequest, output: TurnOutput) -> None:
        from innkeeper.providers.console.commands import Console  # with the first turn, and not at the start of a host
        from innkeeper.providers.console.lines import parse

        answer = await Console(self._gateway, self._ids, request, output).answer(
            parse(str(request.message.get("text", "")))
        )
        part = self._ids.new()
        for piece in pieces(answer):
            output.emit(TextDelta(piece, part))
            await asyncio.sleep(0)

    async def reconcile(self, customizations: Eligible) -> Sequence[str] | None:
        return None

    async def steer(self, chat: str, message_id: str, message: Message) -> bool:
        return False

    async def close(self) -> None:
        return


def pieces(words: str) -> Sequence[str]:
    """The words cut into deltas; an empty answer is still one."""
    return [words[start : start + PIECE] for start in range(0, len(words), PIECE)] or [""]
