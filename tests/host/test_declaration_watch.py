"""Declaration files are followed while a turn runs (M5.3), on real notifications."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from innkeeper.engine.effects import Released
from innkeeper.host.declaration_watch import DeclarationWatch, watch_targets
from innkeeper.workspace.watches import LocalWatches

pytestmark = pytest.mark.anyio

RUNNING = {"activeTurn": {"id": "t1", "responseParts": []}}
IDLE: dict[str, Any] = {"turns": []}


class Core:
    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[None]] = []
        self.session: dict[str, Any] = {"workingDirectories": ["file:///w"]}

    def head(self, channel: str) -> dict[str, Any]:
        return self.session

    def owner(self, chat: str) -> str:
        return "session:/s"

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        self.tasks.append(asyncio.get_running_loop().create_task(work, name=name))
        return self.tasks[-1]


class Servers:
    def __init__(self, files: list[str]) -> None:
        self.files = files
        self.refreshed = 0
        self.news = asyncio.Event()

    def declaration_files(self, session: str) -> list[str]:
        return self.files

    async def refresh(self, session: str, *, start: bool) -> None:
        assert start
        self.refreshed += 1
        self.news.set()

    async def next(self, act: Callable[[], object]) -> None:
        """The next refresh after `act`; a burst may bring more than one."""
        self.news.clear()
        act()
        await asyncio.wait_for(self.news.wait(), 5)


def move(watch: DeclarationWatch, before: Any, after: Any, chat: str = "chat:/c") -> None:
    watch.observe(Released(chat, "chat", {"type": "chat/x"}, 1, None, before, after))


async def test_change_in_a_turn_is_taken_over_and_nothing_is_watched_outside_one(tmp_path: Path) -> None:
    core, servers = Core(), Servers([f"{tmp_path}/.mcp.json", f"{tmp_path}/.vscode/mcp.json"])
    watch = DeclarationWatch(core, servers, LocalWatches())  # type: ignore[arg-type]
    move(watch, IDLE, IDLE)
    assert core.tasks == []
    await servers.next(lambda: move(watch, IDLE, RUNNING))
    await servers.next(lambda: (tmp_path / ".mcp.json").write_text("{}"))
    await servers.next(lambda: (tmp_path / ".vscode").mkdir())
    async with asyncio.timeout(5):
        while servers.refreshed < 4:  # noqa: ASYNC110 - the watch is armed anew with the folder that came
            await asyncio.sleep(0.01)
    await servers.next(lambda: (tmp_path / ".vscode" / "mcp.json").write_text("{}"))
    move(watch, IDLE, RUNNING, "chat:/second")
    assert len(core.tasks) == 1
    move(watch, RUNNING, IDLE)
    assert not core.tasks[0].cancelling()
    move(watch, RUNNING, IDLE, "chat:/second")
    await asyncio.wait(core.tasks, timeout=5)
    assert core.tasks[0].cancelled()


async def test_nothing_starts_in_a_directory_that_the_session_is_about_to_leave(tmp_path: Path) -> None:
    """Until its first turn has made the worktree; there the files are followed (C4.1)."""
    core, servers = Core(), Servers([f"{tmp_path}/.mcp.json"])
    values = {"values": {"isolation": "worktree"}}
    before = {"workingDirectories": ["file:///repo"], "project": {"uri": "file:///repo"}, "config": values}
    core.session = before
    watch = DeclarationWatch(core, servers, LocalWatches())  # type: ignore[arg-type]
    move(watch, IDLE, RUNNING)
    assert core.tasks == []
    core.session = {**before, "workingDirectories": ["file:///worktree"]}
    moved = Released("session:/s", "session", {"type": "session/x"}, 2, None, before, core.session)
    await servers.next(lambda: watch.observe(moved))
    watch.observe(moved)
    assert len(core.tasks) == 2
    await asyncio.wait(core.tasks[:1], timeout=5)
    assert core.tasks[0].cancelled()
    move(watch, RUNNING, IDLE)
    await asyncio.wait(core.tasks, timeout=5)
    watch.observe(moved)
    assert len(core.tasks) == 2


async def test_session_without_local_files_is_not_watched(tmp_path: Path) -> None:
    core, servers = Core(), Servers([])
    watch = DeclarationWatch(core, servers, LocalWatches())  # type: ignore[arg-type]
    move(watch, IDLE, RUNNING)
    await asyncio.wait_for(core.tasks[0], 5)
    assert servers.refreshed == 0


def test_targets_are_existing_folders_with_the_names_that_matter(tmp_path: Path) -> None:
    found = watch_targets([f"{tmp_path}/.mcp.json", f"{tmp_path}/.codex/config.toml"])
    wanted = {target.path: target.names for target in found}
    assert wanted[str(tmp_path)] == frozenset({".mcp.json", ".codex"})
    assert str(tmp_path / ".codex") not in wanted
