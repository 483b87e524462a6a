"""A running host with real shells, one with the twin, and clients of them."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from scripted.terminals import FakeTerminals, ShellWorld, shell_world
from scripted.world import Client, World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ShellWorld]:
    async with shell_world(tmp_path) as started:
        yield started


@pytest.fixture
async def client(world: ShellWorld) -> Client:
    return await world.client()


@pytest.fixture
async def twin() -> FakeTerminals:
    return FakeTerminals()


@pytest.fixture
async def quick(twin: FakeTerminals) -> AsyncIterator[World]:
    """A host whose terminals are the twin's."""
    started = await World(terminals=twin).start()
    yield started
    await started.close()
