"""What Codex reports of a thread as signals (AHP §7, §9.2, §9.3).

Rules
* One `Items` a turn, fed with the notifications of its thread and of its children's threads, in order.
* A call is started once, whoever tells of it first: Codex asks about some calls before it reports them.
* A tool of an MCP server is named `mcp__<server>__<tool>` and carries the customization it belongs to.
* Output of a running command is given whole, at most every `PROGRESS_SECONDS`, and only its end where it is long.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from innkeeper.protocol.chat.state import ToolCallContributor, ToolCallResult, ToolResultContent
from innkeeper.protocol.common.state import UsageInfo
from innkeeper.providers.codex.results import command_result, edit_result, mcp_result, plain_result
from innkeeper.providers.codex.rpc import Message
from innkeeper.providers.spi import (
    ActivityChanged,
    Notice,
    ReasoningDelta,
    Signal,
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
    UsageReported,
)
from innkeeper.texts import text
from innkeeper.wire.json import encode

PROGRESS_SECONDS: Final = 0.25
OUTPUT_CHARACTERS: Final = 64 * 1024

Emit = Callable[[Signal], None]


@dataclass(eq=False, slots=True)
class Call:
    """A tool call that was started."""

    id: str
    subagent: str | None
    server: str | None = None
    arguments: object = None
    tool: str | None = None
    """Its name as the model knows it."""
    given: str | None = None
    """Its input as JSON."""
    shown_as: str = ""
    paths: Sequence[str] = ()
    """Files that it edits, where that is known."""
    asked: bool = False
    """Somebody was asked about it, or is being asked."""
    runs: bool = False
    done: bool = False
    output: str = ""
    shown: float = -1.0


@dataclass(eq=False)
class Items:
    """`ids`: server name, as Codex has it, to customization id. `asks`: whether Codex asks before an MCP tool runs.
    `now`: monotonic seconds. `child` is told of each new child thread and the call that spawned it."""

    emit: Emit
    thread: str
    ids: Mapping[str, str]
    asks: bool
    now: Callable[[], float]
    child: Callable[[str, str], None]
    steered: set[str] = field(default_factory=set)
    calls: dict[str, Call] = field(default_factory=dict)
    children: dict[str, str] = field(default_factory=dict)
    """Thread of a child to the call in which it works now."""
    _texts: set[str] = field(default_factory=set)
    _usage: dict[str, int] = field(default_factory=dict)
    _plans: int = 0
    _busy: bool = False

    def subagent(self, thread: object) -> str | None:
        return None if thread == self.thread else self.children.get(str(thread))

    def take(self, method: str, params: Message) -> None:
        """One notification; what means nothing here is ignored."""
        took = _NOTES.get(method)
        if took is not None:
            took(self, params)

    # -- words ---------------------------------------------------------------------------------------------------

    def _said(self, params: Message) -> None:
        part = str(params.get("itemId"))
        self._texts.add(part)
        self._calm()
        self.emit(TextDelta(str(params.get("delta", "")), part, subagent=self.subagent(params.get("threadId"))))

    def _thought(self, params: Message) -> None:
        part = f"{params.get('itemId')}:{params.get('summaryIndex', params.get('contentIndex', 0))}"
        self._texts.add(str(params.get("itemId")))
        self._calm()
        self.emit(ReasoningDelta(str(params.get("delta", "")), part, subagent=self.subagent(params.get("threadId"))))

    # -- items ---------------------------------------------------------------------------------------------------

    def _started(self, params: Message) -> None:
        item, subagent = params.get("item") or {}, self.subagent(params.get("threadId"))
        kind = item.get("type")
        if kind == "userMessage":
            self._consumed(item)
        elif kind == "subAgentActivity":
            self._activity(item, subagent)
        elif kind in _TOOLS:
            self.start(item, subagent)

    def _completed(self, params: Message) -> None:
        item, subagent = params.get("item") or {}, self.subagent(params.get("threadId"))
        kind, id = item.get("type"), str(item.get("id"))
        if kind in ("agentMessage", "plan") and id not in self._texts and item.get("text"):
            self.emit(TextDelta(str(item["text"]), id, subagent=subagent))
        elif kind == "reasoning" and id not in self._texts:
            for index, words in enumerate(item.get("summary") or ()):
                self.emit(ReasoningDelta(str(words), f"{id}:{index}", subagent=subagent))
        elif kind == "contextCompaction":
            self.emit(Notice(text("codex.compacted"), subagent=subagent))
        elif kind in _TOOLS:
            self._finish(item, subagent)

    def start(self, item: Mapping[str, Any], subagent: str | None) -> Call:
        """The call that the item is, started if it was not."""
        id = str(item.get("id"))
        known = self.calls.get(id)
        if known is not None:
            return known
        call = self.calls[id] = Call(id, subagent)
        if item.get("type") == "mcpToolCall":
            call.server, call.arguments = str(item.get("server")), item.get("arguments")
        call.paths = [str(one["path"]) for one in item.get("changes") or () if one.get("path")]
        name, given, contributor = described(item, self.ids)
        call.tool, call.given, call.shown_as = name, given, _display(item, name)
        self.emit(ToolStarted(id, name, _display(item, name), contributor=contributor, subagent=subagent))
        if given is not None:
            self.emit(ToolInputDelta(id, given, subagent=subagent))
        if item.get("type") == "mcpToolCall" and not self.asks:
            self.run(call)
        return call

    def run(self, call: Call) -> None:
        """The call runs, and nobody is asked about it."""
        if not (call.asked or call.runs):
            call.runs = True
            self.emit(ToolRunning(call.id, call.shown_as, call.given, subagent=call.subagent))

    def run_unasked(self, id: str) -> None:
        """The call runs, if it is one that nobody was asked about and that has not ended."""
        call = self.calls.get(id)
        if call is not None and not call.done:
            self.run(call)

    def _finish(self, item: Mapping[str, Any], subagent: str | None) -> None:
        call = self.start(item, subagent)
        if item.get("type") == "collabAgentToolCall":
            self._collaborated(item, call)
        call.done = True
        self.emit(ToolCompleted(call.id, _result(item), subagent=call.subagent))

    def _output(self, params: Message) -> None:
        call = self.calls.get(str(params.get("itemId")))
        if call is None:
            return
        self.run(call)
        call.output = (call.output + str(params.get("delta", "")))[-OUTPUT_CHARACTERS:]
        if self.now() - call.shown >= PROGRESS_SECONDS:
            call.shown = self.now()
            content: list[ToolResultContent] = [{"type": "text", "text": call.output}]
            self.emit(ToolProgress(call.id, content, subagent=call.subagent))

    # -- children ------------------------------------------------------------------------------------------------

    def _collaborated(self, item: Mapping[str, Any], call: Call) -> None:
        if item.get("tool") not in ("spawnAgent", "sendInput", "resumeAgent"):
            return
        for thread in item.get("receiverThreadIds") or ():
            self._introduce(str(thread), call, str(item.get("prompt") or text("codex.subagent")), None)

    def _activity(self, item: Mapping[str, Any], subagent: str | None) -> None:
        """How newer models' children are told of: no call of its own, only that it happened."""
        if item.get("kind") not in ("started", "interacted"):
            return
        id, thread, path = str(item.get("id")), str(item.get("agentThreadId")), str(item.get("agentPath", ""))
        if id in self.calls:
            return
        call = self.calls[id] = Call(id, subagent, runs=True)
        self.emit(ToolStarted(id, "spawn_agent", text("codex.subagent"), subagent=subagent))
        self.emit(ToolRunning(id, path or id, None, subagent=subagent))
        self._introduce(thread, call, path.rpartition("/")[2] or text("codex.subagent"), path)
        self.emit(ToolCompleted(id, plain_result(text("codex.spawned", name=path), success=True), subagent=subagent))

    def _introduce(self, thread: str, call: Call, title: str, name: str | None) -> None:
        self.children[thread] = call.id
        self.emit(SubagentStarted(call.id, " ".join(title.split())[:80], agent_name=name, subagent=call.subagent))
        self.child(thread, call.id)

    def open_calls(self) -> list[str]:
        """MCP calls that have not ended: Codex drops them with their turn and does not tell their servers."""
        return [call.id for call in self.calls.values() if call.server is not None and not call.done]

    def child_ended(self, thread: str) -> None:
        call = self.children.get(thread)
        if call is not None:
            self.emit(SubagentEnded(call))

    # -- the rest ------------------------------------------------------------------------------------------------

    def _consumed(self, item: Mapping[str, Any]) -> None:
        id = item.get("clientId")
        if isinstance(id, str) and id in self.steered:
            self.steered.discard(id)
            self.emit(SteeringConsumed(id))

    def _used(self, params: Message) -> None:
        last = (params.get("tokenUsage") or {}).get("last") or {}
        subagent = self.subagent(params.get("threadId"))
        if params.get("threadId") != self.thread:
            self.emit(UsageReported(_usage(last), subagent=subagent))
            return
        for name in _COUNTED:
            self._usage[name] = self._usage.get(name, 0) + int(last.get(name) or 0)
        self.emit(UsageReported(_usage(self._usage)))

    def _planned(self, params: Message) -> None:
        """The agent's list of things to do, as a call that is done: that is how other agents' lists look."""
        self._plans += 1
        id, subagent = f"plan-{params.get('turnId')}-{self._plans}", self.subagent(params.get("threadId"))
        marks = {"completed": "[x]", "inProgress": "[>]"}
        steps = [f"{marks.get(step.get('status'), '[ ]')} {step.get('step')}" for step in params.get("plan") or ()]
        self.emit(ToolStarted(id, "update_plan", text("codex.plan"), subagent=subagent))
        self.emit(ToolInputDelta(id, _json({"plan": params.get("plan")}) or "", subagent=subagent))
        self.emit(ToolCompleted(id, plain_result("\n".join(steps), success=True), subagent=subagent))

    def _named(self, params: Message) -> None:
        if params.get("threadId") == self.thread and params.get("threadName"):
            self.emit(TitleSuggested(str(params["threadName"])))

    def _stumbled(self, params: Message) -> None:
        """An error after which Codex tries again."""
        if params.get("willRetry") and params.get("threadId") == self.thread:
            self._busy = True
            self.emit(ActivityChanged(str((params.get("error") or {}).get("message", ""))[:200]))

    def _calm(self) -> None:
        if self._busy:
            self._busy = False
            self.emit(ActivityChanged(None))


