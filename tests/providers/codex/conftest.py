"""Codex itself, against a fake of the API it speaks."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from innkeeper.providers.codex import provider as codex
from providers.agent_host import Rig, rig
from servers.fake_llm.openai_responses import FakeOpenAI

MODEL = "gpt-5.2-codex"
"""A model that the binary does not know: it then lists every tool in the request, and defers none."""


@pytest.fixture(scope="session", autouse=True)
def binary() -> str:
    """The binary of the extra."""
    package = pytest.importorskip("codex_cli_bin", reason="the extra codex is not installed")
    return os.fspath(package.bundled_codex_path())


def configure(home: Path, url: str, after: str = "") -> None:
    """Codex's own configuration, as a person with a model of their own would write it, and `after`."""
    home.mkdir(parents=True, exist_ok=True)
    lines = [
        'model_provider = "fake"',
        f'model = "{MODEL}"',
        "[model_providers.fake]",
        'name = "fake"',
        f'base_url = "{url}/v1"',
        'wire_api = "responses"',
        "request_max_retries = 1",
        "stream_max_retries = 1",
    ]
    (home / "config.toml").write_text("\n".join(lines) + "\n" + after)


@asynccontextmanager
async def codex_host(root: Path, llm: FakeOpenAI, **changes: Any) -> AsyncIterator[Rig]:
    configure(root / "agent" / "home", llm.url, changes.pop("after", ""))
    async with rig(root, codex, **changes) as found:
        yield found


@pytest.fixture
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("codex")


@pytest.fixture
async def llm() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as found:
        yield found


@pytest.fixture
async def host(root: Path, llm: FakeOpenAI) -> AsyncIterator[Rig]:
    async with codex_host(root, llm) as found:
        yield found
