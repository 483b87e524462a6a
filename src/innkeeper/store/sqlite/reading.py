"""Reading decisions without the lock, also while a host runs on the database; nothing is changed (C5.5)."""

import sqlite3
from pathlib import Path

from innkeeper.ports.decisions import NO_DECISIONS, Decisions
from innkeeper.store.sqlite.failures import unreadable
from innkeeper.store.sqlite.files import read_only
from innkeeper.store.sqlite.image import decisions_in


def read_decisions(path: Path) -> Decisions:
    """What is stored now; nothing where there is no database. Raises StoreUnreadable."""
    if not path.exists():
        return NO_DECISIONS
    try:
        with read_only(path) as connection:
            return decisions_in(connection)
    except (OSError, sqlite3.Error) as error:
        raise unreadable(path, error) from error
