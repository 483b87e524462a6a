"""Checkpoints, the edit log and the changesets of all sessions, joined (reference §3.6, §5.8, §5.9).

Rules
* `begin` and `ready` stand in the send path, because the first snapshot must be complete before the agent writes; what
  follows a turn is a contribution's, which calls `turn_ended`.
* A changeset's channel is created when somebody names it first; then it is a channel like any other: logged, so that
  review survives a restart, and computed again whenever somebody looks.
* A turn that is truncated away takes its checkpoints and its changeset with it; what it did to files stays in view.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from innkeeper.engine.effects import Act, Change, ChannelIdle, Create, Drop, Released, Subscribed
from innkeeper.errors import HostError
from innkeeper.host.changesets.books import Books
from innkeeper.host.changesets.catalogue import Name, chat_catalogue, name_of, session_catalogue
from innkeeper.host.changesets.checkpoints import Checkpoints
from innkeeper.host.changesets.computing import Computing, Look
from innkeeper.host.changesets.contents import Reference, answer, read_uri, submodule_text
from innkeeper.host.changesets.edits import EditLog
from innkeeper.host.changesets.operations import Operations
from innkeeper.host.changesets.refreshing import Refreshing
from innkeeper.host.core import Core, act
from innkeeper.host.driver import Observed
from innkeeper.host.running import RunningTurns
from innkeeper.host.views import State, active_turn
from innkeeper.limits import CHANGESET_DELAY_SECONDS, CONTENT_BYTES, GIT_SECONDS
from innkeeper.ports.changes import Outcome
from innkeeper.ports.edits import EditStore
from innkeeper.ports.files import Files
from innkeeper.ports.git import Git, GitError
from innkeeper.protocol.uris import local_path
from innkeeper.texts import Lang, text

log = logging.getLogger(__name__)

Params = Mapping[str, Any]

CATALOGUE: Final = frozenset(
    {
        "session/ready",
        "session/chatAdded",
        "session/workingDirectorySet",
        "session/workingDirectoryRemoved",
        "session/workingDirectoryReplaced",
    }
)


@dataclass(frozen=True, slots=True)
class ChangesOutside:
    """What this needs from outside. `seconds` bound the capture of one repository; `delay` collects tool calls."""

    git: Git
    edits: EditStore
    files: Files
    seconds: float = GIT_SECONDS
    delay: float = CHANGESET_DELAY_SECONDS


class Changesets:
    def __init__(self, core: Core, outside: ChangesOutside, running: RunningTurns, *, lang: Lang) -> None:
        self._core = core
        self._git = outside.git
        self._running = running
        self._lang = lang
        self._books = Books(outside.edits)
        self._checkpoints = Checkpoints(
            outside.git, self._books, core.spawn, seconds=outside.seconds, failed=self._failed
        )
        self._edits = EditLog(core, self._books, running, outside.files, outside.git, self._edited)
        self._computing = Computing(core, outside.git, self._books, outside.files)
        self._refreshing = Refreshing(
            core, self._computing, self._settled, self._blocked, delay=outside.delay, lang=lang
        )
        self._refreshing.counted = self._counted
        self._operations = Operations(core, outside.git, self._computing, self._checkpoints, lang=lang)
        self._watched: set[str] = set()
        self._left_out: dict[str, dict[str, int]] = {}
        self._noticed: set[tuple[str, str, str]] = set()

    # -- the send path -------------------------------------------------------------------------------------------

    def begin(self, session: str, chat: str, turn: str) -> None:
        """Start to capture the files as the turn begins; other stages go on meanwhile."""
        self._checkpoints.begin(session, chat, turn, self._directories(session, chat))

    async def ready(self, session: str, turn: str) -> None:
        """The files are captured, or could not be, which is told. The agent may write when this returns."""
        await self._checkpoints.ready(session, turn)

    def abandon(self, session: str, chat: str, turn: str) -> None:
        """The turn never reached its agent: it gets no checkpoint."""
        self._checkpoints.discard(session, chat, turn)

    async def announced(self, session: str, chat: str, call: str, paths: Sequence[str]) -> None:
        """The call may write those files as soon as this returns: what is in them now is known then."""
        await self._edits.announced(session, chat, call, paths)

    def completed(self, session: str, call: str, result: Mapping[str, Any]) -> None:
        """The call has just reported its result: what is in its files is read now."""
        self._edits.completed(session, call, result)

    def turn_ended(self, session: str, chat: str, turn: str, outcome: Outcome, *, resumable: bool = False) -> None:
        """What follows a turn (reference §3.6): the end is captured where the turn is really over, then the changesets
        are computed, whether that worked or not. Returns at once."""
        match outcome:
            case "success" | "error" if not resumable:
                work = self._checkpoints.end(session, turn)
            case "success" | "error":
                work = self._core.spawn(self._checkpoints.pause(session, turn), f"pause of turn {turn}")
            case _:
                work = self._checkpoints.discard(session, chat, turn)
        work.add_done_callback(lambda done: None if done.cancelled() else self._after(session, turn))

    # -- what left -----------------------------------------------------------------------------------------------

    def observe(self, observed: Observed) -> None:
        """Everything that the driver tells."""
        match observed:
            case Released(rejection=None, kind="chat"):
                self._edits.observe(observed)
                self._chat_released(observed)
            case Released(rejection=None, kind="session") if observed.action["type"] in CATALOGUE:
                self._core.spawn(self._catalogue(observed.channel), f"changesets of {observed.channel}")
            case Subscribed(channel=channel) if (name := name_of(channel)) is not None:
                self._watched.add(channel)
                self._refreshing.now(name.session, name)
            case ChannelIdle(channel=channel):
                self._watched.discard(channel)

    def _chat_released(self, released: Released) -> None:
        if released.action["type"] != "chat/truncated":
            return
        if (session := self._core.owner(released.channel)) is not None:
            gone = _turns(released.before) - _turns(released.after)
            self._core.spawn(self._truncated(session, gone), f"truncated turns of {released.channel}")

    # -- channels ------------------------------------------------------------------------------------------------

    def offers(self, uri: str) -> bool:
        """Whether `open` may make a channel of that URI."""
        name = name_of(uri)
        return name is not None and self._core.kind(name.session) == "session"

    async def open(self, uri: str) -> None:
        """Make the channel, unless there is no such changeset. Call again for one that is there."""
        name = name_of(uri)
        if name is None or await self._core.load(name.session) is None or self._core.kind(uri) is not None:
            return
        if name.kind == "turn" and not await self._computing.knows_turn(name.session, name.turns[0]):
            return
        if name.kind == "uncommitted" and not (await self._computing.look(name.session, submodules=False)).repositories:
            return
        if self._core.kind(name.session) == "session" and self._core.kind(uri) is None:
            await self._core.commit(Create(uri, "changeset", name.session, {"status": "computing", "files": []}))

    # -- commands ------------------------------------------------------------------------------------------------

    async def invoke(self, params: Params) -> object:
        """`invokeChangesetOperation`. Raises RpcError and HostError."""
        name = name_of(params["channel"])
        if name is None or self._core.kind(params["channel"]) != "changeset":
            raise HostError("OPERATION_UNKNOWN", operation=str(params["operationId"])[:100])
        try:
            return await self._operations.invoke(name, params)
        finally:
            self._refreshing.now(name.session, *self._standing(name.session))

    async def read(self, uri: str) -> object | None:
        """`resourceRead` of a content URI; None for another one. Raises HostError."""
        reference = read_uri(uri)
        if reference is None:
            return None
        if self._core.kind(reference.session) != "session":
            raise HostError("CONTENT_UNKNOWN")
        content = await self._content(reference)
        if content is None:
            raise HostError("CONTENT_UNKNOWN")
        if len(content) > CONTENT_BYTES:
            raise HostError("CONTENT_TOO_LARGE", limit=CONTENT_BYTES)
        return answer(content, reference.name)

    async def _content(self, reference: Reference) -> bytes | None:
        if reference.source == "submodule":
            return submodule_text(reference.id)
        if reference.source == "edit":
            return await self._books.content(reference.session, reference.id)
        await self._core.load(reference.session)
        look = await self._computing.look(reference.session)
        book = await self._books.of(reference.session)
        if reference.place not in look.repositories and reference.place not in book.roots():
            return None
        try:
            place = await self._computing.place(reference.place, book)
            return await self._git.content(place, reference.id, CONTENT_BYTES)
        except GitError as error:
            if error.code == "GIT_TOO_LARGE":
                raise HostError("CONTENT_TOO_LARGE", limit=CONTENT_BYTES) from error
            return None

    # -- sessions ------------------------------------------------------------------------------------------------

    async def sweep(self) -> None:
        """What sessions left that are gone, because the host was killed while they ended, goes too."""
        for session in await self._books.sessions():
            if self._core.kind(session) is None:
                await self.session_ended(session)

    async def session_ended(self, session: str) -> None:
        """Refs and records go; before the session's working tree does."""
        self._refreshing.forget(session)
        self._edits.forget(session)
        await self._checkpoints.drop(session)
        await self._books.drop(session)
        self._left_out.pop(session, None)
        self._noticed = {key for key in self._noticed if key[0] != session}

    def left(self, channel: str) -> None:
        """A channel has gone from memory and is still stored."""
        if not self._running.of_session(channel):
            self._books.let_go(channel)

    # -- inside --------------------------------------------------------------------------------------------------

    def _after(self, session: str, turn: str) -> None:
        """The turn is over: its changeset if somebody has it open, then the session's, then the uncommitted changes."""
        self._refreshing.now(session, *self._names(session, turn))

    async def _truncated(self, session: str, gone: frozenset[str]) -> None:
        await self._checkpoints.forget(session, sorted(gone))
        dropped: list[Change] = [
            Drop(name.uri)
            for turn in sorted(gone)
            if self._core.kind((name := Name(session, "turn", (turn,))).uri) is not None
        ]
        self._core.post(*dropped)
        self._refreshing.now(session, *self._standing(session))

    def _edited(self, session: str, turn: str) -> None:
        if any(running.turn_id == turn for running in self._running.of_session(session)):
            self._refreshing.soon(session, lambda: self._names(session, turn))

    def _names(self, session: str, turn: str) -> tuple[Name, ...]:
        own = Name(session, "turn", (turn,))
        watched = [name for uri in self._watched if (name := name_of(uri)) is not None and name.session == session]
        compared = [name for name in watched if name.kind == "compare" and turn in name.turns]
        return (*((own,) if own in watched else ()), *self._standing(session), *compared)

    async def _settled(self, session: str) -> None:
        await self._edits.settled(session)
        await self._checkpoints.settled(session)

    def _standing(self, session: str) -> tuple[Name, ...]:
        return (Name(session, "session"), Name(session, "uncommitted"))

    def _directories(self, session: str, chat: str) -> Sequence[str]:
        state = self._core.head(chat) or {}
        uris = state.get("workingDirectories")
        if uris is None:
            uris = (self._core.head(session) or {}).get("workingDirectories") or ()
        return [path for uri in uris if (path := local_path(uri)) is not None]

    def _blocked(self, look: Look) -> bool:
        return any(self._checkpoints.working_in(root) for root in look.repositories)

    def _counted(self, name: Name, left_out: int) -> None:
        counts = self._left_out.setdefault(name.session, {})
        if name.kind in ("session", "uncommitted") and counts.get(name.kind, 0) != left_out:
            counts[name.kind] = left_out
            self._core.spawn(self._catalogue(name.session), f"changesets of {name.session}")

    async def _catalogue(self, session: str) -> None:
        """Say which changesets there are, where that is not what was said."""
        git = bool((await self._computing.look(session, submodules=False)).repositories)
        state = self._core.head(session)
        if state is None:
            return
        left_out = self._left_out.get(session, {})
        offered = session_catalogue(session, self._lang, git=git, left_out=left_out)
        if list(state.get("changesets") or ()) != offered:
            act(self._core, session, {"type": "session/changesetsChanged", "changesets": offered})
        own = chat_catalogue(session, self._lang, git=git)
        for chat in [chat["resource"] for chat in state.get("chats") or ()]:
            known = self._core.head(chat)
            if known is not None and list(known.get("changesets") or ()) != own:
                self._core.post(Act(chat, {"type": "chat/changesetsChanged", "changesets": own}))

    def _failed(self, session: str, chat: str, turn: str, directory: str, code: str) -> None:
        """Say it once in the conversation, so that a changeset with gaps does not look whole."""
        key = (session, directory, code)
        if key in self._noticed or active_turn(self._core.head(chat), turn) is None:
            return
        self._noticed.add(key)
        said = text("changeset.checkpointNotice", lang=self._lang, directory=directory, code=code)
        part = {"kind": "systemNotification", "content": said}
        act(self._core, chat, {"type": "chat/responsePart", "turnId": turn, "part": part})


def _turns(chat: State) -> frozenset[str]:
    found = {str(turn.get("id")) for turn in chat.get("turns") or ()}
    running = active_turn(chat)
    return frozenset(found if running is None else {*found, str(running["id"])})
