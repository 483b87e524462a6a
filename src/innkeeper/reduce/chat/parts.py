"""Reaching into the active turn of a chat: only the turn, its list of parts and the part itself are rebuilt."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from innkeeper.protocol.chat.actions import ChatDeltaAction, ChatReasoningAction

C = TypeVar("C", bound=Mapping[str, Any])
Part = Mapping[str, Any]


def active_turn(state: Mapping[str, Any], turn_id: str) -> Mapping[str, Any] | None:
    """The active turn if it is `turn_id`; turn-scoped actions ignore any other (AHP §7)."""
    active: Mapping[str, Any] | None = state.get("activeTurn")
    return active if active is not None and active.get("id") == turn_id else None


def parts_of(turn: Mapping[str, Any]) -> Sequence[Part]:
    """The response parts of a turn, empty when the field is missing."""
    return turn.get("responseParts") or ()


def with_parts(state: C, active: Mapping[str, Any], parts: Sequence[Part]) -> C:
    """`state` whose active turn is `active` with `parts`."""
    return cast("C", {**state, "activeTurn": {**active, "responseParts": parts}})


def part_appended(state: C, turn_id: str, part: Part) -> C:
    """`state` with `part` at the end of the active turn."""
    active = active_turn(state, turn_id)
    return state if active is None else with_parts(state, active, [*parts_of(active), part])


def text_appended(state: C, action: ChatDeltaAction | ChatReasoningAction, kind: str) -> C:
    """Append `action.content` to the part `action.partId` if that is of `kind` (AHP §7: part first, then deltas).

    The first part of that id decides; a tool call goes by its `toolCallId`. Parts without an id are skipped.
    """
    active = active_turn(state, action["turnId"])
    if active is None:
        return state
    parts, part_id, text = parts_of(active), action["partId"], action["content"]
    for index, part in enumerate(parts):
        part_kind = part.get("kind")
        if part_id == ((part.get("toolCall") or {}).get("toolCallId") if part_kind == "toolCall" else part.get("id")):
            if part_kind != kind or not text:
                return state
            changed = list(parts)
            changed[index] = {**part, "content": (part.get("content") or "") + text}
            return with_parts(state, active, changed)
    return state
