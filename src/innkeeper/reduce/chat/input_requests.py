"""Input requests of a chat (AHP §9.8): live parts of the active turn, open until they have a `response`.

Without an active turn, and for a request that is not open, every action here is ignored.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from innkeeper.protocol.chat.actions import ChatInputAnswerChangedAction, ChatInputCompletedAction
from innkeeper.protocol.chat.state import ChatInputRequest
from innkeeper.reduce.chat.parts import Part, parts_of, with_parts
from innkeeper.reduce.chat.summary import refreshed
from innkeeper.reduce.fields import present, put, put_all, replaced

C = TypeVar("C", bound=Mapping[str, Any])


def requested(state: C, request: ChatInputRequest) -> C:
    """Open a request, or renew the open one of that id; a renewed request keeps the drafts it does not bring itself."""
    active: Mapping[str, Any] | None = state.get("activeTurn")
    if active is None:
        return state
    parts = parts_of(active)
    index, open_part = _open_part(active, request.get("id"))
    if open_part is None:
        changed = with_parts(state, active, [*parts, {"kind": "inputRequest", "request": request}])
    else:
        answers = request.get("answers")
        kept = open_part["request"].get("answers") if answers is None else answers
        renewed = put(open_part, "request", put(request, "answers", kept))
        changed = with_parts(state, active, replaced(parts, index, renewed))
    return refreshed(changed, unread=True)


def answer_changed(state: C, action: ChatInputAnswerChangedAction) -> C:
    """Write or clear the draft answer of one question."""
    active: Mapping[str, Any] = state.get("activeTurn") or {}
    index, part = _open_part(active, action["requestId"])
    if part is None:
        return state
    request = part["request"]
    answers: Mapping[str, Any] = request.get("answers") or {}
    drafted = put(answers, action["questionId"], action.get("answer"))
    if drafted is answers:
        return state
    changed = put(part, "request", put(request, "answers", drafted or None))
    return with_parts(state, active, replaced(parts_of(active), index, changed))


def completed(state: C, action: ChatInputCompletedAction) -> C:
    """Close a request; final answers overlay the drafts."""
    active: Mapping[str, Any] = state.get("activeTurn") or {}
    index, part = _open_part(active, action["requestId"])
    if part is None:
        return state
    request = part["request"]
    answers = {**(request.get("answers") or {}), **present(action.get("answers") or {})}
    changed = put_all(part, {"request": put(request, "answers", answers or None), "response": action["response"]})
    return refreshed(with_parts(state, active, replaced(parts_of(active), index, changed)))


def _open_part(turn: Mapping[str, Any], request_id: object) -> tuple[int, Part | None]:
    for index, part in enumerate(parts_of(turn)):
        is_open = part.get("kind") == "inputRequest" and part.get("response") is None
        if is_open and request_id is not None and (part.get("request") or {}).get("id") == request_id:
            return index, part
    return -1, None
