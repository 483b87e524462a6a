"""Claude Code itself, against a fake of the API it speaks."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from providers.agent_host import Rig
from providers.claude_rig import claude_host
from servers.fake_llm.anthropic import FakeAnthropic


@pytest.fixture(scope="session", autouse=True)
def sdk() -> Any:
    """The extra, with the agent in it."""
    return pytest.importorskip("claude_agent_sdk", reason="the extra claude is not installed")


@pytest.fixture
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("claude")


@pytest.fixture
async def llm() -> AsyncIterator[FakeAnthropic]:
    async with FakeAnthropic() as found:
        yield found


@pytest.fixture
async def host(root: Path, llm: FakeAnthropic) -> AsyncIterator[Rig]:
    async with claude_host(root, llm) as found:
        yield found
