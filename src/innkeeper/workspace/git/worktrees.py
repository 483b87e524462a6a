"""Working trees beside the main one (`ports.git.GitWorktrees`).

Rules
* What fails or is cancelled half-way is taken back; what a killed host left is taken back by `remove_worktree`, which
  knows every state that git can leave: locked while being made, without a directory, with nothing but a directory.
* Nothing is removed that is not a linked worktree of the repository, by git's record or by the record in the directory.
"""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from innkeeper.ports.git import GitError, Worktree
from innkeeper.workspace.git.base import Part, is_revision, real, unknown
from innkeeper.workspace.git.parsing import LOCAL, parse_worktrees
from innkeeper.workspace.git.program import names

WITH_NUL: Final = (2, 36)
"""Since then `worktree list` ends names with NUL."""
REMOVALS: Final = 20


class Worktrees(Part):
    """Makes, lists and removes them."""

    async def worktrees(self, root: str, *, seconds: float | None = None) -> Sequence[Worktree]:
        limit = self._limits.short if seconds is None else seconds
        with_nul = await self._program.version(limit) >= WITH_NUL
        options = ("-z",) if with_nul else ()
        outcome = await self._git(root, "worktree", "list", "--porcelain", *options, seconds=seconds)
        found = parse_worktrees(outcome.out, b"\0" if with_nul else b"\n")
        return [replace(worktree, path=real(worktree.path)) for worktree in found]

    async def add_worktree(
        self,
        root: str,
        path: str,
        branch: str,
        *,
        create_at: str | None = None,
        follow: str | None = None,
        seconds: float | None = None,
    ) -> None:
        limit = self._long(seconds)
        async with await self._writer(root):
            if await asyncio.to_thread(_taken, path):
                raise GitError("GIT_PATH_TAKEN", path=path)
            await self._check_branch(root, branch, limit)
            if create_at is None:
                await self._added(root, path, ("--", path, branch), None, None, limit)
                return
            commit = await self._object(root, create_at, "commit", limit)
            if commit is None:
                raise unknown(create_at)
            if await self._object(root, LOCAL + branch, "commit", limit) is not None:
                raise GitError("GIT_BRANCH_EXISTS", branch=branch)
            arguments = ("--no-track", "-b", branch, "--", path, commit)
            await self._added(root, path, arguments, (branch, commit), follow, limit)

    async def remove_worktree(
        self, root: str, path: str, *, of: str | None = None, seconds: float | None = None
    ) -> None:
        async with await self._writer(root):
            await self._remove_worktree(root, path, self._long(seconds), of)

    async def delete_branch(self, root: str, name: str, at: str, *, seconds: float | None = None) -> bool:
        async with await self._writer(root):
            return await self._delete_branch(root, name, at, seconds)

    # -- inside --------------------------------------------------------------------------------------------------

    async def _added(
        self,
        root: str,
        path: str,
        arguments: Sequence[str],
        new: tuple[str, str] | None,
        follow: str | None,
        seconds: float,
    ) -> None:
        try:
            await self._safely(root, "worktree", "add", "--quiet", *arguments, seconds=seconds, refuse=True)
            if new is not None and follow is not None and is_revision(follow):
                upstream = f"--set-upstream-to={follow}"
                await self._git(root, "branch", "--quiet", upstream, new[0], seconds=seconds, good=(0, 1, 128))
        except BaseException:
            with contextlib.suppress(GitError, OSError):
                await self._remove_worktree(root, path, seconds, new[1] if new is not None else None)
            if new is not None:
                with contextlib.suppress(GitError):
                    await self._delete_branch(root, *new, seconds)
            raise

    async def _remove_worktree(self, root: str, path: str, seconds: float, of: str | None) -> None:
        place = real(path)
        known = next((tree for tree in await self.worktrees(root, seconds=seconds) if tree.path == place), None)
        if known is not None and known.main:
            raise GitError("GIT_PATH_TAKEN", path=path)
        common = await self._common(root)
        if known is not None:
            # Twice: once for changes, once for the lock that git holds while it makes one.
            outcome = await self._git(
                root, "worktree", "remove", "--force", "--force", "--", path, seconds=seconds, good=(0, 1, 128)
            )
            if outcome.code == 0:
                return
        files: set[str] | None = None
        if of is not None and known is None:
            tree = await self._tree(root, of, seconds)
            listed = await self._git(root, "ls-tree", "-r", "-z", "--name-only", "--full-tree", tree, seconds=seconds)
            files = set(names(listed.out))
        await asyncio.to_thread(_remove_by_hand, common, place, known is not None, files)

    async def _delete_branch(self, root: str, name: str, at: str, seconds: float | None) -> bool:
        ref = LOCAL + name
        if any(tree.branch == name for tree in await self.worktrees(root, seconds=seconds)):
            return False
        if await self._object(root, ref, "commit", seconds) != at:
            return False
        await self._git(root, "update-ref", "-d", ref, at, seconds=seconds)
        section = ("config", "--local", "--remove-section", f"branch.{name}")
        await self._git(root, *section, seconds=seconds, good=(0, 1, 5, 128))
        return True


def _taken(path: str) -> bool:
    if not os.path.lexists(path):
        return False
    try:
        return os.path.islink(path) or bool(os.listdir(path))
    except OSError:
        return True


def _remove_by_hand(common: str, path: str, known: bool, files: set[str] | None) -> None:
    """The directory and its record, when git does not see that they belong together. Raises GitError
    `GIT_PATH_TAKEN` for a directory that is not the repository's, OSError when it cannot be removed. A directory with
    nothing but `files` is the repository's."""
    records = os.path.join(common, "worktrees")
    named = _named(records, path)
    if os.path.lexists(path):
        if not known and named is None and not _has_only(path, files or set()):
            raise GitError("GIT_PATH_TAKEN", path=path)
        _remove_tree(path)
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(records):
            said = _said(os.path.join(records, name, "gitdir"))
            mine = real(os.path.dirname(said)) == path if said else name in (named, os.path.basename(path))
            if mine:
                shutil.rmtree(os.path.join(records, name))


def _has_only(path: str, files: set[str]) -> bool:
    """Whether there is nothing in the directory but these files, if anything."""
    if not os.path.isdir(path) or os.path.islink(path):
        return False
    for folder, folders, inside in os.walk(path):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in (*inside, *links):
            if os.path.relpath(os.path.join(folder, name), path) not in files:
                return False
    return True


def _remove_tree(path: str) -> None:
    """Somebody else, git above all, may be removing it at the same time."""
    for _ in range(REMOVALS):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            continue
        return
    if os.path.lexists(path):
        shutil.rmtree(path)


def _named(records: str, path: str) -> str | None:
    """The name of the record that the directory says is its own, if it is one of this repository."""
    said = _said(os.path.join(path, ".git"))
    if said is None or not said.startswith("gitdir: "):
        return None
    folder, name = os.path.split(real(said.removeprefix("gitdir: ")))
    return name if folder == real(records) else None


def _said(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().removesuffix("\n")
    except OSError:
        return None
