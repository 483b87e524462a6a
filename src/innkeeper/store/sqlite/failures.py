"""SQLite's and the system's errors as errors of the port; texts come from the table of error codes.

Rules
* Only what means "no space, or the file may not grow" is `StoreFull`; everything else of a write is `StoreError`.
* A refusal at the start names the file and the remedy.
"""

import sqlite3
from pathlib import Path

from innkeeper.errors import HostError
from innkeeper.ports.log import StoreError, StoreFull, StoreUnreadable

FULL = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})
"""A file-size limit and a quota are told as failed writes, not as a full disk."""


def refusal(code: str, **values: object) -> StoreUnreadable:
    """The store cannot be opened, for the reason of that row of the error table."""
    row = HostError(code, **values)
    return StoreUnreadable(f"{row.message()} {row.remedy()}", code=code, values=values)


def unreadable(path: Path, reason: object) -> StoreUnreadable:
    return refusal("DATABASE_UNREADABLE", path=path, reason=reason)


def failed_start(error: Exception, path: Path) -> StoreError:
    """What an error of SQLite or of a row's shape means for a start: no space, or a file that cannot be read."""
    return failure(error, path) if is_full(error) else unreadable(path, error)


def is_full(error: Exception) -> bool:
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", None) in FULL


def failure(error: Exception, path: Path) -> StoreError:
    """What a failed write means for the batch."""
    if is_full(error):
        row = HostError("STORAGE_FULL", path=path)
        return StoreFull(row.message(), values=row.values)
    return StoreError(HostError("STORAGE_FAILED", reason=error).message(), values={"reason": str(error)})