def finished_call(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """A call of the past as the completed call that AHP keeps; None for what is no call."""
    if item.get("type") not in _TOOLS:
        return None
    name, given, _ = described(item, {})
    return {
        "toolCallId": str(item.get("id")),
        "toolName": name,
        "displayName": _display(item, name),
        "invocationMessage": _display(item, name),
        **({"toolInput": given} if given is not None else {}),
        "status": "completed",
        "confirmed": "not-needed",
        **_result(item),
    }


def described(item: Mapping[str, Any], ids: Mapping[str, str]) -> tuple[str, str | None, ToolCallContributor | None]:
    """The name of the tool, its input as JSON, and whose it is."""
    match item.get("type"):
        case "mcpToolCall":
            id = ids.get(str(item.get("server")))
            contributor: ToolCallContributor | None = None if id is None else {"kind": "mcp", "customizationId": id}
            return f"mcp__{item.get('server')}__{item.get('tool')}", _json(item.get("arguments")), contributor
        case "commandExecution":
            return "shell", _json({"command": item.get("command"), "cwd": item.get("cwd")}), None
        case "fileChange":
            return "apply_patch", _json({"changes": _changes(item)}), None
        case "collabAgentToolCall":
            return str(item.get("tool")), _json({"prompt": item.get("prompt")}), None
        case "webSearch":
            return "web_search", _json({"query": item.get("query")}), None
        case kind:
            return str(kind), _json({key: item[key] for key in ("path", "review") if key in item}), None


def _display(item: Mapping[str, Any], name: str) -> str:
    if item.get("type") == "mcpToolCall":
        return str(item.get("tool"))
    return text(_LABELS[name]) if name in _LABELS else name


def _changes(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"path": one.get("path"), "diff": one.get("diff")} for one in item.get("changes") or ()]


