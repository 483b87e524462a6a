"""A running host in memory with its built-in contributions, and a client of it."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent))

from scripted.world import Client, World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    started = await World().start()
    yield started
    await started.close()


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client("alice")
