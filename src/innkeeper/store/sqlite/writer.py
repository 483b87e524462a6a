"""The one thread that owns the connection: takes what waits, stores it as one transaction, answers (architecture §7).

Rules
* Batches are durable and answered in the order of submission. All that wait are one transaction (group commit); when
  that fails, it is rolled back and they are tried one by one, so that a bad batch fails alone.
* One wake-up of the event loop a group. Little Python here: the loop needs the interpreter at the same time.
* Reads are jobs in the same queue: they see every batch that was submitted before them, and nothing of a later one.
* Chores are done in small steps between groups (`chores`).
"""

import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from innkeeper.ports.log import Batch, Done, StoreError
from innkeeper.store.admission import Admission, Plan
from innkeeper.store.sqlite.chores import Chores
from innkeeper.store.sqlite.failures import failure
from innkeeper.store.sqlite.rows import store

GROUP: Final = 256
"""Batches of one transaction at most, so that the first of a flood does not wait for its end."""

Submission = tuple[Batch, Done]
Job = Callable[[], None]
Outcome = tuple[Done, StoreError | None]
Report = Callable[[Sequence[Outcome]], None]

log = logging.getLogger(__name__)


class Writer:
    """The queue and the loop of the writer thread. `submit` and `call` are used on the event loop's thread only."""

    def __init__(self, path: Path, report: Report) -> None:
        self._path = path
        self._report = report
        self._queue: deque[Submission | Job] = deque()
        self._wake = threading.Lock()
        self._wake.acquire()
        self._running = True

    def attach(self, connection: sqlite3.Connection, admission: Admission, chores: Chores) -> None:
        """Use the opened database; called once, in the writer thread, before the first batch."""
        self.connection = connection
        self.admission = admission
        self.chores = chores

    def submit(self, batch: Batch, done: Done) -> None:
        self._queue.append((batch, done))
        self._notify()

    def call(self, job: Job) -> None:
        """Run `job` in the writer thread after everything submitted so far. It handles its own errors."""
        self._queue.append(job)
        self._notify()

    def stop(self) -> None:
        """End the loop; called by the last job."""
        self._running = False

    def run(self) -> None:
        """The body of the thread."""
        queue = self._queue
        while self._running:
            if queue:
                self._serve()
                if self._running:
                    self.chores.step_if_overdue()
            elif not self._wake.acquire(timeout=self.chores.wait_seconds()):
                self.chores.step()

    def _notify(self) -> None:
        if self._wake.locked():  # only this thread releases it, so a lock that is free means: the writer will look
            self._wake.release()

    def _serve(self) -> None:
        """Take what waits, up to a job or a full group."""
        queue = self._queue
        group: list[Submission] = []
        while queue and len(group) < GROUP:
            item = queue.popleft()
            if isinstance(item, tuple):
                group.append(item)
                continue
            if group:
                self._report(self._store(group))
                group = []
            item()
            if not self._running:
                return
        if group:
            self._report(self._store(group))

    def _store(self, group: Sequence[Submission]) -> list[Outcome]:
        plan = Plan()
        try:
            outcomes = [(done, self.admission.admit(batch, plan)) for batch, done in group]
            store(self.connection, plan)
        except Exception as error:
            self.admission.rollback()
            if len(group) > 1:
                return [outcome for submission in group for outcome in self._store([submission])]
            return [(group[0][1], self._failed(group[0][0], error))]
        self.admission.commit()
        self.chores.stored(plan)
        return outcomes

    def _failed(self, batch: Batch, error: Exception) -> StoreError:
        if not isinstance(error, sqlite3.Error):
            log.error("a batch could not be stored", exc_info=error)
        told = failure(error, self._path)
        self.admission.fail(batch.epoch, told)
        self.admission.commit()
        return told
