"""Logs to test: each adapter behind the same small door, `Store`, which can end cleanly or crash between openings."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from innkeeper.ports.log import Batch, Log, LogImage, LogOp, StoredChannel, StoreError
from innkeeper.store.memory import MemoryLog
from innkeeper.store.sqlite import SqliteLog

WAIT = 5


class Adapter(Protocol):
    """Makes logs on one set of stored data."""

    def make(self, **options: Any) -> Log: ...

    def crash(self) -> None:
        """The process of the newest log is gone: what is not durable now is lost."""


@dataclass
class MemoryAdapter:
    log: MemoryLog | None = None

    def make(self, **options: Any) -> Log:
        contents = None if self.log is None else self.log._contents
        self.log = MemoryLog(contents=contents, **options)
        return self.log

    def crash(self) -> None:
        assert self.log is not None
        self.log = self.log.crash()


@dataclass
class SqliteAdapter:
    folder: Path
    runs: int = 0
    abandoned: list[SqliteLog] = field(default_factory=list)
    log: SqliteLog | None = None

    @property
    def path(self) -> Path:
        return self.folder / f"run-{self.runs}" / "innkeeper.db"

    def make(self, **options: Any) -> Log:
        self.log = SqliteLog(self.path, **options)
        return self.log

    def crash(self) -> None:
        """What the kernel would keep: the files as they are, while the old process still has them open."""
        assert self.log is not None
        old = self.path
        self.abandoned.append(self.log)
        self.runs += 1
        self.path.parent.mkdir()
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copy(old.with_name(old.name + suffix), self.path.with_name(self.path.name + suffix))


class Store:
    """One log at a time, with answers as values."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.log: Log
        self.image: LogImage
        self.open_now = False

    async def open(self, **options: Any) -> LogImage:
        self.log = self.adapter.make(**options)
        async with asyncio.timeout(WAIT):
            self.image = await self.log.open()
        self.open_now = True
        return self.image

    async def put(self, *ops: LogOp, epoch: int = 0) -> StoreError | None:
        return (await self.put_all([Batch(epoch, ops)]))[0]

    async def put_all(self, batches: Sequence[Batch]) -> list[StoreError | None]:
        """Submit without waiting in between; the answers in the order in which they came."""
        answers: list[tuple[int, StoreError | None]] = []
        last = asyncio.Event()

        def done(number: int, error: StoreError | None) -> None:
            answers.append((number, error))
            if len(answers) == len(batches):
                last.set()

        for number, batch in enumerate(batches):
            self.log.submit(batch, lambda error, number=number: done(number, error))  # type: ignore[misc]
        async with asyncio.timeout(WAIT):
            await last.wait()
        assert [number for number, _ in answers] == list(range(len(batches)))
        return [error for _, error in answers]

    async def sessions(self) -> tuple[StoredChannel, ...]:
        """The stored sessions, read one by one."""
        found = [await self.log.channel(uri) for uri, _, owner in self.image.dormant if owner is None]
        return tuple(one for one in found if one is not None)

    async def close(self, last_seq: int = 0) -> None:
        self.open_now = False
        async with asyncio.timeout(WAIT):
            await self.log.close(last_seq=last_seq)

    async def reopen(self, last_seq: int = 0, **options: Any) -> LogImage:
        await self.close(last_seq)
        return await self.open(**options)

    async def crash(self, **options: Any) -> LogImage:
        self.adapter.crash()
        return await self.open(**options)


@pytest.fixture(params=["memory", "sqlite", "sqlite-full"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, anyio_backend: str) -> AsyncIterator[Store]:
    adapter: Adapter = MemoryAdapter() if request.param == "memory" else SqliteAdapter(tmp_path)
    found = Store(adapter)
    if request.param == "sqlite-full":
        options = {"durability": "full"}
        make = adapter.make
        adapter.make = lambda **more: make(**options, **more)  # type: ignore[method-assign]
    yield found
    if found.open_now:
        await found.close()
    for log in getattr(adapter, "abandoned", []):
        await log.close(last_seq=0)
