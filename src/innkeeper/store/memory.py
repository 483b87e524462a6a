"""`MemoryLog`: the twin of the SQLite log without a file, for tests and hosts that keep nothing (architecture §3.11).

Rules
* The same acceptance, order, epochs, window, gaps and drops as every other log: `admission` and `window` decide.
* Deterministic. Answers come through `loop.call_soon`, one call for all batches that wait; or at once with `immediate`,
  and then what a callback raises reaches the caller of `submit`.
* `crash()` is the end of a process: it gives a log with what was durable, and nothing of what still waited.
"""

import asyncio
import copy
import logging
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from innkeeper.limits import REPLAY_BYTES, REPLAY_ENVELOPES
from innkeeper.ports.decisions import Decisions
from innkeeper.ports.log import (
    Batch,
    Done,
    LogImage,
    PutClient,
    PutListing,
    Reserve,
    StoredChannel,
    StoredEnvelope,
    StoreError,
    StoreUnreadable,
)
from innkeeper.store.admission import (
    CLIENTS,
    Admission,
    ChannelRow,
    GoneChannels,
    NewChannel,
    NewListing,
    NewSnapshot,
    Plan,
    Row,
    Step,
)
from innkeeper.store.window import WindowFloor, WindowLimits, newest

PRUNE_EVERY: Final = 512
"""Envelopes between two prunings: each one looks at every envelope."""


log = logging.getLogger(__name__)


@dataclass(slots=True)
class Contents:
    """What a disk would hold."""

    rows: list[Row] = field(default_factory=list)
    channels: dict[int, ChannelRow] = field(default_factory=dict)
    states: dict[int, bytes] = field(default_factory=dict)
    listings: dict[int, PutListing] = field(default_factory=dict)
    clients: dict[str, PutClient] = field(default_factory=dict)
    decisions: Decisions = field(default_factory=Decisions)
    gaps: tuple[tuple[int, int], ...] = ()
    last_seq: int = 0
    reserved: int = 0
    pruned: int = 0
    next_id: int = 1


