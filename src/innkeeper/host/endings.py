"""How a turn ends, and the one action that says so (AHP §7, §9.7). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from innkeeper.contributions.spi import TurnEnd, TurnEndReason
from innkeeper.engine.effects import Released
from innkeeper.host.asking import Asking, sender
from innkeeper.protocol.chat.state import Message
from innkeeper.protocol.common.state import ErrorInfo
from innkeeper.providers.spi import ProviderError


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The agent, or the local command, came to its end."""

    kind: Literal["success", "localCommand"] = "success"


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


def provider_failed(error: ProviderError) -> Failed:
    """A turn for which this process has no agent is refused, not failed: nothing was tried (T9)."""
    told: ErrorInfo = {"errorType": error.error_type, "message": error.message}
    return Failed(told, error.resumable, "rejected" if error.error_type == "PROVIDER_UNKNOWN" else "error")


def idle(chat: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """What takes back the activity of a chat whose turn is over; nothing where it shows none."""
    return () if chat.get("activity") is None else ({"type": "chat/activityChanged"},)


def turn_end(
    session: str, released: Released, turn: Mapping[str, Any], asking: Asking | None, kind: str | None
) -> TurnEnd:
    """What is told of a turn that `released` ended. `kind` is how the host ended it, None when somebody else did; a
    turn that nobody asked for is a subagent's, or one of a process that is gone (K10)."""
    message = cast(Message, turn.get("message") or {})
    return TurnEnd(
        session=session,
        chat=released.channel,
        turn_id=str(turn["id"]),
        message=message,
        reason=_reason(released.action, kind),
        subagent=(released.after.get("origin") or {}).get("kind") == "tool",
        client=sender(message) if asking is None else asking.client,
        queued=None if asking is None else asking.queued,
    )


def _reason(action: Mapping[str, Any], kind: str | None) -> TurnEndReason:
    match action["type"]:
        case "chat/turnComplete":
            return TurnEndReason("localCommand" if kind == "localCommand" else "success")
        case "chat/error":
            part = action["part"]
            rejected = kind == "rejected"
            return TurnEndReason("rejected" if rejected else "error", part["error"], bool(part.get("resumable")))
        case _:
            return TurnEndReason("cancelled")
