"""What a person asks for: commit, discard, switch branches (`ports.git.GitWork`).

Rules
* One writer a repository. The user's hooks and signature apply to their commits and to nothing else; filters that the
  repository's own configuration names, to whatever they ask for, and not to a commit of the host.
* Paths reach git on standard input or in portions, always as literal names.
"""

import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from innkeeper.ports.git import GitError
from innkeeper.workspace.git.base import Part, unknown
from innkeeper.workspace.git.program import FETCHING, OURS, PLAIN, Running, names, nul, portions

FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")


class Work(Part):
    """Changes the user's branch, index and files."""

    async def commit(
        self,
        root: str,
        message: str,
        paths: Sequence[str] | None = None,
        *,
        unattended: bool = False,
        seconds: float | None = None,
    ) -> str:
        limit = self._long(seconds)
        async with await self._writer(root):
            if (await self._git(root, "ls-files", "-z", "--unmerged", seconds=limit)).out:
                raise GitError("GIT_UNMERGED")
            only: list[str] = []
            run = self._refusing if unattended else self._theirs
            if paths is None:
                await run(root, ("add", "--all"), limit)
            else:
                only = await self._known(root, paths, limit, run)
                if not only:
                    raise GitError("GIT_NOTHING_TO_COMMIT")
            await self._commit(root, message, only, unattended, limit, run)
            return (await self._git(root, "rev-parse", "HEAD", seconds=limit)).line

    async def discard(
        self, root: str, paths: Sequence[str], *, to: str | None = None, seconds: float | None = None
    ) -> None:
        limit = self._long(seconds)
        async with await self._writer(root):
            tree = await self._target(root, to, limit)
            wanted = list(dict.fromkeys(paths))
            there: set[str] = set()
            for portion in portions(wanted):
                listed = await self._git(
                    root, "ls-tree", "-r", "-z", "--name-only", "--full-tree", tree, "--", *portion, seconds=limit
                )
                there.update(names(listed.out))
            kept, gone = [path for path in wanted if path in there], [path for path in wanted if path not in there]
            if kept:
                restore = ("restore", f"--source={tree}", "--staged", "--worktree", *FROM_STDIN)
                await self._theirs(root, restore, limit, Running(stdin=nul(kept)))
            if gone:
                await self._clear(root, gone, limit)

    async def checkout(
        self, root: str, branch: str, *, create_at: str | None = None, seconds: float | None = None
    ) -> None:
        limit = self._long(seconds)
        async with await self._writer(root):
            await self._check_branch(root, branch, limit)
            if create_at is None:
                await self._theirs(root, ("switch", "--quiet", "--no-guess", branch), limit)
                return
            commit = await self._object(root, create_at, "commit", limit)
            if commit is None:
                raise unknown(create_at)
            await self._theirs(root, ("switch", "--quiet", "--no-track", "--create", branch, commit), limit)

    # -- inside --------------------------------------------------------------------------------------------------

    async def _theirs(self, root: str, command: Sequence[str], seconds: float, running: Running = PLAIN) -> None:
        """A command of the person, with the programs that their repository names, but in no other place than here."""
        environment = {**running.environment, **FETCHING}
        if not running.hooks:  # which may work in other repositories
            environment["GIT_WORK_TREE"] = root
        await self._git(root, *command, seconds=seconds, running=running._replace(environment=environment))

    async def _refusing(self, root: str, command: Sequence[str], seconds: float, running: Running = PLAIN) -> None:
        """A command of the host, without them: it fails for a file that needs one."""
        await self._safely(root, *command, seconds=seconds, running=running, refuse=True, submodules=True)

    async def _known(self, root: str, paths: Sequence[str], seconds: float, run: "Run") -> list[str]:
        """Those of `paths` that git can be told to commit, and add what is there: the others are tracked or in HEAD."""
        wanted = list(dict.fromkeys(paths))
        head = await self._object(root, "HEAD", "commit", seconds)
        indexed = await self._listed(root, wanted, seconds)
        committed = await self._listed(root, wanted, seconds, "--with-tree=HEAD") if head is not None else set()
        there = _there(root, wanted)
        if adding := [path for path in wanted if path in there or path in indexed]:
            await run(root, ("add", "--all", "--force", *FROM_STDIN), seconds, Running(stdin=nul(adding)))
        return [path for path in wanted if path in there or path in indexed or path in committed]

    async def _listed(self, root: str, paths: Sequence[str], seconds: float, *options: str) -> set[str]:
        found: set[str] = set()
        for portion in portions(paths):
            listed = await self._git(root, "ls-files", "-z", "--cached", *options, "--", *portion, seconds=seconds)
            found.update(names(listed.out))
        return found

    async def _commit(
        self, root: str, message: str, only: Sequence[str], unattended: bool, seconds: float, run: "Run"
    ) -> None:
        environment: dict[str, str] = {}
        options = ["--cleanup=whitespace"]
        if unattended:
            options += ["--no-verify", "--no-gpg-sign"]
            known = await self._git(root, "var", "GIT_COMMITTER_IDENT", seconds=seconds, good=(0, 1, 128))
            environment |= {} if known.code == 0 else OURS
        if only:
            options += ["--only", *FROM_STDIN]
        # The paths take standard input, so the message comes in a file; both may be longer than a command line.
        with tempfile.NamedTemporaryFile(prefix="innkeeper-git-") as file:
            file.write(message.encode("utf-8", "surrogateescape"))
            file.flush()
            running = Running(stdin=nul(only), environment=environment, hooks=not unattended)
            await run(root, ("commit", f"--file={file.name}", *options), seconds, running)

    async def _target(self, root: str, to: str | None, seconds: float) -> str:
        if to is not None:
            return await self._tree(root, to, seconds)
        head = await self._object(root, "HEAD", "commit", seconds)
        return await self._tree(root, head, seconds)

    async def _clear(self, root: str, paths: Sequence[str], seconds: float) -> None:
        forget = ("rm", "--cached", "--force", "--quiet", "--ignore-unmatch", *FROM_STDIN)
        await self._theirs(root, forget, seconds, Running(stdin=nul(paths)))
        for portion in portions(paths):
            await self._theirs(root, ("clean", "--force", "--quiet", "--", *portion), seconds)


Run: TypeAlias = Callable[[str, Sequence[str], float, Running], Awaitable[None]]
"""How a command of a commit is run: as the person's, or as the host's."""


def _there(root: str, paths: Sequence[str]) -> set[str]:
    return {path for path in paths if os.path.lexists(os.path.join(root, path))}
