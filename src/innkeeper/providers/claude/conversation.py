"""One chat of a session: its running agent, and where its conversation stands (providers.spi, K14, C6.2).

Rules
* A process serves one chat. It is started by the first turn, ended when it has been idle, and started anew, going on
  with the conversation, when what it was handed at its start is not what the next request may have, when the chat was
  taken back, and when it died.
* A turn that is cancelled is interrupted in the agent; an agent that does not stop at once is ended.
* Whatever the agent says outside a turn belongs to nothing, and a call then is denied.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from innkeeper.ports.customizations import Eligible
from innkeeper.ports.ids import Ids
from innkeeper.protocol.chat.state import Message, ToolCallContributor, ToolCallResult
from innkeeper.providers.claude import content
from innkeeper.providers.claude.cli import Cli, Forgotten, Unanswered
from innkeeper.providers.claude.client_tools import NAME as CLIENT
from innkeeper.providers.claude.client_tools import ClientTools
from innkeeper.providers.claude.handing import Handed, handed, lay_out, read_rules
from innkeeper.providers.claude.history import Place, Start, place, start, uuid_of
from innkeeper.providers.claude.install import AGENT
from innkeeper.providers.claude.launch import Launch, agent_mode, conversation_options
from innkeeper.providers.claude.permissions import Permissions
from innkeeper.providers.claude.process import Ended
from innkeeper.providers.claude.process import Message as Said
from innkeeper.providers.claude.servers import Served, Servers
from innkeeper.providers.claude.turn import Running
from innkeeper.providers.spi import BackingChanged, ClientTool, ProviderError, TurnOutput, TurnRequest
from innkeeper.providers.telling import earlier, ending, exited, failed_to_start, unresponsive
from innkeeper.texts import text

log = logging.getLogger(__name__)

STOP_SECONDS: Final = 0.7
IDLE_SECONDS: Final = 600.0
CONTINUE: Final = "Continue where you were interrupted."

Spawn = Callable[[Any, str], "tuple[Any, Any]"]
"""Options and directory: the SDK's client and its transport, not started."""


@dataclass(slots=True)
class Shared:
    """What the chats of a session share."""

    session: str
    directories: Sequence[str]
    folder: Path
    spawn: Spawn
    learnt: Callable[[Any], None]
    """Told what an agent said of itself at its start."""
    missing: Callable[[], ProviderError | None]
    login: Callable[[], str]
    """Another text for another login: an agent keeps the one that it was started with."""
    adopt: Callable[[str], None]
    """Copies a transcript of the person's to where the host's agent finds it. Blocks."""
    has: Callable[[str, str], bool]
    """Whether the conversation of that id has a message of that id. Blocks."""
    shell: str | None
    """The language of the agent's commands, where it is known."""
    eligible: Eligible
    """What may reach the agent now, by the latest word of the host."""
    ids: Ids
    idle_seconds: float = IDLE_SECONDS


