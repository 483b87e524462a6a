"""What one message may cost (issue 2, section 2).

The defaults: 16 MiB is what the WebSocket server lets through for one message, so that a frame is refused by one rule
and not by two; a chat of 30 turns is 166 KB, so the limit is far from any state. 128 levels: the deepest type of AHP
needs about 15 around free values, and a deeper message could exhaust the recursion of a peer that has to read it.
"""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds for one incoming message: its size in bytes of UTF-8, and how deep objects and arrays may be nested."""

    max_bytes: int = 16 * MIB
    max_depth: int = 128


DEFAULT_LIMITS = Limits()
