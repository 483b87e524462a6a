"""What of a chat waits for somebody (AHP §9.8, §13.8). Pure.

Rules
* Derived from the chat's state each time, never remembered: what is not there any more is removed.
* An entry equal to the present one is not sent again.
* Ids are opaque to clients; ours are built from what they point at, so that they are stable.
"""

from collections.abc import Mapping
from typing import Any

from innkeeper.ports.questions import APPROVED_BY_SETTING

State = Mapping[str, Any]

RELEVANT = frozenset(
    {
        "chat/inputRequested",
        "chat/inputAnswerChanged",
        "chat/inputCompleted",
        "chat/toolCallStart",
        "chat/toolCallReady",
        "chat/toolCallConfirmed",
        "chat/toolCallComplete",
        "chat/toolCallResultConfirmed",
        "chat/toolCallContentChanged",
        "chat/toolCallAuthRequired",
        "chat/toolCallAuthResolved",
        "chat/turnComplete",
        "chat/turnCancelled",
        "chat/error",
        "chat/truncated",
    }
)


def waiting(chat_uri: str, chat: State | None) -> dict[str, dict[str, Any]]:
    """The session's entries for this chat, by id; empty when the chat is gone."""
    turn = (chat or {}).get("activeTurn")
    found: dict[str, dict[str, Any]] = {}
    for part in (turn or {}).get("responseParts") or ():
        entry = _entry(chat_uri, str((turn or {}).get("id")), part)
        if entry is not None:
            found[entry["id"]] = entry
    return found


def changes(session: State, chat_uri: str, wanted: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The session actions that make its list agree with `wanted`."""
    present = {e["id"]: e for e in session.get("inputNeeded") or () if e.get("chat") == chat_uri}
    removed = [{"type": "session/inputNeededRemoved", "id": id} for id in present if id not in wanted]
    added = [
        {"type": "session/inputNeededSet", "request": entry} for id, entry in wanted.items() if present.get(id) != entry
    ]
    return [*removed, *added]


def _entry(chat_uri: str, turn_id: str, part: Mapping[str, Any]) -> dict[str, Any] | None:
    if part.get("kind") == "inputRequest":
        if part.get("response") is not None:
            return None
        request = part["request"]
        id = f"chatInput:{chat_uri}:{request['id']}"
        return {"kind": "chatInput", "id": id, "chat": chat_uri, "request": request}
    if part.get("kind") != "toolCall":
        return None
    call = part["toolCall"]
    kind = _kind_of_call(call)
    if kind is None:
        return None
    id = f"{kind}:{chat_uri}:{turn_id}:{call['toolCallId']}"
    entry = {"kind": kind, "id": id, "chat": chat_uri, "turnId": turn_id, "toolCall": call}
    if kind == "toolClientExecution":
        entry["clientId"] = call["contributor"]["clientId"]
    return entry


def _kind_of_call(call: Mapping[str, Any]) -> str | None:
    match call.get("status"):
        case "pending-confirmation" if (call.get("_meta") or {}).get(APPROVED_BY_SETTING) is True:
            return None
        case "pending-confirmation" | "pending-result-confirmation":
            return "toolConfirmation"
        case "auth-required":
            return "toolAuthentication"
        case "running" if (call.get("contributor") or {}).get("kind") == "client":
            return "toolClientExecution"
        case _:
            return None
