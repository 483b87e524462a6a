"""The schema, as a list of numbered functions (architecture §7).

Rules
* A migration is never changed once released; the schema changes by a new one at the end. Each has a fixture database
  under tests/fixtures/databases that was written by it.
* Each runs in a transaction of its own, with its number, name and time recorded, after a copy of the file was made.
* `application_id` marks a file as ours, `user_version` is the number of its last migration.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from innkeeper.store.sqlite.failures import refusal

APPLICATION_ID: Final = 0x494E4B50
"""'INKP'"""

MIGRATIONS_TABLE: Final = (
    "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT"
)

Migration = Callable[[sqlite3.Connection], None]


def channels_and_decisions(connection: sqlite3.Connection) -> None:
    """The first schema.

    `channels.version` is the channel's version when its snapshot was written: newer envelopes of it raise it.
    `dropped` holds ids whose envelopes still have to be deleted. Rows of `clients`, `decisions` and `grants` are
    replaced, never updated, so that their rowids are the order in which they were last written.
    """
    for statement in (
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID",
        """CREATE TABLE channels (
            id INTEGER PRIMARY KEY, channel TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, owner TEXT,
            snapshot_seq INTEGER NOT NULL, version INTEGER NOT NULL, state BLOB NOT NULL) STRICT""",
        "CREATE TABLE envelopes (seq INTEGER PRIMARY KEY, channel INTEGER NOT NULL, body BLOB NOT NULL) STRICT",
        "CREATE INDEX envelopes_of_channel ON envelopes (channel)",
        "CREATE TABLE dropped (id INTEGER PRIMARY KEY) STRICT",
        "CREATE TABLE gaps (first INTEGER PRIMARY KEY, last INTEGER NOT NULL) STRICT",
        """CREATE TABLE clients (
            position INTEGER PRIMARY KEY, client_id TEXT NOT NULL UNIQUE, protocol_version TEXT NOT NULL,
            capabilities BLOB NOT NULL) STRICT""",
        """CREATE TABLE decisions (
            position INTEGER PRIMARY KEY, key TEXT NOT NULL, scope TEXT NOT NULL, target TEXT NOT NULL,
            enabled INTEGER NOT NULL, decided_at TEXT NOT NULL, pinned INTEGER NOT NULL,
            UNIQUE (key, scope, target)) STRICT""",
        """CREATE TABLE grants (
            position INTEGER PRIMARY KEY, workspace TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
            fingerprint TEXT NOT NULL, granted_at TEXT NOT NULL, UNIQUE (workspace, kind, name)) STRICT""",
    ):
        connection.execute(statement)


def list_of_sessions(connection: sqlite3.Connection) -> None:
    """What the list of sessions shows, a row a session under the id of its channel. A session without a row gets one
    when a host starts."""
    connection.execute(
        """CREATE TABLE listings (
            id INTEGER PRIMARY KEY, modified REAL NOT NULL, unfinished INTEGER NOT NULL,
            summary BLOB NOT NULL) STRICT"""
    )


MIGRATIONS: Final[tuple[Migration, ...]] = (channels_and_decisions, list_of_sessions)


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the open database at `path` to the newest schema, after a backup before each step unless it is new.

    Raises StoreUnreadable (MIGRATION_FAILED); the step that failed has then changed nothing.
    """
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    for number in range(found + 1, len(migrations) + 1):
        try:
            if found:
                back_up(connection, backup_path(path, number - 1))
            _step(connection, number, migrations[number - 1])
        except (sqlite3.Error, OSError) as error:
            raise refusal("MIGRATION_FAILED", path=path, reason=error) from error


def backup_path(path: Path, schema: int) -> Path:
    """Where the copy of the database with that schema is kept."""
    return path.with_name(f"{path.name}.schema-{schema}.backup")


def back_up(connection: sqlite3.Connection, target: Path) -> None:
    """Copy the database to `target` (mode 0600, replaced as a whole)."""
    partial = target.with_name(target.name + ".new")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(partial)) as copy:
        connection.backup(copy)
    os.replace(partial, target)


def _step(connection: sqlite3.Connection, number: int, migration: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if number == 1:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(MIGRATIONS_TABLE)
        migration(connection)
        connection.execute(
            "INSERT INTO migrations VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))", (number, migration.__name__)
        )
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
