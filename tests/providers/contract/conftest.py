"""One agent after the other, each itself, against a fake of the API that it speaks."""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from providers.agent_host import Rig
from providers.contract.agents import AGENTS, Agent
from servers.fake_llm.recording import FakeModel


@pytest.fixture(scope="session", autouse=True)
def unpacked() -> Iterator[None]:
    """Copilot unpacks itself once for all tests."""
    yield
    from providers.copilot_rig import cache_folder

    if cache_folder.cache_info().currsize:
        shutil.rmtree(cache_folder(), ignore_errors=True)


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> Agent:
    found = AGENTS[request.param]
    if (why := found.missing()) is not None:
        pytest.skip(why)
    return found


@pytest.fixture
def root(agent: Agent, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp(agent.name)


@pytest.fixture
async def llm(agent: Agent) -> AsyncIterator[FakeModel]:
    async with agent.model() as found:
        yield found


@pytest.fixture
async def host(agent: Agent, root: Path, llm: FakeModel) -> AsyncIterator[Rig]:
    async with agent.host(root, llm) as found:
        yield found
