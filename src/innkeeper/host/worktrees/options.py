"""Where a session works, as properties of its configuration (reference §5.6, §5.7, S13).

Rules
* The isolation comes first. In a repository with a commit it is a worktree unless the person, or the default of the
  operator, says otherwise; everywhere else it is the folder, read-only, and there is no branch.
* A session in its folder shows the branch that is checked out, read-only.
* None of it changes once the session exists.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from innkeeper.host.faults import bad_params
from innkeeper.ports.git import Git, GitError, Repository
from innkeeper.texts import text

Isolation = Literal["worktree", "folder"]
NAMES: Final = ("isolation", "branch", "branchPrefix", "trackBranch", "createBranch", "includeFiles")
BRANCHES: Final = 25
Schema = Mapping[str, Any]


class NoOptions:
    """A host without git: its sessions have no such properties."""

    async def properties(self, directory: str | None, given: Mapping[str, Any]) -> Mapping[str, Schema]:
        return {}

    async def check(self, directory: str | None, values: Mapping[str, Any]) -> None:
        return

    async def branches(self, directory: str | None, query: str) -> Sequence[Mapping[str, str]] | None:
        """None: the host has no such property, and it is an agent's."""
        return None


class WorktreeOptions(NoOptions):
    """`default` is the isolation of a session that does not say, in a repository with a commit."""

    def __init__(self, git: Git, default: Isolation = "worktree") -> None:
        self._git = git
        self._default = default

    async def properties(self, directory: str | None, given: Mapping[str, Any]) -> Mapping[str, Schema]:
        """Those that apply in the directory, for what is chosen so far."""
        repository = await self._repository(directory)
        if repository is None or repository.head is None:
            return {"isolation": _isolation(("folder",), "folder", fixed=True)}
        isolation = {"isolation": _isolation(("worktree", "folder"), self._default)}
        current = repository.branch or "HEAD"
        if given.get("isolation", self._default) != "worktree":
            return {**isolation, "branch": _property("branch", "string", current, readOnly=True)}
        return {
            **isolation,
            "branch": _property("branch", "string", current, enumDynamic=True),
            "branchPrefix": _property("branchPrefix", "string", ""),
            "trackBranch": _property("trackBranch", "boolean", False),
            "createBranch": _property("createBranch", "boolean", True),
            "includeFiles": _property(
                "includeFiles", "array", [], items={"type": "string", "title": text("config.includeFiles.item")}
            ),
        }

    async def check(self, directory: str | None, values: Mapping[str, Any]) -> None:
        """Raises RpcError (-32602) for a branch that there is not."""
        if directory is None or values.get("isolation") != "worktree" or "branch" not in values:
            return
        try:
            known = await self._git.resolve(directory, str(values["branch"]))
        except GitError as error:
            raise bad_params(f"config.branch cannot be read: {error.message()}") from error
        if known is None:
            raise bad_params("config.branch names no branch or commit of the repository")

    async def branches(self, directory: str | None, query: str) -> Sequence[Mapping[str, str]] | None:
        """At most 25, for completion."""
        repository = await self._repository(directory)
        if repository is None:
            return ()
        try:
            found = await self._git.branches(repository.root, query, limit=BRANCHES)
        except GitError:
            return ()
        return [{"value": branch.name, "label": branch.name} for branch in found]

    async def _repository(self, directory: str | None) -> Repository | None:
        """Without git, or with a repository that it does not touch, a session works in its folder."""
        if directory is None:
            return None
        try:
            return await self._git.discover(directory)
        except GitError:
            return None


def _isolation(values: Sequence[Isolation], default: Isolation, *, fixed: bool = False) -> Schema:
    labels = [text(f"config.isolation.{value}") for value in values]
    more = {"readOnly": True} if fixed else {}
    return _property("isolation", "string", default, enum=list(values), enumLabels=labels, **more)


def _property(name: str, kind: str, default: object, **more: object) -> Schema:
    return {
        "type": kind,
        "title": text(f"config.{name}.title"),
        "description": text(f"config.{name}.description"),
        **more,
        "default": default,
        "sessionMutable": False,
    }
