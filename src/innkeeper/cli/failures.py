"""Failures as a person is told them: a code, what happened, what to do, and an exit code."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from innkeeper.cli import exit_codes
from innkeeper.cli.words import LANGUAGE, text
from innkeeper.errors import ERRORS, HostError

if TYPE_CHECKING:
    from innkeeper.client.errors import RpcFailure

_EXITS = {
    "HOST_NOT_RUNNING": exit_codes.NO_HOST,
    "HOST_UNREACHABLE": exit_codes.NO_HOST,
    "OPTION_INVALID": exit_codes.USAGE,
    "NOT_ALLOWED": exit_codes.REFUSED,
    "SERVER_DISABLED": exit_codes.REFUSED,
    "DECLARATION_CHANGED": exit_codes.REFUSED,
    "CONFIRMATION_NEEDED": exit_codes.REFUSED,
    "SETTING_OPERATOR_ONLY": exit_codes.REFUSED,
    "EDIT_FIELD": exit_codes.USAGE,
    "EDIT_PRESET": exit_codes.USAGE,
    "SETTING_UNKNOWN": exit_codes.USAGE,
    "SETTING_VALUE": exit_codes.USAGE,
    "TOKEN_WRONG": exit_codes.REFUSED,
    "ORIGIN_FOREIGN": exit_codes.REFUSED,
}
PERMISSION_DENIED = -32009


class CliError(Exception):
    """A failure that only the command line knows; `message` is in the user's language already."""

    def __init__(self, message: str, *, code: str | None = None, remedy: str = "", exit_code: int = exit_codes.FAILED):
        super().__init__(message)
        self.message = message
        self.code = code
        self.remedy = remedy
        self.exit_code = exit_code


class UsageProblem(CliError):
    """What was asked for cannot be meant."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, code="USAGE", remedy=remedy, exit_code=exit_codes.USAGE)


@dataclass(frozen=True, slots=True)
class Told:
    """A failure in words."""

    message: str
    exit_code: int
    code: str | None = None
    remedy: str = ""
    place: tuple[str, int | None] | None = None
    """File and line, where the failure is about a file of the user."""

    def document(self) -> dict[str, object]:
        """The shape under `--json`."""
        error: dict[str, object] = {"code": self.code, "message": self.message, "remedy": self.remedy or None}
        if self.place is not None:
            error |= {"file": self.place[0], "line": self.place[1]}
        return {"version": 1, "error": error}


def tell(error: Exception) -> Told | None:
    """The failure behind an exception; None for one that is a defect of ours."""
    if isinstance(error, CliError):
        return Told(error.message, error.exit_code, error.code, error.remedy)
    if isinstance(error, HostError):
        exit_code = _EXITS.get(error.code, exit_codes.FAILED)
        file, line = getattr(error, "file", None), getattr(error, "line", None)
        place = (file, line or None) if isinstance(file, str) and file else None
        return Told(error.message(LANGUAGE), exit_code, error.code, error.remedy(LANGUAGE), place)
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        only = error.exceptions[0]
        return tell(only) if isinstance(only, Exception) else None
    return _of_client(error)


def _of_client(error: Exception) -> Told | None:
    from innkeeper.client import errors

    match error:
        case errors.TargetInvalid():
            return Told(text("cli.error.target", reason=error), exit_codes.USAGE, "TARGET_INVALID")
        case errors.AccessDenied():
            return tell(HostError("TOKEN_WRONG"))
        case errors.VersionRefused():
            return tell(HostError("VERSION_UNSUPPORTED", supported=", ".join(error.supported) or "?"))
        case errors.RpcFailure():
            return _answered(error)
        case errors.RequestTimeout():
            return Told(text("cli.error.timeout", reason=error), exit_codes.FAILED, "REQUEST_TIMEOUT")
        case errors.ClientError():
            return Told(text("cli.error.lost", reason=error), exit_codes.NO_HOST, "HOST_UNREACHABLE")
    return None


def _answered(error: "RpcFailure") -> Told:
    """An error answer of the host; one of our own codes brings its remedy."""
    code = str(error.data.get("code")) if isinstance(error.data, dict) and "code" in error.data else ""
    message = text("cli.error.answer", method=error.method, reason=error.message)
    if code in ERRORS:
        return Told(message, _EXITS.get(code, exit_codes.FAILED), code, text(ERRORS[code].remedy))
    refused = error.code == PERMISSION_DENIED
    return Told(message, exit_codes.REFUSED if refused else exit_codes.FAILED, code or str(error.code))
