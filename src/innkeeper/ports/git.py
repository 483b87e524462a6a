"""Git as the inside sees it: repositories, trees, private refs, worktrees, branches (reference §5.7-§5.9, §10.12).

Rules
* Every method raises `GitError` with a stable code and nothing else but cancellation. Cancelling one ends its process.
* Every method has a time limit; `seconds` replaces the one of the settings. Passing it is `GIT_TIMEOUT`, never silence.
* `root` is the `root` of a `Repository`. Paths are relative to it, with `/`, in the system's spelling: names that are
  not UTF-8 carry surrogate escapes. Paths are taken literally, never as patterns.
* Reading takes no lock and writes nothing into the repository but objects. Its configuration is changed for `follow`
  alone.
* Writers of one repository, its worktrees included, run one after the other.
* No hook and no signature, unless `commit` is asked for them; no prompt, no pager, no external diff. No program that
  only the repository's own configuration names, unless a person asks: `commit`, `discard`, `checkout`. Where such a
  filter is needed to write a file, that is `GIT_FILTER`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from innkeeper.errors import HostError

ChangeKind: TypeAlias = Literal["added", "edited", "deleted", "renamed"]
FileType: TypeAlias = Literal["file", "executable", "symlink", "submodule"]
Underway: TypeAlias = Literal["merge", "rebase", "cherryPick", "revert", "bisect"]

PRIVATE_REFS = "refs/innkeeper/"
"""Where `set_refs` and `delete_refs` write, and nowhere else. Worktrees of a repository share them."""


class GitError(HostError):
    """Why something could not be done. Its code is one of the area `git` of the error table; the text is fit to be
    shown: what git said is cut and has no credentials."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A directory's repository. `root` and `common` are real absolute paths."""

    root: str
    """The working tree that the directory is in."""
    common: str
    """The git directory that all worktrees share: the repository's identity."""
    head: str | None
    """The commit that is checked out; None while there is none."""
    branch: str | None
    """Short name, also of a branch without a commit; None when HEAD is detached."""
    base: str | None
    """The branch that work starts from: that of `origin/HEAD`, else `main`, else `master`, whichever exists locally or
    on origin; a name that `resolve` understands."""
    linked: bool = False
    """A worktree beside the main one."""
    superproject: str | None = None
    """The root of the repository that this one is a submodule of."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch. `name` is short: `topic`, `origin/topic` when `remote`."""

    name: str
    commit: str
    remote: bool = False
    current: bool = False
    upstream: str | None = None
    """None also when the upstream is gone."""
    ahead: int = 0
    """Commits that the upstream does not have: what is unpushed."""
    behind: int = 0
    worktree: str | None = None
    """Where it is checked out."""


@dataclass(frozen=True, slots=True)
class StatusEntry:
    """One path that differs from HEAD. `staged` and `unstaged` may both be set."""

    path: str
    old_path: str | None = None
    staged: ChangeKind | None = None
    unstaged: ChangeKind | None = None
    untracked: bool = False
    unmerged: bool = False


