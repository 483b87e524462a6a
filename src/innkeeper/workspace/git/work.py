"""What a person asks for: commit, discard, switch branches (`ports.git.GitWork`).

Rules
* One writer a repository. The user's hooks and signature apply to their commits and to nothing else.
* Paths reach git on standard input or in portions, always as literal names.
"""

import os
import tempfile
from collections.abc import Sequence

from innkeeper.ports.git import GitError
from innkeeper.workspace.git.base import Part, unknown
from innkeeper.workspace.git.program import OURS, Running, names, nul, portions

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
            if paths is None:
                await self._git(root, "add", "--all", seconds=limit)
            else:
                only = await self._known(root, paths, limit)
                if not only:
                    raise GitError("GIT_NOTHING_TO_COMMIT")
            await self._commit(root, message, only, unattended, limit)
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
                await self._git(
                    root, "restore", f"--source={tree}", "--staged", "--worktree", *FROM_STDIN,
                    seconds=limit, running=Running(stdin=nul(kept)),
                )  # fmt: skip
            if gone:
                await self._clear(root, gone, limit)

    async def checkout(
        self, root: str, branch: str, *, create_at: str | None = None, seconds: float | None = None
    ) -> None:
        limit = self._long(seconds)
        async with await self._writer(root):
            await self._check_branch(root, branch, limit)
            if create_at is None:
                await self._git(root, "switch", "--quiet", "--no-guess", branch, seconds=limit)
                return
            commit = await self._object(root, create_at, "commit", limit)
            if commit is None:
                raise unknown(create_at)
            await self._git(root, "switch", "--quiet", "--no-track", "--create", branch, commit, seconds=limit)

    # -- inside --------------------------------------------------------------------------------------------------

    async def _known(self, root: str, paths: Sequence[str], seconds: float) -> list[str]:
        """Those of `paths` that git can be told to commit, and add what is there: the others are tracked or in HEAD."""
        wanted = list(dict.fromkeys(paths))
        head = await self._object(root, "HEAD", "commit", seconds)
        indexed = await self._listed(root, wanted, seconds)
        committed = await self._listed(root, wanted, seconds, "--with-tree=HEAD") if head is not None else set()
        there = _there(root, wanted)
        if adding := [path for path in wanted if path in there or path in indexed]:
            running = Running(stdin=nul(adding))
            await self._git(root, "add", "--all", "--force", *FROM_STDIN, seconds=seconds, running=running)
        return [path for path in wanted if path in there or path in indexed or path in committed]

    async def _listed(self, root: str, paths: Sequence[str], seconds: float, *options: str) -> set[str]:
        found: set[str] = set()
        for portion in portions(paths):
            listed = await self._git(root, "ls-files", "-z", "--cached", *options, "--", *portion, seconds=seconds)
            found.update(names(listed.out))
        return found

    async def _commit(self, root: str, message: str, only: Sequence[str], unattended: bool, seconds: float) -> None:
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
            await self._git(root, "commit", f"--file={file.name}", *options, seconds=seconds, running=running)

    async def _target(self, root: str, to: str | None, seconds: float) -> str:
        if to is not None:
            return await self._tree(root, to, seconds)
        head = await self._object(root, "HEAD", "commit", seconds)
        return await self._tree(root, head, seconds)

    async def _clear(self, root: str, paths: Sequence[str], seconds: float) -> None:
        await self._git(
            root, "rm", "--cached", "--force", "--quiet", "--ignore-unmatch", *FROM_STDIN,
            seconds=seconds, running=Running(stdin=nul(paths)),
        )  # fmt: skip
        for portion in portions(paths):
            await self._git(root, "clean", "--force", "--quiet", "--", *portion, seconds=seconds)


def _there(root: str, paths: Sequence[str]) -> set[str]:
    return {path for path in paths if os.path.lexists(os.path.join(root, path))}