def _result(item: Mapping[str, Any]) -> ToolCallResult:
    match item.get("type"):
        case "commandExecution":
            return command_result(item)
        case "fileChange":
            return edit_result(item)
        case "mcpToolCall":
            return mcp_result(item)
        case _:
            return plain_result("", success=item.get("status") != "failed")


def _usage(counted: Mapping[str, Any]) -> UsageInfo:
    return {
        "inputTokens": int(counted.get("inputTokens") or 0),
        "outputTokens": int(counted.get("outputTokens") or 0),
        "cacheReadTokens": int(counted.get("cachedInputTokens") or 0),
    }


def _json(value: object) -> str | None:
    return None if value is None else encode(cast(Any, value)).decode()


_LABELS: Final[Mapping[str, str]] = {
    "shell": "codex.tool.shell",
    "apply_patch": "codex.tool.applyPatch",
    "web_search": "codex.tool.webSearch",
    "spawnAgent": "codex.subagent",
}
_COUNTED: Final = ("inputTokens", "outputTokens", "cachedInputTokens")
_TOOLS: Final = frozenset(
    [
        "commandExecution",
        "fileChange",
        "mcpToolCall",
        "collabAgentToolCall",
        "webSearch",
        "imageView",
        "imageGeneration",
        "requestPermissions",
    ]
)
_NOTES: Final[Mapping[str, Callable[[Items, Message], None]]] = {
    "item/agentMessage/delta": Items._said,
    "item/plan/delta": Items._said,
    "item/reasoning/summaryTextDelta": Items._thought,
    "item/reasoning/textDelta": Items._thought,
    "item/started": Items._started,
    "item/completed": Items._completed,
    "item/commandExecution/outputDelta": Items._output,
    "thread/tokenUsage/updated": Items._used,
    "turn/plan/updated": Items._planned,
    "thread/name/updated": Items._named,
    "error": Items._stumbled,
}
