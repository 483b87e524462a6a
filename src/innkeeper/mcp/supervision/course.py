"""What happens to one supervised server, as a value: tries, back-off, pauses (M7.1-M7.3). Pure.

Rules
* After the n-th failure in a row the next try comes after 1, 2, 4, 8, 16, 30, 60 seconds times 0.8-1, then every 60,
  for ever. A connection that held for 30 seconds ends the row; a shorter one does not.
* What cannot get better by trying pauses: `endings.is_permanent`. A server that policy does not allow gets one try.
* A person's *retry now* starts a try at once and leaves the row as it is.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

DELAYS: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 60.0)
"""Seconds before the tries; the last one for ever."""
JITTER: Final = 0.2
STABLE: Final = 30.0
"""Seconds of connection after which a failure is the first one again."""

Phase = Literal["new", "connecting", "connected", "waiting", "paused", "ended"]
"""`waiting`: for the next try. `paused`: nothing but a person or a change of the declaration starts another.
`ended`: the one try of a server that policy does not allow."""


def delay(failures: int, unit: float) -> float:
    """Seconds until the next try after so many failures in a row; `unit` is random in 0..1."""
    return DELAYS[min(failures, len(DELAYS)) - 1] * (1.0 - JITTER + JITTER * unit)


@dataclass(frozen=True, slots=True)
class Course:
    """`attempt` counts the failures since the last stable connection; `next_try` and `since` are monotonic seconds."""

    phase: Phase = "new"
    attempt: int = 0
    since: float = 0.0
    next_try: float | None = None
    code: str | None = None
    """Why it waits, paused or ended."""

    def begun(self, now: float) -> "Course":
        """A try starts."""
        return replace(self, phase="connecting", since=now, next_try=None)

    def connected(self, now: float) -> "Course":
        return replace(self, phase="connected", since=now, next_try=None, code=None)

    def failed(self, now: float, code: str, *, permanent: bool, supervised: bool, unit: float) -> "Course":
        """The try or the connection ended by itself."""
        stable = self.phase == "connected" and now - self.since >= STABLE
        attempt = 1 if stable else self.attempt + 1
        if permanent:
            return Course("paused", attempt, now, None, code)
        if not supervised:
            return Course("ended", attempt, now, None, code)
        return Course("waiting", attempt, now, now + delay(attempt, unit), code)

    def paused(self, now: float, code: str) -> "Course":
        """Another try would not be what was allowed, or is no use."""
        return Course("paused", self.attempt, now, None, code)

    @property
    def reconnecting(self) -> bool:
        """Whether it is between tries, or in one that is not the first."""
        return self.phase == "waiting" or (self.phase == "connecting" and self.attempt > 0)
