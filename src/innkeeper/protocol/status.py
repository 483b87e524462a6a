"""The bits of `SessionStatus` (AHP §7): activity in bits 0–4, independent flags above; unknown high bits are kept."""

from typing import Final, TypeAlias

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
