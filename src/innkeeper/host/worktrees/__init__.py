"""Worktree isolation of sessions (reference §5.6, §5.7). An invariant of correctness: no turn runs in the wrong place.

`Worktrees` is all that others need.
"""

from innkeeper.host.worktrees.service import Worktrees

__all__ = ["Worktrees"]
