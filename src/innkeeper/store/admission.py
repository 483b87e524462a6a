"""What a log accepts, and what it must then store: the rules of `ports.log` that do not depend on the adapter.

Rules
* The channels' versions and the last number are kept here, so that a stale writer is refused before anything is stored.
* A refused batch leaves no trace. What was admitted is provisional until `commit`; `rollback` takes it all back.
* Channels have small integer ids inside a store. An id is never used for another channel while rows of it may be left.
* After a batch of epoch e failed, every later batch of an epoch up to e fails with the same error.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from innkeeper.ports.decisions import DecisionOp, DropDecision, DropGrant, PutDecision, PutGrant
from innkeeper.ports.log import (
    Batch,
    DropChannel,
    LogOp,
    PutChannel,
    PutClient,
    PutEnvelope,
    PutListing,
    Reserve,
    StaleWriter,
    StoreError,
)

CLIENTS: Final = 1000
"""Known clients; the ones that connected least recently are forgotten."""

Row = tuple[int, int, bytes]
"""Number, channel id, body of an envelope."""


@dataclass(slots=True)
class ChannelRow:
    """What is known in memory of a stored channel."""

    id: int
    channel: str
    kind: str
    owner: str | None
    snapshot_seq: int
    version: int


@dataclass(frozen=True, slots=True)
class NewChannel:
    id: int
    op: PutChannel


@dataclass(frozen=True, slots=True)
class NewSnapshot:
    """`version` is the channel's when its snapshot was replaced: its older envelopes may be deleted from now on."""

    id: int
    seq: int
    version: int
    state: bytes


@dataclass(frozen=True, slots=True)
class GoneChannels:
    """`last_seq` must be stored with it: the rows that show it may be among those that go."""

    ids: tuple[int, ...]
    last_seq: int


@dataclass(frozen=True, slots=True)
class NewListing:
    """The row of the list of sessions for that channel."""

    id: int
    row: PutListing


Step = NewChannel | NewSnapshot | GoneChannels | NewListing | Reserve | PutClient | DecisionOp


@dataclass(slots=True)
class Plan:
    """What is to be stored, as one transaction: all `rows` (ascending numbers), then the `steps` in order."""

    rows: list[Row] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


