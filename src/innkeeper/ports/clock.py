"""Time as an argument (architecture §3.1)."""

from typing import Protocol


class Clock(Protocol):
    """The time of day, and one that only goes forward."""

    def now(self) -> str:
        """The present in UTC, ISO 8601 with milliseconds and `Z`, as AHP's timestamps are."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, from an arbitrary start."""
        ...
