"""Changes are followed: debounced, by an allow-list, and only differences are published (C7.3)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from customizations.discovery.memory import MemoryFiles, MemoryWatches
from innkeeper.customizations.discovery import ChangeSet, Discovery, Places, PluginRoot, follow, watch_targets
from innkeeper.workspace.files import LocalFiles
from innkeeper.workspace.watches import LocalWatches

pytestmark = pytest.mark.anyio
PLACES = Places(workspaces=("/w",), home="/h")


class Published:
    """What was published, and a way to wait for it."""

    def __init__(self) -> None:
        self.changes: list[ChangeSet] = []
        self._more = asyncio.Event()

    def __call__(self, change: ChangeSet) -> None:
        self.changes.append(change)
        self._more.set()

    async def wait(self, count: int) -> ChangeSet:
        async with asyncio.timeout(5):
            while len(self.changes) < count:
                self._more.clear()
                await self._more.wait()
        return self.changes[count - 1]

    def names(self) -> set[str]:
        """Of every child that was published as new or changed."""
        return {child.name for change in self.changes for item in change.changes for child in item.changed}

    async def wait_for(self, name: str) -> None:
        """Wait for a child of that name."""
        async with asyncio.timeout(5):
            while name not in self.names():
                self._more.clear()
                await self._more.wait()


@contextlib.asynccontextmanager
async def running(coroutine: object) -> AsyncIterator[None]:
    task = asyncio.ensure_future(coroutine)  # type: ignore[arg-type]
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)


def targets(files: MemoryFiles, places: Places = PLACES) -> dict[str, frozenset[str] | None]:
    discovery = Discovery(files)
    discovery.scan(places)
    return {target.path: target.names for target in watch_targets(discovery, files, places)}


def test_only_directories_that_were_looked_into_are_watched_whole() -> None:
    files = MemoryFiles(
        {"/w/.claude/skills/a/SKILL.md": "", "/w/.claude/skills/a/scripts/x": "", "/w/src/x": "", "/h": None}
    )
    found = targets(files)

    assert {path for path, names in found.items() if names is None} == {"/w/.claude/skills", "/w/.claude/skills/a"}
    assert set(found) == {"/w", "/w/.claude", "/w/.claude/skills", "/w/.claude/skills/a", "/h"}


def test_above_the_places_only_the_names_that_lead_there_count() -> None:
    """The agent's own files beside them would wake us all the time."""
    found = targets(MemoryFiles({"/w/.claude/history.jsonl": "", "/h/.claude/projects/x/y.jsonl": ""}))

    assert found["/w/.claude"] is not None
    assert found["/w/.claude"] >= {"agents", "skills", "commands", "rules", "CLAUDE.md", "settings.json"}
    assert "history.jsonl" not in found["/w/.claude"]
    assert found["/h/.claude"] is not None
    assert "projects" not in found["/h/.claude"]
    assert "/h/.claude/projects" not in found


def test_a_directory_that_leads_out_is_not_watched(tmp_path: Path) -> None:
    """A link to the root of the file system must not make us watch all of it."""
    (tmp_path / ".claude" / "skills").mkdir(parents=True)
    (tmp_path / ".claude" / "agents").symlink_to("/")
    (tmp_path / ".claude" / "skills" / "x").symlink_to("/")
    discovery, places = Discovery(LocalFiles()), Places(workspaces=(str(tmp_path),))
    discovery.scan(places)
    found = {target.path for target in watch_targets(discovery, LocalFiles(), places)}

    assert found == {str(tmp_path), str(tmp_path / ".claude"), str(tmp_path / ".claude" / "skills")}


async def test_changes_are_published_and_equal_results_are_not() -> None:
    files, watches, published = MemoryFiles({"/w/.claude/agents/a.md": ""}), MemoryWatches(), Published()
    async with running(follow(Discovery(files), files, watches, Places(workspaces=("/w",)), published)):
        await watches.until_watched("/w/.claude/agents")
        assert not watches.change("/w/.claude/history.jsonl")
        files.put("/w/.claude/agents/a.md", "Another body.")
        assert watches.change("/w/.claude/agents/a.md")
        files.put("/w/.claude/agents/b.md", "")
        assert watches.change("/w/.claude/agents/b.md")
        await published.wait(2)

    assert [[c.name for c in s.changes[0].changed] for s in published.changes] == [["a"], ["b"]]


async def test_a_change_between_the_scan_and_the_watch_is_not_lost() -> None:
    files, published = MemoryFiles({"/w/.claude/agents/a.md": ""}), Published()

    class Late(MemoryWatches):
        @contextlib.asynccontextmanager
        async def watch(self, targets):  # type: ignore[no-untyped-def]
            async with super().watch(targets) as reports:
                if self.armed == 1:
                    files.put("/w/.claude/agents/b.md", "")
                yield reports

    async with running(follow(Discovery(files), files, Late(), Places(workspaces=("/w",)), published)):
        await published.wait_for("b")
    assert published.names() >= {"a", "b"}


async def test_a_directory_that_comes_is_watched_from_then_on() -> None:
    files, watches, published = MemoryFiles({"/w": None}), MemoryWatches(), Published()
    async with running(follow(Discovery(files), files, watches, Places(workspaces=("/w",)), published)):
        await watches.until_watched("/w")
        files.put("/w/.claude/skills", None)
        assert watches.change("/w/.claude")
        await watches.until_watched("/w/.claude/skills")
        files.put("/w/.claude/skills/a/SKILL.md", "")
        assert watches.change("/w/.claude/skills/a")
        await published.wait_for("a")


async def test_real_files_are_followed_from_an_empty_workspace_on(tmp_path: Path) -> None:
    published, places = Published(), Places(workspaces=(str(tmp_path),))
    async with running(follow(Discovery(LocalFiles()), LocalFiles(), LocalWatches(), places, published)):
        skill = tmp_path / ".claude" / "skills" / "first" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text("x", "utf-8")
        await published.wait_for("first")
        (tmp_path / "CLAUDE.md").write_text("x", "utf-8")
        await published.wait_for("CLAUDE.md")
        skill.write_text("---\nname: renamed\n---\n", "utf-8")
        await published.wait_for("renamed")
    assert published.names() >= {"first", "CLAUDE.md", "renamed"}


async def test_a_real_plugin_is_followed_when_it_comes(tmp_path: Path) -> None:
    published, places = Published(), Places(plugins=(PluginRoot(str(tmp_path / "p")),))
    async with running(follow(Discovery(LocalFiles()), LocalFiles(), LocalWatches(), places, published)):
        assert (await published.wait(1)).containers[0].load["kind"] == "error"
        (tmp_path / "p" / "agents").mkdir(parents=True)
        (tmp_path / "p" / "agents" / "a.md").write_text("x", "utf-8")
        await published.wait_for("a")
