"""Which ends pause retries (M7.3, R6)."""

import errno

import pytest

from innkeeper.errors import ERRORS
from innkeeper.mcp.connections.values import ConnectionState
from innkeeper.mcp.supervision.endings import PAUSING, is_permanent


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ("AUTH_REQUIRED", None),
        ("CLOSE_UNCONFIRMED", None),
        ("DECLARATION_CHANGED", None),
        ("MONITORING_UNSUPPORTED", None),
        ("SPAWN_FAILED", f"errno {errno.ENOENT}"),
        ("SPAWN_FAILED", f"errno {errno.EACCES}"),
        ("SPAWN_FAILED", f"errno {errno.ENOEXEC}"),
        ("SPAWN_FAILED", "exit 127"),
        ("SPAWN_FAILED", "exit 126"),
        ("ENDPOINT_UNREACHABLE", "HTTP 401"),
        ("ENDPOINT_UNREACHABLE", "HTTP 403"),
    ],
)
def test_what_only_a_person_can_mend_pauses(code: str, detail: str | None) -> None:
    assert is_permanent(ConnectionState("error", code, detail))


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ("CONNECTION_LOST", None),
        ("CONNECTION_LOST", "exit -9"),
        ("CONNECTION_LOST", "HTTP 404"),
        ("START_TIMEOUT", None),
        ("HANDSHAKE_FAILED", None),
        ("SPAWN_FAILED", "exit 1"),
        ("SPAWN_FAILED", f"errno {errno.EAGAIN}"),
        ("SPAWN_FAILED", f"errno {errno.EMFILE}"),
        ("ENDPOINT_UNREACHABLE", None),
        ("ENDPOINT_UNREACHABLE", "HTTP 500"),
        ("ENDPOINT_UNREACHABLE", "HTTP 404"),
        ("ENDPOINT_UNREACHABLE", "ConnectError"),
    ],
)
def test_what_may_pass_is_tried_again(code: str, detail: str | None) -> None:
    assert not is_permanent(ConnectionState("error", code, detail))


def test_want_of_a_token_pauses_and_every_pausing_code_is_in_the_table() -> None:
    assert is_permanent(ConnectionState("authRequired", "AUTH_REQUIRED"))
    assert set(ERRORS) >= PAUSING
