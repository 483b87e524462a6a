"""What the writer does when nobody waits: pruning, deleting dropped channels, checkpoints (architecture §7).

Rules
* An envelope is deleted when its channel is gone, or when it is both below the replay window and covered by its
  channel's snapshot. The greatest number that may have been pruned is stored with the deletion.
* One step is one small transaction, so that a batch that arrives meanwhile waits a millisecond or two.
* A step that fails is tried again later; nothing depends on it. What a crash interrupts is taken up at the next start.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterable
from typing import Final

from innkeeper.store.admission import GoneChannels, NewSnapshot, Plan
from innkeeper.store.sqlite.rows import put_meta, transaction
from innkeeper.store.window import WindowFloor

ROWS_PER_STEP: Final = 256
PAUSE_SECONDS: Final = 0.002
"""A step is done when nothing has arrived for this long; the next ones follow at once."""
OVERDUE_SECONDS: Final = 0.05
"""Under steady load, at most this long between two steps."""
RETRY_SECONDS: Final = 5.0
QUIET_SECONDS: Final = 0.05
"""A checkpoint is made when nothing has arrived for this long, or after this many pages:"""
CHECKPOINT_PAGES: Final = 1000
PAGE: Final = 4096
ALL: Final = 2**63 - 1

log = logging.getLogger(__name__)


class Chores:
    """The background work of one writer; `clock` counts seconds, `checkpoint` asks for one. Not thread-safe."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        floor: WindowFloor,
        dropped: Iterable[int],
        *,
        clock: Callable[[], float],
        checkpoint: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._checkpoint = checkpoint
        self._floor = floor
        self._clock = clock
        self._sweeps: dict[int, int] = dict.fromkeys(dropped, ALL)
        self._pruned = 0
        """Covered envelopes up to here are deleted; uncovered ones are left to the sweep of their next snapshot."""
        self._uncopied = 0
        self._not_before = 0.0
        self._last_step = clock()
        self._busy = False

    def stored(self, plan: Plan) -> None:
        """Note what a plan that is now durable gives to do."""
        self._busy = True
        if plan.rows:
            size = sum(len(body) for _, _, body in plan.rows)
            self._floor.add(plan.rows[-1][0], len(plan.rows), size)
            self._wrote(2 + size // PAGE)
        for step in plan.steps:
            if isinstance(step, NewSnapshot):
                self._sweeps.setdefault(step.id, step.seq)
                self._sweeps[step.id] = max(self._sweeps[step.id], step.seq)
            elif isinstance(step, GoneChannels):
                self._sweeps.update(dict.fromkeys(step.ids, ALL))
        self._wrote(len(plan.steps))

    def _wrote(self, pages: int) -> None:
        self._uncopied += pages
        if self._uncopied >= CHECKPOINT_PAGES:
            self._uncopied = 0
            self._checkpoint()

    def wait_seconds(self) -> float:
        """How long the writer may wait for a batch before it does a step; -1 when there is nothing to do."""
        if self._is_pending():
            return max(PAUSE_SECONDS if self._busy else 0.0, self._not_before - self._clock())
        return QUIET_SECONDS if self._uncopied else -1

    def step_if_overdue(self) -> None:
        """Do a step although batches wait, so that steady load does not starve the chores."""
        if self._is_pending() and self._clock() - self._last_step > OVERDUE_SECONDS:
            self.step()

    def step(self) -> None:
        """Do one small step when there is one and it is not too early. Never raises."""
        self._busy = False
        self._last_step = self._clock()
        if self._last_step < self._not_before:
            return
        try:
            if self._sweeps:
                self._sweep(*next(iter(self._sweeps.items())))
            elif self._pruned < self._floor.floor:
                self._prune()
            elif self._uncopied:
                self._uncopied = 0
                self._checkpoint()
        except Exception as error:
            log.warning("background work of the store failed, it is tried again: %s", error)
            self._not_before = self._clock() + RETRY_SECONDS

    def finish(self) -> None:
        """Do everything that is due now; stops at a failure."""
        while self._is_pending() and self._clock() >= self._not_before:
            self.step()
        self._uncopied = 0
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _is_pending(self) -> bool:
        return bool(self._sweeps) or self._pruned < self._floor.floor

    def _sweep(self, id_: int, up_to: int) -> None:
        """Delete envelopes of one channel: all of a dropped one, else those that snapshot and window leave over."""
        last = up_to if up_to == ALL else min(up_to, self._pruned)
        with transaction(self._connection):
            deleted = self._connection.execute(
                """DELETE FROM envelopes WHERE seq IN
                   (SELECT seq FROM envelopes WHERE channel = ? AND seq <= ? ORDER BY seq LIMIT ?)""",
                (id_, last, ROWS_PER_STEP),
            ).rowcount
            if deleted < ROWS_PER_STEP and up_to == ALL:
                self._connection.execute("DELETE FROM dropped WHERE id = ?", (id_,))
        if deleted < ROWS_PER_STEP:
            del self._sweeps[id_]
        self._wrote(deleted // 2)

    def _prune(self) -> None:
        """Delete the next covered envelopes below the window."""
        found = self._connection.execute(
            "SELECT seq FROM envelopes WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT 1 OFFSET ?",
            (self._pruned, self._floor.floor, ROWS_PER_STEP - 1),
        ).fetchone()
        up_to = found[0] if found else self._floor.floor
        with transaction(self._connection):
            self._connection.execute(
                """DELETE FROM envelopes WHERE seq > ? AND seq <= ?
                   AND seq <= (SELECT snapshot_seq FROM channels WHERE id = envelopes.channel)""",
                (self._pruned, up_to),
            )
            put_meta(self._connection, {"pruned": up_to})
        self._pruned = up_to
        self._wrote(ROWS_PER_STEP // 2)
