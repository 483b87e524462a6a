"""Worktree isolation of sessions (reference §5.6, §5.7). An invariant of correctness: no turn runs in the wrong place.

`Worktrees` and `WorktreesOutside` are all that others need.
"""

from innkeeper.host.worktrees.service import Worktrees, WorktreesOutside

__all__ = ["Worktrees", "WorktreesOutside"]
