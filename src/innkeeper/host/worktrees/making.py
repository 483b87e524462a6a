"""Making, remaking and removing the worktree of a session (reference §5.7, S13-S15).

Rules
* What is about to be done is in the record before git does it. Whatever ends it half-way, an error, a cancelled turn or
  the end of the host, is taken back: at once, or when the next host starts.
* Nothing that a person or an agent made is lost: uncommitted work is committed before a worktree goes, a branch with
  work on it stays, and a worktree in which something cannot be committed is left in place.
* What stands where a worktree should be is never touched; another name is tried.
"""

import asyncio
import contextlib
import logging
import posixpath
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from innkeeper.host.worktrees.naming import MIDDLE, TRIES, candidates, slug
from innkeeper.host.worktrees.records import NotWritten, Record, Records
from innkeeper.ports.git import Git, GitError, Repository
from innkeeper.ports.worktrees import Folders
from innkeeper.protocol.uris import file_uri, local_path
from innkeeper.providers.spi import ProviderError
from innkeeper.texts import text

log = logging.getLogger(__name__)

TAKEN: Final = frozenset({"GIT_BRANCH_EXISTS", "GIT_PATH_TAKEN"})
BESIDE: Final = ".worktrees"
SAVED_BEFORE_ARCHIVING: Final = "Saved before archiving"
SAVED_BEFORE_DELETING: Final = "Saved before deleting the session"


