"""What the host reads into actions of real clients that are older or looser than 1.0 (AHP §15).

Rules
* Only what the sender plainly meant is filled in; everything else is refused with a reason.
"""

from innkeeper.engine.admission.session import each_customization
from innkeeper.engine.effects import JsonObject


def complete_action(action: JsonObject, state: JsonObject, now: str) -> JsonObject:
    """The action as 1.0 spells it, on a channel in `state`; the same object when there is nothing to complete.

    `chat/turnStarted` without `startedAt` starts now, a message without an origin is the user's, and a toggle in the
    shape before 0.8 (`enabled`) is a decision for the session that leaves those of other scopes as they are (C1.3)."""
    match action.get("type"):
        case "chat/turnStarted":
            return _complete_turn(action, now)
        case "session/customizationToggled" if "enablement" not in action and isinstance(action.get("enabled"), bool):
            rest = {key: value for key, value in action.items() if key != "enabled"}
            session = {"kind": "session", "enabled": action["enabled"]}
            return {**rest, "enablement": [session, *_wider_decisions(state, action.get("id"))]}
        case "chat/turnCancelled" if action.get("duration") is None:
            return {**action, "duration": 0}
    return action


def _wider_decisions(state: JsonObject, customization: object) -> list[JsonObject]:
    for item in each_customization(state):
        if item.get("id") == customization:
            return [d for d in item.get("enablement") or () if d.get("kind") != "session"]
    return []


def _complete_turn(action: JsonObject, now: str) -> JsonObject:
    completed = action
    if not action.get("startedAt"):
        completed = {**completed, "startedAt": now}
    message = action.get("message")
    if isinstance(message, dict) and not message.get("origin"):
        completed = {**completed, "message": {**message, "origin": {"kind": "user"}}}
    return completed
