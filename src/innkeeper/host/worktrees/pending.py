"""Whether a session has yet to get its worktree (C4.1). Pure: it is in the session's state.

Rules
* It wants one by its configuration, and still works in the directory that it was opened in, which its project names.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

ISOLATION: Final = "isolation"
WORKTREE: Final = "worktree"


def wants_worktree(session: Mapping[str, Any] | None) -> bool:
    config = (session or {}).get("config") or {}
    return (config.get("values") or {}).get(ISOLATION) == WORKTREE


def awaits_worktree(session: Mapping[str, Any] | None) -> bool:
    """Until its first turn; nothing of the directory is in force before, and no server starts there."""
    directories: Sequence[Any] = (session or {}).get("workingDirectories") or ()
    opened = ((session or {}).get("project") or {}).get("uri")
    return wants_worktree(session) and bool(directories) and directories[0] == opened