class Conversation:
    """`chat` is the chat's URI."""

    def __init__(self, shared: Shared, servers: Servers, chat: str) -> None:
        self._shared = shared
        self._servers = servers
        self._chat = chat
        self._place: Place | None = None
        self._cli: Cli | None = None
        self._served: Served | None = None
        self._handed = Handed()
        self._mark = ""
        self._model: str | None = None
        self._mode = "default"
        self._denied: frozenset[str] = frozenset()
        self._starting = asyncio.Lock()
        self._running = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None
        self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._tools = ClientTools(self._run_client_tool)
        self._permissions = Permissions(lambda: self.turn, shared.directories[0], self._refused, shared.shell)
        self.turn: Running | None = None

    @property
    def pid(self) -> int | None:
        """Of the running agent."""
        return None if self._cli is None or not self._cli.alive else self._cli.pid

    @property
    def asking(self) -> int:
        """How many of the agent's calls wait for an answer."""
        return self._permissions.asking

    # -- turns ---------------------------------------------------------------------------------------------------

    async def run(self, request: TurnRequest, output: TurnOutput) -> None:
        """One turn; one that comes while the last is still being stopped waits for that. Raises ProviderError."""
        async with self._running:
            try:
                await self._run(request, output)
            finally:
                self._rest()

    async def _run(self, request: TurnRequest, output: TurnOutput) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._denied = _denied(request.config)
        tell = await self._ready(request)
        cli, known = self._cli, self._place
        assert cli is not None and known is not None
        turn = Running(output, self._owner, tells_state="session_state" in cli.about)
        self.turn = turn
        try:
            self._place = _told(known, request.instructions)
            output.emit(BackingChanged(self._place.backing()))
            blocks, id = await self._message(request, known, tell=tell)
            await cli.send(blocks, id)
            error = await asyncio.shield(turn.over)
        except Ended as ended:
            error = exited(AGENT, ended.code)
        except asyncio.CancelledError:
            await self._interrupt(cli, turn)
            raise
        finally:
            self.turn = None
            self._place = (self._place or known).at(turn.conversation).reached(request.turn_id, turn.leaf)
            output.emit(BackingChanged(self._place.backing()))
        if error is not None:
            raise error

    async def _message(self, request: TurnRequest, known: Place, *, tell: bool) -> tuple[list[dict[str, Any]], str]:
        """What is sent, and its id. A turn that goes on says so, if its message has reached the agent; where the first
        try ended before that, it is sent now."""
        id = uuid_of(request.turn_id)
        goes_on = request.resumed and not tell and await asyncio.to_thread(self._shared.has, known.conversation, id)
        said = earlier((*request.context, *request.history)) if tell else ""
        before = (said, *_unknown(known, request.instructions))
        if not goes_on:
            return await asyncio.to_thread(content.prompt, request.text, request.message, before), id
        bare = await asyncio.to_thread(content.prompt, CONTINUE, {**request.message, "attachments": ()}, before)
        return bare, uuid_of(self._shared.ids.new())

    async def steer(self, message_id: str, message: Message) -> bool:
        """False: no turn runs that could take it."""
        turn, cli = self.turn, self._cli
        if turn is None or cli is None or turn.over.done():
            return False
        id = uuid_of(message_id)
        turn.steering[id] = message_id
        try:
            blocks = await asyncio.to_thread(content.prompt, message.get("text", ""), message, ())
            await cli.send(blocks, id, priority="next")
        except Ended:
            turn.steering.pop(id, None)
            return False
        return True

    async def reconcile(self) -> Sequence[str]:
        """A running agent has the servers that are wanted when this returns. What needs a new process waits for the
        next turn; till then the hook refuses it. Raises ProviderError."""
        cli, served = self._cli, self._served
        if cli is None or served is None or not cli.alive:
            return ()
        return await served.set(self._servers.now, client_tools=self._tools.any)

    async def close(self) -> None:
        """End the process. Idempotent."""
        self._closed = True
        if self._idle is not None:
            self._idle.cancel()
        await self._end()
        if self._tasks:
            await asyncio.wait(self._tasks)

    # -- starting ------------------------------------------------------------------------------------------------

    async def _ready(self, request: TurnRequest) -> bool:
        """The agent runs, where the chat stands, with what it may have. True: it has to be told what was said. What is
        decided while it starts counts: then it is made ready once more."""
        async with self._starting:
            tell = False
            while True:
                if self._closed:
                    raise ProviderError("sessionGone", text("turn.sessionGone"))
                eligible = self._shared.eligible
                tell = await self._placed(request, eligible) or tell
                await self._adjust(request, eligible)
                if eligible == self._shared.eligible:
                    return tell

    async def _placed(self, request: TurnRequest, eligible: Eligible) -> bool:
        """The agent runs, where the chat stands, with what it is handed at its start. True as in `_ready`."""
        known = self._place or place(request.backing)
        begun = start(known, request.branch, request.history, request.turn_id, uuid_of(self._shared.ids.new()))
        given = handed(eligible, self._shared.directories[0])
        rules = await asyncio.to_thread(read_rules, given)
        mark = await asyncio.to_thread(given.mark, rules)
        self._tools.set(request.client_tools)
        mark += self._tools.mark + self._shared.login()
        if begun is None and self._cli is not None and self._cli.alive and mark == self._mark:
            return False
        if begun is None:
            assert known is not None
            begun = Start(known, known.conversation)
        begun = await self._started(begun, given, rules, request)
        self._mark = mark
        return begun.tell

    async def _started(self, begun: Start, given: Handed, rules: Sequence[str], request: TurnRequest) -> Start:
        """How it was started: an agent that has lost the conversation begins a new one and is told what was said."""
        try:
            await self._launch(begun, given, rules, request)
        except Forgotten:
            log.warning("the agent of %s does not know its conversation any more; it is told what was said", self._chat)
            begun = Start(Place(uuid_of(self._shared.ids.new())), tell=True)
            await self._launch(begun, given, rules, request)
        return begun

    async def _launch(self, begun: Start, given: Handed, rules: Sequence[str], request: TurnRequest) -> None:
        await self._end()
        if (missing := self._shared.missing()) is not None:
            raise missing
        if begun.transcript is not None:
            await asyncio.to_thread(self._shared.adopt, begun.transcript)
        name = hashlib.sha256(self._chat.encode()).hexdigest()[:24]
        plugins, file = await asyncio.to_thread(lay_out, given, rules, self._shared.folder / name)
        self._mode, self._model = agent_mode(request.config), _model(request)
        launch = Launch(
            self._shared.directories, self._mode, self._model, plugins, file,
            begun.place.conversation, begun.resume, begun.at, begun.fork,
        )  # fmt: skip
        options = conversation_options(launch, self._permissions)
        client, transport = self._shared.spawn(options, self._shared.directories[0])
        cli = Cli(client, transport, lambda said: self._heard(cli, said), lambda ended: self._ended(cli, ended))
        try:
            await cli.start()
        except (Ended, OSError, TimeoutError, Unanswered) as error:
            raise _unstarted(error) from error
        cli.serve_tools(CLIENT, self._tools)
        self._cli, self._served, self._handed, self._place = cli, Served(cli), given, begun.place
        self._shared.learnt(cli.about)

    async def _adjust(self, request: TurnRequest, eligible: Eligible) -> None:
        """Servers, mode and model of the running agent are those that are wanted."""
        cli, served = self._cli, self._served
        assert cli is not None and served is not None
        wanted = await self._servers.look(eligible)
        await served.set(wanted, client_tools=self._tools.any)
        mode, model = agent_mode(request.config), _model(request)
        try:
            if mode != self._mode:
                await cli.control("set_permission_mode", mode=mode)
                self._mode = mode
            if model != self._model:
                await cli.control("set_model", model=model)
                self._model = model
        except Unanswered as error:
            raise unresponsive(AGENT) from error

    # -- what the agent does -------------------------------------------------------------------------------------

    def _heard(self, cli: Cli, message: Said) -> None:
        """What a process says that was given up belongs to nobody."""
        if self.turn is not None and cli is self._cli:
            self.turn.heard(message)

    def _ended(self, cli: Cli, ended: Ended) -> None:
        """The process is gone by itself."""
        log.warning("the agent of %s ended: %s", self._chat, ended)
        if self.turn is not None and cli is self._cli:
            self.turn.fail(exited(AGENT, ended.code))

    def _owner(self, name: str) -> ToolCallContributor | None:
        tool = self._tools.named(name)
        if tool is not None:
            return {"kind": "client", "clientId": tool.client}
        if not name.startswith("mcp__"):
            return None
        ids = self._servers.now.ids
        found = max((server for server in ids if name.startswith(f"mcp__{server}__")), key=len, default=None)
        return None if found is None else {"kind": "mcp", "customizationId": ids[found]}

    def _refused(self, name: str, input: Any, agent: str | None) -> str | None:
        """Why a call may not be made now, whatever the agent was started with."""
        if name in self._denied:
            return text("question.deniedBySetting")
        now = handed(self._shared.eligible, self._shared.directories[0]).names
        used = str(
            input.get("skill") if name == "Skill" else input.get("subagent_type") if name in ("Agent", "Task") else ""
        )
        used = used.lstrip("/")
        gone = self._handed.names - now
        if used and (used in gone or any(one.rpartition(":")[2] == used for one in gone)):
            return text("claude.withheld", name=used)
        if name.startswith("mcp__") and self._owner(name) is None:
            return text("claude.withheld", name=name)
        return None

    async def _run_client_tool(self, tool: ClientTool, call: str, arguments: Any) -> ToolCallResult:
        turn = self.turn
        if turn is None or turn.caller(call) is None:
            return {
                "success": False,
                "pastTenseMessage": text("claude.turnOver"),
                "error": {"message": text("claude.turnOver")},
            }
        name = tool.definition["name"]
        return await turn.output.run_client_tool(call, content.shown(arguments), name)

    # -- stopping ------------------------------------------------------------------------------------------------

    async def _interrupt(self, cli: Cli, turn: Running) -> None:
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await cli.control("interrupt", seconds=STOP_SECONDS)
                await asyncio.wait([turn.over])
        except (Unanswered, TimeoutError):
            log.warning("the agent of %s does not stop; it is ended", self._chat)
            if self._cli is cli:
                self._cli, self._served = None, None
            self._spawn(cli.close())

    def _rest(self) -> None:
        """Nothing runs: an agent that stays idle is let go; the next turn starts it again."""
        if self._cli is not None and not self._closed:
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(self._shared.idle_seconds, lambda: self._spawn(self._tired()))

    async def _tired(self) -> None:
        async with self._starting:
            if self.turn is None:
                await self._end()

    async def _end(self) -> None:
        cli, self._cli, self._served = self._cli, None, None
        if cli is not None:
            await cli.close()

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _mark(words: str) -> str:
    return hashlib.sha256(words.encode(errors="replace")).hexdigest()[:16]


def _unknown(known: Place, instructions: Sequence[str]) -> list[str]:
    """The instructions that the conversation does not have yet."""
    return [words for words in instructions if _mark(words) not in known.told]


def _told(known: Place, instructions: Sequence[str]) -> Place:
    return replace(known, told=tuple(dict.fromkeys((*known.told, *map(_mark, instructions)))))


def _denied(values: Any) -> frozenset[str]:
    permissions = values.get("permissions")
    names = permissions.get("deny") if hasattr(permissions, "get") else None
    return frozenset(name for name in names or () if isinstance(name, str))


def _model(request: TurnRequest) -> str | None:
    chosen = request.message.get("model")
    return str(chosen["id"]) if chosen and chosen["id"] != "default" else None


def _unstarted(error: Exception) -> ProviderError:
    match error:
        case TimeoutError():
            return failed_to_start(AGENT, text("claude.startTimeout"))
        case Ended():
            return failed_to_start(AGENT, ending(error.code))
        case OSError():
            return failed_to_start(AGENT, error.strerror or type(error).__name__)
    return failed_to_start(AGENT, ending(None))
