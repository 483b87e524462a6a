"""The log: numbered envelopes and channel snapshots, appended in order by one writer (architecture §7).

Rules
* A batch is one transaction: all of its operations are durable, or none is.
* Batches become durable in the order of submission. After a batch of epoch *e* failed, every later batch whose
  epoch is not greater than *e* fails too, so that nothing is stored on top of what was dropped.
* A stale writer is refused: a `PutEnvelope` whose `expected` is not the channel's stored version fails with
  `StaleWriter`, and nothing of its batch is stored. So does one whose number is not above every stored one.
* A number is never used twice: numbers above the reserved mark may not leave the process, and a restart begins above
  it.
* An unreadable or newer store is refused when it is opened (`StoreUnreadable`) and left untouched.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from innkeeper.ports.decisions import DecisionOp, Decisions


@dataclass(frozen=True, slots=True)
class PutEnvelope:
    """One numbered action of a channel; `body` is the encoded AHP `ActionEnvelope` (JSON object bytes)."""

    seq: int
    channel: str
    body: bytes
    expected: int
    """The channel's version before this envelope: the seq of its last envelope, or of its creation."""


@dataclass(frozen=True, slots=True)
class PutChannel:
    """A channel is created, or its snapshot replaced; `state` is the encoded state as of `seq`."""

    channel: str
    kind: str
    owner: str | None
    """The channel that it goes with when that is dropped: a session for its chats; None for the root and sessions."""
    seq: int
    """Of a new channel: its first version. Of a snapshot: one of an envelope in it, at most the channel's version."""
    state: bytes
    created: bool
    """True: the channel must not exist yet, its owner must. False replaces the snapshot (`kind` and `owner` stay);
    one of a channel that is gone is passed over, since a drop may overtake it, an older one is a `StaleWriter`."""


@dataclass(frozen=True, slots=True)
class DropChannel:
    """The channel, its envelopes and every channel that it owns are gone, for good; already true when there is none."""

    channel: str


@dataclass(frozen=True, slots=True)
class Reserve:
    """Numbers up to and including `mark` may be used from when this is durable."""

    mark: int


@dataclass(frozen=True, slots=True)
class PutClient:
    """What must be known of a client to answer its `reconnect` after a restart (AHP §2.4)."""

    client_id: str
    protocol_version: str
    capabilities: bytes
    """Encoded JSON object: the `capabilities` it declared."""


LogOp = PutEnvelope | PutChannel | DropChannel | Reserve | PutClient | DecisionOp


@dataclass(frozen=True, slots=True)
class Batch:
    """Operations that become durable together."""

    epoch: int
    ops: tuple[LogOp, ...]


@dataclass(frozen=True, slots=True)
class StoredEnvelope:
    seq: int
    channel: str
    body: bytes


@dataclass(frozen=True, slots=True)
class StoredChannel:
    """A channel as stored: `state` as of `snapshot_seq`; the envelopes after it are its tail."""

    channel: str
    kind: str
    owner: str | None
    snapshot_seq: int
    version: int
    state: bytes
    tail: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class LogImage:
    """What a host needs at its start. `gaps` are the ranges (first, last) of numbers that may have left an earlier
    process without being stored: a client whose last seen number lies in one gets a snapshot (architecture §7)."""

    last_seq: int = 0
    """The greatest number that is stored, or that a clean end named."""
    reserved: int = 0
    """No number up to this one may be used again."""
    channels: tuple[StoredChannel, ...] = ()
    """Root and session channels, with their tails. Others are read by `Log.channel` when first needed."""
    owned: tuple[tuple[str, str, str], ...] = ()
    """(channel, kind, owner) of every channel that is not in `channels`."""
    window: tuple[StoredEnvelope, ...] = ()
    """The newest stored envelopes, oldest first, within the replay limits."""
    window_start: int = 0
    """Every stored envelope with a greater number is in `window`."""
    gaps: tuple[tuple[int, int], ...] = ()
    clients: tuple[PutClient, ...] = ()
    decisions: Decisions = field(default_factory=Decisions)


class StoreError(Exception):
    """The store cannot do what was asked. `code` is a row of the error table (`innkeeper.errors`), and `values` are
    those that the row's text needs; `str()` is the whole message."""

    code = "STORAGE_FAILED"

    def __init__(self, message: str, *, code: str | None = None, values: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.values: Mapping[str, object] = {"reason": message} if values is None else values


class StoreFull(StoreError):
    """No space is left, or the file may not grow. Nothing of the batch was stored; later batches may succeed."""

    code = "STORAGE_FULL"


class StaleWriter(StoreError):
    """Another writer has moved the channel on, or a number was used before."""


class StoreUnreadable(StoreError):
    """The file is damaged, no database of ours, in use by another host, or of a newer schema. It was not changed."""

    code = "DATABASE_UNREADABLE"


Done = Callable[[StoreError | None], None]


class Log(Protocol):
    """The seam for another engine than SQLite (NATS JetStream later); nothing above it knows which it is."""

    async def open(self) -> LogImage:
        """Read what a start needs. Raises StoreUnreadable (the file is then left untouched) and StoreError."""
        ...

    def submit(self, batch: Batch, done: Done) -> None:
        """Store `batch` after all earlier ones; `done` is called once, on the event loop, in order of submission."""
        ...

    async def channel(self, channel: str) -> StoredChannel | None:
        """The stored channel with its tail, or None when there is none."""
        ...

    async def close(self, *, last_seq: int) -> None:
        """Store what was submitted, mark a clean end (no gap: numbers above `last_seq` never left), and close.

        Raises StoreError when the mark could not be written; the log is closed all the same, as after a crash.
        """
        ...


def drop_order(channels: Sequence[StoredChannel]) -> tuple[str, ...]:
    """Owned channels before their owners."""
    return tuple(row.channel for row in sorted(channels, key=lambda row: row.owner is None))
