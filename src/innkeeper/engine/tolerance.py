"""What the host reads into actions of real clients that are older or looser than 1.0 (AHP §15).

Rules
* Only what the sender plainly meant is filled in; everything else is refused with a reason.
"""

from innkeeper.engine.effects import JsonObject


def complete_action(action: JsonObject, now: str) -> JsonObject:
    """The action as 1.0 spells it; the same object when there is nothing to complete.

    `chat/turnStarted` without `startedAt` starts now, a message without an origin is the user's, and a toggle in the
    shape before 0.8 (`enabled`) is a decision for the session."""
    match action.get("type"):
        case "chat/turnStarted":
            return _complete_turn(action, now)
        case "session/customizationToggled" if "enablement" not in action and isinstance(action.get("enabled"), bool):
            rest = {key: value for key, value in action.items() if key != "enabled"}
            return {**rest, "enablement": [{"kind": "session", "enabled": action["enabled"]}]}
        case "chat/turnCancelled" if action.get("duration") is None:
            return {**action, "duration": 0}
    return action


def _complete_turn(action: JsonObject, now: str) -> JsonObject:
    completed = action
    if not action.get("startedAt"):
        completed = {**completed, "startedAt": now}
    message = action.get("message")
    if isinstance(message, dict) and not message.get("origin"):
        completed = {**completed, "message": {**message, "origin": {"kind": "user"}}}
    return completed
