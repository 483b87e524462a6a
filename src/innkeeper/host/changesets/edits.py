"""The edit log: which file each tool call said it changed, with what was in it before and after (§10.11, S17).

Rules
* A call's log entry is written when the call ends, in order of the session's calls; a subagent's belongs to the turn
  that spawned it. What a result lists as `fileEdit` counts; where it lists none, what was announced as `edits`.
* A content is taken from the report where that holds it (`data:`, or a file of its own); what came after otherwise from
  the file itself, what came before from where it was announced, from the log, or from the turn's first snapshot.
* Contents above the limit are known by their stamp only. A path that is not of this machine is not logged.
"""

import asyncio
import base64
import binascii
import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from posixpath import normpath
from typing import Any, Final, Protocol
from urllib.parse import unquote_to_bytes

from innkeeper.engine.effects import Released
from innkeeper.host.changesets.book import ABSENT, Book, Content, Edit, Known, edit_record, path_of
from innkeeper.host.changesets.books import Books
from innkeeper.host.core import Core
from innkeeper.host.running import RunningTurns
from innkeeper.host.views import State, active_turn, tool_call
from innkeeper.limits import EDIT_BYTES
from innkeeper.ports.files import FileFault, Files
from innkeeper.ports.git import GitError, GitTrees

log = logging.getLogger(__name__)

ANNOUNCED_KEPT: Final = 1_000
RELEVANT: Final = frozenset({"chat/toolCallReady", "chat/toolCallConfirmed", "chat/toolCallComplete"})


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a chat, and the turn that answers for it."""

    session: str
    chat: str
    turn: str
    via: str
    id: str


@dataclass(frozen=True, slots=True)
class Reported:
    """One file of a report. The sides are AHP's `FileEditSide`; empty where the report has none."""

    path: str
    old_path: str | None
    before: State
    after: State
    lines: tuple[int, int] | None = None
    """Added and removed, as the report counts them."""


@dataclass(slots=True)
class Announced:
    """What a call said that it will change, and what was in the files then. A call that runs does not say it any more
    (AHP Appendix A, `ToolCallRunningState`)."""

    files: dict[str, Reported] = field(default_factory=dict)
    seen: dict[str, Known] = field(default_factory=dict)


class Told(Protocol):
    def __call__(self, session: str, turn: str, /) -> None:
        """The log of a turn has grown."""
        ...


