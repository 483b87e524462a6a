"""Summaries, each built in one place from the state it summarises (AHP §9.1, §9.3).

Rules
* A chat's summary is the summary fields of its state, nothing else.
* A session shows the activity of its default chat, or of its newest; a chat that needs input, or failed, raises it to
  that. Read and archived flags are the session's own.
* `modifiedAt` of a session is the latest of its chats and its creation. The time of creation is kept in the session's
  `_meta` under `x-innkeeper/createdAt`, because AHP's state has no place for it; the lines that it changed too, under
  `x-innkeeper/changes`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from innkeeper.protocol.status import ACTIVITY_MASK, ERROR, IDLE, INPUT_NEEDED, WAITING_BIT

State = Mapping[str, Any]

CREATED_AT = "x-innkeeper/createdAt"
CHANGES = "x-innkeeper/changes"

CHAT_FIELDS = (
    "resource",
    "title",
    "status",
    "activity",
    "modifiedAt",
    "changes",
    "origin",
    "movable",
    "interactivity",
    "workingDirectories",
)
COMPACT_FIELDS = ("resource", "title", "origin", "interactivity", "status", "changes")
SESSION_FIELDS = ("provider", "title", "activity", "origin", "project", "workingDirectories", "annotations")
FIXED_FIELDS = frozenset({"resource", "provider", "createdAt"})
"""What `root/sessionSummaryChanged` never carries."""


def picked(state: State, fields: tuple[str, ...]) -> dict[str, Any]:
    return {name: state[name] for name in fields if state.get(name) is not None}


def chat_summary(chat: State) -> dict[str, Any]:
    return picked(chat, CHAT_FIELDS)


def chat_changes(shown: State, chat: State) -> tuple[dict[str, Any], bool]:
    """What differs between the session's entry of a chat and the chat, and whether a field went away.

    The title belongs to the session's entry, since no chat action changes one: it is not compared.
    """
    changes: dict[str, Any] = {}
    cleared = False
    for name in CHAT_FIELDS:
        old, new = shown.get(name), chat.get(name)
        if name == "title" or old is new or old == new:
            continue
        if new is None:
            cleared = True
        else:
            changes[name] = new
    return changes, cleared


def session_status(session: State) -> int:
    """The flags of the session with the activity of its chats."""
    own = int(session.get("status") or IDLE)
    chats = session.get("chats") or ()
    shown = next((c for c in chats if c.get("resource") == session.get("defaultChat")), None)
    if shown is None:
        shown = max(chats, key=lambda c: moment(c.get("modifiedAt")), default=None)
    activities = [int(c.get("status") or IDLE) & ACTIVITY_MASK for c in chats]
    activity = int(shown.get("status") or IDLE) & ACTIVITY_MASK if shown is not None else IDLE
    if own & WAITING_BIT or any(a & WAITING_BIT for a in activities):
        activity = INPUT_NEEDED
    elif session.get("lifecycle") == "failed" or ERROR in activities:
        activity = ERROR
    return (own & ~ACTIVITY_MASK) | activity


def created_at(session: State) -> str:
    return str((session.get("_meta") or {}).get(CREATED_AT) or "1970-01-01T00:00:00.000Z")


def modified_at(session: State) -> str:
    times = [created_at(session), *(c["modifiedAt"] for c in session.get("chats") or () if c.get("modifiedAt"))]
    return max(map(str, times), key=moment)


def session_summary(uri: str, session: State) -> dict[str, Any]:
    """The `SessionSummary` of a session: for `listSessions`, `root/sessionAdded` and their changes alike."""
    summary: dict[str, Any] = {
        "resource": uri,
        **picked(session, SESSION_FIELDS),
        "status": session_status(session),
        "createdAt": created_at(session),
        "modifiedAt": modified_at(session),
        "chats": [picked(chat, COMPACT_FIELDS) for chat in session.get("chats") or ()],
    }
    if session.get("defaultChat") is not None:
        summary["defaultChat"] = session["defaultChat"]
    if (changes := (session.get("_meta") or {}).get(CHANGES)) is not None:
        summary["changes"] = changes
    return summary


def summary_changes(before: State, after: State) -> dict[str, Any]:
    """The fields that differ; one that went away is null."""
    names = (before.keys() | after.keys()) - FIXED_FIELDS
    return {name: after.get(name) for name in sorted(names) if before.get(name) != after.get(name)}


def moment(timestamp: Any) -> float:
    """Seconds of an ISO 8601 time, for comparing; what is no time comes first."""
    try:
        parsed = datetime.fromisoformat(str(timestamp))
    except ValueError:
        return 0.0
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
