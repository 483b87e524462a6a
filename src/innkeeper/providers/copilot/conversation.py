"""One chat with Copilot: a session of the runtime, opened, changed and closed as the host wants it (K14, K17, C6.2).

Rules
* Before each turn the session has exactly what the request names. Servers, tools of clients and the model change in an
  open session; for skills, agents, rules and instructions it is closed and opened again, which takes what it is opened
  with from us alone. A session that is still open is never opened a second time: the runtime would mix the two.
* While a turn runs the gate and the hook refuse what is off; servers and skills leave the next request at once.
* Tools of clients are exchanged between turns only: the runtime lets a call of one that has gone hang.
* What the agent begins by itself after its turn is stopped: nothing acts which no client can see.
* A cancelled turn is aborted at once and waited for at most `STOP_SECONDS`; then its session is let go.
"""

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from innkeeper.ports.customizations import Eligible
from innkeeper.protocol.chat.state import Message
from innkeeper.providers.copilot import content
from innkeeper.providers.copilot.client_tools import ClientTools
from innkeeper.providers.copilot.handing import Read, handed, lay_out, read
from innkeeper.providers.copilot.install import AGENT
from innkeeper.providers.copilot.opening import chosen, opening
from innkeeper.providers.copilot.permissions import Permissions
from innkeeper.providers.copilot.place import Copy, Place, copied, place, taken_back
from innkeeper.providers.copilot.runtime import Refused, Runtime, Runtimes
from innkeeper.providers.copilot.sdk import rpc
from innkeeper.providers.copilot.servers import Served, Servers
from innkeeper.providers.copilot.service import Service
from innkeeper.providers.copilot.turn import Named, Running
from innkeeper.providers.spi import BackingChanged, ProviderError, TurnOutput, TurnRequest
from innkeeper.providers.telling import earlier, refused
from innkeeper.texts import text

log = logging.getLogger(__name__)

STOP_SECONDS: Final = 0.8
SILENCE_SECONDS: Final = 60.0
CONTINUE: Final = "Continue where you were interrupted."
FORGOTTEN: Final = "session not found"


@dataclass(slots=True)
class Shared:
    """What the conversations of one session share."""

    session: str
    directories: Sequence[str]
    folder: Path
    """Of this session alone: what is laid out for the agent."""
    runtimes: Runtimes
    service: Callable[[], Service]
    learnt: Callable[[Any], Awaitable[None]]
    """Is given the session that was opened first in a runtime, to learn the models from."""
    adopt: Callable[[str, str], None]
    """Copies a conversation of the person's, by its folder and id, to where the host's agent finds it. Blocks."""
    eligible: Eligible
    new_id: Callable[[], str]


@dataclass(slots=True)
class Open:
    """An open session of the runtime, and what it was opened with."""

    runtime: Runtime
    session: Any
    served: Served
    given: Read
    mark: str
    model: tuple[str | None, str | None]
    tools: str
    skills_off: set[str] = field(default_factory=set)


