"""What the agent says of one turn as signals (AHP §7, §9.2, §9.3).

Rules
* The turn is over when the agent says that its session is idle, after it has taken the message: its subagents and
  commands in the background wake it once more before that.
* Text streams; a whole message only fills in what was not streamed. Events of a subagent name its agent, and the agent
  names the call that spawned it.
* The call of a subagent in the background is completed by the subagent's end, not by the note that it was launched.
* A call is started once, whoever tells of it first. What the agent calls a tool of a server is told as
  `mcp__<server>__<tool>`, as every other agent has it.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from innkeeper.protocol.chat.state import ToolCallContributor, ToolCallResult
from innkeeper.providers.copilot import content
from innkeeper.providers.copilot.install import AGENT
from innkeeper.providers.spi import (
    ActivityChanged,
    ProviderError,
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
    TurnOutput,
    UsageReported,
)
from innkeeper.providers.telling import refused
from innkeeper.texts import text

SPAWNING: Final = "task"
RETRYABLE: Final = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
USAGE: Final = {"inputTokens": "inputTokens", "outputTokens": "outputTokens", "cacheReadTokens": "cacheReadTokens"}

Event = Mapping[str, Any]


class Named(NamedTuple):
    """How a tool of the agent is told."""

    name: str
    display: str
    contributor: ToolCallContributor | None = None


Naming = Callable[[str], Named]


@dataclass(slots=True)
class Call:
    tool: str
    """As the agent calls it."""
    subagent: str | None
    input: bool = False
    """Its input has been told, at least in part."""
    asked: bool = False
    runs: bool = False
    ended: bool = False


class Running:
    """One turn. `over` is done when the agent is through with it, with the reason where it failed."""

    def __init__(self, output: TurnOutput, naming: Naming, words: str) -> None:
        self.output = output
        self.over: asyncio.Future[ProviderError | None] = asyncio.get_running_loop().create_future()
        self.point: str | None = None
        """The event that began the turn in the agent's own log."""
        self.began: Callable[[], None] = lambda: None
        """Called when `point` is known."""
        self.steering: dict[str, str] = {}
        """Messages of the user that wait inside the agent: its id to the host's."""
        self._naming = naming
        self._words = words
        self._calls: dict[str, Call] = {}
        self._agents: dict[str, str] = {}
        self._background: set[str] = set()
        self._said: dict[str, str] = {}
        self._streamed: set[str] = set()
        self._usage: dict[str | None, dict[str, Any]] = {}
        self._error: ProviderError | None = None
        self._status: int | None = None
        self._taken = False
        self._early: set[str] = set()
        self.heard_of = 0
        """How many events there were."""

    # -- what the host asks --------------------------------------------------------------------------------------

    def call(self, call: str) -> Call | None:
        """A call of this turn."""
        return self._calls.get(call)

    def open_call(self, tool: str) -> str | None:
        """The last call of that tool that has not ended."""
        return next((id for id, one in reversed(self._calls.items()) if one.tool == tool and not one.ended), None)

    def starts(self, call: str, tool: str, input: Any) -> Call:
        """The agent wants to make the call; it is started if it was not."""
        known = self._start(call, tool, None)
        self._told_input(call, known, input)
        return known

    def steers(self, id: str, message: str) -> None:
        """The agent holds a message of the user's as `id`; it may have given it to the model already."""
        if id in self._early:
            self._emit(SteeringConsumed(message))
        else:
            self.steering[id] = message

    def fail(self, error: ProviderError) -> None:
        if not self.over.done():
            self.over.set_result(error)

    # -- what the agent says -------------------------------------------------------------------------------------

    def heard(self, kind: str, data: Event, agent: str | None, id: str) -> None:
        """One event of the session; `agent` is the subagent that it is of."""
        self.heard_of += 1
        subagent = None if agent is None else self._agents.get(agent, agent)
        if kind.startswith("assistant."):
            self._assistant(kind, data, subagent)
        elif kind.startswith("tool."):
            self._tool(kind, data, subagent)
        elif kind.startswith("subagent."):
            self._subagent(kind, data, agent)
        elif agent is None:
            self._session(kind, data, id)

    def _assistant(self, kind: str, data: Event, subagent: str | None) -> None:
        match kind:
            case "assistant.turn_start" if subagent is None:
                self._taken = True
            case "assistant.message_delta":
                self._text(str(data["messageId"]), str(data.get("deltaContent") or ""), subagent)
            case "assistant.reasoning_delta":
                self._streamed.add(str(data["reasoningId"]))
                self._emit(
                    ReasoningDelta(str(data.get("deltaContent") or ""), str(data["reasoningId"]), subagent=subagent)
                )
            case "assistant.reasoning" if data["reasoningId"] not in self._streamed and data.get("content"):
                self._emit(ReasoningDelta(str(data["content"]), str(data["reasoningId"]), subagent=subagent))
            case "assistant.message":
                self._message(data, subagent)
            case "assistant.tool_call_delta":
                call = self._start(str(data["toolCallId"]), str(data.get("toolName") or ""), subagent)
                if data.get("inputDelta"):
                    call.input = True
                    self._emit(ToolInputDelta(str(data["toolCallId"]), str(data["inputDelta"]), subagent=call.subagent))
            case "assistant.usage":
                self._used(data, subagent)
            case "assistant.intent" if subagent is None and data.get("intent"):
                self._emit(ActivityChanged(str(data["intent"])))
            case "assistant.turn_retry" if subagent is None:
                self._emit(ActivityChanged(text("copilot.retry")))

    def _message(self, data: Event, subagent: str | None) -> None:
        part = str(data["messageId"])
        if data.get("content") and part not in self._streamed:
            self._text(part, str(data["content"]), subagent)
        for request in data.get("toolRequests") or ():
            call = self._start(str(request["toolCallId"]), str(request.get("name") or ""), subagent)
            self._told_input(str(request["toolCallId"]), call, request.get("arguments"))

    def _text(self, part: str, words: str, subagent: str | None) -> None:
        if not self._streamed and subagent is None:
            self._emit(ActivityChanged(None))
        self._streamed.add(part)
        if subagent is not None:
            self._said[subagent] = self._said.get(subagent, "") + words
        self._emit(TextDelta(words, part, subagent=subagent))

    def _tool(self, kind: str, data: Event, subagent: str | None) -> None:
        id = str(data.get("toolCallId"))
        match kind:
            case "tool.execution_start":
                call = self._start(id, str(data.get("toolName") or ""), subagent)
                self._told_input(id, call, data.get("arguments"))
            case "tool.execution_partial_result" if data.get("partialOutput"):
                known = self._runs(id)
                if known is not None:
                    self._emit(ToolProgress(id, content.plain(str(data["partialOutput"])), subagent=known.subagent))
            case "tool.execution_complete":
                known = self._calls.get(id)
                if known is not None and not known.ended and not (id in self._background and data.get("success")):
                    self._complete(id, content.result(self._naming(known.tool).display, data))

    def _runs(self, id: str) -> Call | None:
        known = self._calls.get(id)
        if known is not None and not (known.runs or known.asked or known.ended):
            known.runs = True
            self._emit(ToolRunning(id, self._naming(known.tool).display, subagent=known.subagent))
        return known

    def _subagent(self, kind: str, data: Event, agent: str | None) -> None:
        id = str(data.get("toolCallId"))
        match kind:
            case "subagent.started":
                call = self._start(id, SPAWNING, None)
                if agent is not None:
                    self._agents[agent] = id
                if data.get("executionMode") == "background":
                    self._background.add(id)
                self._runs(id)
                title = str(data.get("agentDisplayName") or data.get("agentName") or AGENT)
                about = data.get("agentDescription")
                self._emit(SubagentStarted(id, title, data.get("agentName"), about, subagent=call.subagent))
            case "subagent.completed" | "subagent.failed" if id in self._background:
                self._background.discard(id)
                words = str(data.get("error") or "") if kind == "subagent.failed" else self._said.get(id, "")
                self._complete(id, content.spoken(words, success=kind == "subagent.completed"))

    def _complete(self, id: str, result: ToolCallResult) -> None:
        known = self._calls[id]
        if known.ended:
            return
        known.ended = True
        if id in self._agents.values():
            self._emit(SubagentEnded(id, subagent=known.subagent))
        self._emit(ToolCompleted(id, result, subagent=known.subagent))

    def _session(self, kind: str, data: Event, id: str) -> None:
        match kind:
            case "user.message":
                self._received(data, id)
            case "session.title_changed" if _is_title(str(data.get("title") or ""), self._words):
                self._emit(TitleSuggested(str(data["title"])))
            case "session.compaction_start":
                self._emit(ActivityChanged(text("copilot.compacting")))
            case "session.compaction_complete":
                self._emit(ActivityChanged(None))
            case "model.call_failure":
                self._status = data.get("statusCode")
            case "session.error":
                self._error = self._failure(data)
            case "abort":
                self._taken = True
            case "session.idle" if self._taken or self._error is not None:
                self._finish()

    def _received(self, data: Event, id: str) -> None:
        """A message has reached the model: the turn's own, or one that was handed over meanwhile."""
        waiting = self.steering.pop(str(data.get("messageId")), None)
        if waiting is not None:
            self._emit(SteeringConsumed(waiting))
        elif data.get("delivery") == "steering":
            self._early.add(str(data.get("messageId")))
        elif self.point is None:
            self.point, self._taken = id, True
            self.began()

    # -- the end -------------------------------------------------------------------------------------------------

    def _failure(self, data: Event) -> ProviderError:
        status = data.get("statusCode") or self._status
        said = str(data.get("message") or data.get("errorType") or "")
        if status == 401 or data.get("errorType") == "authentication":
            why = text("error.AGENT_LOGIN_MISSING.meaning", agent=AGENT)
            return ProviderError("AGENT_LOGIN_MISSING", why, resumable=True)
        return refused(AGENT, said, resumable=status in RETRYABLE)

    def _finish(self) -> None:
        if self.over.done():
            return
        self._emit(ActivityChanged(None))
        self.over.set_result(self._error)

    # -- inside --------------------------------------------------------------------------------------------------

    def _start(self, id: str, tool: str, subagent: str | None) -> Call:
        known = self._calls.get(id)
        if known is None:
            known = self._calls[id] = Call(tool, subagent)
            named = self._naming(tool)
            self._emit(ToolStarted(id, named.name, named.display, contributor=named.contributor, subagent=subagent))
        return known

    def _told_input(self, id: str, call: Call, input: Any) -> None:
        if not call.input and input is not None:
            call.input = True
            self._emit(ToolInputDelta(id, content.shown(input), subagent=call.subagent))

    def _used(self, data: Event, subagent: str | None) -> None:
        """What the turn has used so far: the agent tells each request by itself."""
        sums = self._usage.setdefault(subagent, {})
        for name, key in USAGE.items():
            sums[name] = sums.get(name, 0) + int(data.get(key) or 0)
        if data.get("model"):
            sums["model"] = str(data["model"])
        usage: Any = dict(sums)
        self._emit(UsageReported(usage, subagent=subagent))

    def _emit(self, signal: Signal) -> None:
        self.output.emit(signal)


def _is_title(title: str, words: str) -> bool:
    """The agent's first title is the message itself; what it calls a copy is no title either."""
    return bool(title) and not words.strip().startswith(title.rstrip("…. ")) and not title.endswith("(fork)")
