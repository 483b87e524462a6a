"""`SqliteLog`: the log of one host in one SQLite file (architecture §7; spec C8.1).

Rules
* Nothing here blocks the event loop: opening, writing, reading and closing happen in the writer thread.
* Durable means committed, in WAL mode. `durability="normal"` survives the end of the process, not of the power;
  `"full"` syncs at every commit.
* `done` callbacks run on the event loop, in the order of submission, those of one transaction together.
"""

import asyncio
import contextlib
import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal, TypeVar

from innkeeper.limits import REPLAY_BYTES, REPLAY_ENVELOPES
from innkeeper.ports.log import Batch, Done, LogImage, StoredChannel, StoreError
from innkeeper.store.sqlite import files, image, rows
from innkeeper.store.sqlite.checkpoints import Checkpoints
from innkeeper.store.sqlite.chores import Chores
from innkeeper.store.sqlite.failures import failed_start, failure
from innkeeper.store.sqlite.migrations import MIGRATIONS, Migration, migrate
from innkeeper.store.sqlite.writer import Outcome, Writer
from innkeeper.store.window import WindowLimits

Durability = Literal["normal", "full"]
SYNCHRONOUS: Final[dict[Durability, str]] = {"normal": "NORMAL", "full": "FULL"}
SWITCH_INTERVAL: Final = 1e-4
"""Seconds for `sys.setswitchinterval` in a process with a log (the composition root sets it). With Python's 5 ms, a
loop that computes in bursts below 5 ms and lets go only to poll keeps the writer out for as long as it is busy."""

Result = TypeVar("Result")

log = logging.getLogger(__name__)


