"""Fixtures that every test may use; what they stand for is in docs/testing.md."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the protocol's schemas and fixtures (`INNKEEPER_SHARED`, default ../shared)."""
    root = Path(__file__).resolve().parent.parent
    path = Path(os.environ.get("INNKEEPER_SHARED") or root.parent / "shared").resolve()
    if not (path / "ahp").is_dir():
        pytest.skip("shared reference data not found; set INNKEEPER_SHARED")
    return path
