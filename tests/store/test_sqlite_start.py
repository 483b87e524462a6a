"""Which files the SQLite log opens, and what it leaves of those that it refuses (architecture §7; spec C8.1)."""

import fcntl
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from innkeeper.errors import ERRORS
from innkeeper.ports.log import Batch, PutChannel, PutEnvelope, StoreUnreadable
from innkeeper.store.sqlite import SqliteLog
from innkeeper.store.sqlite.files import LOCK_NAME, DirectoryLock

pytestmark = pytest.mark.anyio


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != LOCK_NAME}


async def written(path: Path, envelopes: int = 200) -> None:
    """A database with some content, cleanly closed."""
    log = SqliteLog(path)
    await log.open()
    log.submit(Batch(0, (PutChannel("ahp-root://", "root", None, 0, b"{}", created=True),)), lambda error: None)
    for seq in range(1, envelopes + 1):
        log.submit(Batch(0, (PutEnvelope(seq, "ahp-root://", b"x" * 500, seq - 1),)), lambda error: None)
    await log.close(last_seq=envelopes)


async def refused(path: Path) -> StoreUnreadable:
    """Open, expect a refusal that changed nothing, and give it back."""
    before = contents(path.parent)
    with pytest.raises(StoreUnreadable) as caught:
        await SqliteLog(path).open()
    assert contents(path.parent) == before
    assert caught.value.code in ERRORS
    with closing_lock(path.parent):
        pass
    return caught.value


class closing_lock:
    """The folder can be locked: whoever was refused has let go of it."""

    def __init__(self, folder: Path) -> None:
        self.lock = DirectoryLock(folder)

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


async def test_a_missing_folder_is_made_for_the_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "innkeeper.db"
    old = os.umask(0)
    try:
        log = SqliteLog(path)
        await log.open()
        modes = {
            p.name: stat.S_IMODE(p.stat().st_mode) for p in (path.parent.parent, path.parent, *path.parent.iterdir())
        }
        await log.close(last_seq=0)
    finally:
        os.umask(old)
    assert modes.pop("a") == 0o700 and modes.pop("b") == 0o700
    assert set(modes) >= {"innkeeper.db", LOCK_NAME} and set(modes.values()) == {0o600}


async def test_a_clean_end_leaves_one_file_and_the_lock_file(tmp_path: Path) -> None:
    await written(tmp_path / "innkeeper.db")
    assert [*contents(tmp_path)] == ["innkeeper.db"]


# -- one host a data directory -----------------------------------------------------------------------------------------


async def test_a_second_host_is_refused_with_the_first_ones_process_id(tmp_path: Path) -> None:
    path = tmp_path / "innkeeper.db"
    log = SqliteLog(path)
    await log.open()
    with pytest.raises(StoreUnreadable) as caught:
        await SqliteLog(path).open()
    assert caught.value.code == "DATA_DIR_LOCKED"
    assert caught.value.values == {"pid": str(os.getpid()), "path": tmp_path}
    assert str(os.getpid()) in str(caught.value) and str(tmp_path) in str(caught.value)
    await log.close(last_seq=0)
    again = SqliteLog(path)
    await again.open()
    await again.close(last_seq=0)


async def test_another_database_in_the_same_folder_is_the_same_data_directory(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "innkeeper.db")
    await log.open()
    with pytest.raises(StoreUnreadable):
        await SqliteLog(tmp_path / "other.db").open()
    await log.close(last_seq=0)


async def test_the_lock_of_a_dead_process_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).write_text("999999\n")
    log = SqliteLog(tmp_path / "innkeeper.db")
    await log.open()
    assert (tmp_path / LOCK_NAME).read_text() == f"{os.getpid()}\n"
    await log.close(last_seq=0)


async def test_a_lock_without_a_number_is_named_as_unknown(tmp_path: Path) -> None:
    with (tmp_path / LOCK_NAME).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(StoreUnreadable, match=r"process \?"):
            await SqliteLog(tmp_path / "innkeeper.db").open()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnreadable) as caught:
        await SqliteLog(tmp_path / "file" / "data" / "innkeeper.db").open()
    assert caught.value.code == "DATA_DIR_UNWRITABLE" and "file/data" in str(caught.value)


# -- what is no readable database of ours ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty", b""),
        ("text", b"These are my notes; there is no database here.\n" * 100),
        ("header only", b"SQLite format 3\x00"),
        ("header and noise", b"SQLite format 3\x00" + bytes(range(256)) * 40),
    ],
)
async def test_what_is_no_database_is_refused_and_keeps_its_bytes(tmp_path: Path, name: str, data: bytes) -> None:
    """C8.1: an unreadable store fails closed and is kept for the user."""
    path = tmp_path / "innkeeper.db"
    path.write_bytes(data)
    error = await refused(path)
    assert error.code == "DATABASE_UNREADABLE"
    assert str(path) in str(error) and "not been touched" in str(error)