class MemoryLog:
    """`ports.log.Log` in memory. With `immediate`, `done` is called inside of `submit`, and no loop is needed."""

    def __init__(
        self,
        *,
        immediate: bool = False,
        replay_envelopes: int = REPLAY_ENVELOPES,
        replay_bytes: int = REPLAY_BYTES,
        contents: Contents | None = None,
    ) -> None:
        self._immediate = immediate
        self._limits = WindowLimits(replay_envelopes, replay_bytes)
        self._contents = Contents() if contents is None else contents
        self._admission: Admission | None = None
        self._floor = WindowFloor(self._limits)
        self._waiting: deque[tuple[Batch, Done]] = deque()
        self._scheduled = False
        self._held = False
        self._failures: deque[StoreError] = deque()
        self._unpruned = 0

    async def open(self) -> LogImage:
        """The image of what is held. Raises StoreError when it was opened before."""
        return self.open_now()

    def open_now(self) -> LogImage:
        """`open` for callers without a loop."""
        if self._admission is not None:
            raise StoreUnreadable("the log was opened before")
        held = self._contents
        image = self._image()
        held.gaps = image.gaps
        self._floor = WindowFloor(self._limits, image.window_start)
        for envelope in image.window:
            self._floor.add(envelope.seq, 1, len(envelope.body))
        self._admission = Admission(
            (replace(row) for row in held.channels.values()),
            last_seq=image.last_seq,
            reserved=image.reserved,
            next_id=held.next_id,
        )
        return image

    def submit(self, batch: Batch, done: Done) -> None:
        """Store `batch` after all earlier ones; on a log that is not open `done` is told so."""
        self._waiting.append((batch, done))
        if self._immediate and not self._held:
            self._drain()
        elif not self._immediate and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._run)

    async def channel(self, channel: str) -> StoredChannel | None:
        """The stored channel with its tail, as of the batches submitted before. Raises StoreError when not open."""
        if self._admission is None:
            raise StoreError("the log is not open")
        self._drain()
        found = next((row for row in self._contents.channels.values() if row.channel == channel), None)
        return None if found is None else self._stored(found)

    async def close(self, *, last_seq: int) -> None:
        """Store what was submitted and record a clean end; again: nothing."""
        if self._admission is not None:
            self._drain()
            self._contents.last_seq = self._contents.reserved = self._admission.ended(last_seq)
            self._admission = None

    # -- for tests -------------------------------------------------------------------------------------------------

    def fail_next(self, error: StoreError, times: int = 1) -> None:
        """The next `times` batches that would be stored fail with `error`."""
        self._failures.extend([error] * times)

    def hold(self) -> None:
        """Keep what is submitted waiting until `let_go`."""
        self._held = True

    def let_go(self) -> None:
        """Store and answer what waited."""
        self._held = False
        self._drain()

    def crash(self) -> "MemoryLog":
        """What a new process finds when this one is killed now, or was closed. This log answers nobody any more."""
        self._waiting.clear()
        self._admission = None
        return MemoryLog(
            immediate=self._immediate,
            replay_envelopes=self._limits.envelopes,
            replay_bytes=self._limits.size,
            contents=copy.deepcopy(self._contents),
        )

    # -- storing ---------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._scheduled = False
        if not self._held:
            self._drain()

    def _drain(self) -> None:
        while self._waiting:
            batch, done = self._waiting.popleft()
            error = self._store(batch)
            if self._immediate:
                done(error)
                continue
            try:
                done(error)
            except Exception:
                log.exception("a callback of the log failed")

    def _store(self, batch: Batch) -> StoreError | None:
        if self._admission is None:
            return StoreError("the log is not open")
        plan = Plan()
        refused = self._admission.admit(batch, plan)
        if refused is None and self._failures:
            refused = self._failures.popleft()
            self._admission.rollback()
            self._admission.fail(batch.epoch, refused)
            plan = Plan()
        self._admission.commit()
        self._apply(plan, self._admission)
        return refused

    def _apply(self, plan: Plan, admission: Admission) -> None:
        held = self._contents
        held.rows.extend(plan.rows)
        for seq, _, body in plan.rows:
            held.last_seq = seq
            self._floor.add(seq, 1, len(body))
        for step in plan.steps:
            self._apply_step(step)
        for seq, id_, _ in plan.rows:
            if id_ in held.channels:  # it may have been dropped by the same batch
                held.channels[id_].version = seq
        self._unpruned += len(plan.rows)
        if self._unpruned >= PRUNE_EVERY:
            self._unpruned = 0
            self._prune()

    def _apply_step(self, step: Step) -> None:
        held = self._contents
        match step:
            case NewChannel(id_, op):
                held.next_id = id_ + 1
                held.channels[id_] = ChannelRow(id_, op.channel, op.kind, op.owner, op.seq, op.seq)
                held.states[id_] = op.state
            case NewSnapshot(id_, seq, _, state):
                held.channels[id_].snapshot_seq = seq
                held.states[id_] = state
            case GoneChannels(ids, last_seq):
                held.last_seq = max(held.last_seq, last_seq)
                held.rows = [row for row in held.rows if row[1] not in ids]
                for id_ in ids:
                    del held.channels[id_], held.states[id_]
                    held.listings.pop(id_, None)
            case NewListing(id_, row):
                held.listings[id_] = row
            case Reserve(mark):
                held.reserved = max(held.reserved, mark)
            case PutClient():
                held.clients.pop(step.client_id, None)
                held.clients[step.client_id] = step
                if len(held.clients) > CLIENTS:
                    del held.clients[next(iter(held.clients))]
            case _:
                held.decisions = held.decisions.apply((step,))

    def _prune(self) -> None:
        held, floor = self._contents, self._floor.floor
        held.rows = [row for row in held.rows if row[0] > floor or row[0] > held.channels[row[1]].snapshot_seq]
        held.pruned = floor

    # -- reading ---------------------------------------------------------------------------------------------------

    def _image(self) -> LogImage:
        held = self._contents
        rows = list(held.channels.values())
        last_seq = max([held.last_seq, *(row.version for row in rows)])
        reserved = max(held.reserved, last_seq)
        window, outside = self._window()
        start = max(outside, held.pruned)
        gaps = dict(held.gaps)
        if reserved > last_seq:
            gaps[last_seq + 1] = reserved
        return LogImage(
            last_seq=last_seq,
            reserved=reserved,
            channels=tuple(self._stored(row) for row in rows if row.kind == "root"),
            dormant=tuple((row.channel, row.kind, row.owner) for row in rows if row.kind != "root"),
            listed=tuple(held.listings.values()),
            window=window,
            window_start=start,
            gaps=tuple(sorted((first, last) for first, last in gaps.items() if last >= start)),
            clients=tuple(held.clients.values()),
            decisions=held.decisions,
        )

    def _window(self) -> tuple[tuple[StoredEnvelope, ...], int]:
        rows, channels = self._contents.rows, self._contents.channels
        sized: Sequence[tuple[Row, int]] = [(row, len(row[2])) for row in reversed(rows)]
        found = [StoredEnvelope(seq, channels[id_].channel, body) for (seq, id_, body) in newest(sized, self._limits)]
        found.reverse()
        outside = len(rows) - len(found)
        return tuple(found), rows[outside - 1][0] if outside else 0

    def _stored(self, row: ChannelRow) -> StoredChannel:
        rows = self._contents.rows
        first = bisect_right(rows, row.snapshot_seq, key=lambda stored: stored[0])
        tail = tuple(body for _, id_, body in rows[first:] if id_ == row.id)
        state = self._contents.states[row.id]
        return StoredChannel(row.channel, row.kind, row.owner, row.snapshot_seq, row.version, state, tail)
