"""Worktree isolation as a service of the host (reference §5.7): `ports.worktrees.WorktreeIsolation`.

Rules
* A session wants a worktree when its configuration says so. It is made at its first turn, whichever chat that is in,
  and the session's working directory is replaced by it in the same change that announces its branch: both once.
* One at a time in a repository. What an earlier process left half-made is taken back before anything else is made.
* Before a worktree comes or goes the session's agent is ended, because it works in the directory; it comes back with
  the next turn.
* Archiving puts a worktree away when nothing runs in the session, unarchiving brings it back; deleting the session
  removes it, and keeps its branch when it has work on it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from innkeeper.engine.effects import Act, Change, Released
from innkeeper.host.core import Core
from innkeeper.host.driver import Observed
from innkeeper.host.views import active_turn
from innkeeper.host.worktrees.making import (
    SAVED_BEFORE_ARCHIVING,
    SAVED_BEFORE_DELETING,
    WorktreeMaker,
    failed,
    missing,
)
from innkeeper.host.worktrees.options import Isolation, WorktreeOptions
from innkeeper.host.worktrees.pending import awaits_worktree
from innkeeper.host.worktrees.records import NotWritten, Record, Records
from innkeeper.ports.git import Git, GitError
from innkeeper.ports.ids import Ids
from innkeeper.ports.notes import Notes
from innkeeper.ports.worktrees import Folders
from innkeeper.protocol.status import ACTIVITY_MASK, IN_PROGRESS, IS_ARCHIVED
from innkeeper.protocol.uris import local_path
from innkeeper.providers.spi import ProviderError
from innkeeper.texts import text

log = logging.getLogger(__name__)

Hint = Callable[[str, str], Awaitable[str | None]]
"""Session and first message to a few words for a branch (K18); never raises, None when there are none."""
Leave = Callable[[str], Awaitable[None]]


async def no_hint(session: str, message: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class WorktreesOutside:
    """What this needs from outside. `default` is the isolation of a session that does not say."""

    git: Git
    folders: Folders
    notes: Notes
    default: Isolation = "worktree"

    def options(self) -> WorktreeOptions:
        return WorktreeOptions(self.git, self.default)


class Worktrees:
    """`leave` ends the session's agent; `made` is told the URI of each worktree and of the directory it stands for, for
    whoever keeps decisions (C3.3)."""

    def __init__(self, core: Core, outside: WorktreesOutside, ids: Ids, *, leave: Leave, hint: Hint = no_hint) -> None:
        self._core = core
        self._git = outside.git
        self._folders = outside.folders
        self._records = Records(outside.notes)
        self._maker = WorktreeMaker(outside.git, outside.folders, self._records)
        self._ids = ids
        self._leave = leave
        self._hint = hint
        self._locks: dict[str, asyncio.Lock] = {}
        self._swept = asyncio.Event()
        self._made: list[Callable[[str, str], None]] = []

    # -- what is so ----------------------------------------------------------------------------------------------

    def branch(self, session: str) -> str | None:
        record = self._records.get(session)
        return record.branch if record is not None and record.stage not in ("making", "deleting") else None

    def pending(self, session: str) -> bool:
        return awaits_worktree(self._core.head(session))

    def when_made(self, listener: Callable[[str, str], None]) -> None:
        self._made.append(listener)

    # -- the host's start and end --------------------------------------------------------------------------------

    async def start(self) -> None:
        """Read the records and take back what is half-made, in the background of a start; turns wait for it."""
        try:
            await self._records.load()
            for record in self._records.all():
                self._tell(record)
                await self._put_right(record)
        finally:
            self._swept.set()

    async def _put_right(self, record: Record) -> None:
        gone = self._core.kind(record.session) != "session"
        try:
            if record.stage == "making":
                await self._maker.take_back(record)
            elif record.stage == "deleting" or gone:
                await self._delete(record)
            elif record.stage == "archiving":
                await self._maker.put_away(record, SAVED_BEFORE_ARCHIVING)
            elif record.stage == "removing":
                await self._maker.remove(record)
                await self._records.put(replace(record, stage="archived"))
        except (GitError, NotWritten, OSError) as error:
            log.warning("the worktree %s is as an earlier host left it: %s", record.path, error)

    # -- turns ---------------------------------------------------------------------------------------------------

    async def prepare(self, session: str, chat: str, turn_id: str, message: str) -> None:
        state = self._core.head(session) or {}
        directories: Sequence[str] = state.get("workingDirectories") or ()
        if not directories:
            return
        await self._swept.wait()
        record = self._records.get(session)
        if record is None and not awaits_worktree(state):
            await self._present(directories[0])
            return
        async with self._locks.setdefault(session, asyncio.Lock()):
            record = self._records.get(session)
            if record is None:
                hint = await self._hint(session, message) or message
                record = await self._make(session, directories[0], state, hint)
            else:
                record = await self._again(record)
            await self._enter(session, chat, turn_id, record)

    async def _make(self, session: str, directory: str, state: Mapping[str, Any], hint: str) -> Record:
        values = (state.get("config") or {}).get("values") or {}
        try:
            repository = await self._git.discover(local_path(directory) or "")
        except GitError as error:
            raise failed(f"{error.message()} {error.remedy()}") from error
        key = repository.common if repository is not None else directory
        async with self._locks.setdefault(key, asyncio.Lock()):
            record = await self._maker.make(session, directory, values, hint)
        self._tell(record)
        return record

    async def _again(self, record: Record) -> Record:
        """The worktree is where the record says; it is made again when it is not."""
        there = await asyncio.to_thread(self._folders.is_directory, record.path)
        if there and record.stage == "made":
            return record
        await self._leave(record.session)
        async with self._locks.setdefault(record.common, asyncio.Lock()):
            return await self._maker.remake(record)

    async def _present(self, directory: str) -> None:
        path = local_path(directory)
        if path is not None and not await asyncio.to_thread(self._folders.is_directory, path):
            raise missing(text("worktree.directoryGone", path=path))

    async def _enter(self, session: str, chat: str, turn_id: str, record: Record) -> None:
        """The session works in the worktree, and is told so, once: it does already when a turn was cancelled late."""
        state = self._core.head(session) or {}
        if record.directory not in (state.get("workingDirectories") or ()) or record.directory == record.place:
            return
        await self._leave(session)
        replaced = {
            "type": "session/workingDirectoryReplaced",
            "directory": record.directory,
            "replacement": record.place,
        }
        changes: list[Change] = [Act(session, replaced)]
        changes += self._in_chats(session, record)
        if active_turn(self._core.head(chat), turn_id) is not None:
            part = {"kind": "markdown", "id": self._ids.new(), "content": announcement(record.branch)}
            changes.append(Act(chat, {"type": "chat/responsePart", "turnId": turn_id, "part": part}))
        await self._core.commit(*changes)

    def _in_chats(self, session: str, record: Record) -> Sequence[Change]:
        """Chats that name their directories themselves follow."""
        changes: list[Change] = []
        for chat in self._core.owned_by(session):
            if record.directory in ((self._core.head(chat) or {}).get("workingDirectories") or ()):
                changes.append(Act(chat, {"type": "chat/workingDirectoryRemoved", "directory": record.directory}))
                changes.append(Act(chat, {"type": "chat/workingDirectorySet", "directory": record.place}))
        return changes

    # -- archive and end -----------------------------------------------------------------------------------------

    def observe(self, observed: Observed) -> None:
        """An action has left the host: follow the archive."""
        if not isinstance(observed, Released) or observed.rejection is not None:
            return
        session: str | None = None
        if observed.kind == "session" and observed.action["type"] == "session/isArchivedChanged":
            session = observed.channel
        elif observed.kind == "chat" and active_turn(observed.before) and active_turn(observed.after) is None:
            session = self._core.owner(observed.channel)
        record = None if session is None else self._records.get(session)
        if record is not None:
            self._core.spawn(self._follow(record.session), f"worktree of {record.session}")

    async def _follow(self, session: str) -> None:
        status = int((self._core.head(session) or {}).get("status", 0))
        if not status & IS_ARCHIVED:
            await self.restore(session)
        elif not (status & ACTIVITY_MASK) & IN_PROGRESS:
            await self.archive(session)

    async def archive(self, session: str) -> bool:
        await self._swept.wait()
        async with self._locks.setdefault(session, asyncio.Lock()):
            record = self._records.get(session)
            if record is None or record.stage not in ("made", "archiving", "removing"):
                return record is not None and record.stage == "archived"
            await self._leave(session)
            try:
                if record.stage == "made":
                    record = replace(record, stage="archiving")
                    await self._records.put(record)
                async with self._locks.setdefault(record.common, asyncio.Lock()):
                    return await self._maker.put_away(record, SAVED_BEFORE_ARCHIVING) is not None
            except (GitError, NotWritten, OSError) as error:
                log.warning("the worktree %s is not put away: %s", record.path, error)
                return False

    async def restore(self, session: str) -> bool:
        await self._swept.wait()
        async with self._locks.setdefault(session, asyncio.Lock()):
            record = self._records.get(session)
            if record is None or record.stage not in ("archiving", "removing", "archived"):
                return record is not None and record.stage == "made"
            try:
                async with self._locks.setdefault(record.common, asyncio.Lock()):
                    await self._maker.remake(record)
            except ProviderError as error:
                log.warning("the worktree %s is not back: %s", record.path, error)
                return False
            return True

    async def dispose(self, session: str) -> None:
        """The session is deleted, its agent has ended: its worktree goes, its branch only if it has no work. After the
        private refs of the session. Never raises."""
        await self._swept.wait()
        async with self._locks.setdefault(session, asyncio.Lock()):
            record = self._records.get(session)
            if record is None:
                return
            try:
                async with self._locks.setdefault(record.common, asyncio.Lock()):
                    await self._delete(record)
            except (GitError, NotWritten, OSError) as error:
                log.warning("the worktree %s is not removed: %s", record.path, error)
        self._locks.pop(session, None)

    async def _delete(self, record: Record) -> None:
        """Saved first, unless that was done already and only the removal was cut short."""
        if record.stage != "deleting":
            if record.stage in ("made", "archiving"):
                saved = await self._maker.put_away(record, SAVED_BEFORE_DELETING)
                if saved is None:
                    await self._records.drop(record.session)
                    return
                record = saved
            record = replace(record, stage="deleting")
            await self._records.put(record)
        await self._maker.take_back(record)

    def _tell(self, record: Record) -> None:
        for listener in self._made:
            listener(record.place, record.directory)


def announcement(branch: str) -> str:
    """The heading line that names the branch, and a blank line (§3.9)."""
    return f"{text('worktree.announcement', branch=branch)}\n\n"
