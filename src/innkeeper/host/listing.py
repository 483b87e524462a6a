"""`listSessions` from the rows that the engine keeps: latest change first, opaque cursors (AHP §4). Pure.

A cursor names a place in that order, not a session, so a page can be continued after the session it ended with is gone.
"""

import base64
import binascii
import json
from collections.abc import Sequence
from math import isfinite
from typing import Any

from innkeeper.engine.effects import JsonObject
from innkeeper.engine.listings import Place
from innkeeper.engine.records import PutListing
from innkeeper.host.summaries import moment, session_summary
from innkeeper.protocol.status import ACTIVITY_MASK, ERROR, IN_PROGRESS
from innkeeper.wire.json import JsonError, decode, encode


class UnknownCursor(Exception):
    """The cursor was not made here."""


def row(uri: str, session: JsonObject) -> PutListing:
    """What the list of sessions shows of one, and whether a process that starts has to put it right first."""
    summary = session_summary(uri, session)
    chats = session.get("chats") or ()
    working = any(int(chat.get("status") or 0) & IN_PROGRESS for chat in (session, *chats))
    unfinished = working or session.get("lifecycle") == "creating" or bool(session.get("inputNeeded"))
    return PutListing(uri, moment(summary["modifiedAt"]), unfinished, encode(summary))


def unreadable(shown: PutListing) -> PutListing:
    """The row of a session that was at work and cannot be read: it failed, whatever it was doing. Still unfinished, so
    that the next process tries again."""
    summary = read(shown)
    if summary is None:
        return shown
    status = int(summary.get("status") or 0) & ~ACTIVITY_MASK | ERROR
    return shown._replace(summary=encode({**summary, "status": status}))


def read(row: PutListing) -> dict[str, Any] | None:
    """The summary; None where the row is damaged."""
    try:
        summary = decode(row.summary)
    except JsonError:
        return None
    return dict(summary) if isinstance(summary, dict) and summary.get("resource") == row.channel else None


def page(rows: Sequence[PutListing], limit: int) -> tuple[Sequence[PutListing], dict[str, Any]]:
    """Of `rows`, one more than `limit` where there are more: those of the page, and what is told beside them."""
    if len(rows) <= limit:
        return rows, {}
    last = json.dumps([rows[limit - 1].modified, rows[limit - 1].channel])
    return rows[:limit], {"nextCursor": base64.urlsafe_b64encode(last.encode()).decode()}


def place(cursor: str) -> Place:
    """The place that a cursor names. Raises UnknownCursor."""
    try:
        seconds, resource = json.loads(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError) as error:
        raise UnknownCursor(cursor) from error
    if type(seconds) not in (int, float) or not isfinite(seconds) or not isinstance(resource, str):
        raise UnknownCursor(cursor)
    return float(seconds), resource
