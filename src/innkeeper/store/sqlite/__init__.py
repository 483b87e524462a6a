"""The SQLite adapter of `ports.log`: one file, one thread that writes to it (architecture §7)."""

from innkeeper.store.sqlite.log import SWITCH_INTERVAL, Durability, SqliteLog

__all__ = ["SWITCH_INTERVAL", "Durability", "SqliteLog"]
