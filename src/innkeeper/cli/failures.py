"""Failures as a person is told them: a code, what happened, what to do, and an exit code."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import click

from innkeeper.cli import exit_codes
from innkeeper.cli.words import LANGUAGE, text
from innkeeper.errors import ERRORS, HostError

if TYPE_CHECKING:
    from innkeeper.client.errors import RpcFailure

_EXITS = {
    "HOST_NOT_RUNNING": exit_codes.NO_HOST,
    "HOST_UNREACHABLE": exit_codes.NO_HOST,
    "OPTION_INVALID": exit_codes.USAGE,
    "USAGE": exit_codes.USAGE,
    "TARGET_INVALID": exit_codes.USAGE,
    "CHAT_REFUSED": exit_codes.REFUSED,
    "AGENT_KEY_REFUSED": exit_codes.REFUSED,
    "INTERRUPTED": exit_codes.INTERRUPTED,
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
    """A failure that only the command line knows; `message` is in the user's language already.

    `code` is one of `ERRORS`, and brings its remedy unless there is a better one.
    """

    def __init__(self, message: str, *, code: str, remedy: str = "", exit_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.remedy = remedy or text(ERRORS[code].remedy)
        self.exit_code = _EXITS.get(code, exit_codes.FAILED) if exit_code is None else exit_code


class UsageProblem(CliError):
    """What was asked for cannot be meant."""

    def __init__(self, message: str, remedy: str = "") -> None:
        context = click.get_current_context(silent=True)
        if context is not None and not remedy:
            remedy = text("cli.error.help", command=context.command_path)
        super().__init__(message, code="USAGE", remedy=remedy)


@dataclass(frozen=True, slots=True)
class Told:
    """A failure in words."""

    message: str
    exit_code: int
    code: str
    remedy: str = ""
    about: Mapping[str, object] = field(default_factory=dict)
    """File and line, server, field: what the failure is about, where it is about such a thing."""

    def document(self) -> dict[str, object]:
        """The shape under `--json`."""
        error = {"code": self.code, "message": self.message, "remedy": self.remedy or None}
        return {"version": 1, "error": {**error, **self.about}}


def tell(error: Exception) -> Told | None:
    """The failure behind an exception; None for one that is a defect of ours."""
    if isinstance(error, CliError):
        return Told(error.message, error.exit_code, error.code, error.remedy)
    if isinstance(error, HostError):
        return _of_host(error)
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        only = error.exceptions[0]
        return tell(only) if isinstance(only, Exception) else None
    told = _of_client(error)
    return _of_system(error) if told is None and isinstance(error, OSError) else told


def tell_defect(error: Exception) -> Told:
    """What is told of a fault of ours: which, and where in our code."""
    return _of_host(HostError("DEFECT", error=_where(error)))


def _where(error: Exception) -> str:
    """The exception and the innermost line of ours that it came through."""
    import traceback
    from pathlib import Path

    root = Path(__file__).parents[2]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(root)]
    place = f" ({Path(frames[-1].filename).relative_to(root)}:{frames[-1].lineno})" if frames else ""
    return type(error).__name__ + place


def _of_system(error: OSError) -> Told:
    """What the system refused: its words, and the file where it names one."""
    file = None if error.filename is None else os.fsdecode(error.filename)
    words = error.strerror or str(error) or type(error).__name__
    told = _of_host(HostError("SYSTEM_REFUSED", reason=f"{file}: {words}" if file else words))
    return replace(told, about={"file": file, "line": None}) if file else told


def _of_host(error: HostError) -> Told:
    exit_code = _EXITS.get(error.code, exit_codes.FAILED)
    return Told(error.message(LANGUAGE), exit_code, error.code, error.remedy(LANGUAGE), _about(error))


def _about(error: HostError) -> Mapping[str, object]:
    file = getattr(error, "file", None) or getattr(error, "path", None)
    found: dict[str, object] = {"file": str(file), "line": getattr(error, "line", None) or None} if file else {}
    named = {name: getattr(error, name, None) or error.values.get(name) for name in ("server", "field")}
    return found | {name: value for name, value in named.items() if value}


def _of_client(error: Exception) -> Told | None:
    from innkeeper.client import errors

    match error:
        case errors.TargetInvalid():
            return _of_host(HostError("TARGET_INVALID"))
        case errors.AccessDenied():
            return _of_host(HostError("TOKEN_WRONG"))
        case errors.VersionRefused():
            return _of_host(HostError("VERSION_UNSUPPORTED", supported=", ".join(error.supported) or "?"))
        case errors.RpcFailure():
            return _answered(error)
        case errors.RequestTimeout():
            return tell(CliError(text("cli.error.timeout", reason=error), code="REQUEST_TIMEOUT"))
        case errors.ClientError():
            return tell(CliError(text("cli.error.lost", reason=error), code="HOST_UNREACHABLE"))
    return None


def _answered(error: "RpcFailure") -> Told:
    """An error answer of the host; one of our own codes brings its remedy."""
    code = str(error.data.get("code")) if isinstance(error.data, dict) and "code" in error.data else ""
    message = text("cli.error.answer", method=error.method, reason=error.message)
    if code in ERRORS:
        return Told(message, _EXITS.get(code, exit_codes.FAILED), code, text(ERRORS[code].remedy))
    refused = error.code == PERMISSION_DENIED
    return Told(message, exit_codes.REFUSED if refused else exit_codes.FAILED, code or str(error.code))
