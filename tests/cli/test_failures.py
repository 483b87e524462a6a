"""What the command line makes of failures: message, code, remedy, exit code."""

import ast
from pathlib import Path

import pytest

from innkeeper.cli import exit_codes, failures
from innkeeper.cli.failures import CliError, UsageProblem, tell, tell_defect
from innkeeper.cli.output import print_pairs
from innkeeper.client import (
    AccessDenied,
    ConnectFailed,
    ConnectionLost,
    RequestTimeout,
    RpcFailure,
    TargetInvalid,
    VersionRefused,
)
from innkeeper.editing.refusals import EditUnwritable
from innkeeper.errors import ERRORS, HostError
from innkeeper.mcp.editor.refusals import EditRefused
from innkeeper.settings.problems import Problem, SettingsInvalid


@pytest.mark.parametrize(
    ("error", "exit_code", "code"),
    [
        (CliError("no", code="SESSION_FAILED"), exit_codes.FAILED, "SESSION_FAILED"),
        (CliError("no", code="CHAT_REFUSED"), exit_codes.REFUSED, "CHAT_REFUSED"),
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
        (PermissionError(13, "Permission denied", "/x"), exit_codes.FAILED, "SYSTEM_REFUSED"),
        (OSError(28, "No space left on device"), exit_codes.FAILED, "SYSTEM_REFUSED"),
        (TimeoutError(), exit_codes.FAILED, "SYSTEM_REFUSED"),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(error: Exception, exit_code: int, code: str | None) -> None:
    told = tell(error)
    assert told is not None
    assert (told.exit_code, told.code) == (exit_code, code)
    assert told.message
    assert told.document()["version"] == 1
    assert told.remedy or told.code[1:].isdecimal(), "only what another protocol refuses has no remedy of ours"


def test_a_code_of_ours_brings_its_remedy() -> None:
    told = tell(RpcFailure("m", -32008, "no", {"code": "SERVER_DISABLED"}))
    assert told is not None
    assert told.remedy


def test_file_line_server_and_field_are_told_as_data() -> None:
    """M8.1, M9.2: an error names its place, in words and under `--json`."""
    for error, about in (
        (EditRefused("EDIT_FIELD", ".mcp.json", line=3, server="a", detail="env"), {"file": ".mcp.json", "line": 3}),
        (EditUnwritable("/x/.mcp.json", "Read-only file system"), {"file": "/x/.mcp.json", "line": None}),
        (
            SettingsInvalid(Path("/x/c"), Problem("syntax", values={"detail": "x"}), line=2, field="a.b"),
            {"line": 2, "field": "a.b"},
        ),
        (PermissionError(13, "Permission denied", "/x"), {"file": "/x", "line": None}),
        (HostError("SERVER_UNKNOWN", server="a"), {"server": "a"}),
    ):
        told = tell(error)
        assert told is not None
        found = told.document()["error"]
        assert isinstance(found, dict) and about.items() <= found.items(), error


@pytest.mark.parametrize("error", [ZeroDivisionError(), ExceptionGroup("g", [UsageProblem("a"), UsageProblem("b")])])
def test_what_no_user_can_cause_is_not_told(error: Exception) -> None:
    assert tell(error) is None


def test_a_defect_names_itself_and_its_place_in_our_code() -> None:
    with pytest.raises(TypeError) as caught:
        print_pairs(None)  # type: ignore[arg-type]  # the defect
    told = tell_defect(caught.value)
    assert (told.code, told.exit_code) == ("DEFECT", exit_codes.FAILED)
    assert "TypeError (innkeeper/cli/output.py:" in told.message and "INNKEEPER_TRACEBACK" in told.remedy
    assert tell_defect(ZeroDivisionError()).message.endswith("ZeroDivisionError")


def test_every_code_that_the_command_line_gives_has_its_row_in_the_table() -> None:
    """A code without meaning and remedy would be found only by who meets it."""
    named = {
        keyword.value.value
        for path in Path(failures.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "code" and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str)
    }
    assert {"USAGE", "TOUR_FAILED", "CHANGE_REFUSED"} <= named
    assert named <= ERRORS.keys()
