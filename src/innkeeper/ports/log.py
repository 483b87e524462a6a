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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from innkeeper.engine.records import (
    DropChannel,
    Image,
    PutChannel,
    PutClient,
    PutEnvelope,
    PutListing,
    Record,
    Reserve,
    StoredChannel,
    StoredEnvelope,
)
from innkeeper.ports.decisions import Decisions

__all__ = [
    "Batch",
    "Done",
    "DropChannel",
    "Log",
    "LogImage",
    "LogOp",
    "PutChannel",
    "PutClient",
    "PutEnvelope",
    "PutListing",
    "Reserve",
    "StaleWriter",
    "StoreError",
    "StoreFull",
    "StoreUnreadable",
    "StoredChannel",
    "StoredEnvelope",
]

LogOp = Record


class Batch(NamedTuple):
    """Operations that become durable together."""

    epoch: int
    ops: tuple[LogOp, ...]


@dataclass(frozen=True, slots=True)
class LogImage(Image):
    """What a host needs at its start: the engine's part, and the decisions."""

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
