"""The port `watches`: one contract for notifications of this machine and the twin in memory (C7.3)."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from customizations.discovery.memory import MemoryWatches
from innkeeper.ports.watches import Watches, WatchTarget
from innkeeper.workspace.watches import LocalWatches

pytestmark = pytest.mark.anyio

Write = Callable[[Path], None]


@pytest.fixture(params=["local", "memory"])
def world(request: pytest.FixtureRequest) -> tuple[Watches, Write]:
    """A way to watch, and a way to write a file that the watch can know of."""
    if request.param == "local":
        return LocalWatches(), lambda path: path.write_text("x", "utf-8") and None
    memory = MemoryWatches()
    return memory, lambda path: memory.change(str(path)) and None


async def report(reports: AsyncIterator[frozenset[str]]) -> frozenset[str]:
    async with asyncio.timeout(5):
        return await anext(reports)


async def test_a_change_after_entering_is_reported(world: tuple[Watches, Write], tmp_path: Path) -> None:
    watches, write = world
    async with watches.watch((WatchTarget(str(tmp_path)),)) as reports:
        write(tmp_path / "a")
        assert str(tmp_path / "a") in await report(reports)


async def test_what_is_not_on_the_list_wakes_nobody(world: tuple[Watches, Write], tmp_path: Path) -> None:
    """C7.3: the allow-list."""
    watches, write = world
    (tmp_path / "below").mkdir()
    async with watches.watch((WatchTarget(str(tmp_path), frozenset({"CLAUDE.md"})),)) as reports:
        write(tmp_path / "history.jsonl")
        write(tmp_path / "below" / "CLAUDE.md")
        write(tmp_path / "CLAUDE.md")
        seen = await report(reports)
    assert seen == {str(tmp_path / "CLAUDE.md")}


async def test_several_changes_are_one_report(world: tuple[Watches, Write], tmp_path: Path) -> None:
    watches, write = world
    async with watches.watch((WatchTarget(str(tmp_path)),)) as reports:
        for name in "abc":
            write(tmp_path / name)
        assert await report(reports) == {str(tmp_path / name) for name in "abc"}


async def test_reports_that_nobody_took_become_one(tmp_path: Path) -> None:
    async with LocalWatches().watch((WatchTarget(str(tmp_path)),)) as reports:
        (tmp_path / "a").write_text("x", "utf-8")
        first = await report(reports)
        (tmp_path / "b").write_text("x", "utf-8")
        (tmp_path / "c").write_text("x", "utf-8")
        seen = set(first)
        while len(seen) < 3:
            seen |= await report(reports)
    assert seen == {str(tmp_path / name) for name in "abc"}


async def test_a_removed_and_a_moved_file_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x", "utf-8")
    (tmp_path / "b").write_text("x", "utf-8")
    async with LocalWatches().watch((WatchTarget(str(tmp_path)),)) as reports:
        (tmp_path / "a").unlink()
        os.replace(tmp_path / "b", tmp_path / "c")
        seen: set[str] = set()
        while len(seen) < 3:
            seen |= await report(reports)
    assert seen == {str(tmp_path / name) for name in "abc"}


async def test_a_directory_that_is_gone_does_not_keep_the_others_from_being_watched(tmp_path: Path) -> None:
    targets = (WatchTarget(str(tmp_path / "gone")), WatchTarget(str(tmp_path)))
    async with LocalWatches().watch(targets) as reports:
        (tmp_path / "a").write_text("x", "utf-8")
        assert str(tmp_path / "a") in await report(reports)


async def test_nothing_to_watch_can_be_entered_and_left() -> None:
    async with asyncio.timeout(5) as limit:
        async with LocalWatches().watch(()):
            pass
    assert not limit.expired()


async def test_a_link_is_watched_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    async with LocalWatches().watch((WatchTarget(str(tmp_path / "link"), frozenset({"a"})),)) as reports:
        (tmp_path / "real" / "a").write_text("x", "utf-8")
        assert await report(reports) == {str((tmp_path / "real" / "a").resolve())}


async def test_a_watch_that_is_cancelled_leaves_no_thread(tmp_path: Path) -> None:
    import threading

    entered = asyncio.Event()

    async def wait() -> None:
        async with LocalWatches().watch((WatchTarget(str(tmp_path)),)) as reports:
            entered.set()
            await anext(reports)

    task = asyncio.create_task(wait())
    async with asyncio.timeout(5):
        await entered.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    threads = [thread for thread in threading.enumerate() if thread.name == "innkeeper-watch"]
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize(
    ("target", "path", "allowed"),
    [
        (WatchTarget("/a"), "/a", True),
        (WatchTarget("/a"), "/a/b", True),
        (WatchTarget("/a"), "/a/b/c", False),
        (WatchTarget("/a"), "/ab", False),
        (WatchTarget("/a", frozenset({"b"})), "/a/b", True),
        (WatchTarget("/a", frozenset({"b"})), "/a/c", False),
        (WatchTarget("/", frozenset({"b"})), "/b", True),
    ],
)
def test_a_target_allows_its_own_entries_only(target: WatchTarget, path: str, allowed: bool) -> None:
    assert target.allows(path) is allowed
