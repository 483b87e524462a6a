import pytest

from harness.engine_world import World


@pytest.fixture
def world() -> World:
    return World().with_session()
