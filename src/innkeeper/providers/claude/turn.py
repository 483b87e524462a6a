"""What the agent says of one turn as signals (AHP §7, §9.2, §9.3).

Rules
* The chat's own agent streams; whole messages of it only fill in what was not streamed. Subagents come in whole
  messages, with the call that spawned them.
* A turn is over when the agent says that it is idle: its subagents run in the background and wake it once more. An
  agent that says nothing of its state is over with its result.
* The call of a subagent in the background is completed by the subagent's end, not by the note that it was launched.
* A call is started once, whoever tells of it first: a permission may be asked for before the message is read.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from innkeeper.protocol.chat.state import ToolCallContributor, ToolCallResult
from innkeeper.protocol.common.state import UsageInfo
from innkeeper.providers.claude import content
from innkeeper.providers.claude.install import AGENT
from innkeeper.providers.claude.process import Message
from innkeeper.providers.spi import (
    ActivityChanged,
    ProviderError,
    ReasoningDelta,
    Signal,
    SteeringConsumed,
    SubagentEnded,
    SubagentStarted,
    TextDelta,
    ToolCompleted,
    ToolInputDelta,
    ToolRunning,
    ToolStarted,
    TurnOutput,
    UsageReported,
)
from innkeeper.providers.telling import logged_out, refused
from innkeeper.texts import text

SYNTHETIC: Final = "<synthetic>"
SPAWNING: Final = frozenset({"Agent", "Task"})
RETRYABLE: Final = frozenset({408, 409, 429, 500, 502, 503, 504, 529})

Owner = Callable[[str], ToolCallContributor | None]
"""Whose tool a qualified name is."""


@dataclass(slots=True)
class _Call:
    name: str
    subagent: str | None
    started: bool = False
    ended: bool = False


class Running:
    """One turn. `over` is done when the agent is through with it, with the reason where it failed."""

    def __init__(self, output: TurnOutput, owner: Owner, *, tells_state: bool) -> None:
        self.output = output
        self.over: asyncio.Future[ProviderError | None] = asyncio.get_running_loop().create_future()
        self.leaf: str | None = None
        """The last message of the agent's own that the conversation can be taken back to."""
        self.conversation: str | None = None
        """The agent's id of it, as it said last."""
        self.steering: dict[str, str] = {}
        """Messages of the user that wait inside the agent: its id to the host's."""
        self._owner = owner
        self._calls: dict[str, _Call] = {}
        self._blocks: dict[int, tuple[str, str]] = {}
        self._message = ""
        self._streamed: set[str] = set()
        self._tasks: dict[str, str] = {}
        self._background: set[str] = set()
        self._usage: dict[str, int] = {}
        self._model: str | None = None
        self._held: list[tuple[str, str]] = []
        self._result: Message | None = None
        self._tells_state = tells_state

    # -- what the host asks --------------------------------------------------------------------------------------

    def subagent_of(self, agent: str | None) -> str | None:
        """The call that spawned the agent with that id."""
        return None if agent is None else self._tasks.get(agent, agent)

    def caller(self, call: str) -> tuple[str, str | None] | None:
        """A call of this turn, and the subagent that makes it."""
        known = self._calls.get(call)
        return None if known is None else (call, known.subagent)

    def calls(self, call: str, name: str, input: Mapping[str, Any], agent: str | None) -> str | None:
        """The agent wants to make the call; it is started if it was not. The subagent that makes it."""
        subagent = self.subagent_of(agent)
        known = self._calls.get(call)
        if known is None:
            self._start(call, name, subagent, content.shown(input))
            return subagent
        return known.subagent

    def fail(self, error: ProviderError) -> None:
        if not self.over.done():
            self.over.set_result(error)

    # -- what the agent says -------------------------------------------------------------------------------------

    def heard(self, message: Message) -> None:
        match message.get("type"):
            case "stream_event":
                if message.get("parent_tool_use_id") is None:
                    self._event(message["event"])
            case "assistant":
                self._assistant(message)
            case "user":
                self._user(message)
            case "result":
                self._ended(message)
            case "system":
                self._system(message)
            case "tool_progress":
                self._progress(message)
            case "command_lifecycle":
                self._lifecycle(message)

    def _event(self, event: Mapping[str, Any]) -> None:
        match event.get("type"):
            case "message_start":
                self._message = str(event["message"].get("id", ""))
                self._model = event["message"].get("model") or self._model
                self._streamed.add(self._message)
                self._blocks.clear()
            case "content_block_start":
                self._opened(int(event["index"]), event["content_block"])
            case "content_block_delta":
                self._delta(int(event["index"]), event["delta"])

    def _opened(self, index: int, block: Mapping[str, Any]) -> None:
        kind = str(block.get("type"))
        id = str(block.get("id")) if kind.endswith("tool_use") else f"{self._message}:{index}"
        self._blocks[index] = (kind, id)
        if kind == "tool_use":
            self._start(id, str(block.get("name")), None, None)

    def _delta(self, index: int, delta: Mapping[str, Any]) -> None:
        kind, id = self._blocks.get(index, ("", ""))
        match delta.get("type"):
            case "text_delta":
                self._emit(TextDelta(str(delta["text"]), id))
            case "thinking_delta":
                self._emit(ReasoningDelta(str(delta["thinking"]), id))
            case "input_json_delta" if kind == "tool_use" and delta.get("partial_json"):
                self._emit(ToolInputDelta(id, str(delta["partial_json"])))

    def _assistant(self, message: Message) -> None:
        said, parent = message["message"], message.get("parent_tool_use_id")
        if parent is None:
            self.leaf = message.get("uuid") or self.leaf
            if said.get("model") == SYNTHETIC:
                self._held = [(content.words_of(said.get("content")), str(said.get("id")))]
                return
            if said.get("id") in self._streamed:
                return
        for index, block in enumerate(said.get("content") or ()):
            self._whole(block, f"{said.get('id')}:{message.get('uuid')}:{index}", parent)

    def _whole(self, block: Mapping[str, Any], part: str, subagent: str | None) -> None:
        match block.get("type"):
            case "text":
                self._emit(TextDelta(str(block["text"]), part, subagent=subagent))
            case "thinking":
                self._emit(ReasoningDelta(str(block["thinking"]), part, subagent=subagent))
            case "tool_use":
                self._start(str(block["id"]), str(block["name"]), subagent, content.shown(block.get("input") or {}))

    def _user(self, message: Message) -> None:
        if message.get("parent_tool_use_id") is None:
            self.leaf = message.get("uuid") or self.leaf
        found = message["message"].get("content")
        results = [block for block in found if block.get("type") == "tool_result"] if isinstance(found, list) else []
        for block in results:
            structured = message.get("tool_use_result") if len(results) == 1 else None
            self._completed(str(block.get("tool_use_id")), block, structured)

    def _completed(self, call: str, block: Mapping[str, Any], structured: object) -> None:
        known = self._calls.get(call)
        if known is None or known.ended or (call in self._background and not block.get("is_error")):
            return
        self._complete(call, content.result(known.name, block, structured))

    def _complete(self, call: str, result: ToolCallResult) -> None:
        known = self._calls[call]
        known.ended = True
        if known.name in SPAWNING:
            self._emit(SubagentEnded(call, subagent=known.subagent))
        self._emit(ToolCompleted(call, result, subagent=known.subagent))

    def _progress(self, message: Message) -> None:
        call = str(message.get("tool_use_id"))
        known = self._calls.get(call)
        if known is not None:
            self._emit(ToolRunning(call, known.name, subagent=known.subagent))

    def _lifecycle(self, message: Message) -> None:
        waiting = self.steering.get(str(message.get("command_uuid")))
        if waiting is not None and message.get("state") in ("started", "completed"):
            del self.steering[str(message["command_uuid"])]
            self._emit(SteeringConsumed(waiting))

    def _system(self, message: Message) -> None:
        match message.get("subtype"):
            case "task_started":
                self._task_started(message)
            case "task_updated" if (message.get("patch") or {}).get("status") in ("failed", "killed", "stopped"):
                self._task_ended(message, failed=True)
            case "task_notification":
                self._task_ended(message, failed=message.get("status") != "completed")
            case "api_retry":
                said = text("claude.retry", attempt=message.get("attempt", 1), of=message.get("max_retries", 1))
                self._emit(ActivityChanged(said))
            case "status":
                self._emit(
                    ActivityChanged(text("claude.compacting") if message.get("status") == "compacting" else None)
                )
            case "session_state_changed":
                self._tells_state = True
                if message.get("state") == "idle" and self._result is not None:
                    self._finish()

    def _task_started(self, message: Message) -> None:
        call = str(message.get("tool_use_id"))
        known = self._calls.get(call)
        if known is None or known.name not in SPAWNING:
            return
        self._tasks[str(message["task_id"])] = call
        if message.get("is_backgrounded"):
            self._background.add(call)
        title = str(message.get("description") or known.name)
        self._emit(ToolRunning(call, title, subagent=known.subagent))
        agent, asked = message.get("subagent_type"), message.get("prompt")
        self._emit(SubagentStarted(call, title, agent, asked, subagent=known.subagent))

    def _task_ended(self, message: Message, *, failed: bool) -> None:
        call = self._tasks.get(str(message.get("task_id")))
        if call is None or call not in self._background or self._calls[call].ended:
            return
        summary = str(message.get("summary") or "")
        self._background.discard(call)
        self._complete(call, content.result(self._calls[call].name, {"content": summary, "is_error": failed}, None))

    # -- the end -------------------------------------------------------------------------------------------------

    def _ended(self, message: Message) -> None:
        self._result = message
        self.conversation = message.get("session_id") or self.conversation
        for name, key in (("inputTokens", "input_tokens"), ("outputTokens", "output_tokens")):
            self._usage[name] = self._usage.get(name, 0) + int((message.get("usage") or {}).get(key) or 0)
        read = int((message.get("usage") or {}).get("cache_read_input_tokens") or 0)
        self._usage["cacheReadTokens"] = self._usage.get("cacheReadTokens", 0) + read
        usage: Any = {**self._usage, **({"model": self._model} if self._model else {})}
        self._emit(UsageReported(_usage(usage)))
        if not self._tells_state and not self._background:
            self._finish()

    def _finish(self) -> None:
        if self.over.done() or self._result is None:
            return
        error = _failure(self._result)
        if error is None:
            for words, part in self._held:
                self._emit(TextDelta(words, part))
        self._emit(ActivityChanged(None))
        self.over.set_result(error)

    # -- inside --------------------------------------------------------------------------------------------------

    def _start(self, call: str, name: str, subagent: str | None, input: str | None) -> None:
        if call in self._calls:
            return
        self._calls[call] = _Call(name, subagent)
        display = name.rpartition("__")[2] if name.startswith("mcp__") else name
        self._emit(ToolStarted(call, name, display, contributor=self._owner(name), subagent=subagent))
        if input is not None:
            self._emit(ToolInputDelta(call, input, subagent=subagent))

    def _emit(self, signal: Signal) -> None:
        self.output.emit(signal)


def _usage(found: Mapping[str, Any]) -> UsageInfo:
    return found  # type: ignore[return-value]  # built with the names of UsageInfo


def _failure(result: Mapping[str, Any]) -> ProviderError | None:
    """Why the turn failed; None when it did not. An interruption is the host's own and fails nothing."""
    if not result.get("is_error") or str(result.get("terminal_reason")).startswith("aborted"):
        return None
    status = result.get("api_error_status")
    said = result.get("result") or "; ".join(map(str, result.get("errors") or ())) or str(result.get("subtype"))
    if status in (401, 403) or "/login" in str(said):
        return logged_out(AGENT)
    return refused(AGENT, str(said), resumable=status in RETRYABLE)
