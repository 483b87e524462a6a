"""A world whose worktrees are real: the installed git, real folders, one note that survives its host."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from harness.repositories import RealRepository, environment
from innkeeper.host.worktrees import WorktreesOutside
from innkeeper.ports.notes import MemoryNotes
from innkeeper.workspace.git import LocalGit
from innkeeper.workspace.git.folders import LocalFolders
from scripted.world import World


@pytest.fixture
async def git(tmp_path: Path) -> AsyncIterator[LocalGit]:
    adapter = LocalGit(environment(tmp_path / "home"))
    yield adapter
    await asyncio.wait_for(adapter.close(), 10)


@pytest.fixture
def repository(tmp_path: Path) -> RealRepository:
    return RealRepository.made(tmp_path / "repo", environment(tmp_path / "home"))


@pytest.fixture
def outside(git: LocalGit) -> WorktreesOutside:
    return WorktreesOutside(git, LocalFolders(), MemoryNotes())


@pytest.fixture
async def world(outside: WorktreesOutside) -> AsyncIterator[World]:
    made = await World(worktrees=outside).start()
    yield made
    await made.close()