class WorktreeMaker:
    """Works on one worktree at a time; whoever calls it sees to that."""

    def __init__(self, git: Git, folders: Folders, records: Records) -> None:
        self._git = git
        self._folders = folders
        self._records = records

    async def make(self, session: str, directory: str, values: Mapping[str, Any], hint: str) -> Record:
        """A new worktree of the repository that the directory is in. Raises ProviderError."""
        with _told():
            repository = await self._git.discover(local_path(directory) or "")
            if repository is None or repository.head is None:
                raise failed(text("worktree.noRepository", directory=directory))
            plan = await self._plan(session, directory, repository, values)
            for name in self._names(session, plan, hint):
                record = self._named(plan, name, values)
                if await self._is_taken(record):
                    continue
                made = await self._try(record)
                if made is not None:
                    return made
            raise failed(text("worktree.noName", tries=TRIES, directory=directory))

    async def remake(self, record: Record) -> Record:
        """The worktree is there again, on its branch. Raises ProviderError."""
        with _told():
            there = await asyncio.to_thread(self._folders.is_directory, record.path)
            if there and record.stage in ("made", "archiving"):
                return await self._kept(record)
            if await self._git.branch(record.root, record.branch) is None:
                raise missing(text("worktree.branchGone", branch=record.branch, path=record.path))
            await self._git.remove_worktree(record.root, record.path)
            await self._git.add_worktree(record.root, record.path, record.branch)
            await self._include(record)
            back = replace(record, stage="made")
            await self._records.put(back)
            return back

    async def _kept(self, record: Record) -> Record:
        made = replace(record, stage="made")
        if made != record:
            await self._records.put(made)
        return made

    async def put_away(self, record: Record, message: str) -> Record | None:
        """Commit what is not committed, and remove the worktree; None when it stays because something would be lost.
        One whose removal had begun is not committed: what is missing there was not deleted by anybody.
        Raises GitError and NotWritten."""
        there = await asyncio.to_thread(self._folders.is_directory, record.path)
        if there and record.stage in ("made", "archiving"):
            saved = await self._saved(record, message)
            if saved is None:
                await self._kept(record)
                return None
            record = saved
        going = replace(record, stage="removing")
        await self._records.put(going)
        await self.remove(going)
        away = replace(record, stage="archived")
        await self._records.put(away)
        return away

    async def remove(self, record: Record, *, of: str | None = None) -> None:
        """The directory goes, and the folder beside the repository when it was the last one. Raises GitError."""
        await self._git.remove_worktree(record.root, record.path, of=of)
        await self._tidy(record)

    async def take_back(self, record: Record) -> None:
        """Nothing of what was being made is left. Raises GitError."""
        trees = await self._git.worktrees(record.root)
        there = next((tree for tree in trees if tree.path == record.path), None)
        if there is None or there.branch in (None, record.branch):
            await self.remove(record, of=record.at if record.stage == "making" else None)
        if record.new_branch:
            await self._git.delete_branch(record.root, record.branch, record.at)
        await self._records.drop(record.session)

    # -- inside --------------------------------------------------------------------------------------------------

    async def _plan(self, session: str, directory: str, repository: Repository, values: Mapping[str, Any]) -> Record:
        """A record without a name."""
        trees = await self._git.worktrees(repository.root)
        root = trees[0].path if trees else repository.root
        base = str(values.get("branch") or repository.branch or "HEAD")
        at = await self._git.resolve(repository.root, base)
        if at is None:
            raise GitError("GIT_REVISION_UNKNOWN", revision=base)
        return Record(
            session=session,
            stage="making",
            root=root,
            common=repository.common,
            path="",
            branch=base,
            at=at,
            new_branch=values.get("createBranch") is not False,
            directory=directory,
            place="",
            include=tuple(str(glob) for glob in values.get("includeFiles") or ()),
            source=repository.root,
            follow=base if values.get("trackBranch") is True else "",
        )

    def _names(self, session: str, plan: Record, hint: str) -> list[str]:
        return list(candidates(hint if plan.new_branch else slug(plan.branch), session))

    def _named(self, plan: Record, name: str, values: Mapping[str, Any]) -> Record:
        path = posixpath.join(plan.root + BESIDE, name)
        inside = posixpath.relpath(local_path(plan.directory) or plan.source, plan.source)
        place = path if inside == "." or inside.startswith("..") else posixpath.join(path, inside)
        branch = f"{values.get('branchPrefix') or ''}{MIDDLE}{name}" if plan.new_branch else plan.branch
        return replace(plan, path=path, branch=branch, place=file_uri(place))

    async def _is_taken(self, record: Record) -> bool:
        """Looked at before the record is written: what a sweep takes back must be the host's own."""
        if await asyncio.to_thread(self._folders.exists, record.path):
            return True
        return record.new_branch and await self._git.branch(record.root, record.branch) is not None

    async def _try(self, record: Record) -> Record | None:
        """The worktree by that record; None when the name was taken meanwhile."""
        await self._records.put(record)
        try:
            create_at = record.at if record.new_branch else None
            await self._git.add_worktree(
                record.root, record.path, record.branch, create_at=create_at, follow=record.follow or None
            )
            await self._include(record)
            made = await self._entered(replace(record, stage="made"))
            await self._records.put(made)
        except GitError as error:
            await self._tidy(record)
            await self._records.drop(record.session)
            if error.code in TAKEN:
                return None
            raise
        except BaseException:
            with contextlib.suppress(GitError, NotWritten):
                await self.take_back(record)
            raise
        return made

    async def _tidy(self, record: Record) -> None:
        await asyncio.to_thread(self._folders.remove_if_empty, posixpath.dirname(record.path))

    async def _entered(self, record: Record) -> Record:
        """Where a branch does not have the folder that the session was opened in, its worktree's root serves."""
        inside = local_path(record.place) or record.path
        there = await asyncio.to_thread(self._folders.is_directory, inside)
        return record if there else replace(record, place=file_uri(record.path))

    async def _include(self, record: Record) -> None:
        """What cannot be copied is told in the log and stops nothing."""
        if not record.include:
            return
        try:
            paths = await self._git.ignored(record.source, record.include)
        except GitError as error:
            log.warning("the files to include in %s are not found: %s", record.path, error)
            return
        await asyncio.to_thread(self._folders.copy, record.source, record.path, paths)

    async def _saved(self, record: Record, message: str) -> Record | None:
        """All work is on a branch, whose name the record has; None when it cannot be."""
        repository = await self._git.discover(record.path)
        if repository is None or repository.common != record.common or repository.branch is None:
            log.warning("the worktree %s stays: it is on no branch", record.path)
            return None
        if await self._git.branch(record.root, repository.branch) is None:
            log.warning("the worktree %s stays: its branch is gone", record.path)
            return None
        if not (await self._git.status(record.path)).clean:
            await self._git.commit(record.path, message, unattended=True)
        if not (await self._git.status(record.path)).clean:
            log.warning("the worktree %s stays: not everything in it can be committed", record.path)
            return None
        return replace(record, branch=repository.branch)


@contextlib.contextmanager
def _told() -> Any:
    """What git or the record says, as the error of a turn."""
    try:
        yield
    except GitError as error:
        raise failed(f"{error.message()} {error.remedy()}") from error
    except NotWritten as error:
        raise failed(text("worktree.notWritten")) from error


def failed(reason: str) -> ProviderError:
    return ProviderError("workingDirectoryFailed", text("error.workingDirectoryFailed.meaning", reason=reason))


def missing(reason: str) -> ProviderError:
    return ProviderError("workingDirectoryMissing", text("error.workingDirectoryMissing.meaning", reason=reason))
