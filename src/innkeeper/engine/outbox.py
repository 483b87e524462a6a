"""What waits for one client: a bounded queue in order, in which adjacent deltas of one part become one.

Rules
* Order never changes, so `serverSeq` rises along a connection (AHP §2.3, §15).
* Merging leads to the same reduced state (AHP §2.5): contents are concatenated, the later number counts, and there
  is no origin. A delta with a field that the merge does not understand (`_meta`, unknown ones) stays its own frame.
* The bytes that wait are bounded. A frame larger than half the limit counts as half, so that a client can always be
  sent one large snapshot and what happens meanwhile; the rest of the bound holds.
* A run of deltas is encoded once, when it is taken, and stays below `MERGED_BYTES`: clients limit their messages too.
* Pure: no clock; how long a delayable queue may wait is a number that the peer times (architecture §3.1).
"""

from collections import deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

from innkeeper.engine.effects import Delta, Frame
from innkeeper.wire.jsonrpc import encode_notification

PutResult = Literal["ok", "overflow"]

MERGED_BYTES: Final = 64 * 1024

_TEXT_FIELD: Final[Mapping[str, str]] = MappingProxyType(
    {
        "chat/delta": "content",
        "chat/reasoning": "content",
        "chat/toolCallDelta": "content",
        "terminal/data": "data",
    }
)
_SAME_FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "chat/delta": ("turnId", "partId"),
        "chat/reasoning": ("turnId", "partId"),
        "chat/toolCallDelta": ("turnId", "toolCallId"),
        "terminal/data": (),
    }
)
_REPLACED_FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"chat/delta": (), "chat/reasoning": (), "chat/toolCallDelta": ("invocationMessage",), "terminal/data": ()}
)


def merge(earlier: Frame, later: Frame) -> Frame | None:
    """One frame that leads to the same state as the two, or None when they must stay two."""
    if earlier.delta is None or later.delta is None or not _mergeable(earlier.delta, later.delta):
        return None
    return _Run(earlier.delta).joined_with(later.delta).frame()


class Outbox:
    """Frames that wait for one client.

    `limit_bytes` bounds what waits, as counted by `waiting_bytes`; see the rules of the module for large frames.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._entries: deque[Frame | _Run] = deque()
        self._sizes: deque[int] = deque()
        self._bytes = 0
        self._delay: int | None = None

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait; a run of merged deltas counts its first frame and the UTF-8 of what was added."""
        return self._bytes

    def put(self, frame: Frame, delay_ms: int = 0) -> PutResult:
        """Queue the frame, merged with the last one where possible. On `overflow` it was not queued."""
        delta = frame.delta
        added = self._merged(delta) if delta is not None and self._entries else None
        size = min(len(frame.body), self._limit // 2) if added is None else added
        if self._bytes + size > self._limit:
            return "overflow"
        if added is None or delta is None:
            self._entries.append(frame)
            self._sizes.append(size)
        else:
            self._extend(delta, added)
        self._bytes += size
        self._delay = delay_ms if self._delay is None else min(self._delay, delay_ms)
        return "ok"

    def take_all(self) -> list[bytes]:
        """Everything that waits, in order; the queue is empty afterwards."""
        taken = [entry.body if isinstance(entry, Frame) else entry.frame().body for entry in self._entries]
        self.clear()
        return taken

    def take(self, at_least: int) -> list[bytes]:
        """The oldest frames, until they hold `at_least` bytes or nothing waits."""
        if self._bytes <= at_least:
            return self.take_all()
        taken: list[bytes] = []
        size = 0
        while self._entries and size < at_least:
            entry = self._entries.popleft()
            self._bytes -= self._sizes.popleft()
            taken.append(entry.body if isinstance(entry, Frame) else entry.frame().body)
            size += len(taken[-1])
        if not self._entries:
            self._delay = None
        return taken

    def delay(self) -> int:
        """Milliseconds that the queue may still be kept, counted from the `put` that set them: the smallest of what
        waits, so 0 as soon as one frame is not delayable, and 0 when nothing waits."""
        return self._delay or 0

    def clear(self) -> None:
        """Forget what waits."""
        self._entries.clear()
        self._sizes.clear()
        self._bytes = 0
        self._delay = None

    def _merged(self, delta: Delta) -> int | None:
        """The bytes that the delta adds to the last waiting entry, or None when it cannot join it."""
        last = self._entries[-1]
        previous = last.delta
        if previous is None or not _mergeable(previous, delta):
            return None
        added = len(_text(delta).encode("utf-8", "replace"))
        return added if self._sizes[-1] + added <= MERGED_BYTES else None

    def _extend(self, delta: Delta, added: int) -> None:
        last = self._entries[-1]
        if isinstance(last, Frame):
            assert last.delta is not None
            last = _Run(last.delta)
            self._entries[-1] = last
        last.joined_with(delta)
        self._sizes[-1] += added


class _Run:
    """Deltas of one part that wait together; encoded when taken."""

    __slots__ = ("_first", "_replaced", "_texts", "delta")

    def __init__(self, delta: Delta) -> None:
        self._first = delta
        self._texts = [_text(delta)]
        self._replaced: dict[str, object] = {}
        self.delta = delta

    def joined_with(self, delta: Delta) -> "_Run":
        self._texts.append(_text(delta))
        for field in _REPLACED_FIELDS[delta.action["type"]]:
            value = delta.action.get(field)
            if value is not None:
                self._replaced[field] = value
        self.delta = delta
        return self

    def frame(self) -> Frame:
        kind = self._first.action["type"]
        action = {**self._first.action, **self._replaced, _TEXT_FIELD[kind]: "".join(self._texts)}
        delta = Delta(self._first.channel, action, self.delta.seq)
        params = {"channel": delta.channel, "action": action, "serverSeq": delta.seq}
        return Frame(encode_notification("action", params), delta)


def _mergeable(earlier: Delta, later: Delta) -> bool:
    kind = later.action.get("type")
    if not isinstance(kind, str) or kind not in _TEXT_FIELD:
        return False
    if earlier.action.get("type") != kind or earlier.channel != later.channel:
        return False
    if any(earlier.action.get(name) != later.action.get(name) for name in _SAME_FIELDS[kind]):
        return False
    return _understood(earlier.action, kind) and _understood(later.action, kind)


def _understood(action: Mapping[str, object], kind: str) -> bool:
    known = {"type", _TEXT_FIELD[kind], *_SAME_FIELDS[kind], *_REPLACED_FIELDS[kind]}
    return known.issuperset(action) and isinstance(action.get(_TEXT_FIELD[kind]), str)


def _text(delta: Delta) -> str:
    return str(delta.action[_TEXT_FIELD[delta.action["type"]]])