async def test_a_folder_in_the_place_of_the_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "innkeeper.db").mkdir()
    with pytest.raises(StoreUnreadable, match="not a regular file"):
        await SqliteLog(tmp_path / "innkeeper.db").open()


async def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "innkeeper.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE meta (name TEXT)")
    assert "another program" in str(await refused(path))


async def test_a_truncated_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "innkeeper.db"
    await written(path)
    path.write_bytes(path.read_bytes()[: 4096 * 12])
    assert (await refused(path)).code == "DATABASE_UNREADABLE"


async def test_damage_in_any_page_is_refused(tmp_path: Path) -> None:
    """Pages that a start would not even read are checked too."""
    path = tmp_path / "innkeeper.db"
    await written(path)
    whole = path.read_bytes()
    pages = len(whole) // 4096
    assert pages > 20
    for page in range(1, pages, 5):
        damaged = bytearray(whole)
        damaged[page * 4096 : page * 4096 + 64] = b"\xa5" * 64
        path.write_bytes(damaged)
        assert (await refused(path)).code == "DATABASE_UNREADABLE"
    path.write_bytes(whole)
    log = SqliteLog(path)
    assert len((await log.open()).window) == 200
    await log.close(last_seq=200)


async def test_rows_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "innkeeper.db"
    await written(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TABLE decisions")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    error = await refused(path)
    assert error.code == "DATABASE_UNREADABLE" and "decisions" in str(error)


# -- newer schemas -----------------------------------------------------------------------------------------------------


async def test_a_newer_schema_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "innkeeper.db"
    await written(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 4711")
    error = await refused(path)
    assert error.code == "SCHEMA_NEWER"
    assert error.values["found"] == 4711 and str(path) in str(error)


async def test_a_newer_schema_that_is_still_in_the_write_ahead_log_is_refused_untouched(tmp_path: Path) -> None:
    """The newer program was killed: the file itself still shows the older number."""
    source, path = tmp_path / "newer" / "innkeeper.db", tmp_path / "mine" / "innkeeper.db"
    await written(source)
    path.parent.mkdir()
    with closing(sqlite3.connect(source, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 4711")
        for suffix in ("", "-wal"):
            shutil.copy(f"{source}{suffix}", f"{path}{suffix}")
    assert (await refused(path)).code == "SCHEMA_NEWER"


# -- permissions -------------------------------------------------------------------------------------------------------

AS_NOBODY = """
import asyncio, os, sys
from pathlib import Path
from innkeeper.store.sqlite import SqliteLog
from innkeeper.ports.log import StoreUnreadable
import sqlite3, tempfile, threading
import innkeeper.errors
from innkeeper.texts import LANGUAGES, text
for lang in LANGUAGES:
    text("error.DATA_DIR_UNWRITABLE.meaning", lang=lang, path="")  # read now: the other user may not reach the code
log = SqliteLog(Path(sys.argv[1]))
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
try:
    asyncio.run(log.open())
except StoreUnreadable as error:
    print(error.code, error)
else:
    print("opened")
"""


@pytest.fixture
def public(anyio_backend: str) -> Iterator[Path]:
    """A folder that another user can reach; pytest's own are for its user only."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name) / "data"


def open_as_nobody(path: Path, *, file: int, folder: int) -> str:
    """What a user other than root is told, with these modes; root would be let through."""
    path.chmod(file)
    path.parent.chmod(folder)
    ran = subprocess.run([sys.executable, "-c", AS_NOBODY, str(path)], capture_output=True, text=True, timeout=20)
    path.parent.chmod(0o755)
    return ran.stdout or ran.stderr


async def test_a_file_that_may_not_be_written_is_refused_with_its_name(public: Path) -> None:
    path = public / "innkeeper.db"
    await written(path)
    (public / LOCK_NAME).unlink()
    before = contents(public)
    answer = open_as_nobody(path, file=0o444, folder=0o777)
    assert answer.startswith("DATA_DIR_UNWRITABLE") and str(path) in answer
    assert contents(public) == before


async def test_a_folder_that_may_not_be_written_is_refused_with_its_name(public: Path) -> None:
    path = public / "innkeeper.db"
    await written(path)
    (public / LOCK_NAME).unlink()
    answer = open_as_nobody(path, file=0o666, folder=0o555)
    assert answer.startswith("DATA_DIR_UNWRITABLE") and str(public) in answer
