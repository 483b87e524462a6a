"""Group commit, errors of SQLite, chores: what only the SQLite log has (architecture §7)."""

import asyncio
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from innkeeper.ports.log import (
    Batch,
    DropChannel,
    PutChannel,
    PutEnvelope,
    Reserve,
    StoreError,
    StoreFull,
)
from innkeeper.store.admission import Plan
from innkeeper.store.sqlite import SqliteLog
from innkeeper.store.sqlite.checkpoints import Checkpoints
from innkeeper.store.sqlite.chores import CHECKPOINT_PAGES, ROWS_PER_STEP, Chores
from innkeeper.store.sqlite.failures import failure
from innkeeper.store.sqlite.files import connect
from innkeeper.store.sqlite.writer import GROUP
from innkeeper.store.window import WindowFloor, WindowLimits

pytestmark = pytest.mark.anyio

ROOT = "ahp-root://"
SESSION = "ahp-session:/s1"
BODY = b"x" * 500


def create(channel: str = SESSION, seq: int = 0) -> PutChannel:
    return PutChannel(channel, "session", None, seq, b"{}", created=True)


def envelopes(
    first: int, last: int, channel: str = SESSION, expected: int = 0, body: bytes = BODY
) -> list[PutEnvelope]:
    return [PutEnvelope(s, channel, body, expected if s == first else s - 1) for s in range(first, last + 1)]


async def put(log: SqliteLog, *ops: Any, epoch: int = 0) -> StoreError | None:
    return (await put_all(log, [Batch(epoch, ops)]))[0]


async def put_all(log: SqliteLog, batches: list[Batch]) -> list[StoreError | None]:
    answers: list[StoreError | None] = []
    last = asyncio.Event()

    def done(error: StoreError | None) -> None:
        answers.append(error)
        if len(answers) == len(batches):
            last.set()

    for batch in batches:
        log.submit(batch, done)
    async with asyncio.timeout(5):
        await last.wait()
    return answers


def count(path: Path, query: str = "SELECT count(*) FROM envelopes") -> int:
    with closing(sqlite3.connect(path)) as connection:
        found: int = connection.execute(query).fetchone()[0]
        return found


def copy_files(source: Path, target: Path) -> None:
    """What a killed process would leave."""
    target.parent.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{source}{suffix}", f"{target}{suffix}")


async def held(log: SqliteLog) -> Callable[[], None]:
    """Keep the writer busy until the returned function is called, so that what is submitted becomes one group."""
    gate, entered = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    assert log._writer is not None

    def wait() -> None:
        loop.call_soon_threadsafe(entered.set)
        gate.wait(5)

    log._writer.call(wait)
    async with asyncio.timeout(5):
        await entered.wait()
    return gate.set


