"""Pages of `listSessions`: latest change first, opaque cursors (AHP §4). Pure.

A cursor names a place in that order, not a session, so a page can be continued after the session it ended with is gone.
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.host.summaries import moment

Summary = Mapping[str, Any]


class UnknownCursor(Exception):
    """The cursor was not made here."""


def page(summaries: Sequence[Summary], limit: int, cursor: str | None) -> dict[str, Any]:
    """At most `limit` summaries after `cursor`. Raises UnknownCursor."""
    ordered = sorted(summaries, key=_place, reverse=True)
    if cursor is not None:
        after = _decode(cursor)
        ordered = [summary for summary in ordered if _place(summary) < after]
    items = ordered[:limit]
    result: dict[str, Any] = {"items": items}
    if len(ordered) > limit:
        result["nextCursor"] = _encode(_place(items[-1]))
    return result


def _place(summary: Summary) -> tuple[float, str]:
    return moment(summary["modifiedAt"]), str(summary["resource"])


def _encode(place: tuple[float, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def _decode(cursor: str) -> tuple[float, str]:
    try:
        seconds, resource = json.loads(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError) as error:
        raise UnknownCursor(cursor) from error
    if not isinstance(seconds, int | float) or not isinstance(resource, str):
        raise UnknownCursor(cursor)
    return float(seconds), resource
