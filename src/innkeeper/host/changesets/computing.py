"""What is in a changeset now (reference §5.9).

Rules
* session: from the merge base with the branch that work started from, else from HEAD, to the files as they are; what
  the session's tools reported outside of repositories, or in files that git ignores, is added. uncommitted: from HEAD
  to the files as they are. turn: `attribution`. compare: from the end of one turn to the end of another.
* Without a repository: session and turn from the edit log, never uncommitted (S18).
* One `Look` is one moment: each repository is found and snapshot once in it.
* Bounded: at most `CHANGESET_FILES` files, the rest is a number. What cannot be computed raises `HostError`
  (`computeFailed`), which keeps what was shown before.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from innkeeper.errors import HostError
from innkeeper.host.changesets.attribution import Shown, attribute, net, reported_only
from innkeeper.host.changesets.book import ABSENT, Book, Content, Edit, Known, TurnRecord
from innkeeper.host.changesets.books import Books
from innkeeper.host.changesets.catalogue import Name
from innkeeper.host.changesets.edits import reported_paths
from innkeeper.host.changesets.files import JsonFile, changed_file, line_counts, shown_file, totals
from innkeeper.host.changesets.repositories import find_repositories, innermost_first
from innkeeper.host.core import Core
from innkeeper.host.views import State, find_turn
from innkeeper.limits import CHANGESET_FILES
from innkeeper.ports.files import FileFault, Files
from innkeeper.ports.git import Changes, GitError, GitRepositories, GitTrees, Repository
from innkeeper.protocol.uris import local_path

log = logging.getLogger(__name__)


class ChangesetGit(GitRepositories, GitTrees, Protocol):
    """What computing needs of git."""


@dataclass(frozen=True, slots=True)
class Computed:
    """`warning` is the code of what is missing though the rest is shown."""

    files: Sequence[JsonFile]
    left_out: int = 0
    warning: str | None = None

    def summary(self) -> dict[str, Any]:
        """AHP's `ChangesSummary`."""
        added, removed = totals(self.files)
        return {"additions": added, "deletions": removed, "files": len(self.files) + self.left_out}


