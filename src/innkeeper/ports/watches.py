"""Being told that files changed (C7.3).

Rules
* What happens after `watch` was entered is reported; what happened before is not.
* Reports are debounced: one names every allowed path that changed in a short span. A report may come without need;
  whoever gets one looks for itself.
* Only allowed paths wake anybody, so that files an agent rewrites all the time cost nothing.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WatchTarget:
    """An existing directory. Its own entries are reported as they come, change and go, all of them or those of the
    given `names`; what is below them is not, so that no link can make a watch grow."""

    path: str
    names: frozenset[str] | None = None

    def allows(self, path: str) -> bool:
        """Whether a changed path is this target's business."""
        if path == self.path:
            return True
        name = path.removeprefix(self.path.rstrip("/") + "/")
        return name != path and "/" not in name and (self.names is None or name in self.names)


class Watches(Protocol):
    def watch(self, targets: tuple[WatchTarget, ...]) -> AbstractAsyncContextManager[AsyncIterator[frozenset[str]]]:
        """Reports of changed paths, each not empty, until the context is left. A target that cannot be watched is
        logged and left out."""
        ...
