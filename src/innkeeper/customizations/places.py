"""Where a session is, for decisions: its primary directory, and whose workspace decisions hold there (C3.3, C4.1).

Rules
* The file system is not asked here: the resolved path of a link, whether case counts and which worktrees the host made
  are values that come in.
* A worktree that the host made shares its repository's workspace decisions, by the host's own record alone.
* What is not known is pending; a session that has no directory is not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from innkeeper.customizations.identity import WORKSPACE_SOURCE, root_of, workspace_key

PendingReason = Literal["session", "workingDirectory", "discovery"]


@dataclass(frozen=True, slots=True)
class Pending:
    """Not decided yet, and so not allowed (C4.1). `error`: what stands in the way will not pass by itself (C4.4)."""

    reason: PendingReason
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A session, and its primary directory as the session states it (None: a session without one).

    `real` is that directory with links resolved, where it differs; `repository` the one whose worktree the host made
    for this session, links resolved. `workspace` is the key under which workspace decisions stand.
    """

    session: str
    directory: str | None = None
    ignores_case: bool = False
    real: str | None = None
    repository: str | None = None
    workspace: str | None = field(init=False, compare=False)

    def __post_init__(self) -> None:
        decisive = self.repository or self.real or self.directory
        key = None if self.directory is None or decisive is None else self._key(decisive)
        object.__setattr__(self, "workspace", key)

    @property
    def own(self) -> str | None:
        """The key of the directory itself, whatever it is a worktree of."""
        directory = self.real or self.directory
        return None if directory is None else self._key(directory)

    def accepts(self, uri: str) -> bool:
        """Whether a workspace entry with this URI means this session's workspace (C3.3)."""
        if self.directory is None:
            return False
        spellings = (self.directory, self.real, self.repository)
        return self._key(uri) in {self._key(spelling) for spelling in spellings if spelling is not None}

    def source_of(self, uri: str, path: str) -> str:
        """The source, for identity, of what stands at `uri`, `path` in its root: two roots of a session are two, the
        primary one is the same in every session (C3.1)."""
        root = self._key(root_of(uri, path))
        primary = (self.directory, self.real)
        if any(spelling is not None and self._key(spelling) == root for spelling in primary):
            return WORKSPACE_SOURCE
        return f"{WORKSPACE_SOURCE}:{root}"

    def _key(self, directory: str) -> str:
        return workspace_key(directory, ignores_case=self.ignores_case)


@dataclass(frozen=True, slots=True)
class Workspaces:
    """What the host knows of directories, all as URIs: links resolved (`real`), the repository of each worktree that
    it made (`worktrees`), and roots below which case does not count (`ignoring_case`)."""

    real: Mapping[str, str] = field(default_factory=dict)
    worktrees: Mapping[str, str] = field(default_factory=dict)
    ignoring_case: Sequence[str] = ()

    def place(self, session: str, directory: str | None) -> Place:
        """The place of a session with that primary directory."""
        if directory is None:
            return Place(session)
        ignores = self._ignores_case(directory)
        real = _lookup(self.real, directory, ignores)
        repository = _lookup(self.worktrees, directory, ignores)
        if repository is None and real is not None:
            repository = _lookup(self.worktrees, real, ignores)
        if repository is not None:
            repository = _lookup(self.real, repository, ignores) or repository
        return Place(session, directory, ignores, real, repository)

    def _ignores_case(self, directory: str) -> bool:
        key = f"{workspace_key(directory, ignores_case=True)}/"
        roots = (workspace_key(root, ignores_case=True).rstrip("/") for root in self.ignoring_case)
        return any(key.startswith(f"{root}/") for root in roots)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """What is known of a session. `directories` None: not yet; empty: it has none."""

    session: str
    decisions_read: bool
    decisions_fault: str | None = None
    """Why its decisions cannot be read: it stays pending, and nothing is written over them (C4.4)."""
    workspaceless: bool = False
    worktree_pending: bool = False
    directories: Sequence[str] | None = None


def situate(facts: SessionFacts, workspaces: Workspaces) -> Place | Pending:
    """Where the session is, or why that is not known yet (C4.1)."""
    if facts.decisions_fault is not None or not facts.decisions_read:
        return Pending("session", facts.decisions_fault)
    if facts.workspaceless:
        return workspaces.place(facts.session, None)
    if facts.worktree_pending or facts.directories is None:
        return Pending("workingDirectory")
    return workspaces.place(facts.session, next(iter(facts.directories), None))


def _lookup(known: Mapping[str, str], directory: str, ignores_case: bool) -> str | None:
    if not known:
        return None
    wanted = workspace_key(directory, ignores_case=ignores_case)
    same = (value for uri, value in known.items() if workspace_key(uri, ignores_case=ignores_case) == wanted)
    return next(same, None)
