"""When an HTTP server is looked at, and what two silent looks mean (M7.4). Pure.

Rules
* A look every 10 seconds while there is MCP work, every 30 once there was none for two minutes, none after five.
* Any successful call is as good as a look. What was confirmed within 5 seconds is not looked at for a call or a panel.
* One silent look makes the server *unverified*, and there is another one after 1.2 seconds; the second in a row means
  that the endpoint is gone.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

TIMEOUT: Final = 1.5
AGAIN: Final = 1.2
FRESH: Final = 5.0
BUSY_INTERVAL: Final = 10.0
QUIET_INTERVAL: Final = 30.0
QUIET_AFTER: Final = 120.0
NEVER_AFTER: Final = 300.0

Health = Literal["confirmed", "unverified", "gone"]


@dataclass(frozen=True, slots=True)
class Probing:
    """All times are monotonic seconds: the last proof of life, the last MCP work, the last silent look."""

    confirmed: float
    worked: float
    silent: float = 0.0
    failures: int = 0

    @property
    def health(self) -> Health:
        return "confirmed" if self.failures == 0 else "unverified" if self.failures == 1 else "gone"

    def working(self, now: float) -> "Probing":
        return replace(self, worked=now)

    def answered(self, now: float) -> "Probing":
        return replace(self, confirmed=now, failures=0)

    def unanswered(self, now: float) -> "Probing":
        return replace(self, silent=now, failures=self.failures + 1)

    def stale(self, now: float) -> bool:
        """Whether a call or a panel wants a look first."""
        return self.failures > 0 or now - self.confirmed > FRESH

    def due(self) -> float | None:
        """When to look next; None: not before something happens."""
        if self.failures:
            return self.silent + AGAIN
        if self.confirmed + BUSY_INTERVAL <= self.worked + QUIET_AFTER:
            return self.confirmed + BUSY_INTERVAL
        due = max(self.confirmed + QUIET_INTERVAL, self.worked + QUIET_AFTER)
        return due if due <= self.worked + NEVER_AFTER else None