@dataclass(slots=True)
class Look:
    """One moment of a session's repositories."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """Directory to code."""
    trees: dict[str, str] = field(default_factory=dict)


class Computing:
    def __init__(self, core: Core, git: ChangesetGit | None, books: Books, files: Files) -> None:
        self._core = core
        self._git = git
        self._books = books
        self._files = files

    async def look(self, session: str, *, submodules: bool = True) -> Look:
        """The repositories of the session's directories, those first."""
        look = Look()
        if self._git is None:
            return look
        state = self._core.head(session) or {}
        directories = [*(state.get("workingDirectories") or ())]
        for chat in state.get("chats") or ():
            directories.extend(chat.get("workingDirectories") or ())
        paths = dict.fromkeys(path for uri in directories if (path := local_path(uri)) is not None)
        look.repositories = await find_repositories(self._git, paths, look.failed, submodules=submodules)
        return look

    async def compute(self, name: Name, look: Look) -> Computed:
        """Raises HostError."""
        try:
            match name.kind:
                case "session":
                    return await self._session(name.session, look)
                case "uncommitted":
                    return await self._uncommitted(name.session, look)
                case "turn":
                    return await self._turn(name.session, name.turns[0])
                case "compare":
                    return await self._compare(name.session, *name.turns)
        except GitError as error:
            raise HostError("computeFailed", reason=error.message()) from error

    async def knows_turn(self, session: str, turn: str) -> bool:
        """Whether a chat of the session has, or had, that turn."""
        record = (await self._books.of(session)).turns.get(turn)
        if record is not None:
            return record.state != "forgotten"
        return await self._chat_turn(session, turn) is not None

    # -- the kinds -----------------------------------------------------------------------------------------------

    async def _session(self, session: str, look: Look) -> Computed:
        book = await self._books.of(session)
        files: list[JsonFile] = []
        left_out = 0
        seen: set[str] = set()
        for root, repository in look.repositories.items():
            changes = await self._diff(root, await self._base(repository, look), await self._tree(look, root))
            files.extend(changed_file(session, root, change) for change in changes.files)
            seen.update(f"{root}/{path}" for c in changes.files for path in (c.path, c.old_path) if path is not None)
            left_out += changes.left_out
        unseen = [of for of in net(book.edits).values() if of.path not in seen]
        here = {root: root for root in look.repositories}
        tracked = await self._tracked([of.path for of in unseen], here, look.trees)
        more = [of for of in unseen if of.path not in tracked and await self._is_there(of.path, look)]
        files.extend([await self._reported(session, shown) for shown in reported_only(more)])
        return _bounded(files, left_out, next(iter(look.failed.values()), None))

    async def _uncommitted(self, session: str, look: Look) -> Computed:
        files: list[JsonFile] = []
        left_out = 0
        if not look.repositories and look.failed:
            raise HostError("computeFailed", reason=", ".join(look.failed.values()))
        for root, repository in look.repositories.items():
            changes = await self._diff(root, repository.head, await self._tree(look, root))
            files.extend(changed_file(session, root, change) for change in changes.files)
            left_out += changes.left_out
        return _bounded(files, left_out, next(iter(look.failed.values()), None))

    async def _turn(self, session: str, turn: str) -> Computed:
        book = await self._books.of(session)
        record = book.turns.get(turn) or TurnRecord(turn, "", "forgotten")
        own = await self._own(session, turn, book)
        others = await self._others(record)
        trees = await self._turn_trees(record)
        files: list[JsonFile] = []
        left_out = 0
        for root in innermost_first(trees):
            begun, ended = trees[root]
            place = await self.place(root, book)
            mine = [edit for edit in own if edit.path.startswith(f"{root}/")]
            own = [edit for edit in own if not edit.path.startswith(f"{root}/")]
            changes = await self._diff(place, begun, ended)
            left_out += changes.left_out
            overlapped = bool(record.beside)
            tracked = await self._tracked([edit.path for edit in mine], {root: place}, {root: ended})
            its = attribute(root, changes.files, mine, others, overlapped=overlapped, tracked=tracked)
            files.extend([await self._shown(session, root, shown) for shown in its])
        files.extend([await self._reported(session, shown) for shown in reported_only(net(own).values())])
        return _bounded(files, left_out, next(iter(record.failed.values()), None))

    async def _compare(self, session: str, original: str, modified: str) -> Computed:
        book = await self._books.of(session)
        first, second = (book.turns.get(turn) for turn in (original, modified))
        if first is None or second is None or not first.ends or not second.ends:
            missing = original if first is None or not first.ends else modified
            raise HostError("computeFailed", reason=f"turn {missing[:100]} has no checkpoint")
        files: list[JsonFile] = []
        left_out = 0
        for root in [root for root in first.ends if root in second.ends]:
            place = await self.place(root, book)
            changes = await self._diff(place, first.ends[root].tree, second.ends[root].tree)
            files.extend(changed_file(session, root, change) for change in changes.files)
            left_out += changes.left_out
        return _bounded(files, left_out)

    # -- inside --------------------------------------------------------------------------------------------------

    async def _base(self, repository: Repository, look: Look) -> str | None:
        """Of a submodule the commit that belongs to the base of the repository around it."""
        assert self._git is not None
        around = look.repositories.get(repository.superproject or "")
        if around is not None:
            base, path = await self._base(around, look), repository.root[len(around.root) + 1 :]
            side = None if base is None else await self._git.entry(around.root, base, path)
            known = side is not None and await self._git.tree_of(repository.root, side.id) is not None
            return side.id if side is not None and known else repository.head
        if repository.head is None or repository.base is None:
            return repository.head
        if await self._git.resolve(repository.root, repository.base) is None:
            return repository.head
        return await self._git.merge_base(repository.root, repository.base, repository.head) or repository.head

    async def _tree(self, look: Look, root: str) -> str:
        assert self._git is not None
        if root not in look.trees:
            look.trees[root] = (await self._git.snapshot(root)).tree
        return look.trees[root]

    async def _diff(self, root: str, before: str | None, after: str | None) -> Changes:
        assert self._git is not None
        return await self._git.diff(root, before, after, limit=CHANGESET_FILES)

    async def _turn_trees(self, record: TurnRecord) -> dict[str, tuple[str, str]]:
        """Root to the trees at the start and the end; of a turn that runs, to the files as they are."""
        found: dict[str, tuple[str, str]] = {}
        for root, start in record.starts.items():
            if root in record.ends:
                found[root] = (start.tree, record.ends[root].tree)
            elif record.state == "open" and self._git is not None:
                found[root] = (start.tree, (await self._git.snapshot(root)).tree)
        return found

    async def _own(self, session: str, turn: str, book: Book) -> list[Edit]:
        """What the turn's calls reported. One that the log does not have is taken from the conversation: a fork's is
        that of its source, and that of a host which was killed in between has no contents."""
        edits = book.edits_of(turn)
        for call, file in reported_paths(await self._chat_turn(session, turn)):
            if (turn, call) in book.journaled:
                continue
            copied = [edit for edit in book.edits if edit.call == call and edit.path == file.path]
            edits.extend(copied or [Edit("", turn, turn, call, file.path, None, None, file.old_path, file.lines)])
        return edits

    async def _others(self, record: TurnRecord) -> list[Edit]:
        found: list[Edit] = []
        for session, turn in sorted(record.beside):
            found.extend((await self._books.of(session)).edits_of(turn))
        return found

    async def _chat_turn(self, session: str, turn: str) -> State | None:
        for chat in (self._core.head(session) or {}).get("chats") or ():
            state = await self._core.load(chat["resource"])
            if state is not None and (found := find_turn(state, turn)) is not None:
                return found
        return None

    async def _tracked(
        self, paths: Sequence[str], places: Mapping[str, str], trees: Mapping[str, str]
    ) -> frozenset[str]:
        """Those that the trees have; `places` says where each root's repository is."""
        found: set[str] = set()
        for path in dict.fromkeys(paths):
            around = (root for root in innermost_first(places) if path.startswith(f"{root}/") and root in trees)
            root = next(around, None)
            if root is None or self._git is None:
                continue
            if await self._git.entry(places[root], trees[root], path[len(root) + 1 :]) is not None:
                found.add(path)
        return frozenset(found)

    async def place(self, root: str, book: Book) -> str:
        """Where the repository of a working tree can be read: there, or in its main one when a linked one has gone."""
        try:
            if (await asyncio.to_thread(self._files.stat, root)).kind == "directory":
                return root
        except FileFault as fault:
            log.debug("a working tree is read in its main one: %s", fault)
        common = next((turn.starts[root].common for turn in book.turns.values() if root in turn.starts), root)
        return common.removesuffix("/.git")

    async def _is_there(self, path: str, look: Look) -> bool:
        """Of a file in a repository: an ignored one is shown while it is there; one that git had and has no more was
        dealt with."""
        if not any(path.startswith(f"{root}/") for root in look.repositories):
            return True
        try:
            return (await asyncio.to_thread(self._files.stat, path)).kind == "file"
        except FileFault:
            return False

    async def _shown(self, session: str, root: str, shown: Shown) -> JsonFile:
        return shown_file(session, root, shown) if shown.change is not None else await self._reported(session, shown)

    async def _reported(self, session: str, shown: Shown) -> JsonFile:
        before, after = await self._bytes(session, shown.before), await self._bytes(session, shown.after)
        stats = shown.lines
        if before is not None and after is not None:
            stats = await asyncio.to_thread(line_counts, before, after)
        return shown_file(session, "", shown, stats)

    async def _bytes(self, session: str, known: Known) -> bytes | None:
        match known:
            case Content(digest=digest) if digest:
                return await self._books.content(session, digest)
            case found if found is ABSENT or found == ABSENT:
                return b""
            case _:
                return None


def _bounded(files: Sequence[JsonFile], left_out: int, warning: str | None = None) -> Computed:
    unique = {file["id"]: file for file in files}
    kept = sorted(unique.values(), key=lambda file: str(file["id"]))
    return Computed(kept[:CHANGESET_FILES], left_out + max(0, len(kept) - CHANGESET_FILES), warning)
