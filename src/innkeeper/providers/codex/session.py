"""One session with Codex: its chats, what may reach them, and the turns that run (providers.spi).

Rules
* Before each turn the thread has exactly what the request names: servers, skills, roles, rules, mode. While it runs the
  gate refuses what is off; the thread itself follows with the next turn, and an idle one follows at once (C6.2).
* What is taken away loses its endpoint first, so that it is refused before anything else happens.
* Instructions are given once, and again when they are others.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from innkeeper.ports.customizations import Eligible
from innkeeper.ports.endpoints import CallSigns
from innkeeper.ports.questions import Caller
from innkeeper.protocol.chat.state import Message
from innkeeper.providers.codex import settings
from innkeeper.providers.codex.approvals import Approvals
from innkeeper.providers.codex.enablement import Reading, instructions, thread_config
from innkeeper.providers.codex.items import Items
from innkeeper.providers.codex.launch import user_home
from innkeeper.providers.codex.messages import user_input, words
from innkeeper.providers.codex.reading import read
from innkeeper.providers.codex.server import AppServer, AppServers
from innkeeper.providers.codex.threads import Loading, Thread, listed
from innkeeper.providers.codex.turn import RunningTurn
from innkeeper.providers.mounted import Mounted, Mounts
from innkeeper.providers.spi import (
    BackingChanged,
    ClientTool,
    ProviderError,
    SessionOpening,
    Surroundings,
    TurnOutput,
    TurnRequest,
)
from innkeeper.providers.telling import earlier
from innkeeper.texts import text

log = logging.getLogger(__name__)

PATIENCE_MARGIN: Final = 300.0
CONTEXT: Final = "innkeeper"
GO_ON: Final = "You were interrupted. Go on with what you were doing."


class CodexSession:
    """It has entered `servers`, and leaves them when it is closed."""

    def __init__(self, opening: SessionOpening, given: Surroundings, servers: AppServers) -> None:
        self._session = opening.session
        self._directories = tuple(opening.directories) or (str(given.directory),)
        self._given = given
        self._servers = servers
        self._theirs = user_home(given.environment)
        self._threads: dict[str, Thread] = {}
        self._running: dict[str, RunningTurn] = {}
        self._eligible = opening.customizations
        self._patience = given.question_seconds + PATIENCE_MARGIN
        self._mounts = Mounts(opening.session, given.gateway, given.endpoints, self._patience, self._who)
        self._mounted: list[Mounted] = []
        self._reading = Reading()
        self._listed: set[str] = set()
        self._changing = asyncio.Lock()
        self._closed = False

    # -- ProviderSession -----------------------------------------------------------------------------------------

    async def run_turn(self, request: TurnRequest, output: TurnOutput) -> None:
        self._eligible = request.customizations
        thread = self._threads.setdefault(request.chat, Thread.of(request.backing))
        async with thread.busy:
            server = await self._servers.get()
            said = await self._ready(server, thread, request)
            turn = self._turn(server, thread, request, output)
            self._running[request.chat] = turn
            thread.last = request.turn_id
            output.emit(BackingChanged(thread.backing()))
            try:
                await turn.run(self._start(thread, request, said))
            finally:
                self._running.pop(request.chat, None)
                for call in turn.items.open_calls():
                    self._given.endpoints.give_up(self._session, call)

    async def reconcile(self, customizations: Eligible) -> Sequence[str] | None:
        self._eligible = customizations
        async with self._changing:
            server = self._servers.running
            if server is None:
                await self._mounts.look(customizations)
                return None
            before = set(self._listed)
            await self._look()
            idle = [thread for thread in self._threads.values() if await self._follows(server, thread)]
            return await self._read_back(server, idle, before | self._names())

    async def _follows(self, server: AppServer, thread: Thread) -> bool:
        """A thread in which nothing runs has what is wanted now. Raises ProviderError."""
        if thread.busy.locked() or thread.id not in server.loaded:
            return False
        return await thread.load(server, self._loading(server, thread.settings))

    async def _read_back(self, server: AppServer, idle: Sequence[Thread], names: set[str]) -> Sequence[str] | None:
        """Which of these servers Codex has connected in its idle threads: only what it says is connected counts. One
        that should be gone and is not is a failure."""
        if not idle or "mcpServerStatus/list" in server.missing:
            return None
        found: set[str] = set()
        for thread in idle:
            assert thread.id is not None
            found |= await listed(server, thread.id, names)
        self._listed = found
        if stays := found - self._names():
            raise ProviderError("AGENT_REFUSED", text("agent.serversLeft", names=", ".join(sorted(stays))))
        return sorted(found)

    async def steer(self, chat: str, message_id: str, message: Message) -> bool:
        turn = self._running.get(chat)
        if turn is None:
            return False
        return await turn.steer(message_id, user_input(message.get("text", ""), message))

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        server = self._servers.running
        if server is not None:
            ids = {thread.id for thread in self._threads.values()}
            await asyncio.gather(*(server.unload(id) for id in server.loaded.keys() & ids))
        await self._mounts.close()
        await self._servers.leave()

    # -- before a turn -------------------------------------------------------------------------------------------

    def _names(self) -> set[str]:
        """The servers that its threads are to have, as Codex has them."""
        return {one.offer.name for one in self._mounted} | set(self._reading.servers)

    async def _ready(self, server: AppServer, thread: Thread, request: TurnRequest) -> str | None:
        """The thread stands where the chat stands, with what it may have. What is returned has to be told to it. What
        is decided meanwhile counts: then it is made ready once more."""
        said: str | None = None
        thread.settings = request.config
        while True:
            eligible = self._eligible
            async with self._changing:
                await self._look()
                loading = self._loading(server, request.config, request.client_tools)
                said = await self._prepared(server, thread, loading, request) or said
            await thread.settle(server, self._reading.servers)
            if eligible == self._eligible:
                return said

    async def _look(self) -> None:
        """What is on and connected, and what of it had to be read."""
        eligible = self._eligible
        self._mounted = await self._mounts.look(eligible)
        mounted = {one.server.customization_id for one in self._mounted}
        roles = self._given.directory / "roles"
        self._reading = await asyncio.to_thread(read, eligible, self._directories[0], self._theirs, roles, mounted)

    def _loading(self, server: AppServer, values: Mapping[str, object], tools: Sequence[ClientTool] = ()) -> Loading:
        """For a chat with this configuration."""
        directory, policy = self._directories[0], settings.approval_policy(values)
        config = thread_config(
            directory,
            self._eligible,
            self._mounted,
            self._reading,
            asks=policy != "never",
            denied=settings.denied(values),
            own_servers=server.own_servers,
            patience=self._patience,
        )
        return Loading(directory, policy, settings.sandbox(values), config, [_dynamic(tool) for tool in tools])

    async def _prepared(self, server: AppServer, thread: Thread, loading: Loading, request: TurnRequest) -> str | None:
        """The thread is loaded and knows what the chat knows, but for what is returned: that is told to it."""
        if cut := thread.is_cut(request.branch):
            thread.id = None
        if thread.id is not None and await thread.load(server, loading):
            known = [turn["id"] for turn in request.history]
            await thread.take_back(server, [*known, *([request.turn_id] if request.resumed else [])])
            thread.interrupted = request.resumed and await thread.has(server, request.turn_id)
            return None
        if (
            request.branch is not None
            and (request.backing is None or cut)
            and await thread.fork(server, loading, request.branch)
        ):
            return None
        await thread.start(server, loading)
        thread.interrupted = False
        return earlier((*request.context, *request.history)) or None

    def _start(self, thread: Thread, request: TurnRequest, said: str | None) -> dict[str, object]:
        """The members of `turn/start`."""
        parts = [words(GO_ON)] if thread.interrupted else user_input(request.text, request.message)
        if said is not None:
            parts.insert(0, words(said))
        start: dict[str, object] = {
            "input": parts,
            "clientUserMessageId": request.turn_id,
            "approvalPolicy": settings.approval_policy(request.config),
            "sandboxPolicy": settings.sandbox_policy(request.config, self._directories),
            **settings.chosen(request.message.get("model")),
        }
        told = "\n\n".join((*request.instructions, *self._instructions()))
        if told != (thread.told or ""):
            start["additionalContext"] = {
                CONTEXT: {"value": told or text("codex.noInstructions"), "kind": "application"}
            }
            thread.told = told
        plans = request.config.get("mode") == "plan"
        if plans or thread.planned:
            model = start.get("model") or thread.model
            mode = {"model": model, "reasoning_effort": start.get("effort"), "developer_instructions": None}
            start["collaborationMode"] = {"mode": "plan" if plans else "default", "settings": mode}
            thread.planned = plans
        return start

    def _instructions(self) -> list[str]:
        return instructions(self._eligible, self._reading, self._theirs)

    # -- the turn ------------------------------------------------------------------------------------------------

    def _turn(self, server: AppServer, thread: Thread, request: TurnRequest, output: TurnOutput) -> RunningTurn:
        assert thread.id is not None
        items = Items(
            emit=output.emit,
            thread=thread.id,
            ids={
                **{name: id for name, (id, _) in self._reading.servers.items()},
                **{one.offer.name: one.server.customization_id for one in self._mounted},
            },
            asks=settings.approval_policy(request.config) != "never",
            now=self._given.clock.monotonic,
            child=lambda child, call: turn.adopt(child, call),
        )
        turn = RunningTurn(server, thread.id, items, output)
        untrusted = settings.approval_policy(request.config) == "untrusted"
        turn.approvals = Approvals(output, items, turn.tell, is_on=self._is_on, sandboxed=untrusted)
        turn.client_tools = {_dynamic(tool)["name"]: tool for tool in request.client_tools}
        return turn

    def _is_on(self, id: str | None) -> bool:
        """Whether a customization may still be used, by what is decided now; of another's server nothing is known."""
        return id is None or all(item.id != id for item in self._eligible.withheld)

    def _who(self, signs: CallSigns) -> Caller | None:
        """Codex puts its id of the call, and the thread that makes it, into the request (M6.3c)."""
        call, thread = signs.meta.get("callId"), signs.meta.get("threadId")
        for turn in self._running.values():
            if thread == turn.thread or thread in turn.items.children:
                return turn.output.caller(str(call), subagent=turn.items.subagent(thread))
        return None


def _dynamic(tool: ClientTool) -> dict[str, Any]:
    """A client's tool as Codex takes it."""
    definition = tool.definition
    return {
        "type": "function",
        "name": definition["name"],
        "description": str(definition.get("description") or definition.get("title") or definition["name"]),
        "inputSchema": definition.get("inputSchema") or {"type": "object", "properties": {}},
    }
