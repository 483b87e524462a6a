"""How a turn ends, and the one action that says so (AHP §7, §9.7). Pure."""

from dataclasses import dataclass
from typing import Any, Literal

from innkeeper.protocol.common.state import ErrorInfo


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The agent came to its end."""

    kind: Literal["success"] = "success"


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A person, or the end of its owner, stopped it."""

    kind: Literal["cancelled"] = "cancelled"


@dataclass(frozen=True, slots=True)
class Failed:
    """It could not go on. `rejected` turns never reached the agent (K2, K10)."""

    error: ErrorInfo
    resumable: bool = False
    kind: Literal["error", "rejected"] = "error"


Ending = Succeeded | Cancelled | Failed


def ending_action(turn_id: str, duration: int, ending: Ending) -> dict[str, Any]:
    """The action that ends the turn; `duration` in milliseconds."""
    base = {"turnId": turn_id, "duration": duration}
    match ending:
        case Succeeded():
            return {"type": "chat/turnComplete", **base}
        case Cancelled():
            return {"type": "chat/turnCancelled", **base}
        case Failed(error=error, resumable=resumable):
            part: dict[str, Any] = {"kind": "error", "error": error}
            if resumable:
                part["resumable"] = True
            return {"type": "chat/error", **base, "part": part}


def failed(error_type: str, message: str, *, resumable: bool = False) -> Failed:
    return Failed({"errorType": error_type, "message": message}, resumable)
