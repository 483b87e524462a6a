"""Chat actions of clients against the chat's state (AHP §9.2, §9.7, §9.8, §9.9)."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from innkeeper.engine.admission.answers import refuse_answer, refuse_completion
from innkeeper.engine.admission.context import Context
from innkeeper.engine.effects import JsonObject

Check = Callable[[JsonObject, JsonObject, Context], str | None]


def refuse_chat(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    check = _CHECKS.get(action["type"])
    return None if check is None else check(state, action, context)


def find_tool_call(state: JsonObject, turn_id: str, tool_call_id: str) -> JsonObject | None:
    """The tool call of the active turn, or None."""
    turn = state.get("activeTurn")
    if not isinstance(turn, Mapping) or turn.get("id") != turn_id:
        return None
    for part in turn.get("responseParts") or ():
        if part.get("kind") == "toolCall" and part["toolCall"].get("toolCallId") == tool_call_id:
            call: JsonObject = part["toolCall"]
            return call
    return None


def _call(state: JsonObject, action: JsonObject) -> JsonObject | None:
    return find_tool_call(state, action["turnId"], action["toolCallId"])


def _active_turn(state: JsonObject) -> str | None:
    turn = state.get("activeTurn")
    return turn["id"] if isinstance(turn, Mapping) else None


def _turn_started(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    if _active_turn(state) is not None:
        return "a turn is in progress; queue the message or cancel the turn"
    if any(turn.get("id") == action["turnId"] for turn in state.get("turns") or ()):
        return f"turn {action['turnId']} exists already"
    return None


def _turn_cancelled(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    active = _active_turn(state)
    if active is None:
        return "no turn is in progress"
    return None if active == action["turnId"] else f"turn {action['turnId']} is not in progress"


def _turn_resume(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    if _active_turn(state) is not None:
        return "a turn is in progress"
    turns: list[Any] = state.get("turns") or []
    if not turns or turns[-1].get("id") != action["turnId"]:
        return f"turn {action['turnId']} is not the latest turn"
    parts = turns[-1].get("responseParts") or [{}]
    if turns[-1].get("state") != "error" or not parts[-1].get("resumable"):
        return f"turn {action['turnId']} did not end in a resumable error"
    return None


def _truncated(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    turn_id = action.get("turnId")
    if turn_id is None or any(turn.get("id") == turn_id for turn in state.get("turns") or ()):
        return None
    return f"turn {turn_id} is not a completed turn of this chat"


def _confirmed(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    call = _call(state, action)
    if call is None:
        return f"tool call {action['toolCallId']} is not part of the running turn"
    if call.get("status") != "pending-confirmation":
        return f"tool call {action['toolCallId']} does not wait for a confirmation"
    option = action.get("selectedOptionId")
    options = call.get("options")
    if option is not None and options and all(o.get("id") != option for o in options):
        return f"tool call {action['toolCallId']} has no option {option}"
    return None


def _result_confirmed(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    call = _call(state, action)
    if call is None or call.get("status") != "pending-result-confirmation":
        return f"tool call {action['toolCallId']} does not wait for a confirmation of its result"
    return None


def _client_call(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    call = _call(state, action)
    if call is None:
        return f"tool call {action['toolCallId']} is not part of the running turn"
    if call.get("status") == "auth-required" and action["type"] == "chat/toolCallComplete":
        failed = action["result"].get("success") is False
        return None if failed else "a call that waits for authentication can only be failed"
    contributor = call.get("contributor") or {}
    if contributor.get("kind") != "client" or contributor.get("clientId") != context.client_id:
        return f"tool call {action['toolCallId']} is not executed by this client"
    return None


def _pending_removed(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    steering = state.get("steeringMessage")
    waiting = state.get("queuedMessages") or ()
    if action["kind"] == "steering":
        waiting = (steering,) if isinstance(steering, Mapping) else ()
    if any(message.get("id") == action["id"] for message in waiting):
        return None
    return f"there is no {action['kind']} message {action['id']}"


def _answer_changed(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    request = _open_request(state, action["requestId"])
    if request is None:
        return f"there is no open input request {action['requestId']}"
    return refuse_answer(request, action["questionId"], action.get("answer"))


def _input_completed(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    request = _open_request(state, action["requestId"])
    if request is None:
        return f"there is no open input request {action['requestId']}"
    return refuse_completion(request, action)


def _open_request(state: JsonObject, request_id: str) -> JsonObject | None:
    turn = state.get("activeTurn")
    parts = turn.get("responseParts") or () if isinstance(turn, Mapping) else ()
    for part in parts:
        if part.get("kind") == "inputRequest" and part["request"].get("id") == request_id:
            request: JsonObject = part["request"]
            return None if part.get("response") else request
    return None


def _directory_set(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    if context.capability("multipleWorkingDirectories") is None:
        return "this agent works in one directory"
    if action["directory"] not in (context.session.get("workingDirectories") or ()):
        return f"{action['directory']} is not a working directory of the session"
    return None


def _directory_removed(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    if context.capability("multipleWorkingDirectories") is None:
        return "this agent works in one directory"
    return None


_CHECKS: MappingProxyType[str, Check] = MappingProxyType(
    {
        "chat/turnStarted": _turn_started,
        "chat/turnCancelled": _turn_cancelled,
        "chat/turnResume": _turn_resume,
        "chat/truncated": _truncated,
        "chat/toolCallConfirmed": _confirmed,
        "chat/toolCallResultConfirmed": _result_confirmed,
        "chat/toolCallComplete": _client_call,
        "chat/toolCallContentChanged": _client_call,
        "chat/pendingMessageRemoved": _pending_removed,
        "chat/inputAnswerChanged": _answer_changed,
        "chat/inputCompleted": _input_completed,
        "chat/workingDirectorySet": _directory_set,
        "chat/workingDirectoryRemoved": _directory_removed,
    }
)
