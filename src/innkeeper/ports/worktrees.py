"""Worktrees of sessions, as contributions and the other parts of the host see them (K7, reference §5.7), and the few
things that making one needs of the file system.

Rules
* What is a worktree of a session is said by the host's own record, never by what `.git` says (C3.3, M4.1c).
"""

from collections.abc import Sequence
from typing import Protocol


class WorktreeIsolation(Protocol):
    """The worktrees that this host made for sessions."""

    def branch(self, session: str) -> str | None:
        """The branch of the session's worktree, also while that is away with an archived session; None for a session
        that works in its folder, or has not sent anything yet."""
        ...

    def pending(self, session: str) -> bool:
        """Whether a worktree is to be made at the session's next turn."""
        ...

    async def prepare(self, session: str, chat: str, turn_id: str, message: str) -> None:
        """The session's working directory is there when this returns: a worktree is made at the first turn and made
        again when it is gone. Idempotent; the branch is announced once, in the turn that it was made for. Cancelled
        half-way, nothing is left.

        Raises ProviderError: `workingDirectoryFailed`, `workingDirectoryMissing`."""
        ...

    async def archive(self, session: str) -> bool:
        """Commit what is not committed and take the worktree away; its branch stays. Whether it is away; it is left in
        place rather than anything in it lost."""
        ...

    async def restore(self, session: str) -> bool:
        """Bring an archived worktree back; whether it is there."""
        ...


class NoWorktrees:
    """A host without git: every session works in its folder."""

    def branch(self, session: str) -> str | None:
        return None

    def pending(self, session: str) -> bool:
        return False

    async def prepare(self, session: str, chat: str, turn_id: str, message: str) -> None:
        return

    async def archive(self, session: str) -> bool:
        return False

    async def restore(self, session: str) -> bool:
        return False


class Folders(Protocol):
    """Folders of this machine. Methods are synchronous, meant for a thread, and raise nothing but what they say."""

    def exists(self, path: str) -> bool:
        """Also as a link that leads nowhere."""
        ...

    def is_directory(self, path: str) -> bool: ...

    def copy(self, source: str, target: str, paths: Sequence[str]) -> Sequence[str]:
        """Copy files from one folder to the same place in another; those that could not be. What is there already
        stays, links are copied as links, and nothing is written through one."""
        ...

    def remove_if_empty(self, path: str) -> None: ...
