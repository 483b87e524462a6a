"""A host on a database of an earlier schema (architecture §7; contributions reference S12)."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from innkeeper.app.compose import DATABASE, Circumstances, Host, open_host, standard_parts
from innkeeper.client import connect
from innkeeper.client.memory import MemoryTransport
from innkeeper.edge.memory import MemoryDoor
from innkeeper.settings.config import Settings
from innkeeper.store.sqlite.migrations import MIGRATIONS, backup_path

pytestmark = pytest.mark.anyio


async def build(folder: Path) -> Host:
    parts = standard_parts(folder / DATABASE, Settings(), quiet=True)
    return await open_host(parts, Circumstances(Settings(), {}, folder))


async def listed(host: Host) -> list[Any]:
    async with connect(MemoryTransport(MemoryDoor(host.attach).accept)) as client:
        return [summary async for summary in client.list_sessions()]


def back_to_schema_1(path: Path) -> None:
    """What the program of its time had: everything but the list of sessions."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TABLE listings")
        connection.execute("DELETE FROM migrations WHERE number > 1")
        connection.execute("PRAGMA user_version = 1")


async def test_a_host_on_a_database_of_schema_1_lists_what_is_in_it_and_keeps_a_copy(tmp_path: Path) -> None:
    first = await build(tmp_path)
    async with connect(MemoryTransport(MemoryDoor(first.attach).accept)) as client:
        for name in ("a", "b"):
            uri = await client.create_session(f"ahp-session:/{name}", provider="console")
            session = await client.subscribe_session(uri)
            await session.wait_for(lambda state: state["lifecycle"] == "ready")
    before = await listed(first)
    await first.close(1)
    back_to_schema_1(tmp_path / DATABASE)
    for _ in range(2):
        again = await build(tmp_path)
        assert await listed(again) == before
        await again.close(1)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert connection.execute("SELECT count(*) FROM listings").fetchone() == (2,)
    assert backup_path(tmp_path / DATABASE, 1).is_file()


async def test_a_damaged_session_in_the_file_stops_no_start(tmp_path: Path) -> None:
    """S9, with real bytes."""
    first = await build(tmp_path)
    async with connect(MemoryTransport(MemoryDoor(first.attach).accept)) as client:
        for name in ("good", "bad"):
            await client.create_session(f"ahp-session:/{name}", provider="console")
            session = await client.subscribe_session(f"ahp-session:/{name}")
            await session.wait_for(lambda state: state["lifecycle"] == "ready")
    before = await listed(first)
    await first.close(1)
    with closing(sqlite3.connect(tmp_path / DATABASE, isolation_level=None)) as connection:
        connection.execute("UPDATE channels SET state = x'ff00' WHERE channel = 'ahp-session:/bad'")
        connection.execute("UPDATE listings SET summary = x'00', unfinished = 1 WHERE id % 2 = 0")
    again = await build(tmp_path)
    try:
        found = await listed(again)
        assert next(one for one in before if one["resource"] == "ahp-session:/good") in found
        async with connect(MemoryTransport(MemoryDoor(again.attach).accept)) as client:
            await client.subscribe_session("ahp-session:/good")
            await client.dispose_session("ahp-session:/bad")
        assert [one["resource"] for one in await listed(again)] == ["ahp-session:/good"]
    finally:
        await again.close(1)
