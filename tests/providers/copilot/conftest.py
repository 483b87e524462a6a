"""Copilot itself, against a fake of the API it speaks."""

import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from providers.agent_host import Rig
from providers.copilot_rig import FakeService, cache_folder, copilot_host, program


@pytest.fixture(scope="session", autouse=True)
def agent() -> Iterator[None]:
    """The extra, and npm's package."""
    pytest.importorskip("copilot", reason="the extra copilot is not installed")
    if program() is None:
        pytest.skip("npm's @github/copilot is not installed (PATH, INNKEEPER_NPM_BIN, INNKEEPER_COPILOT)")
    yield
    shutil.rmtree(cache_folder(), ignore_errors=True)


@pytest.fixture
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("copilot")


@pytest.fixture
async def llm() -> AsyncIterator[FakeService]:
    async with FakeService() as found:
        yield found


@pytest.fixture
async def host(root: Path, llm: FakeService) -> AsyncIterator[Rig]:
    async with copilot_host(root, llm) as found:
        yield found
