"""Numbered migrations: a backup before each, one transaction each, every old schema opens (architecture §7)."""

import re
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from innkeeper.ports.decisions import Decision, Grant
from innkeeper.ports.log import LogImage, PutClient, PutListing, StoredChannel, StoreUnreadable
from innkeeper.store.sqlite import SqliteLog
from innkeeper.store.sqlite.migrations import APPLICATION_ID, MIGRATIONS, backup_path

pytestmark = pytest.mark.anyio

NOW = len(MIGRATIONS)
"""The schema of this program."""
NAMES = [(number, migration.__name__) for number, migration in enumerate(MIGRATIONS, 1)]
DATABASES = Path(__file__).parent.parent / "fixtures" / "databases"


def second(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE notes (note TEXT) STRICT")


def third(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO notes VALUES ('third')")


def broken(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO notes VALUES ('half')")
    connection.execute("INSERT INTO nothing VALUES (1)")


def ask(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


async def opened(path: Path, *more: object) -> LogImage:
    log = SqliteLog(path, migrations=(*MIGRATIONS, *more))  # type: ignore[arg-type]
    image = await log.open()
    await log.close(last_seq=image.last_seq)
    return image


def backups(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.backup"))


def old_database(folder: Path, schema: int = NOW) -> Path:
    path = folder / "innkeeper.db"
    shutil.copy(DATABASES / f"schema-{schema}.db", path)
    return path


def test_every_schema_has_a_database_that_its_program_wrote() -> None:
    found = {int(re.findall(r"\d+", path.name)[0]) for path in DATABASES.glob("schema-*.db")}
    assert found == set(range(1, len(MIGRATIONS) + 1))


@pytest.mark.parametrize("schema", range(1, len(MIGRATIONS) + 1))
async def test_a_database_of_every_schema_opens_with_its_content(tmp_path: Path, schema: int) -> None:
    log = SqliteLog(old_database(tmp_path, schema))
    image = await log.open()
    session = StoredChannel("ahp-session:/s1", "session", None, 2, 4, b'{"title":"A"}', (b'{"serverSeq":4}',))
    root = StoredChannel("ahp-root://", "root", None, 0, 1, b'{"agents":[]}', (b'{"serverSeq":1}',))
    assert image.channels == (root,)
    assert image.dormant == (("ahp-session:/s1", "session", None), ("ahp-chat:/c1", "chat", "ahp-session:/s1"))
    assert await log.channel("ahp-session:/s1") == session
    row = PutListing("ahp-session:/s1", 1_796_000_000.5, True, b'{"title":"A"}')
    assert image.listed == (() if schema < 2 else (row,))
    await log.close(last_seq=image.last_seq)
    assert [(e.seq, e.channel) for e in image.window] == [
        (1, "ahp-root://"),
        (2, "ahp-session:/s1"),
        (3, "ahp-chat:/c1"),
        (4, "ahp-session:/s1"),
    ]
    assert (image.last_seq, image.reserved, image.gaps) == (4, 4, ())
    assert image.clients == (PutClient("client-1", "1.0.0", b"{}"),)
    decision = Decision("mcp:docs", "workspace", "file:///w", False, "2026-11-30T10:00:00Z", pinned=True)
    assert image.decisions.decisions == (decision,)
    assert image.decisions.grants == (Grant("file:///w", "server", "docs", "sha256:1", "2026-11-30T10:00:00Z"),)


async def test_a_new_database_records_its_migrations_and_needs_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "innkeeper.db"
    await opened(path, second)
    assert ask(path, "SELECT number, name FROM migrations") == [*NAMES, (NOW + 1, "second")]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", str(ask(path, "SELECT applied_at FROM migrations")[0][0]))
    assert ask(path, "PRAGMA user_version") == [(NOW + 1,)]
    assert ask(path, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert backups(tmp_path) == []


async def test_each_migration_of_an_existing_file_is_preceded_by_a_backup(tmp_path: Path) -> None:
    path = old_database(tmp_path)
    await opened(path, second, third)
    first, next_ = backup_path(path, NOW), backup_path(path, NOW + 1)
    assert backups(tmp_path) == [first, next_]
    assert {stat.S_IMODE(copy.stat().st_mode) for copy in (first, next_)} == {0o600}
    assert ask(first, "PRAGMA user_version") == [(NOW,)]
    assert ask(next_, "SELECT count(*) FROM notes") == [(0,)]
    assert ask(path, "SELECT note FROM notes") == [("third",)]
    later = [(NOW + 1, "second"), (NOW + 2, "third")]
    assert ask(path, "SELECT number, name FROM migrations ORDER BY number")[NOW:] == later


async def test_a_backup_opens_as_a_log(tmp_path: Path) -> None:
    path = old_database(tmp_path)
    await opened(path, second)
    restored = tmp_path / "restored" / "innkeeper.db"
    restored.parent.mkdir()
    shutil.copy(backup_path(path, NOW), restored)
    assert len((await opened(restored)).window) == 4


async def test_what_was_only_in_the_write_ahead_log_is_in_the_backup(tmp_path: Path) -> None:
    path = old_database(tmp_path)
    crashed = tmp_path / "crashed" / "innkeeper.db"
    crashed.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE channels SET state = x'7b7d' WHERE kind = 'root'")
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{crashed}{suffix}")
    await opened(crashed, second)
    assert ask(backup_path(crashed, NOW), "SELECT state FROM channels WHERE kind = 'root'") == [(b"{}",)]


async def test_a_migration_that_fails_changes_nothing_and_names_the_file(tmp_path: Path) -> None:
    path = old_database(tmp_path)
    with pytest.raises(StoreUnreadable) as caught:
        await opened(path, second, broken)
    assert caught.value.code == "MIGRATION_FAILED" and str(path) in str(caught.value)
    assert ask(path, "PRAGMA user_version") == [(NOW + 1,)]
    assert ask(path, "SELECT count(*) FROM notes") == [(0,)]
    assert len((await opened(path, second)).window) == 4


async def test_a_backup_that_cannot_be_made_stops_the_migration(tmp_path: Path) -> None:
    path = old_database(tmp_path)
    before = path.read_bytes()
    backup_path(path, NOW).mkdir()
    with pytest.raises(StoreUnreadable) as caught:
        await opened(path, second)
    assert caught.value.code == "MIGRATION_FAILED"
    assert path.read_bytes() == before
