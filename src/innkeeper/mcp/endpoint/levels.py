"""MCP's log levels, lowest first (RFC 5424)."""

from typing import Final

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def at_least(level: object, wanted: str | None) -> bool:
    """Whether a message of `level` is one that was wanted; everything is where nothing was said."""
    if wanted is None or level not in LEVELS or wanted not in LEVELS:
        return True
    return LEVELS.index(str(level)) >= LEVELS.index(wanted)
