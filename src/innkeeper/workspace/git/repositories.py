"""What is there: repositories, status, branches (`ports.git.GitRepositories`).

Rules
* A directory in no working tree is no error; a repository that git will not touch is one.
* Completion reads the names of all branches and the details of the few that are shown.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from innkeeper.ports.git import Branch, GitError, Repository, Status, Underway
from innkeeper.workspace.git.base import Part, real, together, unknown
from innkeeper.workspace.git.parsing import BRANCH_FORMAT, LOCAL, REMOTE, parse_branches, parse_status, short
from innkeeper.workspace.git.program import Running, names

OUTSIDE: Final = ("not a git repository", "must be run in a work tree", "not in a git directory")
SIGNS: Final[tuple[tuple[str, Underway], ...]] = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherryPick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)
"""Files in a git directory that say what is unfinished."""
USUAL: Final = ("main", "master")


class Repositories(Part):
    """Reads and never writes."""

    async def discover(self, directory: str, *, seconds: float | None = None) -> Repository | None:
        if not await asyncio.to_thread(os.path.isdir, directory):
            return None
        try:
            root = (await self._git(directory, "rev-parse", "--show-toplevel", seconds=seconds)).line
        except GitError as error:
            if error.code == "GIT_FAILED" and any(words in str(error.values["reason"]) for words in OUTSIDE):
                return None
            raise
        if not _within(await asyncio.to_thread(real, directory), root):
            return None
        async with together() as group:
            common = group.create_task(self._common(root))
            own = group.create_task(self._own(root, seconds))
            above = group.create_task(self._git(root, "rev-parse", "--show-superproject-working-tree", seconds=seconds))
            head = group.create_task(self._object(root, "HEAD", "commit", seconds))
            branch = group.create_task(self._pointed(root, "HEAD", seconds))
            base = group.create_task(self._base(root, seconds))
        return Repository(
            root=root,
            common=common.result(),
            head=head.result(),
            branch=branch.result(),
            base=base.result(),
            linked=common.result() != own.result(),
            superproject=above.result().line or None,
        )

    async def status(self, root: str, *, limit: int = 10_000, seconds: float | None = None) -> Status:
        own = await self._own(root, seconds)
        outcome = await self._safely(
            root, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=none",
            "--find-renames",
            seconds=seconds, submodules=True,
        )  # fmt: skip
        return replace(parse_status(outcome.out, limit), underway=_underway(own))

    async def submodules(self, root: str, *, limit: int, seconds: float | None = None) -> Sequence[str]:
        found = [root]
        for place in found:
            if len(found) > limit or not await asyncio.to_thread(os.path.lexists, os.path.join(place, ".gitmodules")):
                continue
            found += [inner for inner in await self._submodules(place, seconds) if inner not in found]
        return found[1 : limit + 1]

    async def branches(
        self, root: str, query: str = "", *, limit: int = 25, seconds: float | None = None
    ) -> Sequence[Branch]:
        listed = await self._git(
            root, "for-each-ref", "--sort=-committerdate", "--format=%(refname)%00%(symref)", LOCAL, REMOTE,
            seconds=seconds,
        )  # fmt: skip
        rows = [line.split("\0") for line in listed.out.decode("utf-8", "surrogateescape").splitlines()]
        wanted = [ref for ref, points_at in rows if not points_at and _fits(short(ref), query)]
        wanted.sort(key=lambda ref: ref.startswith(REMOTE))
        return await self._details(root, wanted[:limit], seconds)

    async def branch(self, root: str, name: str, *, seconds: float | None = None) -> Branch | None:
        found = await self._details(root, [LOCAL + name], seconds)
        return next((branch for branch in found if branch.name == name), None)

    async def resolve(self, root: str, revision: str, *, seconds: float | None = None) -> str | None:
        return await self._object(root, revision, "commit", seconds)

    async def merge_base(self, root: str, one: str, other: str, *, seconds: float | None = None) -> str | None:
        commits = []
        for revision in (one, other):
            commit = await self._object(root, revision, "commit", seconds)
            if commit is None:
                raise unknown(revision)
            commits.append(commit)
        outcome = await self._git(root, "merge-base", *commits, seconds=seconds, good=(0, 1))
        return outcome.line or None

    async def ignored(
        self, root: str, patterns: Sequence[str], *, limit: int = 1_000, seconds: float | None = None
    ) -> Sequence[str]:
        if not patterns:
            return ()
        globs = [f":(glob){pattern}" for pattern in patterns]
        outcome = await self._git(
            root, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", *globs,
            seconds=seconds, running=Running(environment={"GIT_LITERAL_PATHSPECS": "0"}),
        )  # fmt: skip
        return sorted(name for name in names(outcome.out) if not name.endswith("/"))[:limit]

    # -- inside --------------------------------------------------------------------------------------------------

    async def _own(self, root: str, seconds: float | None) -> str:
        """The git directory of this working tree alone."""
        return real((await self._git(root, "rev-parse", "--absolute-git-dir", seconds=seconds)).line)

    async def _pointed(self, root: str, ref: str, seconds: float | None) -> str | None:
        """The branch that a symbolic ref names."""
        outcome = await self._git(root, "symbolic-ref", "--quiet", ref, seconds=seconds, good=(0, 1, 128))
        return short(outcome.line) if outcome.code == 0 else None

    async def _base(self, root: str, seconds: float | None) -> str | None:
        origin = f"{REMOTE}origin/"
        pointed = await self._pointed(root, f"{origin}HEAD", seconds)
        first = [] if pointed is None else [pointed.removeprefix("origin/")]
        candidates = list(dict.fromkeys([*first, *USUAL]))
        refs = [prefix + name for name in candidates for prefix in (LOCAL, origin)]
        listed = await self._git(root, "for-each-ref", "--format=%(refname)", *refs, seconds=seconds)
        there = set(listed.out.decode("utf-8", "surrogateescape").splitlines())
        return next((short(ref) for ref in refs if ref in there), None)

    async def _details(self, root: str, refs: Sequence[str], seconds: float | None) -> list[Branch]:
        if not refs or any(letter in ref for ref in refs for letter in "*?["):
            return []
        outcome = await self._git(root, "for-each-ref", f"--format={BRANCH_FORMAT}", *refs, seconds=seconds)
        order = {short(ref): index for index, ref in enumerate(refs)}
        found = [branch for branch in parse_branches(outcome.out) if branch.name in order]
        return [
            replace(branch, worktree=real(branch.worktree) if branch.worktree else None)
            for branch in sorted(found, key=lambda branch: order[branch.name])
        ]


def _within(directory: str, root: str) -> bool:
    """A repository's configuration may name a working tree anywhere; it is no reason to work there."""
    return directory == root or directory.startswith(root.rstrip("/") + "/")


def _fits(name: str, query: str) -> bool:
    """Whether the name, or what follows one of its slashes, begins with the query."""
    folded, wanted = name.casefold(), query.casefold()
    return folded.startswith(wanted) or f"/{wanted}" in folded


def _underway(git_directory: str) -> Underway | None:
    return next((kind for name, kind in SIGNS if os.path.lexists(os.path.join(git_directory, name))), None)
