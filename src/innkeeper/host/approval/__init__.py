"""Whether a tool call runs, is asked about, or is denied: the rules, without I/O (reference §5.11)."""

from innkeeper.host.approval.decide import asks_of_tool, decide
from innkeeper.host.approval.values import (
    BY_SETTING,
    ONCE_ONLY,
    ROWS,
    Call,
    CommandRule,
    FileRule,
    Ground,
    Inline,
    Standing,
    Step,
    Tables,
    Verdict,
)

__all__ = [
    "BY_SETTING",
    "ONCE_ONLY",
    "ROWS",
    "Call",
    "CommandRule",
    "FileRule",
    "Ground",
    "Inline",
    "Standing",
    "Step",
    "Tables",
    "Verdict",
    "asks_of_tool",
    "decide",
]
