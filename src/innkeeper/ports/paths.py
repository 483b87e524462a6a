"""Where paths really lead, for the approval rules (reference §5.11, rows 8-10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

PathProblem = Literal["dangling", "denied", "loop", "tooMany", "failed"]


@dataclass(frozen=True, slots=True)
class Real:
    """What a path leads to, every link followed: one path, or for a pattern one for each file that it matches (none
    where it matches nothing). A path that does not exist leads to itself in its real directory. With a `problem`
    nothing is known."""

    paths: Sequence[str] = ()
    problem: PathProblem | None = None


class PathFacts(Protocol):
    """Synchronous, meant for a thread; never raises."""

    def look(self, path: str, *, pattern: bool = False) -> Real:
        """Where the absolute `path` leads now; `pattern`: as the shell expands `*` and `?` in it."""
        ...
