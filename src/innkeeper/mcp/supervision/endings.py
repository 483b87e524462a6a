"""Which ends of a connection pause retries (M7.3). Pure.

Rules
* Want of a token, and a refusal of who asks (401, 403), wait for a person.
* A program that is not there, may not run or is no program stays so; a system that is out of something does not.
  A shell says the same with the exit codes 126 and 127.
* Everything else may pass: it is tried again.
"""

import errno
from typing import Final

from innkeeper.mcp.connections.values import ConnectionState

PAUSING: Final = frozenset({"AUTH_REQUIRED", "CLOSE_UNCONFIRMED", "DECLARATION_CHANGED", "MONITORING_UNSUPPORTED"})
"""Codes after which nothing is tried again by itself, whatever the detail."""

PASSING_ERRNO: Final = frozenset(
    {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ETXTBSY, errno.EIO, errno.EINTR, errno.EBUSY}
)
"""What starting a process may fail with for a while."""
NOT_RUNNABLE: Final = frozenset({126, 127})
REFUSED_STATUS: Final = frozenset({401, 403})


def is_permanent(state: ConnectionState) -> bool:
    """Whether another try can only come to the same."""
    if state.kind == "authRequired" or state.code in PAUSING:
        return True
    kind, number = _number(state.detail)
    if state.code == "SPAWN_FAILED":
        return (kind == "errno" and number not in PASSING_ERRNO) or (kind == "exit" and number in NOT_RUNNABLE)
    return kind == "HTTP" and number in REFUSED_STATUS


def _number(detail: str | None) -> tuple[str, int]:
    kind, _, number = (detail or "").partition(" ")
    return (kind, int(number)) if number.lstrip("-").isdigit() else ("", 0)
