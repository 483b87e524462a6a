"""Real repositories and the installed git, for checkpoints and changesets."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from harness.repositories import RealRepository, environment
from innkeeper.workspace.git import LocalGit

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
