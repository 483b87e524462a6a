"""A whole host on disk, a protected MCP server, and everything that was logged."""

import logging
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from harness.token_rig import Rig
from servers.authorization_server import ProtectedServer, protected


@pytest.fixture
def server() -> Iterator[ProtectedServer]:
    with protected() as running:
        yield running


@pytest.fixture
async def rig(tmp_path: Path, server: ProtectedServer) -> AsyncIterator[Rig]:
    made = await Rig(tmp_path, server).start()
    try:
        yield made
    finally:
        await made.stop()


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Everything that is logged, also by libraries, at the finest level."""
    before = {name: logging.getLogger(name).level for name in ("mcp", "httpx2", "httpcore2")}
    with caplog.at_level(logging.DEBUG):
        yield caplog
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


@pytest.fixture
def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
