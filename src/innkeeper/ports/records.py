"""Records of what reached agents, for whoever asks later (C5.4, C5.5).

Rules
* Bounded: the oldest ones go. A record that cannot be written is lost and told in the log; nothing waits for one.
* A record has names, keys and verdicts, and never a secret; that is the writer's business.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Records(Protocol):
    def append(self, record: Mapping[str, Any]) -> None:
        """Keep the record; returns at once."""
        ...

    async def read(self) -> Sequence[Mapping[str, Any]]:
        """All that are kept, oldest first, those just appended too."""
        ...

    async def close(self) -> None:
        """What was appended is written when this returns."""
        ...


class MemoryRecords:
    """The last `limit` records, as long as the process lives."""

    def __init__(self, limit: int = 1_000) -> None:
        self._limit = limit
        self._kept: list[Mapping[str, Any]] = []

    def append(self, record: Mapping[str, Any]) -> None:
        self._kept.append(record)
        del self._kept[: -self._limit]

    async def read(self) -> Sequence[Mapping[str, Any]]:
        return tuple(self._kept)

    async def close(self) -> None:
        return
