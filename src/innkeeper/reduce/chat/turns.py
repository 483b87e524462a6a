"""Turns of a chat: start, end, resume, truncation, history pages (AHP §7, §9.7).

Only the start and the end of a turn move `modifiedAt`, and both take the time from the action: a turn ends at its
`startedAt` plus `duration`. A `startedAt` that is no timestamp leaves `modifiedAt` as it is.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from innkeeper.protocol.chat.actions import (
    ChatErrorAction,
    ChatTurnCancelledAction,
    ChatTurnCompleteAction,
    ChatTurnsLoadedAction,
    ChatTurnStartedAction,
    ChatUsageAction,
)
from innkeeper.protocol.chat.state import ChatState, ErrorResponsePart, TurnState
from innkeeper.reduce.chat.parts import Part, active_turn, parts_of
from innkeeper.reduce.chat.pending import consumed
from innkeeper.reduce.chat.summary import refreshed
from innkeeper.reduce.chat.tool_calls import skipped
from innkeeper.reduce.fields import find, present, put, put_all
from innkeeper.reduce.timestamps import end_of


def started(state: ChatState, action: ChatTurnStartedAction) -> ChatState:
    """A fresh active turn; the pending message it came from is used up and the chat is unread again."""
    started_at = action.get("startedAt")
    turn = present({"id": action["turnId"], "startedAt": started_at, "message": action["message"]})
    changed: dict[str, Any] = {**state, "activeTurn": {**turn, "responseParts": []}}
    if started_at is not None:
        changed["modifiedAt"] = started_at
    return cast("ChatState", consumed(refreshed(changed, unread=True), action.get("queuedMessageId")))


def ended(
    state: ChatState,
    action: ChatTurnCompleteAction | ChatTurnCancelledAction | ChatErrorAction,
    turn_state: TurnState,
    error: ErrorResponsePart | None = None,
) -> ChatState:
    """Move the active turn into the history; calls that never finished become `cancelled`, open questions stay open."""
    active = active_turn(state, action["turnId"])
    if active is None:
        return state
    duration = max(0, action["duration"])
    parts: list[Part] = [skipped(part) for part in parts_of(active)]
    if error is not None:
        parts.append(error)
    turn = {**present(active), "responseParts": parts, "duration": duration, "state": turn_state}
    changed: dict[str, Any] = {key: value for key, value in state.items() if key != "activeTurn"}
    changed["turns"] = [*(state.get("turns") or ()), turn]
    ended_at = end_of(active.get("startedAt"), duration)
    if ended_at is not None:
        changed["modifiedAt"] = ended_at
    return cast("ChatState", refreshed(changed, failed=error is not None))


def resumed(state: ChatState, turn_id: str) -> ChatState:
    """Reopen the newest turn when it ended in a resumable error; it keeps id, message, parts and usage."""
    turns: Sequence[Mapping[str, Any]] = state.get("turns") or ()
    if state.get("activeTurn") is not None or not turns or not _resumable(turns[-1], turn_id):
        return state
    # A turn adopted from elsewhere may have no start; an active one must, and this is the newest time known here.
    turn = {"startedAt": state.get("modifiedAt"), **present(turns[-1]), "duration": None, "state": None}
    return refreshed(put_all(state, {"turns": turns[:-1], "activeTurn": present(turn)}), unread=True)


def _resumable(turn: Mapping[str, Any], turn_id: str) -> bool:
    if turn.get("id") != turn_id or turn.get("state") != "error":
        return False
    parts = parts_of(turn)
    return bool(parts) and parts[-1].get("kind") == "error" and parts[-1].get("resumable") is True


def truncated(state: ChatState, turn_id: str | None) -> ChatState:
    """Keep the history up to and including `turn_id`; without one drop all of it, also what was never loaded."""
    turns: Sequence[Mapping[str, Any]] = state.get("turns") or ()
    fields: dict[str, object] = {"activeTurn": None}
    if turn_id is None:
        fields["turnsNextCursor"] = None
        keep = 0
    else:
        keep = find(turns, "id", turn_id) + 1
        if keep == 0:
            return state
    if keep < len(turns):
        fields["turns"] = turns[:keep]
    return refreshed(put_all(state, fields))


def loaded(state: ChatState, action: ChatTurnsLoadedAction) -> ChatState:
    """Put an older page in front of the history; turns that are already there win over the page's copies."""
    turns: Sequence[Mapping[str, Any]] = state.get("turns") or ()
    known = {turn.get("id") for turn in turns}
    older = [turn for turn in action["turns"] if turn.get("id") not in known]
    changed = put(state, "turns", [*older, *turns]) if older else state
    return put(changed, "turnsNextCursor", action.get("turnsNextCursor"))


def used(state: ChatState, action: ChatUsageAction) -> ChatState:
    """Record the usage of the active turn."""
    active = active_turn(state, action["turnId"])
    return state if active is None else put(state, "activeTurn", put(active, "usage", action["usage"]))
