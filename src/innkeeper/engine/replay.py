"""The replay window: what a client that comes back is sent instead of a snapshot (AHP §2.4, architecture §7).

Rules
* Every released envelope with a number above `start` is in the window, in order.
* It is bounded in count and in bytes; what is pushed out moves `start` up.
* Numbers in a gap may have left an earlier process without having been stored: nobody whose last number lies there
  can be served from the window.
"""

from collections import deque
from collections.abc import Container, Iterable
from typing import NamedTuple


class Missed(NamedTuple):
    """One envelope of the window: its encoded `ActionEnvelope` and its action type (None: stored by an earlier run)."""

    seq: int
    channel: str
    body: bytes
    type: str | None


class ReplayWindow:
    def __init__(self, *, start: int, envelopes: int, size: int, gaps: Iterable[tuple[int, int]] = ()) -> None:
        self.start = start
        self._limit = envelopes
        self._size_limit = size
        self._size = 0
        self._items: deque[Missed] = deque()
        self._gaps = tuple(gaps)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, missed: Missed) -> None:
        self._items.append(missed)
        self._size += len(missed.body)
        while len(self._items) > self._limit or self._size > self._size_limit:
            oldest = self._items.popleft()
            self._size -= len(oldest.body)
            self.start = oldest.seq

    def covers(self, seq: int) -> bool:
        """Whether everything after `seq` is here, so that replay loses nothing."""
        return seq >= self.start and not any(first <= seq <= last for first, last in self._gaps)

    def after(self, seq: int, channels: Container[str]) -> list[Missed]:
        """The envelopes of `channels` above `seq`, oldest first."""
        missed: list[Missed] = []
        for item in reversed(self._items):
            if item.seq <= seq:
                break
            if item.channel in channels:
                missed.append(item)
        missed.reverse()
        return missed

    def body(self, seq: int) -> bytes | None:
        """The envelope with this number, or None when it is not in the window (any more)."""
        return next((item.body for item in reversed(self._items) if item.seq == seq), None)

    def forget(self, channels: Container[str]) -> None:
        """Dropped channels are `missing` to a client, never replayed; their bytes are let go."""
        kept = [item for item in self._items if item.channel not in channels]
        if len(kept) != len(self._items):
            self._items = deque(kept)
            self._size = sum(len(item.body) for item in kept)

    def bodies(self) -> Iterable[bytes]:
        return (item.body for item in self._items)
