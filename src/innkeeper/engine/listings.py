"""The list of sessions, ready for its first page: one row a session, whether the session is in memory or not.

Rules
* A row is what `describe` makes of a state and nothing else; it is stored in the transaction of the change that made
  it different, so that a start reads rows and no states.
* The order is the latest change first; between equal times the URI decides, so that a cursor is a place in the order
  and stays one whatever is added or removed.
* Rows follow the head, as everything does that the host reads.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable

from innkeeper.engine.effects import JsonObject
from innkeeper.engine.records import PutListing

Describe = Callable[[str, JsonObject], PutListing]
"""The row of a session, by its URI and state. Pure."""

Place = tuple[float, str]


class Listings:
    def __init__(self, rows: Iterable[PutListing] = ()) -> None:
        self._rows = {row.channel: row for row in rows}
        self._places: list[Place] = sorted(_place(row) for row in self._rows.values())

    def get(self, uri: str) -> PutListing | None:
        return self._rows.get(uri)

    def put(self, row: PutListing) -> bool:
        """False when it is the row that is there."""
        before = self._rows.get(row.channel)
        if before == row:
            return False
        self._rows[row.channel] = row
        if before is not None and before.modified == row.modified:
            return True
        if before is not None:
            self._leave(before)
        insort(self._places, _place(row))
        return True

    def remove(self, uri: str) -> PutListing | None:
        row = self._rows.pop(uri, None)
        if row is not None:
            self._leave(row)
        return row

    def page(self, limit: int, after: Place | None) -> list[PutListing]:
        """At most `limit` rows below the place `after`, the latest first."""
        end = len(self._places) if after is None else bisect_left(self._places, after)
        return [self._rows[uri] for _, uri in reversed(self._places[max(0, end - limit) : end])]

    def unfinished(self) -> tuple[str, ...]:
        """The sessions that were at work when their row was made."""
        return tuple(uri for uri, row in self._rows.items() if row.unfinished)

    def _leave(self, row: PutListing) -> None:
        del self._places[bisect_left(self._places, _place(row))]


def _place(row: PutListing) -> Place:
    return row.modified, row.channel
