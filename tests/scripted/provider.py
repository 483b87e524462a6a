"""An agent that does what the words of a message say: everything that a real one can do, on the same contract.

Each prompt is one behaviour; `PROMPTS` lists them. Tests of the host use it, and of what drives a host from outside.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence

from innkeeper.ports.customizations import Eligible
from innkeeper.ports.questions import Answer, Confirmation, Option
from innkeeper.protocol.chat.state import Message
from innkeeper.protocol.root.state import AgentInfo
from innkeeper.protocol.session.state import SessionConfigSchema
from innkeeper.providers.spi import (
    ActivityChanged,
    Backing,
    BackingChanged,
    Notice,
    ProviderError,
    ReasoningDelta,
    SessionOpening,
    SteeringConsumed,
    SubagentEnded,
    SubagentStarted,
    TextDelta,
    TitleSuggested,
    ToolCompleted,
    ToolInputDelta,
    ToolProgress,
    ToolRunning,
    ToolStarted,
    TurnOutput,
    TurnRequest,
    Unavailable,
    UsageReported,
)

OPTIONS = (
    Option("once", "Allow once", "approve"),
    Option("always", "Always allow", "approve"),
    Option("deny", "Deny", "deny"),
)

Behaviour = Callable[["Session", TurnRequest, TurnOutput, str], Awaitable[None]]


class ScriptedProvider:
    """`opening` may be replaced by a test: it is awaited before a session opens, and may raise."""

    def __init__(self, name: str = "scripted", *, chats: bool = True, directories: bool = False) -> None:
        self.name = name
        self.chats = chats
        self.directories = directories
        self.opening: Callable[[SessionOpening], Awaitable[None]] | None = None
        self.opened: list[SessionOpening] = []
        self.closed: list[str] = []
        self.requests: list[TurnRequest] = []
        self.reconciled: list[Eligible] = []
        self.reported: Sequence[str] | None = None
        self.stubborn: ProviderError | None = None
        self.missing: Unavailable | None = None
        self.models = ("script-1",)
        self.ended = 0
        self.changed: Callable[[], None] = lambda: None

    @property
    def info(self) -> AgentInfo:
        capabilities: dict[str, object] = {}
        if self.chats:
            capabilities["multipleChats"] = {"fork": True, "sideChat": True}
        if self.directories:
            capabilities["multipleWorkingDirectories"] = {"immutablePrimary": True}
        info = {
            "provider": self.name,
            "displayName": "Scripted",
            "description": "Does what the prompt says.",
            "models": [
                {"id": id, "provider": self.name, "name": "Script", "maxContextWindow": 128000} for id in self.models
            ],
            "capabilities": capabilities,
        }
        return info  # type: ignore[return-value]

    @property
    def unavailable(self) -> Unavailable | None:
        return self.missing

    def watch(self, changed: Callable[[], None]) -> None:
        self.changed = changed

    def can_resume(self, backing: Backing | None) -> bool:
        return bool(backing and backing.get("resumable"))

    async def close(self) -> None:
        self.ended += 1

    def config_schema(self, directory: str | None, values: Mapping[str, object]) -> SessionConfigSchema:
        managed = values.get("branchMode", "managed") == "managed"
        branch: dict[str, object] = {"type": "string", "title": "Branch"}
        if managed:
            branch |= {"enum": ["main", "feature/config", "release"], "enumDynamic": True}
        else:
            branch |= {"readOnly": True}
        mode = {"type": "string", "title": "Branch mode", "enum": ["managed", "direct"], "default": "managed"}
        return {"type": "object", "properties": {"branchMode": mode, "branch": branch}}  # type: ignore[typeddict-item]

    async def open_session(self, opening: SessionOpening) -> "Session":
        if self.opening is not None:
            await self.opening(opening)
        self.opened.append(opening)
        return Session(self, opening.session)


class Session:
    def __init__(self, provider: ScriptedProvider, session: str) -> None:
        self.provider = provider
        self.session = session
        self.steered: dict[str, asyncio.Queue[tuple[str, Message]]] = {}
        self.late: list[asyncio.Task[None]] = []
        self.late_answers: list[Answer] = []

    async def run_turn(self, request: TurnRequest, output: TurnOutput) -> None:
        self.provider.requests.append(request)
        if request.resumed:
            output.emit(TextDelta("resumed", "resumed"))
            output.emit(UsageReported({"inputTokens": 10}))
            return
        asked = request.text.rsplit("</side-conversation>", 1)[-1].strip()
        word, _, rest = asked.partition(" ")
        behaviour = PROMPTS.get(word)
        if behaviour is None:
            output.emit(TextDelta(f"I do not know {request.text!r}.", "t"))
        else:
            await behaviour(self, request, output, rest)

    async def reconcile(self, customizations: Eligible) -> Sequence[str] | None:
        if self.provider.stubborn is not None:
            raise self.provider.stubborn
        self.provider.reconciled.append(customizations)
        return self.provider.reported

    async def steer(self, chat: str, message_id: str, message: Message) -> bool:
        queue = self.steered.get(chat)
        if queue is None:
            return False
        queue.put_nowait((message_id, message))
        return True

    async def close(self) -> None:
        for task in self.late:
            task.cancel()
        if self.session not in self.provider.closed:
            self.provider.closed.append(self.session)


def _done(words: str) -> dict[str, object]:
    return {"success": True, "pastTenseMessage": "Done", "content": [{"type": "text", "text": words}]}


async def hello(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    for word in ("Hello", ", ", "world"):
        output.emit(TextDelta(word, "t"))
        await asyncio.sleep(0)


async def many(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    for number in range(int(rest)):
        output.emit(TextDelta(f"{number} ", "t"))


async def think(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(ReasoningDelta("First this. ", "r"))
    await asyncio.sleep(0)
    output.emit(ReasoningDelta("Then that.", "r"))
    output.emit(TextDelta("So.", "t"))


async def tool(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(ToolStarted("call-1", "echo", "Echo", intention="to show it"))
    for piece in ('{"word": ', '"hi"}'):
        output.emit(ToolInputDelta("call-1", piece))
        await asyncio.sleep(0)
    output.emit(ToolRunning("call-1", "Echoing", '{"word": "hi"}'))
    output.emit(ToolProgress("call-1", [{"type": "text", "text": "h"}]))
    await asyncio.sleep(0)
    output.emit(ToolCompleted("call-1", _done("hi")))  # type: ignore[arg-type]
    output.emit(TextDelta("echoed", "t"))


async def tool_lazy(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """A result, and never a word that it ran."""
    output.emit(ToolStarted("call-1", "echo", "Echo"))
    output.emit(ToolCompleted("call-1", _done("hi")))  # type: ignore[arg-type]


async def ask(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(ToolStarted("call-1", "shell", "Shell"))
    confirmation = Confirmation("Run a command?", "Run rm", '{"command": "rm"}', OPTIONS, {"rule": "shell"})
    answer = await output.confirm("call-1", confirmation)
    if not answer.approved:
        output.emit(TextDelta(f"denied: {answer.reason} {answer.option} {answer.message}", "t"))
        return
    output.emit(ToolCompleted("call-1", _done(answer.edited_input or "as given")))  # type: ignore[arg-type]
    output.emit(TextDelta(f"approved: {answer.option}", "t"))


async def client_tool(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    contributor = {"kind": "client", "clientId": rest}
    output.emit(ToolStarted("call-1", "pick", "Pick", contributor=contributor))  # type: ignore[arg-type]
    result = await output.run_client_tool("call-1", '{"from": 3}', "Picking")
    output.emit(TextDelta(json.dumps(result.get("structuredContent") or result.get("error") or {}), "t"))


async def client_tool_ask(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    contributor = {"kind": "client", "clientId": rest}
    output.emit(ToolStarted("call-1", "pick", "Pick", contributor=contributor))  # type: ignore[arg-type]
    answer = await output.confirm("call-1", Confirmation("Pick?", "Picking", "{}", OPTIONS))
    if answer.approved:
        result = await output.run_client_tool("call-1", "{}", "Picking")
        output.emit(TextDelta(f"success {result['success']}", "t"))


async def question(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    questions = [{"kind": "text", "id": "name", "message": "Your name?", "required": True}]
    answer = await output.ask({"id": "ask-1", "message": "Who?", "questions": questions})  # type: ignore[typeddict-item]
    given = answer.answers.get("name")
    value = given["value"]["value"] if given and given["state"] == "submitted" else None
    output.emit(TextDelta(f"{answer.response} {value}", "t"))


def _inner(output: TurnOutput, call: str, text: str) -> None:
    output.emit(TextDelta(text, f"t-{call}", subagent=call))
    output.emit(ToolStarted(f"in-{call}", "look", "Look", subagent=call))
    output.emit(ToolCompleted(f"in-{call}", _done("seen"), subagent=call))  # type: ignore[arg-type]


async def subagent(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(ToolStarted("task-1", "task", "Task"))
    output.emit(ToolRunning("task-1", "Exploring"))
    output.emit(SubagentStarted("task-1", "Explore", agent_name="explorer", description="Look around"))
    _inner(output, "task-1", "looking")
    await asyncio.sleep(0)
    error = ProviderError("lost", "The explorer is lost") if rest == "failed" else None
    output.emit(SubagentEnded("task-1", error))
    output.emit(ToolProgress("task-1", [{"type": "text", "text": "half"}]))
    output.emit(ToolCompleted("task-1", _done("explored")))  # type: ignore[arg-type]
    output.emit(TextDelta("done", "t"))


async def subagent_early(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """Its signals, and its end, come before its start."""
    output.emit(ToolStarted("task-1", "task", "Task"))
    _inner(output, "task-1", "early bird")
    output.emit(UsageReported({"inputTokens": 1}, subagent="task-1"))
    output.emit(SubagentEnded("task-1"))
    await asyncio.sleep(0)
    output.emit(SubagentStarted("task-1", "Explore"))
    output.emit(ToolCompleted("task-1", _done("explored")))  # type: ignore[arg-type]


async def subagent_nested(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """The inner one starts before the outer one is known."""
    output.emit(SubagentStarted("task-2", "Inner", subagent="task-1"))
    output.emit(TextDelta("inner words", "t", subagent="task-2"))
    output.emit(ToolStarted("task-1", "task", "Task"))
    output.emit(SubagentStarted("task-1", "Outer"))
    output.emit(TextDelta("outer words", "t", subagent="task-1"))


async def subagent_never(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(TextDelta("lost words", "t", subagent="ghost"))


async def subagent_flood(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """So many signals before its start."""
    output.emit(ToolStarted("task-1", "task", "Task"))
    for number in range(int(rest)):
        output.emit(TextDelta(f"{number},", f"t{number % 2}", subagent="task-1"))
    await asyncio.sleep(0)
    output.emit(SubagentStarted("task-1", "Explore"))


async def subagent_ask_never(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """It asks, and never starts."""
    output.emit(ToolStarted("task-1", "task", "Task"))
    output.emit(ToolStarted("in-1", "shell", "Shell", subagent="task-1"))
    answer = await output.confirm("in-1", Confirmation("Run?", "Run ls", "ls", OPTIONS), subagent="task-1")
    output.emit(TextDelta("allowed" if answer.approved else f"denied {answer.reason}", "t"))


async def subagent_ask(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """It asks before it was said to have started."""
    output.emit(ToolStarted("task-1", "task", "Task"))
    output.emit(ToolStarted("in-1", "shell", "Shell", subagent="task-1"))
    asking = asyncio.create_task(
        output.confirm("in-1", Confirmation("Run?", "Run ls", "ls", OPTIONS), subagent="task-1")
    )
    await asyncio.sleep(0)
    output.emit(SubagentStarted("task-1", "Explore"))
    answer = await asking
    output.emit(ToolCompleted("in-1", _done("ran"), subagent="task-1"))  # type: ignore[arg-type]
    output.emit(TextDelta(f"approved {answer.approved}", "t"))


async def subagent_wait(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(ToolStarted("task-1", "task", "Task"))
    output.emit(SubagentStarted("task-1", "Explore"))
    output.emit(TextDelta("still looking", "t", subagent="task-1"))
    await asyncio.Event().wait()


async def steered(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    queue: asyncio.Queue[tuple[str, Message]] = asyncio.Queue()
    session.steered[request.chat] = queue
    output.emit(TextDelta("waiting", "t"))
    try:
        message_id, message = await queue.get()
    finally:
        del session.steered[request.chat]
    output.emit(SteeringConsumed(message_id))
    output.emit(TextDelta(f" steered: {message['text']}", "t"))


async def stuck(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(TextDelta("working", "t"))
    await asyncio.Event().wait()


async def deaf(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """Lets the first cancellation pass and ends as if nothing had happened."""
    output.emit(TextDelta("working", "t"))
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        output.emit(TextDelta(" too late", "t"))


async def slow(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    await asyncio.sleep(float(rest or 1))
    output.emit(TextDelta("at last", "t"))


async def fail(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(TextDelta("so far", "t"))
    output.emit(UsageReported({"inputTokens": 10}))
    raise ProviderError("testError", "It went wrong", resumable=rest == "resumable")


async def crash(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(TextDelta("so far", "t"))
    raise ValueError("secret-token-in-an-exception")


async def crash_cancelled(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    raise asyncio.CancelledError


async def usage(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(UsageReported({"inputTokens": 100, "outputTokens": 50, "model": "script-1"}))


async def title(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(TitleSuggested(rest))


async def activity(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(ActivityChanged("Reading"))
    await asyncio.sleep(0)
    output.emit(Notice("Something happened"))
    output.emit(ActivityChanged(None))


async def keep(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """Keeps a word for the chat, says what it had kept, and what the chat it came from had."""
    branch = None if request.branch is None else (request.branch.backing, request.branch.turns)
    output.emit(TextDelta(f"had {json.dumps(request.backing)} branch {json.dumps(branch)}", "t"))
    output.emit(BackingChanged({"word": rest}))


async def keep_going(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """A turn that can be resumed, and does not end."""
    output.emit(BackingChanged({"resumable": True}))
    output.emit(TextDelta("working", "t"))
    await asyncio.Event().wait()


async def who(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """Whose words, and what the clients can do."""
    tools = [f"{tool.client}:{tool.definition['name']}" for tool in request.client_tools]
    output.emit(TextDelta(f"{request.client} {tools}", "t"))


async def late(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """Goes on reporting after its end."""

    async def after() -> None:
        await asyncio.sleep(0.01)
        output.emit(TextDelta(" and more", "t"))
        output.emit(ToolStarted("call-late", "echo", "Echo"))
        answer = await output.confirm("call-late", Confirmation("Late?", "Late", None, OPTIONS))
        session.late_answers.append(answer)

    output.emit(TextDelta("that is all", "t"))
    session.late.append(asyncio.create_task(after()))


async def nonsense(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """Signals that fit no state."""
    output.emit(ToolCompleted("unknown", _done("x")))  # type: ignore[arg-type]
    output.emit(ToolProgress("unknown", []))
    output.emit(ToolInputDelta("unknown", "x"))
    output.emit(ToolRunning("unknown", "x"))
    output.emit(SubagentEnded("unknown"))
    output.emit(SteeringConsumed("unknown"))
    output.emit(TextDelta("still fine", "t"))


PROMPTS: Mapping[str, Behaviour] = {
    "hello": hello,
    "many": many,
    "think": think,
    "tool": tool,
    "tool-lazy": tool_lazy,
    "ask": ask,
    "client-tool": client_tool,
    "client-tool-ask": client_tool_ask,
    "question": question,
    "subagent": subagent,
    "subagent-early": subagent_early,
    "subagent-nested": subagent_nested,
    "subagent-never": subagent_never,
    "subagent-flood": subagent_flood,
    "subagent-ask-never": subagent_ask_never,
    "subagent-ask": subagent_ask,
    "subagent-wait": subagent_wait,
    "steered": steered,
    "stuck": stuck,
    "deaf": deaf,
    "slow": slow,
    "fail": fail,
    "crash": crash,
    "crash-cancelled": crash_cancelled,
    "usage": usage,
    "title": title,
    "activity": activity,
    "late": late,
    "nonsense": nonsense,
    "keep": keep,
    "keep-going": keep_going,
    "who": who,
}
