"""The installed git as `ports.git.Git`."""

from collections.abc import Mapping

from innkeeper.workspace.git.base import GitLimits
from innkeeper.workspace.git.program import GitProgram
from innkeeper.workspace.git.repositories import Repositories
from innkeeper.workspace.git.trees import Trees
from innkeeper.workspace.git.work import Work
from innkeeper.workspace.git.worktrees import Worktrees
from innkeeper.workspace.guarding import Guard

__all__ = ["GitLimits", "LocalGit"]


class LocalGit(Repositories, Trees, Work, Worktrees):
    """`ports.git.Git`. Of the host's `environment`, PATH, HOME and the user's settings of git count, but nothing that
    points git at a repository. `guard` ends what still runs when the host dies; without one it has its own."""

    def __init__(
        self, environment: Mapping[str, str], guard: Guard | None = None, limits: GitLimits | None = None
    ) -> None:
        self._guard = guard or Guard()
        self._own_guard = guard is None
        super().__init__(GitProgram(environment, self._guard), limits or GitLimits())

    async def close(self) -> None:
        """Nothing is started any more; what still runs ends with the guardian, which may be its own."""
        self._program.closed = True
        if self._own_guard:
            await self._guard.close()