class Conversation:
    """`chat` is the chat's URI."""

    def __init__(self, shared: Shared, servers: Servers, chat: str) -> None:
        self._shared = shared
        self._servers = servers
        self._folder = shared.folder / hashlib.sha256(chat.encode()).hexdigest()[:24]
        self._place: Place | None = None
        self._open: Open | None = None
        self._running = asyncio.Lock()
        self._changing = asyncio.Lock()
        self._denied: frozenset[str] = frozenset()
        self._closed = False
        self._ear: object = None
        """Whose events count: a session that was let go may still speak."""
        self._letting: asyncio.Task[None] | None = None
        self._tools = ClientTools(lambda: self.turn)
        self._permissions = Permissions(lambda: self.turn, shared.directories[0], self._refused, self._gated)
        self.turn: Running | None = None

    @property
    def asking(self) -> int:
        """How many of the agent's calls wait for an answer."""
        return self._permissions.asking

    @property
    def open(self) -> bool:
        return self._open is not None

    # -- turns ---------------------------------------------------------------------------------------------------

    async def run(self, request: TurnRequest, output: TurnOutput) -> None:
        """One turn; one that comes while the last is still being stopped waits for that. Raises ProviderError."""
        async with self._running:
            self._denied = _denied(request.config)
            tell = await self._ready(request)
            opened, known = self._open, self._place
            assert opened is not None and known is not None
            turn = Running(output, self._named, request.text)
            turn.began = lambda: self._began(request.turn_id, turn)
            self.turn = turn
            opened.runtime.listeners.add(self)
            try:
                output.emit(BackingChanged(known.backing()))
                error = await self._run(opened, turn, request, tell)
            except asyncio.CancelledError:
                await self._stop(opened, turn)
                raise
            finally:
                self.turn = None
                opened.runtime.listeners.discard(self)
                self._permissions.end()
            if error is not None:
                raise error

    async def _run(self, opened: Open, turn: Running, request: TurnRequest, tell: bool) -> ProviderError | None:
        assert self._place is not None
        reached = request.resumed and not tell and self._place.has(request.turn_id)
        before = earlier((*request.context, *request.history)) if tell else ""
        if reached:
            words, attached = CONTINUE, list[dict[str, Any]]()
        else:
            words, attached = await asyncio.to_thread(content.prompt, request.text, request.message, (before,))
        mode = "plan" if request.config.get("mode") == "plan" else "interactive"
        try:
            await opened.runtime.ask(opened.session.send(words, attachments=attached or None, agent_mode=mode))
        except Refused as error:
            raise refused(AGENT, str(error)) from None
        return await self._watched(opened, turn)

    async def _watched(self, opened: Open, turn: Running) -> ProviderError | None:
        """The end of the turn; while nothing is heard, the runtime is asked whether it is there."""
        while True:
            heard = turn.heard_of
            done, _ = await asyncio.wait([turn.over], timeout=SILENCE_SECONDS)
            if done:
                return turn.over.result()
            if heard == turn.heard_of and not self._permissions.asking:
                await opened.runtime.answers()

    def _began(self, turn_id: str, turn: Running) -> None:
        """The agent has the message: where that is, is kept at once, so that an interrupted turn can go on."""
        assert self._place is not None and turn.point is not None
        self._place = self._place.began(turn_id, turn.point)
        turn.output.emit(BackingChanged(self._place.backing()))

    async def steer(self, message_id: str, message: Message) -> bool:
        """False: no turn runs that could take it."""
        turn, opened = self.turn, self._open
        if turn is None or opened is None or turn.over.done():
            return False
        words, attached = await asyncio.to_thread(content.prompt, message.get("text", ""), message, ())
        try:
            id = await opened.runtime.ask(opened.session.send(words, attachments=attached or None, mode="immediate"))
        except (Refused, ProviderError):
            return False
        turn.steers(str(id), message_id)
        return True

    async def reconcile(self) -> Sequence[str] | None:
        """An open session has the servers that are wanted, and none of the skills that are off, when this returns.
        None where there is none. Raises ProviderError."""
        async with self._changing:
            opened = self._open
            if opened is None or not opened.runtime.alive:
                return None
            listed = await opened.served.set(self._servers.now)
            await self._switch_skills(opened)
            return listed

    async def close(self) -> None:
        """Idempotent."""
        self._closed = True
        self._permissions.end()
        async with self._changing:
            await self._end()

    def lost(self, error: ProviderError) -> None:
        """The runtime is gone."""
        self._open = None
        if self.turn is not None:
            self.turn.fail(error)

    # -- opening -------------------------------------------------------------------------------------------------

    async def _ready(self, request: TurnRequest) -> bool:
        """The session is open, where the chat stands, with what it may have. True: it has to be told what was said.
        What is decided while it opens counts: then it is made ready once more."""
        async with self._changing:
            tell = False
            while True:
                if self._closed:
                    raise ProviderError("sessionGone", text("turn.sessionGone"))
                eligible = self._shared.eligible
                tell = await self._opened(request, eligible) or tell
                if eligible == self._shared.eligible:
                    return tell

    async def _opened(self, request: TurnRequest, eligible: Eligible) -> bool:
        """As `_ready`, with these customizations."""
        runtime = await self._shared.runtimes.get()
        given = await asyncio.to_thread(read, handed(eligible))
        wanted = await self._servers.look(eligible)
        self._tools.set(request.client_tools)
        mark = self._mark(given, request)
        tell = False
        if self._open is None or self._open.runtime is not runtime or self._open.mark != mark:
            tell = await self._reopen(runtime, given, mark, request)
        opened = self._open
        assert opened is not None and self._place is not None
        await opened.served.set(wanted)
        try:
            self._place, event = taken_back(self._place, request.history, request.turn_id)
            if event is not None:
                shape = rpc().HistoryTruncateRequest(event_id=event)
                await runtime.ask(opened.session.rpc.history.truncate(shape))
            await self._adjust(opened, request)
        except Refused as error:
            raise refused(AGENT, str(error)) from None
        return tell

    async def _adjust(self, opened: Open, request: TurnRequest) -> None:
        """Model and tools of clients are those of the request. Raises Refused."""
        model = chosen(request, self._shared.service())
        if model != opened.model and model[0] is not None:
            await opened.runtime.ask(opened.session.set_model(model[0], reasoning_effort=model[1]))
            opened.model = model
        if self._tools.mark != opened.tools:
            await opened.runtime.ask(opened.session.set_tools(self._tools.offered()))
            opened.tools = self._tools.mark

    def _mark(self, given: Read, request: TurnRequest) -> str:
        """Equal where the open session can stay."""
        service = self._shared.service()
        parts = (given.mark, *request.instructions, repr(service.provider), service.token)
        return hashlib.sha256(repr(parts).encode(errors="replace")).hexdigest()

    async def _reopen(self, runtime: Runtime, given: Read, mark: str, request: TurnRequest) -> bool:
        await self._end()
        self._ear = object()
        known = self._place or place(request.backing)
        copy = None if known is not None else copied(request.branch, request.history)
        folders = await asyncio.to_thread(lay_out, given.handed.skills, self._folder)
        service = self._shared.service()
        model = chosen(request, service)
        options = {
            **opening(given, folders, self._servers.now, request.instructions),
            **service.options(model[0]),
            **self._handlers(),
            "on_event": partial(self._heard, self._ear),
            "working_directory": self._shared.directories[0],
            "additional_directories": list(self._shared.directories[1:]) or None,
            "reasoning_effort": model[1],
            "tools": self._tools.offered(),
        }
        try:
            if known is not None and known.transcript is not None:
                known = await self._adopted(runtime, known)
            if copy is not None:
                known = await self._copied(runtime, copy)
            session = None if known is None else await self._resumed(runtime, known, options)
            tell = session is None
            if session is None:
                known = Place(self._shared.new_id())
                work = runtime.client.create_session(session_id=known.conversation, **options)
                session = await runtime.ask(work)
        except Refused as error:
            raise refused(AGENT, str(error)) from None
        assert known is not None
        self._place = known
        served = Served(runtime, session, self._servers.now)
        self._open = Open(runtime, session, served, given, mark, model, self._tools.mark)
        await self._shared.learnt(session)
        return tell

    async def _resumed(self, runtime: Runtime, known: Place, options: Mapping[str, Any]) -> Any:
        """None: the agent does not know the conversation any more."""
        try:
            return await runtime.ask(runtime.client.resume_session(known.conversation, **options))
        except Refused as error:
            if FORGOTTEN not in str(error).lower():
                raise
            log.warning("the agent does not know its conversation any more; it is told what was said")
            return None

    async def _copied(self, runtime: Runtime, copy: Copy) -> Place | None:
        shape = rpc().SessionsForkRequest(session_id=copy.conversation, to_event_id=copy.until)
        try:
            made = await runtime.ask(runtime.client.rpc.sessions.fork(shape))
        except Refused:
            log.info("copilot: a conversation could not be copied; the new one is told what was said")
            return None
        return Place(str(made.session_id), copy.points)

    async def _adopted(self, runtime: Runtime, known: Place) -> Place:
        """A copy of the person's conversation, under an id of its own. Raises Refused."""
        assert known.transcript is not None
        try:
            await asyncio.to_thread(self._shared.adopt, known.transcript, known.conversation)
        except OSError as error:
            raise ProviderError("TRANSCRIPT_UNKNOWN", text("error.TRANSCRIPT_UNKNOWN.meaning", agent=AGENT)) from error
        shape = rpc().SessionsForkRequest(session_id=known.conversation)
        made = await runtime.ask(runtime.client.rpc.sessions.fork(shape))
        with contextlib.suppress(Refused):
            await runtime.ask(runtime.client.delete_session(known.conversation))
        return replace(known, conversation=str(made.session_id), transcript=None)

    def _handlers(self) -> dict[str, Any]:
        permissions = self._permissions
        return {
            "on_permission_request": permissions.ask,
            "on_user_input_request": permissions.question,
            "on_exit_plan_mode_request": permissions.leave_plan,
            "hooks": {"on_pre_tool_use": permissions.before, "on_pre_mcp_tool_call": permissions.sign},
        }

    # -- what is on ----------------------------------------------------------------------------------------------

    async def _switch_skills(self, opened: Open) -> None:
        """Skills that were taken away since the session was opened are off in it, and on again when they come back."""
        now = set(handed(self._shared.eligible).skills)
        off = set(opened.given.handed.skills) - now
        shapes, api = rpc(), opened.session.rpc.skills
        try:
            for name in off - opened.skills_off:
                await opened.runtime.ask(api.disable(shapes.SkillsDisableRequest(name=name)))
                opened.skills_off.add(name)
            for name in opened.skills_off - off:
                await opened.runtime.ask(api.enable(shapes.SkillsEnableRequest(name=name)))
                opened.skills_off.discard(name)
        except Refused as error:
            raise refused(AGENT, str(error)) from None

    def _gated(self, server: str) -> bool:
        return self._servers.now.gated(server)

    def _named(self, tool: str) -> Named:
        owned = self._tools.named(tool)
        if owned is not None:
            return Named(tool, str(owned.definition.get("title") or tool), {"kind": "client", "clientId": owned.client})
        wanted = self._servers.now
        found = wanted.tool(tool)
        if found is None:
            return Named(tool, tool)
        server, name = found
        return Named(f"mcp__{server}__{name}", name, {"kind": "mcp", "customizationId": wanted.ids[server]})

    def _refused(self, tool: str, input: Any) -> str | None:
        """Why a call may not be made now, whatever the session was opened with."""
        if tool in self._denied or self._named(tool).name in self._denied:
            return text("question.deniedBySetting")
        opened = self._open
        if opened is None:
            return text("agent.turnOver")
        given, now = opened.given.handed, handed(self._shared.eligible)
        arguments = input if isinstance(input, Mapping) else {}
        if tool == "skill" and str(arguments.get("skill")) in set(given.skills) - set(now.skills):
            return text("agent.withheld", name=str(arguments.get("skill")))
        if tool == "task" and str(arguments.get("agent_type")) in set(given.agents) - set(now.agents):
            return text("agent.withheld", name=str(arguments.get("agent_type")))
        return None

    # -- what the agent does -------------------------------------------------------------------------------------

    def _heard(self, ear: object, event: Any) -> None:
        if ear is not self._ear:
            return
        kind, agent = str(event.type.value), event.agent_id or None
        if self.turn is not None:
            self.turn.heard(kind, event.data.to_dict(), agent, str(event.id))
        elif kind == "assistant.turn_start" and self._open is not None:
            log.warning("copilot began a turn that nobody asked for; it is stopped")
            opened = self._open
            opened.runtime.keep(self._aborted(opened))

    # -- stopping ------------------------------------------------------------------------------------------------

    async def _stop(self, opened: Open, turn: Running) -> None:
        self._permissions.end()
        stopping = opened.runtime.keep(self._aborted(opened))
        await asyncio.wait([stopping, turn.over], timeout=STOP_SECONDS)
        if not turn.over.done():
            await asyncio.wait([turn.over], timeout=STOP_SECONDS / 2)
        if not turn.over.done() and self._open is opened:
            log.warning("copilot does not stop in time; its session is let go")
            self._open, self._ear = None, None
            self._letting = opened.runtime.keep(_let_go(opened))

    async def _aborted(self, opened: Open) -> None:
        """The turn, its subagents and its commands."""
        with contextlib.suppress(Refused, ProviderError):
            await opened.runtime.ask(opened.session.abort())

    async def _end(self) -> None:
        """No session is open when this returns: none is opened while another of its id is still there."""
        if self._letting is not None:
            await asyncio.wait([self._letting])
            self._letting = None
        opened, self._open = self._open, None
        if opened is not None and opened.runtime.alive:
            await _let_go(opened)


async def _let_go(opened: Open) -> None:
    with contextlib.suppress(Refused, ProviderError):
        await opened.runtime.ask(opened.session.disconnect())


def _denied(values: Any) -> frozenset[str]:
    permissions = values.get("permissions")
    names = permissions.get("deny") if hasattr(permissions, "get") else None
    return frozenset(name for name in names or () if isinstance(name, str))