class Admission:
    """The gate of one open log. Not thread-safe: used by the one writer."""

    def __init__(
        self, channels: Iterable[ChannelRow] = (), *, last_seq: int = 0, reserved: int = 0, next_id: int = 1
    ) -> None:
        self.channels = {row.channel: row for row in channels}
        self.last_seq = last_seq
        """The greatest stored number."""
        self._used = reserved
        self._next_id = next_id
        self._owned: dict[str, list[str]] = {}
        for row in self.channels.values():
            if row.owner is not None:
                self._owned.setdefault(row.owner, []).append(row.channel)
        self._failed: tuple[int, StoreError] | None = None
        self._undo: list[Callable[[], None]] = []

    def admit(self, batch: Batch, plan: Plan) -> StoreError | None:
        """Add what `batch` stores to `plan`, or return why it is refused (`plan` is then as it was)."""
        if self._failed is not None and batch.epoch <= self._failed[0]:
            return self._failed[1]
        rows, steps, undo = len(plan.rows), len(plan.steps), len(self._undo)
        try:
            for op in batch.ops:
                if isinstance(op, PutEnvelope):
                    plan.rows.append(self._envelope(op))
                else:
                    plan.steps.extend(self._steps(op))
        except StaleWriter as refused:
            del plan.rows[rows:], plan.steps[steps:]
            self._roll_back_to(undo)
            self.fail(batch.epoch, refused)
            return refused
        return None

    def ended(self, last_seq: int) -> int:
        """The number that a clean end records, when the host says that nothing above `last_seq` ever left."""
        return max(last_seq, self.last_seq, self._used)

    def fail(self, epoch: int, error: StoreError) -> None:
        """A batch of `epoch` was not stored."""
        if self._failed is None or epoch > self._failed[0]:
            self._undo.append(partial(setattr, self, "_failed", self._failed))
            self._failed = (epoch, error)

    def commit(self) -> None:
        """What was admitted is durable."""
        self._undo.clear()

    def rollback(self) -> None:
        """Nothing that was admitted since the last commit is stored."""
        self._roll_back_to(0)

    def _roll_back_to(self, mark: int) -> None:
        while len(self._undo) > mark:
            self._undo.pop()()

    def _envelope(self, op: PutEnvelope) -> Row:
        row = self.channels.get(op.channel)
        if row is None:
            raise StaleWriter(f"channel {op.channel} is not stored")
        if row.version != op.expected:
            raise StaleWriter(f"channel {op.channel} is at {row.version}, not at {op.expected}")
        if op.seq <= self.last_seq or op.seq <= self._used or op.seq <= op.expected:
            raise StaleWriter(f"number {op.seq} is not above {max(self.last_seq, self._used, op.expected)}")
        self._undo.append(partial(self._restore, row, row.version, self.last_seq))
        row.version = self.last_seq = op.seq
        return (op.seq, row.id, op.body)

    def _restore(self, row: ChannelRow, version: int, last_seq: int) -> None:
        row.version, self.last_seq = version, last_seq

    def _steps(self, op: LogOp) -> Iterator[Step]:
        match op:
            case PutChannel(created=True):
                yield self._create(op)
            case PutChannel():
                yield from self._fold(op)
            case DropChannel():
                yield from self._drop(op)
            case PutListing(channel):
                if (row := self.channels.get(channel)) is not None:
                    yield NewListing(row.id, op)
            case Reserve() | PutClient() | PutDecision() | DropDecision() | PutGrant() | DropGrant():
                yield op
            case PutEnvelope():
                raise AssertionError("envelopes are rows")
            case _:
                raise StoreError(f"no table for {type(op).__name__}")

    def _create(self, op: PutChannel) -> NewChannel:
        if op.channel in self.channels:
            raise StaleWriter(f"channel {op.channel} exists already")
        if op.owner is not None and op.owner not in self.channels:
            raise StaleWriter(f"the owner of {op.channel}, {op.owner}, is not stored")
        row = ChannelRow(self._next_id, op.channel, op.kind, op.owner, op.seq, op.seq)
        self._next_id += 1
        self._enter(row)
        self._undo.append(partial(self._leave, row))
        return NewChannel(row.id, op)

    def _fold(self, op: PutChannel) -> Iterator[NewSnapshot]:
        row = self.channels.get(op.channel)
        if row is None:
            return
        if not row.snapshot_seq <= op.seq <= row.version:
            raise StaleWriter(f"snapshot {op.seq} of {op.channel} is not between {row.snapshot_seq} and {row.version}")
        self._undo.append(partial(setattr, row, "snapshot_seq", row.snapshot_seq))
        row.snapshot_seq = op.seq
        yield NewSnapshot(row.id, op.seq, row.version, op.state)

    def _drop(self, op: DropChannel) -> Iterator[GoneChannels]:
        if op.channel not in self.channels:
            return
        uris = [op.channel]
        for uri in uris:
            uris.extend(self._owned.get(uri, ()))
        gone = [self.channels[uri] for uri in uris]
        for row in reversed(gone):
            self._leave(row)
            self._undo.append(partial(self._enter, row))
        yield GoneChannels(tuple(row.id for row in gone), max(self.last_seq, *(row.version for row in gone)))

    def _enter(self, row: ChannelRow) -> None:
        self.channels[row.channel] = row
        if row.owner is not None:
            self._owned.setdefault(row.owner, []).append(row.channel)

    def _leave(self, row: ChannelRow) -> None:
        del self.channels[row.channel]
        if row.owner is not None:
            siblings = self._owned[row.owner]
            siblings.remove(row.channel)
            if not siblings:
                del self._owned[row.owner]
