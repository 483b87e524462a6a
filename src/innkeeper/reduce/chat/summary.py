"""The activity a chat shows (AHP §7): derived from its active turn, written into the status beside the flags."""

from collections.abc import Mapping
from typing import Any, TypeVar

from innkeeper.protocol.status import ERROR, IDLE, IN_PROGRESS, INPUT_NEEDED, IS_READ
from innkeeper.reduce.fields import put
from innkeeper.reduce.status import with_activity, with_flag

C = TypeVar("C", bound=Mapping[str, Any])

WAITING = frozenset({"pending-confirmation", "pending-result-confirmation", "auth-required"})
"""Tool-call statuses in which the turn waits for somebody outside of it."""


def refreshed(state: C, *, failed: bool = False, unread: bool = False) -> C:
    """`state` with its activity derived again; `failed` overrides it by Error, `unread` also clears IsRead."""
    status = with_activity(state.get("status") or 0, ERROR if failed else _activity(state))
    return put(state, "status", with_flag(status, IS_READ, False) if unread else status)


def _activity(state: Mapping[str, Any]) -> int:
    active: Mapping[str, Any] | None = state.get("activeTurn")
    if active is None:
        return IDLE
    return INPUT_NEEDED if any(_waits(part) for part in active.get("responseParts") or ()) else IN_PROGRESS


def _waits(part: Mapping[str, Any]) -> bool:
    match part.get("kind"):
        case "toolCall":
            return (part.get("toolCall") or {}).get("status") in WAITING
        case "inputRequest":
            return part.get("response") is None
        case _:
            return False
