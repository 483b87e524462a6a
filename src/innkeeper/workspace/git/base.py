"""What the parts of the adapter share: time limits, one writer a repository, revisions that are no options."""

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from innkeeper.limits import GIT_CHECKOUT_SECONDS, GIT_SECONDS
from innkeeper.ports.git import GitError
from innkeeper.workspace.git.foreign import LISTING, Setting, in_their_place, parse_settings, variables
from innkeeper.workspace.git.program import FETCHING, PLAIN, GitProgram, Outcome, Running

OBJECT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
GITLINK: Final = re.compile(rb"160000 [0-9a-f]+ [0-3]\t([^\0]+)\0")


@dataclass(frozen=True, slots=True)
class GitLimits:
    """Time limits in seconds: for commands that read or move a ref, and for those that write files or run hooks."""

    short: float = GIT_SECONDS
    long: float = GIT_CHECKOUT_SECONDS


class Part:
    """The base of the adapter's parts."""

    def __init__(self, program: GitProgram, limits: GitLimits) -> None:
        self._program = program
        self._limits = limits
        self._writers: dict[str, asyncio.Lock] = {}
        self._commons: dict[str, str] = {}

    async def _git(
        self,
        root: str,
        *arguments: str,
        seconds: float | None = None,
        running: Running = PLAIN,
        good: Sequence[int] = (0,),
    ) -> Outcome:
        """A command with the short limit, unless told otherwise."""
        limit = self._limits.short if seconds is None else seconds
        return await self._program.run(root, arguments, limit, running, good=good)

    async def _safely(
        self,
        root: str,
        *arguments: str,
        seconds: float | None = None,
        running: Running = PLAIN,
        good: Sequence[int] = (0,),
        refuse: bool = False,
        submodules: bool = False,
    ) -> Outcome:
        """A command that reads or writes contents of files, without the programs that the repository's configuration
        names. `refuse`: it fails for files that need one. `submodules`: it looks into them."""
        safe = await self._safe(root, seconds, refuse=refuse, submodules=submodules)
        safely = running._replace(environment={**running.environment, **safe})
        return await self._git(root, *arguments, seconds=seconds, running=safely, good=good)

    async def _safe(
        self, root: str, seconds: float | None, *, refuse: bool = False, submodules: bool = False
    ) -> Mapping[str, str]:
        """The environment of such commands."""
        places = in_their_place(await self._settings(root, seconds, submodules), refuse=refuse)
        # The working tree is said because the configuration could name another.
        return {**FETCHING, **variables(places), **({"GIT_WORK_TREE": root} if submodules else {})}

    async def _settings(self, root: str, seconds: float | None, submodules: bool) -> list[Setting]:
        """What names programs in the configuration of a working tree, and of those of its submodules, however deep."""
        settings: list[Setting] = []
        places, known = [root], {root}
        while places:
            place = places.pop()
            listed = await self._git(place, *LISTING, seconds=seconds, good=(0, 1) if place == root else (0, 1, 128))
            settings += parse_settings(listed.out)
            new = set(await self._submodules(place, seconds)) - known if submodules else ()
            places += new
            known.update(new)
        return settings

    async def _submodules(self, place: str, seconds: float | None) -> list[str]:
        """Those that are there, by what the index says; none where there is no repository after all."""
        files = await self._git(place, "ls-files", "--stage", "-z", seconds=seconds, good=(0, 128))
        paths = [os.path.join(place, os.fsdecode(found[1])) for found in GITLINK.finditer(files.out)]
        return await asyncio.to_thread(_populated, paths) if paths else paths

    def _long(self, seconds: float | None) -> float:
        return self._limits.long if seconds is None else seconds

    async def _writer(self, root: str) -> asyncio.Lock:
        """The lock of the repository's writers, shared by all its worktrees."""
        common = self._commons.get(root)
        if common is None:
            common = await self._common(root)
            self._commons[root] = common
        return self._writers.setdefault(common, asyncio.Lock())

    async def _common(self, root: str) -> str:
        return real((await self._git(root, "rev-parse", "--path-format=absolute", "--git-common-dir")).line)

    async def _object(self, root: str, revision: str, kind: str, seconds: float | None) -> str | None:
        """The id of a revision peeled to `commit` or `tree`; None when there is none."""
        if not is_revision(revision):
            return None
        expression = f"{revision}^{{{kind}}}"
        outcome = await self._git(
            root, "rev-parse", "--verify", "--quiet", expression, seconds=seconds, good=(0, 1, 128)
        )
        return outcome.line if outcome.code == 0 and OBJECT.fullmatch(outcome.line) else None

    async def _tree(self, root: str, revision: str | None, seconds: float | None) -> str:
        """The tree of a revision, the empty one for None. Raises GitError `GIT_REVISION_UNKNOWN`."""
        if revision is None:
            return (await self._git(root, "mktree", "-z", seconds=seconds)).line
        tree = await self._object(root, revision, "tree", seconds)
        if tree is None:
            raise unknown(revision)
        return tree

    async def _check_branch(self, root: str, name: str, seconds: float | None) -> None:
        """Raises GitError `GIT_BRANCH_NAME`."""
        ref = f"refs/heads/{name}"
        checked = await self._git(root, "check-ref-format", ref, seconds=seconds, good=(0, 1, 128, 129))
        if checked.code != 0 or name.startswith("-") or name == "HEAD":
            raise GitError("GIT_BRANCH_NAME", branch=name[:200])


@contextlib.asynccontextmanager
async def together() -> AsyncIterator[asyncio.TaskGroup]:
    """Several commands at once; when one fails the others end, and its error is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


def _populated(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if os.path.lexists(os.path.join(path, ".git"))]


def is_revision(text: str) -> bool:
    """Whether git can take it for a revision and for nothing else."""
    return bool(text) and not text.startswith("-") and not any(mark in text for mark in "\0\n") and ".." not in text


def real(path: str) -> str:
    """Without links and dot segments; it need not exist."""
    return os.path.realpath(path)


def unknown(revision: str) -> GitError:
    return GitError("GIT_REVISION_UNKNOWN", revision=revision[:200])
