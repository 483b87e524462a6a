"""How long to wait before the next attempt to connect: 1, 2, 4, 8, 16, 30, 30 … seconds, each shortened by chance.

Pure: the random source is an argument. Clients that lost one host do not come back in the same moment.
"""

from collections.abc import Callable, Iterator
from typing import Final

FIRST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 30.0
JITTER: Final = 0.25
"""The largest part of a delay that chance takes away."""


def delays(random: Callable[[], float]) -> Iterator[float]:
    """The delays in seconds, without end. `random` gives numbers from 0 up to 1."""
    delay = FIRST_SECONDS
    while True:
        yield delay * (1 - JITTER * random())
        delay = min(delay * 2, LONGEST_SECONDS)
