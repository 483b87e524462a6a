"""`SessionStatus` as sessions and chats share it (AHP §7): one activity in bits 0 to 4, flags above it.

Setting one part never touches the other, and bits this version does not know are kept.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.protocol.status import ACTIVITY_MASK, INPUT_NEEDED, WAITING_BIT


def with_activity(status: int, activity: int) -> int:
    """`status` with its activity replaced; flags stay."""
    return status & ~ACTIVITY_MASK | activity


def with_flag(status: int, flag: int, on: bool) -> int:
    """`status` with `flag` set or cleared."""
    return status | flag if on else status & ~flag


def with_input_needed(status: int, requests: Sequence[Mapping[str, Any]]) -> int:
    """`status` of a session whose `inputNeeded` is `requests`.

    A tool that a client executes does not wait for the user (since 0.8). When nothing waits, only the bit that
    InputNeeded has beyond InProgress goes: a running turn falls back to InProgress, an idle session stays idle.
    """
    if any(request.get("kind") != "toolClientExecution" for request in requests):
        return with_activity(status, INPUT_NEEDED)
    return status & ~WAITING_BIT