class SqliteLog:
    """`ports.log.Log` on the database file `path`; it and its folder are made when they are missing.

    `replay_envelopes` and `replay_bytes` bound the replay window. `max_bytes` bounds the file (None: the disk does);
    above it a batch fails with StoreFull.
    """

    def __init__(
        self,
        path: Path,
        *,
        durability: Durability = "normal",
        replay_envelopes: int = REPLAY_ENVELOPES,
        replay_bytes: int = REPLAY_BYTES,
        max_bytes: int | None = None,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> None:
        self._path = path
        self._synchronous = SYNCHRONOUS[durability]
        self._limits = WindowLimits(replay_envelopes, replay_bytes)
        self._max_bytes = max_bytes
        self._migrations = migrations
        self._lock = files.DirectoryLock(path.parent)
        self._outcomes: deque[Outcome] = deque()
        self._deliver_due = False
        self._checkpoints: Checkpoints | None = None
        self._writer: Writer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self) -> LogImage:
        """Lock the folder, check and migrate the file, and read it. Raises StoreUnreadable and StoreError."""
        if self._loop is not None:
            raise StoreError("the log was opened before")
        self._loop = asyncio.get_running_loop()
        writer = Writer(self._path, self._report)
        opened: asyncio.Future[LogImage] = self._loop.create_future()
        threading.Thread(target=self._run, args=(writer, opened), name="innkeeper-log", daemon=True).start()
        try:
            found = await asyncio.shield(opened)
        except asyncio.CancelledError:
            writer.call(lambda: self._let_go(writer))
            raise
        self._writer = writer
        return found

    def submit(self, batch: Batch, done: Done) -> None:
        """Store `batch` after all earlier ones. On a log that is not open `done` is told so."""
        if self._writer is not None:
            self._writer.submit(batch, done)
        elif self._loop is not None:
            self._loop.call_soon(done, StoreError("the log is not open"))
        else:
            raise StoreError("the log was never opened")

    async def channel(self, channel: str) -> StoredChannel | None:
        """The stored channel with its tail, as of the batches submitted before. Raises StoreError."""

        def read(writer: Writer) -> StoredChannel | None:
            row = writer.admission.channels.get(channel)
            return None if row is None else image.read_channel(writer.connection, row)

        return await self._ask(read)

    async def settle(self) -> None:
        """Finish the background work that is due: deletion of dropped channels, pruning, checkpoint."""
        await self._ask(lambda writer: writer.chores.finish())

    async def close(self, *, last_seq: int) -> None:
        """Store what was submitted, record a clean end and free the folder; again: nothing. Raises StoreError."""
        writer = self._writer
        if writer is None:
            return
        ended = self._ask(lambda writer: self._end(writer, last_seq))
        self._writer = None
        await asyncio.shield(ended)

    # -- in the writer thread --------------------------------------------------------------------------------------

    def _run(self, writer: Writer, opened: "asyncio.Future[LogImage]") -> None:
        try:
            self._lock.acquire()
            try:
                found = self._open(writer)
            except BaseException:
                self._lock.release()
                raise
        except BaseException as error:
            self._answer(opened, error=error)
            return
        self._answer(opened, found)
        writer.run()

    def _open(self, writer: Writer) -> LogImage:
        if self._path.exists():
            files.inspect(self._path, len(self._migrations))
        else:
            files.create(self._path, self._migrations)
        try:
            connection = files.connect(self._path, synchronous=self._synchronous)
        except sqlite3.Error as error:
            raise failed_start(error, self._path) from error
        try:
            loaded = self._load(connection)
        except BaseException:
            connection.close()
            raise
        self._checkpoints = Checkpoints(self._path)
        chores = Chores(
            connection,
            loaded.floor,
            loaded.dropped,
            clock=time.monotonic,
            checkpoint=self._checkpoints.request,
        )
        writer.attach(connection, loaded.admission, chores)
        return loaded.image

    def _load(self, connection: sqlite3.Connection) -> image.Loaded:
        migrate(connection, self._path, self._migrations)
        try:
            loaded = image.load(connection, self._limits)
        except (sqlite3.Error, TypeError, KeyError) as error:
            raise failed_start(error, self._path) from error
        if self._max_bytes is not None:
            page_size = connection.execute("PRAGMA page_size").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {max(1, self._max_bytes // page_size)}")
        try:
            rows.begin(connection, loaded.image)
        except sqlite3.Error as error:
            raise failure(error, self._path) from error
        return loaded

    def _end(self, writer: Writer, last_seq: int) -> None:
        try:
            rows.end(writer.connection, writer.admission.ended(last_seq))
        finally:
            self._let_go(writer)

    def _let_go(self, writer: Writer) -> None:
        writer.stop()
        if self._checkpoints is not None:
            self._checkpoints.stop()
        with contextlib.suppress(sqlite3.Error):  # as after a crash: the next start recovers
            writer.connection.close()
        self._lock.release()

    # -- between the threads ---------------------------------------------------------------------------------------

    def _ask(self, question: Callable[[Writer], Result]) -> "asyncio.Future[Result]":
        """Run `question` in the writer thread, in its turn. Raises StoreError when the log is not open."""
        writer, loop = self._writer, self._loop
        if writer is None or loop is None:
            raise StoreError("the log is not open")
        answer: asyncio.Future[Result] = loop.create_future()

        def job() -> None:
            try:
                result = question(writer)
            except sqlite3.Error as error:
                self._answer(answer, error=failure(error, self._path))
            except BaseException as error:
                self._answer(answer, error=error)
            else:
                self._answer(answer, result)

        writer.call(job)
        return answer

    def _answer(
        self, future: "asyncio.Future[Result]", result: Result | None = None, *, error: BaseException | None = None
    ) -> None:
        def settle() -> None:
            if future.cancelled():
                return
            if error is None:
                future.set_result(result)  # type: ignore[arg-type]
            else:
                future.set_exception(error)

        self._on_loop(settle)

    def _report(self, outcomes: Sequence[Outcome]) -> None:
        """In the writer thread. A wake-up that is under way serves for these answers too."""
        self._outcomes.extend(outcomes)
        if not self._deliver_due:
            self._deliver_due = True
            self._on_loop(self._deliver)

    def _on_loop(self, callback: Callable[..., None], *args: object) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:
            log.warning("the event loop is closed; an answer of the log has nobody to go to")

    def _deliver(self) -> None:
        self._deliver_due = False  # first: what is added from now on brings its own wake-up
        for _ in range(len(self._outcomes)):
            done, error = self._outcomes.popleft()
            try:
                done(error)
            except Exception:
                log.exception("a callback of the log failed")