@dataclass(frozen=True, slots=True)
class Status:
    """The working tree against the index and HEAD. Untracked files are listed one by one, ignored ones never."""

    entries: Sequence[StatusEntry]
    left_out: int = 0
    """Entries beyond the limit."""
    upstream: str | None = None
    ahead: int = 0
    behind: int = 0
    underway: Underway | None = None

    @property
    def clean(self) -> bool:
        return not self.entries and not self.left_out

    @property
    def unmerged(self) -> bool:
        return any(entry.unmerged for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The working tree as a tree object."""

    tree: str
    complete: bool = True
    """False when something could not be read (no permission, a nested repository without a commit): it is then as in
    the index, or absent."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a change. `id` is that of a blob, for a submodule that of its commit."""

    type: FileType
    id: str
    size: int | None
    """Bytes; None for a submodule, and for a blob that the repository does not have (a partial clone)."""
    lfs: bool = False
    """The blob is a Git LFS pointer, not the content itself."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path between two trees. A rename keeps both paths; a change of type alone is `edited`."""

    kind: ChangeKind
    path: str
    """The new one; that of the old tree when deleted."""
    old_path: str | None
    """Set for `renamed` only."""
    before: Side | None
    after: Side | None
    added: int | None
    """Lines; None when binary."""
    removed: int | None

    @property
    def binary(self) -> bool:
        return self.added is None


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two trees, ordered by path."""

    files: Sequence[FileChange]
    left_out: int = 0
    """Files beyond the limit."""


@dataclass(frozen=True, slots=True)
class Worktree:
    """One working tree of a repository. `path` need not exist any more: `prunable`."""

    path: str
    head: str | None
    branch: str | None
    main: bool = False
    locked: bool = False
    prunable: bool = False


class GitRepositories(Protocol):
    """What is there."""

    async def discover(self, directory: str, *, seconds: float | None = None) -> Repository | None:
        """The repository whose working tree the directory is in. None: in none, in a bare one, or no such directory.

        Raises `GIT_MISSING` (no git, or too old), `GIT_OWNER` (git refuses a repository of someone else)."""
        ...

    async def status(self, root: str, *, limit: int = 10_000, seconds: float | None = None) -> Status: ...

    async def submodules(self, root: str, *, limit: int, seconds: float | None = None) -> Sequence[str]:
        """The roots of submodules that are checked out, in submodules too; absolute, the outer ones first."""
        ...

    async def branches(
        self, root: str, query: str = "", *, limit: int = 25, seconds: float | None = None
    ) -> Sequence[Branch]:
        """For completion: names that begin with `query` (case does not count), or one of whose parts after `/` does.
        Local ones first, latest commit first."""
        ...

    async def branch(self, root: str, name: str, *, seconds: float | None = None) -> Branch | None:
        """The local branch of exactly that name."""
        ...

    async def resolve(self, root: str, revision: str, *, seconds: float | None = None) -> str | None:
        """The commit of a branch, ref or id; None when there is none. Never an option, whatever it begins with."""
        ...

    async def merge_base(self, root: str, one: str, other: str, *, seconds: float | None = None) -> str | None:
        """The best common ancestor; None for unrelated histories. Raises `GIT_REVISION_UNKNOWN`."""
        ...

    async def ignored(
        self, root: str, patterns: Sequence[str], *, limit: int = 1_000, seconds: float | None = None
    ) -> Sequence[str]:
        """Ignored files that match one of the globs (`**` crosses directories), at most `limit`, sorted."""
        ...


class GitTrees(Protocol):
    """Trees of files, and refs that keep them. Objects that no ref keeps live for two weeks at least."""

    async def snapshot(self, root: str, *, seconds: float | None = None) -> Snapshot:
        """The working tree now: tracked files and untracked ones that are not ignored, symlinks as links, executable
        bits, submodules as the commit that is checked out in them. Neither index nor HEAD nor a file is touched; works
        without a commit, detached, unmerged (files as they are, with their markers) and sparse (what is not checked
        out stays as in the index). Unchanged files are not read again."""
        ...

    async def empty_tree(self, root: str, *, seconds: float | None = None) -> str: ...

    async def tree_of(self, root: str, revision: str, *, seconds: float | None = None) -> str | None:
        """The tree of a commit, or the tree itself; None when there is no such revision."""
        ...

    async def commit_tree(
        self, root: str, tree: str, parents: Sequence[str], message: str, *, seconds: float | None = None
    ) -> str:
        """A commit by Innkeeper that no branch knows. Raises `GIT_REVISION_UNKNOWN`."""
        ...

    async def set_refs(
        self,
        root: str,
        changes: Mapping[str, str | None],
        *,
        expected: Mapping[str, str | None] | None = None,
        seconds: float | None = None,
    ) -> None:
        """Set refs below `PRIVATE_REFS`, delete those whose value is None; all or none. `expected` has what a
        ref must be beforehand, None: absent; otherwise `GIT_REF_MOVED`. Deleting an absent one is no error.
        Raises ValueError for a ref elsewhere."""
        ...

    async def delete_refs(self, root: str, prefix: str, *, seconds: float | None = None) -> int:
        """Delete every ref below `prefix`, which is or ends like a directory below `PRIVATE_REFS`; how many."""
        ...

    async def refs(self, root: str, prefix: str = PRIVATE_REFS, *, seconds: float | None = None) -> Mapping[str, str]:
        """Refs below `prefix` and the commits they name."""
        ...

    async def diff(
        self, root: str, before: str | None, after: str | None, *, limit: int = 5_000, seconds: float | None = None
    ) -> Changes:
        """From one tree or commit to another; None is the empty tree. Against the working tree: `snapshot` first.
        Renames are found among at most a thousand candidates. Raises `GIT_REVISION_UNKNOWN`."""
        ...

    async def content(self, root: str, blob: str, limit: int, *, seconds: float | None = None) -> bytes:
        """A blob, whole. Raises `GIT_TOO_LARGE` beyond `limit` bytes, `GIT_REVISION_UNKNOWN`."""
        ...

    async def entry(self, root: str, revision: str, path: str, *, seconds: float | None = None) -> Side | None:
        """What the path is in a tree or commit; None for a directory or nothing. Raises `GIT_REVISION_UNKNOWN`."""
        ...


class GitWork(Protocol):
    """What a person asks for: their branch, index and files are changed."""

    async def commit(
        self,
        root: str,
        message: str,
        paths: Sequence[str] | None = None,
        *,
        unattended: bool = False,
        seconds: float | None = None,
    ) -> str:
        """Commit everything that is not ignored, or exactly `paths` (for a rename both), on the branch; the commit.
        What is staged of other paths stays staged. The user's hooks, signature and identity apply; `unattended` does
        without hooks and signature, and signs as Innkeeper where nobody is configured.

        Raises `GIT_NOTHING_TO_COMMIT`, `GIT_UNMERGED`, `GIT_IDENTITY`, `GIT_LOCKED`, `GIT_FAILED` (a hook said no)."""
        ...

    async def discard(
        self, root: str, paths: Sequence[str], *, to: str | None = None, seconds: float | None = None
    ) -> None:
        """Make `paths` (files) in index and working tree what they are in `to`, a tree or commit, HEAD by default; what
        is not there is removed, an ignored file excepted. What was is lost: snapshot first. Nothing is followed through
        a symlink. Raises `GIT_REVISION_UNKNOWN`, `GIT_LOCKED`."""
        ...

    async def checkout(
        self, root: str, branch: str, *, create_at: str | None = None, seconds: float | None = None
    ) -> None:
        """Switch to a local branch, with `create_at` to a new one at that commit; changes are carried over.

        Raises `GIT_WOULD_OVERWRITE`, `GIT_BRANCH_IN_USE`, `GIT_BRANCH_EXISTS`, `GIT_BRANCH_NAME`, `GIT_UNMERGED`,
        `GIT_REVISION_UNKNOWN`, `GIT_LOCKED`."""
        ...


class GitWorktrees(Protocol):
    """Working trees beside the main one."""

    async def worktrees(self, root: str, *, seconds: float | None = None) -> Sequence[Worktree]:
        """All of the repository, the main one first."""
        ...

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
        """Check out `branch` at `path`, which is absent or an empty directory; with `create_at` a new branch at that
        revision, whose upstream is the branch `follow`; without it, or when it is no branch, it has none. A failure or
        cancellation leaves neither the worktree nor the new branch.

        Raises `GIT_BRANCH_EXISTS`, `GIT_BRANCH_IN_USE`, `GIT_BRANCH_NAME`, `GIT_PATH_TAKEN`, `GIT_REVISION_UNKNOWN`."""
        ...

    async def remove_worktree(
        self, root: str, path: str, *, of: str | None = None, seconds: float | None = None
    ) -> None:
        """Remove a worktree with everything in it, half-made or gone ones too; its branch stays. Nothing there is no
        error. `root` is another working tree of the repository. Raises `GIT_PATH_TAKEN` for a path that is none of its
        linked worktrees; with `of`, a commit, what git knows no more is removed too as long as it has nothing but files
        of that commit: git that is ended while it makes a worktree forgets it first and removes its files then."""
        ...

    async def delete_branch(self, root: str, name: str, at: str, *, seconds: float | None = None) -> bool:
        """Delete a local branch that is still at commit `at` and checked out nowhere, with what the configuration says
        of it; whether it was."""
        ...


class Git(GitRepositories, GitTrees, GitWork, GitWorktrees, Protocol):
    """The whole of it: the adapter's shape. What needs less asks for less."""

    async def close(self) -> None:
        """The host ends: from now on every method raises `GIT_FAILED`, and no process is started."""
        ...