class EditLog:
    """`observe` is given every action that left; `settled` waits until what it was given is logged."""

    def __init__(
        self, core: Core, books: Books, running: RunningTurns, files: Files, git: GitTrees | None, told: Told
    ) -> None:
        self._core = core
        self._books = books
        self._running = running
        self._files = files
        self._git = git
        self._told = told
        self._order: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._pending: defaultdict[str, set[asyncio.Task[None]]] = defaultdict(set)
        self._announced: dict[tuple[str, str], Announced] = {}
        self._early: dict[tuple[str, str], dict[str, asyncio.Future[bytes | Known]]] = {}

    def observe(self, released: Released) -> None:
        action: Mapping[str, Any] = released.action
        if action["type"] not in RELEVANT or released.kind != "chat" or released.rejection is not None:
            return
        session = self._core.owner(released.channel)
        if session is None:
            return
        via = str(action.get("turnId"))
        top = self._running.behind(released.channel)
        turn = via if top is None else top.turn_id
        call = Call(session, released.channel, turn, via, str(action["toolCallId"]))
        if action["type"] == "chat/toolCallComplete":
            self._later(session, self._log(call, action["result"]))
            return
        state = tool_call(active_turn(released.before, via), call.id) or {}
        if announced := list(_announced(action, state)):
            self._later(session, self._look(call, announced))

    async def settled(self, session: str) -> None:
        """What was reported so far is in the book when this returns."""
        while waiting := self._pending.get(session):
            await asyncio.wait(tuple(waiting))

    def forget(self, session: str) -> None:
        for task in self._pending.pop(session, ()):
            task.cancel()
        self._order.pop(session, None)

    def _later(self, session: str, work: Any) -> None:
        task = self._core.spawn(work, f"edit log of {session}")
        self._pending[session].add(task)
        task.add_done_callback(lambda done: self._pending[session].discard(done) if session in self._pending else None)

    async def announced(self, session: str, chat: str, call: str, paths: Sequence[str]) -> None:
        """The call may write those files: what is in them now is known when this returns. Never raises."""
        files = [Reported(normpath(path), None, {}, {}) for path in paths if path.startswith("/")]
        if files:
            await self._look(Call(session, chat, "", "", call), files, again=True)

    def completed(self, session: str, call: str, result: State) -> None:
        """The call has just reported its result: what is in the files is read at once, before another turn's call
        writes them too. Its log entry follows when the result has left."""
        loop = asyncio.get_running_loop()
        reads = {
            file.path: loop.run_in_executor(None, self._grab, file.path)
            for file in _reported(result.get("content") or ())
        }
        if reads:
            self._early[(session, call)] = reads
        while len(self._early) > ANNOUNCED_KEPT:
            del self._early[next(iter(self._early))]

    # -- what was there before -----------------------------------------------------------------------------------

    async def _look(self, call: Call, announced: list[Reported], *, again: bool = False) -> None:
        """The call will change those files: what is in them now; `again` where it was looked at before, too."""
        async with self._order[call.session]:
            known = self._announced.setdefault((call.chat, call.id), Announced())
            while len(self._announced) > ANNOUNCED_KEPT:
                del self._announced[next(iter(self._announced))]
            for file in [await self._really(file) for file in announced]:
                known.files[file.path] = file
                for path in {file.path, file.old_path or file.path}:
                    if again or path not in known.seen:
                        known.seen[path] = await self._now(call.session, path)

    async def _log(self, call: Call, result: State) -> None:
        async with self._order[call.session]:
            reported = list(_reported(result.get("content") or ()))
            announced = self._announced.pop((call.chat, call.id), Announced())
            if not reported and result.get("success"):
                reported = list(announced.files.values())
            early = self._early.pop((call.session, call.id), {})
            after = {file.path: await self._after(call.session, file, early.get(file.path)) for file in reported}
            book = await self._books.of(call.session)
            looked = [
                await self._edit(call, await self._really(file), after[file.path], announced.seen, book)
                for file in reported
            ]
            edits = [edit for edit in looked if edit is not None]
            if reported:
                record = edit_record(edits, call.chat, call.turn, call.via, call.id)
                await self._books.write(call.session, record)
        self._told(call.session, call.turn)

    async def _after(self, session: str, file: Reported, early: "asyncio.Future[bytes | Known] | None") -> Known:
        given = await self._given(session, file.after, await asyncio.to_thread(self._real, file.path))
        if given is not None:
            return given
        return await self._now(session, file.path) if early is None else await self._kept(session, await early)

    async def _edit(
        self, call: Call, file: Reported, after: Known, seen: Mapping[str, Known], book: Book
    ) -> Edit | None:
        path = file.old_path or file.path
        before = await self._given(call.session, file.before, path)
        sure = True
        if before is None:
            before, sure = await self._before(call, path, seen, book)
        if before is not None and before == after and file.old_path is None:
            if sure:
                return None
            before = None  # another turn's edit was read after this one: what was reported is not nothing
        return Edit(call.chat, call.turn, call.via, call.id, file.path, before, after, file.old_path, file.lines)

    async def _before(self, call: Call, path: str, seen: Mapping[str, Known], book: Book) -> tuple[Known, bool]:
        """What was in the file, and whether nobody else can have come in between."""
        if path in seen:
            return seen[path], True
        record = book.turns.get(call.turn)
        beside = {turn for _, turn in record.beside} if record is not None else set()
        at_work = {call.turn, *beside}
        began: Known = None
        if not any(edit.path == path and edit.turn in at_work for edit in book.edits):
            began = await self._began(call.session, call.turn, path, book)
        if isinstance(began, Content):
            return began, True
        last = book.last_of(path)
        return (began, True) if last is None else (last, False)

    async def _began(self, session: str, turn: str, path: str, book: Book) -> Known:
        """The file as the turn began, where a snapshot knows. One that git ignores is absent to it."""
        record = book.turns.get(turn)
        if record is None or self._git is None:
            return None
        for root, start in record.starts.items():
            if not path.startswith(f"{root}/"):
                continue
            try:
                side = await self._git.entry(root, start.tree, path[len(root) + 1 :])
                if side is None:
                    return ABSENT
                if side.type == "submodule":
                    return None
                return await self._books.keep(session, await self._git.content(root, side.id, EDIT_BYTES))
            except GitError as error:
                log.debug("what was in a file before: %s", error)
        return None

    async def _really(self, file: Reported) -> Reported:
        """The file where it is, as git names it: without links on the way to it."""
        path = await asyncio.to_thread(self._real, file.path)
        old = None if file.old_path is None else await asyncio.to_thread(self._real, file.old_path)
        return replace(file, path=path, old_path=old)

    def _real(self, path: str) -> str:
        names: list[str] = []
        folder = path
        while folder != "/":
            folder, _, name = folder.rpartition("/")
            folder, names = folder or "/", [name, *names]
            try:
                return f"{self._files.real(folder).rstrip('/')}/{'/'.join(names)}"
            except FileFault:
                continue
        return path

    # -- contents ------------------------------------------------------------------------------------------------

    async def _given(self, session: str, side: State, path: str) -> Known:
        """The content that a report holds itself."""
        uri = str((side.get("content") or {}).get("uri", ""))
        if uri.startswith("data:"):
            content = _data(uri)
            return None if content is None else await self._books.keep(session, content)
        try:
            place = path_of(uri)
        except ValueError:
            return None
        if await asyncio.to_thread(self._real, place) == path:
            return None
        found = await self._now(session, place)
        return found if isinstance(found, Content) else None

    async def _now(self, session: str, path: str) -> Known:
        return await self._kept(session, await asyncio.to_thread(self._grab, path))

    async def _kept(self, session: str, found: bytes | Known) -> Known:
        return await self._books.keep(session, found) if isinstance(found, bytes) else found

    def _grab(self, path: str) -> bytes | Known:
        """What is in the file now. In a thread; never raises."""
        try:
            return self._files.read(path, EDIT_BYTES)
        except FileFault as fault:
            if fault.reason == "missing":
                return ABSENT
            if fault.reason != "tooLarge":
                return None
        try:
            stamp = self._files.stat(path).stamp
        except FileFault:
            return None
        return Content("", f"stamp-{'-'.join(map(str, stamp))}", 0)


