"""Actions of a person in a chat (AHP §7, §9.2, §9.7), against the real reducer."""

from typing import Any

import pytest

from innkeeper.client import turns
from innkeeper.reduce import reduce

T0 = "2026-11-30T10:00:00.000Z"
T1 = "2026-11-30T10:00:01.500Z"

CHAT: dict[str, Any] = {"resource": "ahp-chat:/1", "title": "", "status": 1, "modifiedAt": T0, "turns": []}
OPTIONS = [
    {"id": "allow-once", "label": "Allow once", "kind": "approve"},
    {"id": "deny", "label": "Deny", "kind": "deny"},
]


def after(*actions: dict[str, Any]) -> Any:
    state: Any = CHAT
    for action in actions:
        state = reduce("chat", state, action)
    return state


def asking(**more: Any) -> Any:
    call = {"turnId": "t", "toolCallId": "c"}
    return after(
        turns.turn_started("t", "hi", T0),
        {"type": "chat/toolCallStart", **call, "toolName": "x", "displayName": "X"},
        {"type": "chat/toolCallReady", **call, "invocationMessage": "call x", **more},
    )


def test_a_message_begins_a_turn_and_cancelling_ends_it_with_its_duration() -> None:
    running = after(turns.turn_started("t", "hi", T0))
    assert running["activeTurn"]["message"] == {"text": "hi", "origin": {"kind": "user"}}
    cancel = turns.turn_cancelled(running, T1)
    assert cancel == {"type": "chat/turnCancelled", "turnId": "t", "duration": 1500}
    ended = reduce("chat", running, cancel)
    assert (ended["turns"][0]["state"], turns.turn_cancelled(ended, T1)) == ("cancelled", None)


@pytest.mark.parametrize(("start", "end"), [(T1, T0), ("nonsense", T0), ("2026-11-30T10:00:00", T0)])
def test_a_duration_is_never_negative_and_never_an_error(start: str, end: str) -> None:
    """AHP §7: `duration` ≥ 0. A peer's `startedAt` may be anything."""
    cancel = turns.turn_cancelled({"activeTurn": {"id": "t", "startedAt": start}}, end)
    assert cancel is not None
    assert cancel["duration"] == 0


def test_a_queued_message_waits_in_the_chat() -> None:
    assert after(turns.message_queued("m", "next"))["queuedMessages"][0]["id"] == "m"


def test_a_tool_call_is_answered_by_one_of_its_options() -> None:
    """AHP §9.2: `options` replace a plain yes or no."""
    chat = asking(options=OPTIONS)
    (call,) = turns.tool_calls_to_confirm(chat)
    allowed = reduce("chat", chat, turns.tool_call_confirmed("t", call, "allow-once"))
    part = allowed["activeTurn"]["responseParts"][0]["toolCall"]
    assert (part["status"], part["selectedOption"]["id"], part["confirmed"]) == ("running", "allow-once", "user-action")
    denied = reduce("chat", chat, turns.tool_call_confirmed("t", call, "deny"))
    part = denied["activeTurn"]["responseParts"][0]["toolCall"]
    assert (part["status"], part["reason"], part["selectedOption"]["id"]) == ("cancelled", "denied", "deny")
    assert turns.tool_calls_to_confirm(denied) == []
    with pytest.raises(LookupError):
        turns.tool_call_confirmed("t", call, "always")


def test_a_tool_call_without_options_takes_approve_and_deny() -> None:
    chat = asking()
    (call,) = turns.tool_calls_to_confirm(chat)
    assert "selectedOptionId" not in turns.tool_call_confirmed("t", call, "approve")
    assert turns.tool_call_confirmed("t", call, "deny")["approved"] is False


def test_nothing_waits_in_a_chat_without_a_running_turn() -> None:
    assert turns.tool_calls_to_confirm(CHAT) == []


def test_a_turn_is_found_running_and_ended() -> None:
    running = after(turns.turn_started("t", "hi", T0))
    assert turns.turn_of(running, "t") == running["activeTurn"]
    ended = reduce("chat", running, {"type": "chat/turnComplete", "turnId": "t", "duration": 1})
    assert turns.turn_of(ended, "t") == ended["turns"][0]
    assert turns.turn_of(ended, "other") is None