class Faulty:
    """A connection on which statements with `part` fail `times` times, and which keeps what was executed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.part = ""
        self.times = 0
        self.seen: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    def execute(self, query: str, *values: Any) -> sqlite3.Cursor:
        self._look(query)
        return self.connection.execute(query, *values)

    def executemany(self, query: str, *values: Any) -> sqlite3.Cursor:
        self._look(query)
        return self.connection.executemany(query, *values)

    def _look(self, query: str) -> None:
        self.seen.append(query)
        if self.times and self.part in query:
            self.times -= 1
            raise sqlite3.OperationalError("disk I/O error")


@pytest.fixture
async def log(tmp_path: Path) -> Any:
    found = SqliteLog(tmp_path / "innkeeper.db")
    await found.open()
    yield found
    await found.close(last_seq=0)


def faulty(log: SqliteLog) -> Faulty:
    writer = log._writer
    assert writer is not None
    connection = Faulty(writer.connection)
    writer.connection = connection  # type: ignore[assignment]
    return connection


# -- groups ------------------------------------------------------------------------------------------------------------


async def test_what_waits_becomes_one_statement(log: SqliteLog) -> None:
    await put(log, create())
    seen = faulty(log)
    go = await held(log)
    answers = asyncio.ensure_future(put_all(log, [Batch(0, (e,)) for e in envelopes(1, 100)]))
    await asyncio.sleep(0)
    go()
    assert await answers == [None] * 100
    assert len(seen.seen) == 1


async def test_a_group_is_bounded(log: SqliteLog) -> None:
    await put(log, create())
    seen = faulty(log)
    go = await held(log)
    answers = asyncio.ensure_future(put_all(log, [Batch(0, (e,)) for e in envelopes(1, GROUP + 1)]))
    await asyncio.sleep(0)
    go()
    assert await answers == [None] * (GROUP + 1)
    assert len(seen.seen) == 2


async def test_a_group_that_fails_is_tried_one_by_one_so_that_only_the_bad_batch_fails(log: SqliteLog) -> None:
    """The second batch of epoch 1 fails by itself, then those of its epoch, and none of another."""
    await put(log, create(), create(ROOT))
    connection = faulty(log)
    go = await held(log)
    first, second, third = envelopes(1, 3)
    batches = [
        Batch(1, (first,)),
        Batch(1, (Reserve(10), second)),
        Batch(1, (third,)),
        Batch(2, (PutEnvelope(4, ROOT, BODY, 0),)),
    ]
    answers = asyncio.ensure_future(put_all(log, batches))
    await asyncio.sleep(0)
    connection.part, connection.times = "meta", 2
    go()
    found = await answers
    assert [error is None for error in found] == [True, False, False, True]
    assert found[1] is found[2] and type(found[1]) is StoreError
    session, root = await log.channel(SESSION), await log.channel(ROOT)
    assert session is not None and root is not None
    assert (session.version, len(session.tail), root.version) == (1, 1, 4)


async def test_a_group_that_fails_once_is_stored_at_the_second_try(log: SqliteLog) -> None:
    await put(log, create())
    connection = faulty(log)
    go = await held(log)
    answers = asyncio.ensure_future(put_all(log, [Batch(0, (e,)) for e in envelopes(1, 5)]))
    await asyncio.sleep(0)
    connection.part, connection.times = "INSERT", 1
    go()
    assert await answers == [None] * 5


@pytest.mark.parametrize("part", ["BEGIN", "INSERT INTO channels", "COMMIT"])
async def test_an_error_leaves_the_connection_usable_and_nothing_stored(log: SqliteLog, part: str) -> None:
    connection = faulty(log)
    connection.part, connection.times = part, 1
    error = await put(log, create(), Reserve(5))
    assert type(error) is StoreError and "disk I/O error" in str(error)
    assert await log.channel(SESSION) is None
    assert await put(log, create(), *envelopes(1, 3), epoch=1) is None


async def test_an_error_that_is_not_of_sqlite_fails_the_batch_and_not_the_writer(
    log: SqliteLog, caplog: pytest.LogCaptureFixture
) -> None:
    wrong: Any = PutEnvelope(1, SESSION, BODY, 0)
    assert await put(log, create(), PutChannel(ROOT, "root", None, 2**70, b"", created=True)) is not None
    assert await put(log, create(), wrong, epoch=1) is None
    assert "could not be stored" in caplog.text


async def test_a_write_to_a_read_only_database_is_an_error_and_not_a_full_disk(log: SqliteLog) -> None:
    await put(log, create())
    writer = log._writer
    assert writer is not None
    writer.call(lambda: writer.connection.execute("PRAGMA query_only = 1") and None)
    assert type(await put(log, *envelopes(1, 1))) is StoreError
    writer.call(lambda: writer.connection.execute("PRAGMA query_only = 0") and None)
    assert await put(log, *envelopes(1, 1), epoch=1) is None


async def test_a_read_that_fails_is_told_and_the_writer_goes_on(log: SqliteLog) -> None:
    await put(log, create())
    connection = faulty(log)
    connection.part, connection.times = "SELECT state", 1
    with pytest.raises(StoreError):
        await log.channel(SESSION)
    assert await log.channel(SESSION) is not None


async def test_a_read_that_nobody_waits_for_any_more_is_let_go(log: SqliteLog) -> None:
    await put(log, create())
    go = await held(log)
    reading = asyncio.ensure_future(log.channel(SESSION))
    await asyncio.sleep(0)
    reading.cancel()
    go()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert await log.channel(SESSION) is not None


async def test_a_start_that_is_cancelled_frees_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "data" / "innkeeper.db"
    opening = asyncio.ensure_future(SqliteLog(path).open())
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    threads = [thread for thread in threading.enumerate() if thread.name == "innkeeper-log"]
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()
    again = SqliteLog(path)
    await again.open()
    await again.close(last_seq=0)


async def test_no_thread_outlives_a_closed_log(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    log = SqliteLog(tmp_path / "innkeeper.db")
    await log.open()
    await log.close(last_seq=0)
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive()


async def test_a_close_that_cannot_write_its_mark_is_told_and_frees_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "innkeeper.db"
    log = SqliteLog(path)
    await log.open()
    await put(log, create(), Reserve(50), *envelopes(1, 3))
    connection = faulty(log)
    connection.part, connection.times = "INSERT OR REPLACE INTO meta", 1
    with pytest.raises(StoreError):
        await log.close(last_seq=3)
    again = SqliteLog(path)
    image = await again.open()
    assert (image.gaps, image.last_seq) == (((4, 50),), 3)
    await again.close(last_seq=50)


def test_only_a_lack_of_space_is_a_full_store(tmp_path: Path) -> None:
    def of(code: int) -> StoreError:
        error = sqlite3.OperationalError("x")
        error.sqlite_errorcode = code
        return failure(error, tmp_path)

    for code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE):
        assert isinstance(of(code), StoreFull) and of(code).code == "STORAGE_FULL"
    for code in (
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_IOERR_READ,
        sqlite3.SQLITE_CORRUPT,
    ):
        assert type(of(code)) is StoreError and of(code).code == "STORAGE_FAILED"


# -- full disks --------------------------------------------------------------------------------------------------------


async def test_a_full_store_refuses_batches_and_recovers_when_space_returns(tmp_path: Path) -> None:
    """Issue §4: a full disk rejects actions with an error and recovers when space returns."""
    log = SqliteLog(tmp_path / "innkeeper.db", max_bytes=400_000)
    await log.open()
    assert await put(log, create(), create(ROOT)) is None
    error, last, epoch = None, 0, 0
    while error is None and last < 2000:
        error = await put(log, *envelopes(last + 1, last + 20, expected=last))
        last += 0 if error else 20
    assert isinstance(error, StoreFull) and "innkeeper.db" in str(error)
    assert await put(log, *envelopes(last + 1, last + 1, expected=last)) is error
    for epoch in (1, 2):
        big = envelopes(last + 1, last + 20, expected=last)
        assert isinstance(await put(log, *big, epoch=epoch), StoreFull)
    found = await log.channel(SESSION)
    assert found is not None and found.version == last
    assert await put(log, DropChannel(SESSION), epoch=3) is None
    await log.settle()
    assert await put(log, *envelopes(last + 1, last + 100, ROOT), epoch=3) is None
    await log.close(last_seq=last + 100)


# -- chores ------------------------------------------------------------------------------------------------------------


async def test_rows_of_a_dropped_channel_are_deleted_from_the_file(log: SqliteLog, tmp_path: Path) -> None:
    await put(log, create(), create(ROOT), *envelopes(1, 1000), *envelopes(1001, 1010, ROOT, 0))
    await put(log, DropChannel(SESSION))
    await log.settle()
    assert count(tmp_path / "innkeeper.db") == 10
    assert count(tmp_path / "innkeeper.db", "SELECT count(*) FROM dropped") == 0


async def test_the_last_number_is_known_after_all_rows_that_show_it_are_deleted(log: SqliteLog, tmp_path: Path) -> None:
    await put(log, create(), *envelopes(1, 10), Reserve(50), DropChannel(SESSION))
    await log.settle()
    crashed = tmp_path / "crashed" / "innkeeper.db"
    copy_files(tmp_path / "innkeeper.db", crashed)
    next_log = SqliteLog(crashed)
    image = await next_log.open()
    assert (image.last_seq, image.gaps) == (10, ((11, 50),))
    await next_log.close(last_seq=50)


async def test_gaps_below_the_window_are_deleted_from_the_file(log: SqliteLog, tmp_path: Path) -> None:
    await put(log, create(), Reserve(50), *envelopes(1, 10))
    crashed = tmp_path / "crashed" / "innkeeper.db"
    copy_files(tmp_path / "innkeeper.db", crashed)
    for first, limit in ((51, 1000), (151, 1000), (251, 10)):
        next_log = SqliteLog(crashed, replay_envelopes=limit)
        await next_log.open()
        assert count(crashed, "SELECT count(*) FROM gaps") == (1 if limit == 1000 else 0)
        assert await put(next_log, *envelopes(first, first + 99, expected=10 if first == 51 else first - 1)) is None
        await next_log.close(last_seq=first + 99)


async def test_a_drop_that_a_crash_interrupted_is_finished_at_the_next_start(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "innkeeper.db")
    await log.open()
    await put(log, create(), create(ROOT), *envelopes(1, 1000))
    await log.close(last_seq=1000)
    with closing(sqlite3.connect(tmp_path / "innkeeper.db", isolation_level=None)) as connection:
        connection.execute("INSERT INTO dropped SELECT id FROM channels WHERE channel = ?", (SESSION,))
        connection.execute("DELETE FROM channels WHERE channel = ?", (SESSION,))
    log = SqliteLog(tmp_path / "innkeeper.db")
    image = await log.open()
    assert image.window == () and image.last_seq == 1000
    assert await put(log, create(SESSION, 1000), *envelopes(1001, 1002, expected=1000)) is None
    await log.settle()
    assert count(tmp_path / "innkeeper.db") == 2
    await log.close(last_seq=1002)


async def test_only_covered_envelopes_below_the_window_are_pruned(tmp_path: Path) -> None:
    path = tmp_path / "innkeeper.db"
    log = SqliteLog(path, replay_envelopes=100)
    await log.open()
    await put(log, create(), create(ROOT), *envelopes(1, 50))
    for first in range(51, 2051, 100):
        await put(log, *envelopes(first, first + 99, ROOT, 0 if first == 51 else first - 1))
    await put(log, PutChannel(ROOT, "root", None, 1000, b"{}", created=False))
    await log.settle()
    tails = "SELECT count(*) FROM envelopes WHERE seq <= 50"
    assert count(path, tails) == 50
    assert count(path, "SELECT min(seq) FROM envelopes WHERE seq > 50") == 1001
    await put(log, PutChannel(SESSION, "session", None, 50, b"{}", created=False))
    await log.settle()
    assert count(path, tails) == 0
    await log.close(last_seq=2050)


async def test_what_could_not_be_pruned_before_a_restart_is_pruned_after_it(tmp_path: Path) -> None:
    path = tmp_path / "innkeeper.db"
    log = SqliteLog(path)
    await log.open()
    await put(log, create(), *envelopes(1, 2000), PutChannel(SESSION, "session", None, 2000, b"{}", created=False))
    await log.close(last_seq=2000)
    log = SqliteLog(path, replay_envelopes=100)
    image = await log.open()
    await log.settle()
    assert (image.window_start, count(path)) == (1900, 100)
    await log.close(last_seq=2000)


async def test_a_chore_that_fails_is_tried_again_later(log: SqliteLog, caplog: pytest.LogCaptureFixture) -> None:
    writer = log._writer
    assert writer is not None
    await put(log, create(), *envelopes(1, 10))
    chores = writer.chores
    now = [0.0]
    connection = Faulty(writer.connection)
    connection.part, connection.times = "DELETE", 1
    go = await held(log)
    chores._connection = connection  # type: ignore[assignment]
    chores._clock = lambda: now[0]
    dropped = asyncio.ensure_future(put(log, DropChannel(SESSION)))
    await asyncio.sleep(0)
    go()
    assert await dropped is None
    await log.settle()
    assert "tried again" in caplog.text
    assert chores._sweeps
    now[0] = 100.0
    await log.settle()
    assert not chores._sweeps


async def test_steady_load_does_not_starve_the_chores(tmp_path: Path) -> None:
    """A step is due after 50 ms although batches wait all the time, and not before."""
    log = SqliteLog(tmp_path / "innkeeper.db")
    await log.open()
    await put(log, create(), *envelopes(1, 1000))
    await log.close(last_seq=1000)
    now = [0.0]
    with closing(connect(tmp_path / "innkeeper.db", synchronous="NORMAL")) as connection:
        connection.execute("INSERT INTO dropped VALUES (1)")
        chores = Chores(
            connection, WindowFloor(WindowLimits(10, 10)), [1], clock=lambda: now[0], checkpoint=lambda: None
        )
        chores.step_if_overdue()
        assert connection.execute("SELECT count(*) FROM envelopes").fetchone() == (1000,)
        now[0] = 0.051
        chores.step_if_overdue()
        assert connection.execute("SELECT count(*) FROM envelopes").fetchone() == (1000 - ROWS_PER_STEP,)
        chores.step_if_overdue()
        assert connection.execute("SELECT count(*) FROM envelopes").fetchone() == (1000 - ROWS_PER_STEP,)
        assert connection.execute("SELECT id FROM dropped").fetchall() == [(1,)], "a crash now must not forget the rest"


async def test_checkpoints_are_asked_for_after_enough_pages_and_when_it_is_quiet(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "innkeeper.db")
    await log.open()
    await log.close(last_seq=0)
    asked: list[int] = []
    with closing(connect(tmp_path / "innkeeper.db", synchronous="NORMAL")) as connection:
        floor = WindowFloor(WindowLimits(10_000, 2**30))
        chores = Chores(connection, floor, [], clock=lambda: 0.0, checkpoint=lambda: asked.append(1))
        assert chores.wait_seconds() == -1
        chores.stored(Plan(rows=[(1, 1, BODY)]))
        assert chores.wait_seconds() > 0 and not asked
        chores.step()
        assert (len(asked), chores.wait_seconds()) == (1, -1)
        for seq in range(2, 2 + CHECKPOINT_PAGES // 2):
            chores.stored(Plan(rows=[(seq, 1, BODY)]))
        assert (len(asked), chores.wait_seconds()) == (2, -1)


# -- around the writer -------------------------------------------------------------------------------------------------


async def test_a_log_that_was_never_opened_takes_nothing(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "innkeeper.db")
    with pytest.raises(StoreError, match="never opened"):
        log.submit(Batch(0, ()), lambda error: None)
    with pytest.raises(StoreError, match="not open"):
        await log.channel(SESSION)
    await log.close(last_seq=0)


def test_an_answer_for_a_loop_that_is_closed_is_dropped_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The batch is stored all the same; the folder stays locked until the process ends, as after a crash."""
    log = SqliteLog(tmp_path / "innkeeper.db")
    asyncio.run(log.open())
    writer = log._writer
    assert writer is not None
    stored = threading.Event()
    writer.submit(Batch(0, (create(),)), lambda error: None)
    writer.call(stored.set)
    assert stored.wait(5)
    assert "loop is closed" in caplog.text
    assert count(tmp_path / "innkeeper.db", "SELECT count(*) FROM channels") == 1
    thread = next(thread for thread in threading.enumerate() if thread.name == "innkeeper-log")
    writer.call(lambda: log._let_go(writer))
    thread.join(5)
    assert not thread.is_alive()


def test_checkpoints_that_cannot_be_made_are_left_to_the_writer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    missing = Checkpoints(tmp_path / "nothing.db")
    missing.request()
    missing.stop()
    assert "left to the writer" in caplog.text


async def test_a_failed_checkpoint_is_made_up_for_by_the_next(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    log = SqliteLog(tmp_path / "innkeeper.db")
    await log.open()
    await put(log, create(), *envelopes(1, 100))
    assert log._checkpoints is not None
    with closing(sqlite3.connect(tmp_path / "innkeeper.db", isolation_level=None)) as connection:
        broken: Any = Faulty(connection)
        broken.part, broken.times = "wal_checkpoint", 1
        log._checkpoints._copy(broken)
        assert "a checkpoint failed" in caplog.text
        log._checkpoints._copy(broken)
        _, pages, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        assert pages == copied > 0
    await log.close(last_seq=100)
