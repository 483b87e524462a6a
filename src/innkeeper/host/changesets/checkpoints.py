"""Snapshots of the files as a turn begins and ends, kept by private refs (reference §5.8, §10.12). Correctness
invariant, not a hook: the first must be complete before the agent may write (K1).

Rules
* Neither index nor HEAD nor a file is touched. Refs are `refs/innkeeper/checkpoints/<key of the session>/<number>`; 0
  is the baseline. Each other one is a commit of the end, whose first parent is one of the start, whose parent is the
  checkpoint before: what a person did between two turns counts as nobody's (S16).
* One session's captures come one after the other: the end of a turn before the start of the next.
* Repositories are independent of each other: one that fails, or takes too long, is recorded with its code and told.
* Everything may be called twice. A turn that is cancelled, or replaced by another in its chat, has no checkpoint.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Protocol, TypeVar

from innkeeper.host.changesets.book import (
    End,
    Start,
    TurnKey,
    TurnRecord,
    beside_record,
    end_record,
    start_record,
    state_record,
)
from innkeeper.host.changesets.books import Books
from innkeeper.host.changesets.repositories import find_repositories
from innkeeper.ports.git import PRIVATE_REFS, GitError, GitRepositories, GitTrees, Repository

log = logging.getLogger(__name__)

T = TypeVar("T")
Failed = Callable[[str, str, str, str, str], None]
"""(session, chat, turn, directory, code): something could not be recorded."""
Spawn = Callable[[Coroutine[Any, Any, None], str], "asyncio.Task[None]"]

CHECKPOINTS: Final = f"{PRIVATE_REFS}checkpoints/"


class CheckpointGit(GitRepositories, GitTrees, Protocol):
    """What checkpoints need of git."""


def prefix_of(session: str) -> str:
    """Below which the session's refs are."""
    return f"{CHECKPOINTS}{sha256(session.encode(errors='surrogateescape')).hexdigest()[:24]}/"


