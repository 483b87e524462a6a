"""When things that have no time of their own were first seen: a tool call that runs, a thought, an answer.

Rules
* AHP's tool calls and reasoning carry no times. What happened while a page, or this process, looked on is timed here;
  what came with a chat's history has no time, and none is shown for it.
"""

from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, NamedTuple

KEPT: Final = 20_000


class Span(NamedTuple):
    """From when, and until when; None: not seen. `seconds` once both are known."""

    began: datetime | None = None
    ended: datetime | None = None

    @property
    def seconds(self) -> float | None:
        if self.began is None or self.ended is None:
            return None
        return (self.ended - self.began).total_seconds()


class Times:
    """Spans by name; the oldest are forgotten."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._spans: OrderedDict[str, Span] = OrderedDict()

    def seen(self, name: str, *, running: bool) -> Span:
        """The span of `name`, which runs now, or does not any more."""
        span = self._spans.get(name)
        if span is None:
            if not running:
                return Span()
            span = self._spans[name] = Span(self._now())
            if len(self._spans) > KEPT:
                self._spans.popitem(last=False)
        elif not running and span.ended is None:
            span = self._spans[name] = span._replace(ended=self._now())
        return span
