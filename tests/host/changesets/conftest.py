"""Real repositories and the installed git, for checkpoints and changesets; a host with an agent that edits files."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from harness.changeset_stage import Stage
from harness.repositories import RealRepository, environment
from innkeeper.host.changesets.service import ChangesOutside
from innkeeper.ports.edits import EditStore
from innkeeper.workspace.edit_files import EditFiles
from innkeeper.workspace.files import LocalFiles
from innkeeper.workspace.git import LocalGit
from scripted import provider
from scripted.world import Client, World

Make = Callable[..., RealRepository]


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path / "home")


@pytest.fixture
async def git(variables: dict[str, str]) -> AsyncIterator[LocalGit]:
    adapter = LocalGit(variables)
    yield adapter
    await asyncio.wait_for(adapter.close(), 10)


@pytest.fixture
def make(tmp_path: Path, variables: dict[str, str]) -> Make:
    def made(name: str = "repö", *, commit: bool = True) -> RealRepository:
        return RealRepository.made(tmp_path / name, variables, commit=commit)

    return made


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    stage = Stage()
    monkeypatch.setitem(provider.PROMPTS, "do", stage.run)
    return stage


@pytest.fixture
def edits(tmp_path: Path) -> EditStore:
    return EditFiles(tmp_path / "data" / "sessions")


@pytest.fixture
async def world(git: LocalGit, edits: EditStore, stage: Stage) -> AsyncIterator[World]:
    world = await World(changes=ChangesOutside(git, edits, LocalFiles(), delay=0.05)).start()
    yield world
    await world.close()


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()