class Checkpoints:
    """`seconds` bound the capture of one repository."""

    def __init__(self, git: CheckpointGit, books: Books, spawn: Spawn, *, seconds: float, failed: Failed) -> None:
        self._git = git
        self._books = books
        self._spawn = spawn
        self._seconds = seconds
        self._failed = failed
        self._starting: dict[TurnKey, asyncio.Task[None]] = {}
        self._ending: defaultdict[str, set[asyncio.Task[None]]] = defaultdict(set)
        self._void: set[TurnKey] = set()
        self._running: defaultdict[str, dict[TurnKey, str]] = defaultdict(dict)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    # -- around a turn -------------------------------------------------------------------------------------------

    def begin(self, session: str, chat: str, turn: str, directories: Sequence[str]) -> None:
        """Start to capture the beginning; other stages go on meanwhile. Nothing for a turn that has begun."""
        key = (session, turn)
        if key not in self._starting:
            self._void.discard(key)
            before = tuple(self._ending[session])
            work = self._start(session, chat, turn, tuple(directories), before)
            self._starting[key] = self._spawn(work, f"checkpoint of turn {turn}")

    async def ready(self, session: str, turn: str) -> None:
        """Returns when the beginning is captured, or has failed; the agent may write then. Never raises."""
        if (task := self._starting.get((session, turn))) is not None:
            await asyncio.wait((task,))

    def discard(self, session: str, chat: str, turn: str) -> "asyncio.Task[None]":
        """The turn has no checkpoint: it was cancelled, or never reached its agent."""
        self._void.add((session, turn))
        return self._ending_by(session, self._discard(session, chat, turn), f"no checkpoint of turn {turn}")

    async def _discard(self, session: str, chat: str, turn: str) -> None:
        if (task := self._starting.pop((session, turn), None)) is not None:
            task.cancel()
            await asyncio.wait((task,))
        self._leave((session, turn))
        async with self._locks[session]:
            record = (await self._books.of(session)).turns.get(turn)
            if record is not None and record.state == "open":
                await self._books.write(session, state_record(turn, chat, "discarded"))

    async def pause(self, session: str, turn: str) -> None:
        """The turn failed and may be resumed: its beginning stays, but it does not work now."""
        await self.ready(session, turn)
        self._starting.pop((session, turn), None)
        self._leave((session, turn))

    def end(self, session: str, turn: str) -> "asyncio.Task[None]":
        """Capture the end of a turn whose beginning was captured. What begins after this call begins after the capture.
        Failures of git are recorded."""
        return self._ending_by(session, self._end(session, turn), f"end of turn {turn}")

    def _ending_by(self, session: str, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        task = self._spawn(work, name)
        self._ending[session].add(task)
        task.add_done_callback(self._ending[session].discard)
        return task

    async def _end(self, session: str, turn: str) -> None:
        if (session, turn) in self._void:
            self._void.discard((session, turn))
            return
        await self.ready(session, turn)
        async with self._locks[session]:
            self._starting.pop((session, turn), None)
            record = (await self._books.of(session)).turns.get(turn)
            if record is not None and record.state == "open":
                found = await self._each(record.starts, lambda root: self._captured(session, record, root))
                ended = TurnRecord(turn, record.chat)
                for root, end in found.items():
                    if isinstance(end, End):
                        ended.ends[root] = end
                    else:
                        ended.failed[root] = end
                        self._failed(session, record.chat, turn, root, end)
                await self._books.write(session, end_record(ended))
            self._leave((session, turn))

    # -- what is kept --------------------------------------------------------------------------------------------

    async def forget(self, session: str, turns: Iterable[str]) -> None:
        """The checkpoints of those turns go."""
        async with self._locks[session]:
            book = await self._books.of(session)
            for turn in turns:
                record = book.turns.get(turn)
                if record is None or record.state == "forgotten":
                    continue
                for root, end in record.ends.items():
                    await self._tried(self._git.set_refs(root, {f"{prefix_of(session)}{end.number}": None}))
                await self._books.write(session, state_record(turn, record.chat, "forgotten"))

    async def drop(self, session: str) -> None:
        """Every ref of the session goes: before its working tree does."""
        for key in [key for key in self._starting if key[0] == session]:
            self._starting.pop(key).cancel()
            self._leave(key)
        async with self._locks[session]:
            book = await self._books.of(session)
            commons = {start.common for turn in book.turns.values() for start in turn.starts.values()}
            places = [*book.roots(), *(common.removesuffix("/.git") for common in commons)]
            for root in dict.fromkeys(places):
                await self._tried(self._git.delete_refs(root, prefix_of(session)))
        self._locks.pop(session, None)
        self._ending.pop(session, None)

    async def settled(self, session: str) -> None:
        """Ends that are being captured are captured when this returns."""
        while ending := tuple(self._ending.get(session, ())):
            await asyncio.wait(ending)

    def working_in(self, root: str) -> Sequence[TurnKey]:
        """The turns, of any session, that work in that working tree now."""
        return tuple(self._running.get(root, ()))

    # -- inside --------------------------------------------------------------------------------------------------

    async def _start(
        self, session: str, chat: str, turn: str, directories: Sequence[str], before: Sequence["asyncio.Task[None]"]
    ) -> None:
        if before:
            await asyncio.wait(before)
        async with self._locks[session]:
            book = await self._books.of(session)
            for other in book.open_turns():
                if other.chat == chat and other.turn != turn:
                    await self._books.write(session, state_record(other.turn, chat, "discarded"))
            known = book.turns.get(turn)
            if known is not None and known.state == "open" and known.starts:
                for root in known.starts:
                    self._running[root][(session, turn)] = chat
                return
            record = TurnRecord(turn, chat)
            repositories = await find_repositories(self._git, directories, record.failed, seconds=self._seconds)
            beside = self._joined(session, record, repositories)
            found = await self._each(repositories, lambda root: self._begun(session, repositories[root]))
            for root, start in found.items():
                if isinstance(start, Start):
                    record.starts[root] = start
                else:
                    record.failed[root] = start
            for directory, code in record.failed.items():
                self._failed(session, chat, turn, directory, code)
            await self._books.write(session, start_record(record))
        for (other_session, other_turn), other_chat in beside.items():
            await self._books.write(other_session, beside_record(other_turn, other_chat, (session, turn)))

    def _joined(self, session: str, record: TurnRecord, roots: Iterable[str]) -> Mapping[TurnKey, str]:
        """The turn works in those from now on; who does so too."""
        beside: dict[TurnKey, str] = {}
        for root in roots:
            beside |= self._running[root]
            self._running[root][(session, record.turn)] = record.chat
        record.beside.update(beside)
        return beside

    def _leave(self, key: TurnKey) -> None:
        for root in list(self._running):
            self._running[root].pop(key, None)
            if not self._running[root]:
                del self._running[root]

    async def _begun(self, session: str, repository: Repository) -> Start:
        root, first = repository.root, f"{prefix_of(session)}0"
        snapshot = await self._git.snapshot(root)
        if first not in await self._git.refs(root, prefix_of(session)):
            parents = [] if repository.head is None else [repository.head]
            baseline = await self._git.commit_tree(root, snapshot.tree, parents, "Innkeeper: baseline")
            await self._git.set_refs(root, {first: baseline}, expected={first: None})
        return Start(snapshot.tree, repository.common)

    async def _captured(self, session: str, record: TurnRecord, root: str) -> End:
        prefix = prefix_of(session)
        snapshot = await self._git.snapshot(root)
        kept = {ref.removeprefix(prefix): commit for ref, commit in (await self._git.refs(root, prefix)).items()}
        numbers = {int(name): commit for name, commit in kept.items() if name.isdecimal()}
        last = max(numbers, default=-1)
        parents = [numbers[last]] if numbers else []
        begun = await self._git.commit_tree(root, record.starts[root].tree, parents, f"Before turn {record.turn}")
        ended = await self._git.commit_tree(root, snapshot.tree, [begun], f"After turn {record.turn}")
        ref = f"{prefix}{last + 1}"
        await self._git.set_refs(root, {ref: ended}, expected={ref: None})
        return End(snapshot.tree, ended, last + 1)

    async def _each(self, roots: Iterable[str], work: Callable[[str], Awaitable[T]]) -> dict[str, T | str]:
        """What `work` gives for each repository, side by side; the code of the failure where it fails."""

        async def one(root: str) -> T | str:
            try:
                async with asyncio.timeout(self._seconds):
                    return await work(root)
            except TimeoutError:
                return "GIT_TIMEOUT"
            except GitError as error:
                log.warning("no checkpoint of %s: %s", root, error)
                return error.code

        names = list(roots)
        return dict(zip(names, await asyncio.gather(*map(one, names)), strict=True))

    async def _tried(self, work: Awaitable[object]) -> None:
        try:
            await work
        except GitError as error:
            log.info("refs of checkpoints stay: %s", error)
