"""One session of Claude Code: its chats, and what they share (providers.spi)."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from typing import Any

from innkeeper.ports.customizations import Eligible
from innkeeper.ports.endpoints import CallSigns, McpEndpoints
from innkeeper.ports.mcp import McpGateway
from innkeeper.ports.questions import Caller
from innkeeper.protocol.chat.state import Message
from innkeeper.providers.claude.conversation import Conversation, Shared
from innkeeper.providers.claude.environment import PATIENCE_SECONDS
from innkeeper.providers.claude.servers import Servers
from innkeeper.providers.mounted import Mounts
from innkeeper.providers.spi import TurnOutput, TurnRequest

CALL_ID = "claudecode/toolUseId"
"""Under which key of a request's `_meta` the agent names its call."""


class ClaudeSession:
    def __init__(
        self, shared: Shared, gateway: McpGateway, endpoints: McpEndpoints, closed: Callable[["ClaudeSession"], None]
    ) -> None:
        self._closed = closed
        self.shared = shared
        self._servers = Servers(Mounts(shared.session, gateway, endpoints, PATIENCE_SECONDS, self._who))
        self._chats: dict[str, Conversation] = {}

    @property
    def chats(self) -> Sequence[Conversation]:
        return tuple(self._chats.values())

    async def run_turn(self, request: TurnRequest, output: TurnOutput) -> None:
        self.shared.eligible = request.customizations
        chat = self._chats.get(request.chat)
        if chat is None:
            chat = self._chats[request.chat] = Conversation(self.shared, self._servers, request.chat)
        await chat.run(request, output)

    async def reconcile(self, customizations: Eligible) -> Sequence[str] | None:
        self.shared.eligible = customizations
        await self._servers.look(customizations)
        running = [chat for chat in self._chats.values() if chat.pid is not None]
        if not running:
            return None
        results = await asyncio.gather(*(chat.reconcile() for chat in running), return_exceptions=True)
        failed = next((one for one in results if isinstance(one, BaseException)), None)
        if failed is not None:
            raise failed
        return sorted({name for one in results if not isinstance(one, BaseException) for name in one})

    async def steer(self, chat: str, message_id: str, message: Message) -> bool:
        conversation = self._chats.get(chat)
        return conversation is not None and await conversation.steer(message_id, message)

    async def close(self) -> None:
        await asyncio.gather(*(chat.close() for chat in self._chats.values()))
        self._closed(self)
        await self._servers.close()
        await asyncio.to_thread(shutil.rmtree, self.shared.folder, ignore_errors=True)

    def _who(self, signs: CallSigns) -> Caller | None:
        """Whose call came to an endpoint: the agent names it (M6.3c)."""
        named: Any = signs.meta.get(CALL_ID)
        for chat in self._chats.values():
            known = None if chat.turn is None else chat.turn.caller(str(named))
            if known is not None and chat.turn is not None:
                return chat.turn.output.caller(known[0], subagent=known[1])
        return None
