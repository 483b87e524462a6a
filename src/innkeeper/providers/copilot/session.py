"""One session with Copilot: its chats, and what they share (providers.spi)."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from typing import Final

from innkeeper.ports.customizations import Eligible
from innkeeper.ports.endpoints import CallSigns
from innkeeper.ports.questions import Caller
from innkeeper.protocol.chat.state import Message
from innkeeper.providers.copilot.conversation import Conversation, Shared
from innkeeper.providers.copilot.permissions import META
from innkeeper.providers.copilot.servers import Servers
from innkeeper.providers.mounted import Mounts
from innkeeper.providers.spi import Surroundings, TurnOutput, TurnRequest

PATIENCE_MARGIN: Final = 300.0
"""How much longer the agent waits for a call than a question may stay open (M6.4b)."""


class CopilotSession:
    """It has entered the runtimes of `shared`, and leaves them when it is closed."""

    def __init__(self, shared: Shared, given: Surroundings, closed: Callable[["CopilotSession"], None]) -> None:
        self._closed = closed
        self._gone = False
        self.shared = shared
        patience = given.question_seconds + PATIENCE_MARGIN
        mounts = Mounts(shared.session, given.gateway, given.endpoints, patience, self._who)
        self._servers = Servers(mounts, patience)
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
        results = await asyncio.gather(*(chat.reconcile() for chat in self._chats.values()), return_exceptions=True)
        failed = next((one for one in results if isinstance(one, BaseException)), None)
        if failed is not None:
            raise failed
        listed = [one for one in results if isinstance(one, Sequence)]
        return sorted({name for names in listed for name in names}) if listed else None

    async def steer(self, chat: str, message_id: str, message: Message) -> bool:
        conversation = self._chats.get(chat)
        return conversation is not None and await conversation.steer(message_id, message)

    async def close(self) -> None:
        if self._gone:
            return
        self._gone = True
        await asyncio.gather(*(chat.close() for chat in self._chats.values()))
        self._closed(self)
        await self._servers.close()
        await self.shared.runtimes.leave()
        await asyncio.to_thread(shutil.rmtree, self.shared.folder, ignore_errors=True)

    def _who(self, signs: CallSigns) -> Caller | None:
        """Whose call came to an endpoint: our hook has put the agent's id of it into the request (M6.3c)."""
        named = str(signs.meta.get(META))
        for chat in self._chats.values():
            call = None if chat.turn is None else chat.turn.call(named)
            if call is not None and chat.turn is not None:
                return chat.turn.output.caller(named, subagent=call.subagent)
        return None
