"""A running host with real shells, and a client of it."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from scripted.terminals import ShellWorld, shell_world
from scripted.world import Client


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ShellWorld]:
    async with shell_world(tmp_path) as started:
        yield started


@pytest.fixture
async def client(world: ShellWorld) -> Client:
    return await world.client()
