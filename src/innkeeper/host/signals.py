"""A provider's signals as AHP actions (AHP §7, §9.2). Pure: one signal, the chat as it is, the actions it means.

Rules
* A signal of a turn that is not the chat's running turn means nothing: it came too late.
* A part is opened by its first delta. Adjacent deltas of one part are one delta (`merged`).
* A tool call goes through its states whatever the provider leaves out: a result of a call that was never said to run
  makes it run first; a signal that the call's state does not allow means nothing. A call that waits for a confirmation
  does not run because the provider says so.
* The `subagent` block of a call survives whatever the provider says about the call's content (AHP §9.3).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

from innkeeper.host.views import State, active_turn, has_part, tool_call
from innkeeper.providers.spi import (
    ActivityChanged,
    BackingChanged,
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

Action = dict[str, Any]

OPEN = frozenset({"streaming", "pending-confirmation", "running"})


def merged(signals: Iterable[Signal]) -> list[Signal]:
    """The same signals with adjacent deltas of one part, or one call's input, put together."""
    result: list[Signal] = []
    for signal in signals:
        joined = _joined(result[-1], signal) if result else None
        if joined is None:
            result.append(signal)
        else:
            result[-1] = joined
    return result


def _joined(first: Signal, second: Signal) -> Signal | None:
    match first, second:
        case TextDelta(text=a, part=p), TextDelta(text=b, part=q) if p == q and first.subagent == second.subagent:
            return TextDelta(a + b, p, subagent=first.subagent)
        case ReasoningDelta(text=a, part=p), ReasoningDelta(text=b, part=q) if (
            p == q and first.subagent == second.subagent
        ):
            return ReasoningDelta(a + b, p, subagent=first.subagent)
        case ToolInputDelta(call=c, text=a), ToolInputDelta(call=d, text=b) if (
            c == d and first.subagent == second.subagent
        ):
            return ToolInputDelta(c, a + b, subagent=first.subagent)
        case _:
            return None


def actions(signal: Signal, chat: State, turn_id: str) -> tuple[Action, ...]:
    """The chat actions that `signal` means. What concerns other channels (subagents, titles) means none here."""
    turn = active_turn(chat, turn_id)
    if turn is None:
        return ()
    match signal:
        case TextDelta(text=text, part=part):
            return _text(turn, "markdown", "chat/delta", part, text)
        case ReasoningDelta(text=text, part=part):
            return _text(turn, "reasoning", "chat/reasoning", part, text)
        case ToolStarted() | ToolInputDelta() | ToolRunning() | ToolProgress() | ToolCompleted():
            return _tool(signal, turn)
        case UsageReported(usage=usage):
            return ({"type": "chat/usage", "turnId": turn["id"], "usage": usage},)
        case Notice(text=text):
            part_of_notice = {"kind": "systemNotification", "content": text}
            return ({"type": "chat/responsePart", "turnId": turn["id"], "part": part_of_notice},)
        case ActivityChanged(activity=activity):
            return ({"type": "chat/activityChanged", **_given("activity", activity)},)
        case SteeringConsumed(message_id=message_id):
            return _steering_consumed(chat, message_id)
        case SubagentStarted() | SubagentEnded() | TitleSuggested() | BackingChanged():
            return ()
        case _:
            assert_never(signal)


def _text(turn: State, kind: str, delta: str, part: str, text: str) -> tuple[Action, ...]:
    part_id = _part_id(turn, kind, part)
    if has_part(turn, kind, part_id):
        return ({"type": delta, "turnId": turn["id"], "partId": part_id, "content": text},) if text else ()
    opened = {"kind": kind, "id": part_id, "content": text}
    return ({"type": "chat/responsePart", "turnId": turn["id"], "part": opened},)


def _part_id(turn: State, kind: str, part: str) -> str:
    """The agent's id, unless a part of another kind has it: the first of an id takes every delta (AHP §7)."""
    for other in turn.get("responseParts") or ():
        named = other["toolCall"].get("toolCallId") if other.get("kind") == "toolCall" else other.get("id")
        if named == part:
            return part if other.get("kind") == kind else f"{kind}:{part}"
    return part


def _tool(
    signal: ToolStarted | ToolInputDelta | ToolRunning | ToolProgress | ToolCompleted, turn: State
) -> tuple[Action, ...]:
    base: Action = {"turnId": turn["id"], "toolCallId": signal.call}
    call = tool_call(turn, signal.call)
    status = None if call is None else call.get("status")
    match signal:
        case ToolStarted():
            return () if status in OPEN else (_started(signal, base),)
        case ToolInputDelta(text=text):
            return ({"type": "chat/toolCallDelta", **base, "content": text},) if status == "streaming" else ()
        case ToolRunning():
            return (_running(signal, base),) if status == "streaming" else ()
        case ToolProgress(content=content):
            if status != "running" or call is None:
                return ()
            return ({"type": "chat/toolCallContentChanged", **base, "content": with_subagents(call, content)},)
        case ToolCompleted(result=result):
            if call is None or status not in (*OPEN, "auth-required"):
                return ()
            done = {"type": "chat/toolCallComplete", **base, "result": _result(call, result)}
            return (_implied_running(call, base), done) if status == "streaming" else (done,)
        case _:
            assert_never(signal)


def _started(signal: ToolStarted, base: Action) -> Action:
    return {
        "type": "chat/toolCallStart",
        **base,
        "toolName": signal.name,
        "displayName": signal.display_name,
        **_given("intention", signal.intention),
        **_given("contributor", signal.contributor),
    }


def _running(signal: ToolRunning, base: Action) -> Action:
    return {
        "type": "chat/toolCallReady",
        **base,
        "invocationMessage": signal.invocation,
        **_given("toolInput", signal.tool_input),
        "confirmed": signal.confirmed,
    }


def _implied_running(call: State, base: Action) -> Action:
    """A result without a start: the call ran, and nobody had to be asked."""
    return {
        "type": "chat/toolCallReady",
        **base,
        "invocationMessage": call.get("invocationMessage") or call.get("displayName") or call.get("toolName") or "",
        **_given("toolInput", call.get("partialInput")),
        "confirmed": "not-needed",
    }


def implied_running(call: State, turn_id: str) -> Action:
    """The action that lets a started call run, for what needs a running call."""
    return _implied_running(call, {"turnId": turn_id, "toolCallId": call["toolCallId"]})


def with_subagents(call: State, content: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """`content` with the subagent blocks that the call already shows and `content` does not name."""
    named = {block.get("resource") for block in content if block.get("type") == "subagent"}
    kept = [
        block
        for block in call.get("content") or ()
        if block.get("type") == "subagent" and block.get("resource") not in named
    ]
    return [*kept, *content]


def _result(call: State, result: Mapping[str, Any]) -> Mapping[str, Any]:
    content = with_subagents(call, result.get("content") or ())
    return {**result, "content": content} if content else result


def _steering_consumed(chat: State, message_id: str) -> tuple[Action, ...]:
    found: list[Action] = []
    if (chat.get("steeringMessage") or {}).get("id") == message_id:
        found.append({"type": "chat/pendingMessageRemoved", "kind": "steering", "id": message_id})
    if any(message.get("id") == message_id for message in chat.get("steeringMessages") or ()):
        found.append({"type": "chat/steeringMessageRemoved", "id": message_id})
    return tuple(found)


def _given(name: str, value: Any) -> dict[str, Any]:
    return {} if value is None else {name: value}
