"""How far back the replay window reaches, while numbers are added (architecture §7: 20,000 envelopes and 32 MiB).

Rules
* `floor` never covers an envelope of the window: blocks of envelopes are counted, not each one, and a block is below
  the floor only when the newer blocks fill the window by themselves.
* The floor only rises.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

BLOCK: Final = 128

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class WindowLimits:
    envelopes: int
    size: int
    """Bytes of bodies."""


def newest(items: Iterable[tuple[Item, int]], limits: WindowLimits) -> Iterator[Item]:
    """The first of `items` (with their sizes; newest first) that fit within both limits together."""
    count = size = 0
    for item, length in items:
        count, size = count + 1, size + length
        if count > limits.envelopes or size > limits.size:
            return
        yield item


class WindowFloor:
    """Counts what is added, and knows a number below which nothing belongs to the window."""

    def __init__(self, limits: WindowLimits, floor: int = 0) -> None:
        self.floor = floor
        self._limits = limits
        self._blocks: deque[list[int]] = deque()
        self._count = 0
        self._size = 0

    def add(self, last_seq: int, count: int, size: int) -> None:
        """`count` envelopes with bodies of `size` bytes together were added, the newest with number `last_seq`."""
        self._count += count
        self._size += size
        blocks = self._blocks
        if blocks and blocks[-1][1] < BLOCK:
            block = blocks[-1]
            block[0] = last_seq
            block[1] += count
            block[2] += size
        else:
            blocks.append([last_seq, count, size])
        while len(blocks) > 1 and self._filled_without(blocks[0]):
            seq, dropped, length = blocks.popleft()
            self.floor = seq
            self._count -= dropped
            self._size -= length

    def _filled_without(self, block: list[int]) -> bool:
        return self._count - block[1] >= self._limits.envelopes or self._size - block[2] >= self._limits.size
