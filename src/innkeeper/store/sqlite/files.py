"""The files of a store: who may use the directory, and whether the database may be opened at all.

Rules
* One host a data directory: an exclusive lock on `innkeeper.lock` beside the database, held until the end, freed by
  the kernel when the process dies. The lock file names the holder's process and is never deleted.
* A file is looked at without being written before it is opened for use: a file that is refused keeps its bytes, and
  nothing is left beside it.
* The database is made under another name and renamed: a crash leaves a whole one or none. Modes: 0600, folders 0700.
"""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from innkeeper.store.sqlite.checkpoints import KEPT_BYTES, LOG_PAGES
from innkeeper.store.sqlite.failures import refusal, unreadable
from innkeeper.store.sqlite.migrations import APPLICATION_ID, MIGRATIONS, Migration, migrate

LOCK_NAME: Final = "innkeeper.lock"
CHECKED_BYTES: Final = 128 * 1024 * 1024
"""A database of up to this size is checked whole at every start; a larger one only after an unclean end."""
MAGIC: Final = b"SQLite format 3\x00"


class DirectoryLock:
    """The lock on a data directory, from `acquire` to `release`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_NAME
        self._fd: int | None = None

    def acquire(self) -> None:
        """Make the folder if there is none and lock it.

        Raises StoreUnreadable: DATA_DIR_LOCKED with the holder's process id, or DATA_DIR_UNWRITABLE.
        """
        folder = self._path.parent
        try:
            make_folder(folder)
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise refusal("DATA_DIR_UNWRITABLE", path=folder) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "?"
            os.close(fd)
            raise refusal("DATA_DIR_LOCKED", pid=holder, path=folder) from error
        except OSError as error:  # a file system without locks
            os.close(fd)
            raise refusal("DATA_DIR_UNWRITABLE", path=folder) from error
        self._fd = fd
        with contextlib.suppress(OSError):  # on a full disk the number is missing, the lock holds all the same
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Free the directory for another host."""
        if self._fd is not None:
            with contextlib.suppress(OSError):  # only the number is stale then
                os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None


def make_folder(folder: Path) -> None:
    """Make the folder and its missing parents, each with mode 0700."""
    if not folder.is_dir():
        make_folder(folder.parent)
        with contextlib.suppress(FileExistsError):  # made by another process in between
            folder.mkdir(mode=0o700)


def create(path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Make an empty database at `path` in WAL mode, whole or not at all."""
    partial = path.with_name(path.name + ".new")
    try:
        _remove(partial)
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(partial, isolation_level=None)) as connection:
            # Nobody reads it before it is whole: it goes to the disk once, at the end, and not at every statement.
            connection.execute("PRAGMA synchronous = OFF")
            migrate(connection, partial, migrations)
            connection.execute("PRAGMA journal_mode = WAL")
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    except (OSError, sqlite3.Error) as error:
        with contextlib.suppress(OSError):  # what is left of it is removed at the next start
            _remove(partial)
        raise refusal("DATA_DIR_UNWRITABLE", path=path.parent) from error


def inspect(path: Path, known: int) -> None:
    """Refuse a file that this program must not open: StoreUnreadable; the file and its neighbours are as before.

    `known` is the newest schema. A file of an older schema passes; it is migrated later.
    """
    try:
        if not path.is_file():
            raise unreadable(path, "it is not a regular file")
        if not os.access(path, os.R_OK | os.W_OK):
            raise refusal("DATA_DIR_UNWRITABLE", path=path)
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise unreadable(path, "it is empty or not a database")
        with read_only(path) as connection:
            _check_schema(connection, path, known)
            if _is_unclean(path) or path.stat().st_size <= CHECKED_BYTES:
                found = connection.execute("PRAGMA quick_check(1)").fetchone()
                if found != ("ok",):
                    raise unreadable(path, f"it is damaged ({found[0] if found else 'no answer'})")
    except (OSError, sqlite3.Error) as error:
        raise unreadable(path, error) from error


def _check_schema(connection: sqlite3.Connection, path: Path, known: int) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID or schema < 1:
        raise unreadable(path, "it is a database of another program")
    if schema > known:
        raise refusal("SCHEMA_NEWER", path=path, found=schema, known=known)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _is_unclean(path: Path) -> bool:
    """Whether the last user of the database did not close it: a write-ahead log with content is left."""
    try:
        return _beside(path, "-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        _beside(path, suffix).unlink(missing_ok=True)


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that changes nothing. Without a write-ahead log even its helper files are not made."""
    unclean = _is_unclean(path)
    shared_memory = _beside(path, "-shm")
    keep = shared_memory.exists()
    mode = "mode=ro" if unclean else "immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)) as opened:
            yield opened
    finally:
        if unclean and not keep:
            shared_memory.unlink(missing_ok=True)


def connect(path: Path, *, synchronous: str) -> sqlite3.Connection:
    """The writer's connection to an existing database that `inspect` has passed."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, cached_statements=256
    )
    try:
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {KEPT_BYTES}")
        connection.execute("PRAGMA secure_delete = FAST")
        connection.execute("PRAGMA busy_timeout = 5000")
    except BaseException:
        connection.close()
        raise
    return connection
