"""The bits of `SessionStatus` (AHP §7): activity in bits 0–4, independent flags above; unknown high bits are kept."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

SessionStatus: TypeAlias = int
"""A bit set: one activity, or-ed with any flags."""

IDLE: Final = 1
ERROR: Final = 2
IN_PROGRESS: Final = 8
INPUT_NEEDED: Final = 24
"""A turn runs and waits for a person: `IN_PROGRESS` with bit 16."""
IS_READ: Final = 32
IS_ARCHIVED: Final = 64

ACTIVITY_MASK: Final = 31
"""The bits that hold the activity."""
WAITING_BIT: Final = 16
"""What sets `INPUT_NEEDED` apart from `IN_PROGRESS`."""


def is_archived(*states: Mapping[str, Any]) -> bool:
    """Whether one of `states` is archived: a conversation is when its session or its chat is (AHP §9.1)."""
    return any(int(state.get("status") or 0) & IS_ARCHIVED for state in states)
