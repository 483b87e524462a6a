"""What the command line makes of failures: message, code, remedy, exit code."""

import pytest

from innkeeper.cli import exit_codes
from innkeeper.cli.failures import CliError, UsageProblem, tell
from innkeeper.client import (
    AccessDenied,
    ConnectFailed,
    ConnectionLost,
    RequestTimeout,
    RpcFailure,
    TargetInvalid,
    VersionRefused,
)
from innkeeper.errors import HostError


@pytest.mark.parametrize(
    ("error", "exit_code", "code"),
    [
        (CliError("no"), exit_codes.FAILED, None),
        (UsageProblem("no"), exit_codes.USAGE, "USAGE"),
        (HostError("HOST_NOT_RUNNING", path="x"), exit_codes.NO_HOST, "HOST_NOT_RUNNING"),
        (HostError("PORT_IN_USE", host="x", port=1), exit_codes.FAILED, "PORT_IN_USE"),
        (HostError("SERVER_DISABLED"), exit_codes.REFUSED, "SERVER_DISABLED"),
        (TargetInvalid("x"), exit_codes.USAGE, "TARGET_INVALID"),
        (AccessDenied("x"), exit_codes.REFUSED, "TOKEN_WRONG"),
        (VersionRefused("x", ["2.0.0"]), exit_codes.FAILED, "VERSION_UNSUPPORTED"),
        (RpcFailure("m", -32009, "no"), exit_codes.REFUSED, "-32009"),
        (RpcFailure("m", -32601, "no"), exit_codes.FAILED, "-32601"),
        (RpcFailure("m", -32008, "no", {"code": "SERVER_DISABLED"}), exit_codes.REFUSED, "SERVER_DISABLED"),
        (RequestTimeout("x"), exit_codes.FAILED, "REQUEST_TIMEOUT"),
        (ConnectionLost("x"), exit_codes.NO_HOST, "HOST_UNREACHABLE"),
        (ConnectFailed("x"), exit_codes.NO_HOST, "HOST_UNREACHABLE"),
        (ExceptionGroup("g", [UsageProblem("no")]), exit_codes.USAGE, "USAGE"),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(error: Exception, exit_code: int, code: str | None) -> None:
    told = tell(error)
    assert told is not None
    assert (told.exit_code, told.code) == (exit_code, code)
    assert told.message
    assert told.document()["version"] == 1


def test_a_code_of_ours_brings_its_remedy() -> None:
    told = tell(RpcFailure("m", -32008, "no", {"code": "SERVER_DISABLED"}))
    assert told is not None
    assert told.remedy


@pytest.mark.parametrize("error", [ZeroDivisionError(), ExceptionGroup("g", [UsageProblem("a"), UsageProblem("b")])])
def test_what_no_user_can_cause_is_not_told(error: Exception) -> None:
    assert tell(error) is None