def reported_paths(turn: State | None) -> Iterator[tuple[str, Reported]]:
    """(call id, file) of what the results of a turn's tool calls say they changed."""
    for part in (turn or {}).get("responseParts") or ():
        if part.get("kind") == "toolCall":
            call = part["toolCall"]
            for file in _reported(call.get("content") or ()):
                yield str(call.get("toolCallId")), file


def _reported(content: Any) -> Iterator[Reported]:
    for block in content:
        if isinstance(block, Mapping) and block.get("type") == "fileEdit" and (file := _file(block)) is not None:
            yield file


def _announced(action: State, call: State) -> Iterator[Reported]:
    edits = action.get("edits") or call.get("edits") or {}
    for edit in edits.get("items") or ():
        if (file := _file(edit)) is not None:
            yield Reported(file.path, file.old_path, {}, {})


def _file(edit: State) -> Reported | None:
    before, after = edit.get("before") or {}, edit.get("after") or {}
    try:
        path = path_of(str((after or before).get("uri", "")))
        old = path_of(str(before["uri"])) if before and after else path
    except ValueError:
        return None
    return Reported(path, old if old != path else None, before, after, _lines(edit.get("diff")))


def _lines(diff: Any) -> tuple[int, int] | None:
    if not isinstance(diff, Mapping):
        return None
    added, removed = diff.get("added"), diff.get("removed")
    if isinstance(added, int) and isinstance(removed, int) and min(added, removed) >= 0:
        return added, removed
    return None


def _data(uri: str) -> bytes | None:
    """The bytes of a `data:` URI (RFC 2397)."""
    head, found, body = uri.partition(",")
    if not found:
        return None
    if not head.endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(unquote_to_bytes(body), validate=True)
    except binascii.Error:
        return None
