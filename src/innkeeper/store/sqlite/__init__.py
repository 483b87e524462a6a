"""The SQLite adapter of `ports.log`: one file, one thread that owns the connection (architecture §7)."""

from innkeeper.store.sqlite.log import Durability, SqliteLog

__all__ = ["Durability", "SqliteLog"]
