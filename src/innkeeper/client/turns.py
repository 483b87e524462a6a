"""Actions of a person in a chat, and what a chat asks of the person (AHP §7, §9.2, §9.7). Pure.

Times and ids are arguments: reducers have no clock, so `chat/turnStarted` carries `startedAt` and the end of a turn its
`duration` in whole milliseconds (AHP §6, §15).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

Action = dict[str, Any]
RESULT: Final = "pending-result-confirmation"


def turn_started(turn_id: str, text: str, now: str) -> Action:
    """A message of the person that begins a turn. `now` is UTC, ISO 8601."""
    message = {"text": text, "origin": {"kind": "user"}}
    return {"type": "chat/turnStarted", "turnId": turn_id, "startedAt": now, "message": message}


def message_queued(id: str, text: str) -> Action:
    """A message that begins a turn when the running one has ended (AHP §9.7)."""
    message = {"text": text, "origin": {"kind": "user"}}
    return {"type": "chat/pendingMessageSet", "kind": "queued", "id": id, "message": message}


def turn_cancelled(chat: Mapping[str, Any], now: str) -> Action | None:
    """Ends the running turn; None when none runs."""
    turn = chat.get("activeTurn")
    if not turn:
        return None
    return {"type": "chat/turnCancelled", "turnId": turn["id"], "duration": _milliseconds(turn["startedAt"], now)}


def tool_calls_to_confirm(chat: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tool calls of the running turn that wait for the person, in their order: before they run, or with a result
    that needs consent (AHP §9.2)."""
    calls = [part["toolCall"] for part in _running_parts(chat) if part.get("kind") == "toolCall"]
    return [call for call in calls if call.get("status") in ("pending-confirmation", RESULT)]


def inputs_to_answer(chat: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The agent's own questions in the running turn that nobody has answered (AHP §9.8)."""
    parts = [part for part in _running_parts(chat) if part.get("kind") == "inputRequest"]
    return [part["request"] for part in parts if part.get("response") is None]


def input_completed(request_id: str, response: str, answers: Mapping[str, Any]) -> Action:
    """The response (`accept`, `decline`, `cancel`) to an input request, with the answers by question."""
    action: Action = {"type": "chat/inputCompleted", "requestId": request_id, "response": response}
    return {**action, "answers": dict(answers)} if answers else action


def tool_call_confirmed(turn_id: str, call: Mapping[str, Any], option: str) -> Action:
    """The answer to a tool call by one of its options. Raises LookupError when it has no such option.

    A call without options takes `approve` and `deny`, and so does a result that needs consent.
    """
    if call.get("status") == RESULT and option in ("approve", "deny"):
        named = {"turnId": turn_id, "toolCallId": call["toolCallId"]}
        return {"type": "chat/toolCallResultConfirmed", **named, "approved": option == "approve"}
    offered = call.get("options") or ({"id": "approve", "kind": "approve"}, {"id": "deny", "kind": "deny"})
    chosen = next((candidate for candidate in offered if candidate["id"] == option), None)
    if chosen is None:
        raise LookupError(f"the call offers no option {option}")
    action: Action = {"type": "chat/toolCallConfirmed", "turnId": turn_id, "toolCallId": call["toolCallId"]}
    if call.get("options"):
        action["selectedOptionId"] = option
    if chosen["kind"] == "approve":
        return {**action, "approved": True, "confirmed": "user-action"}
    return {**action, "approved": False, "reason": "denied"}


def turn_of(chat: Mapping[str, Any], turn_id: str) -> Mapping[str, Any] | None:
    """The turn, running or ended; None when the chat's loaded history does not hold it."""
    active: Mapping[str, Any] | None = chat.get("activeTurn")
    turns: Sequence[Mapping[str, Any]] = chat.get("turns") or ()
    candidates = (*turns, active) if active else turns
    return next((turn for turn in candidates if turn["id"] == turn_id), None)


def _running_parts(chat: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return (chat.get("activeTurn") or {}).get("responseParts") or ()


def _milliseconds(start: str, end: str) -> int:
    try:
        elapsed = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except (TypeError, ValueError):
        return 0
    return max(0, round(elapsed.total_seconds() * 1000))
