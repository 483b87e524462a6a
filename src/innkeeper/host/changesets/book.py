"""What is known of a session's turns and their edits, folded from its records (ports.edits). Pure.

Rules
* A record that does not say what it should is passed over; the others count.
* Edits outlive the turn's checkpoints: a turn that was truncated away has no changeset any more, but what it did to
  files counts for the session as long as the session lives.
* Paths are absolute, in the system's spelling; records carry them as URIs, because a name need not be text.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from posixpath import normpath
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from innkeeper.protocol.uris import file_uri

Record: TypeAlias = Mapping[str, Any]
TurnState: TypeAlias = Literal["open", "ended", "discarded", "forgotten"]
TurnKey: TypeAlias = tuple[str, str]
"""(session, turn)"""


@dataclass(frozen=True, slots=True)
class Content:
    """A file's bytes. `digest` is their name in the store, empty when they were too large to be kept; `id` is that of
    a git blob of the same bytes."""

    digest: str
    id: str
    size: int


class Absent(NamedTuple):
    """There was no file."""


ABSENT: Final = Absent()
Known: TypeAlias = Content | Absent | None
"""None: nobody knows."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One file that a tool said it changed. `old_path` is set when it was moved."""

    chat: str
    turn: str
    """The turn that answers for it: for a subagent's call the one that spawned it."""
    via: str
    """The turn in whose chat the call stands."""
    call: str
    path: str
    before: Known
    after: Known
    old_path: str | None = None
    lines: tuple[int, int] | None = None
    """Added and removed, as the call counted them; for contents that nobody knows."""


@dataclass(frozen=True, slots=True)
class Start:
    """The files as a turn began."""

    tree: str
    common: str


@dataclass(frozen=True, slots=True)
class End:
    """The files as it ended, kept by the private ref of number `number`; `commit`'s first parent has the start."""

    tree: str
    commit: str
    number: int


@dataclass(slots=True)
class TurnRecord:
    turn: str
    chat: str
    state: TurnState = "open"
    starts: dict[str, Start] = field(default_factory=dict)
    ends: dict[str, End] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """Root or directory to the code of what went wrong."""
    beside: set[TurnKey] = field(default_factory=set)
    """Turns that worked in one of the same repositories at the same time."""


@dataclass(slots=True)
class Book:
    """One session's."""

    turns: dict[str, TurnRecord] = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)
    journaled: set[tuple[str, str]] = field(default_factory=set)
    """(turn, call) of the calls that were looked at."""

    def apply(self, record: Record) -> None:
        """Take the record in; nothing for one that cannot be understood."""
        try:
            FOLDS[record["kind"]](self, record)
        except (KeyError, TypeError, ValueError, AttributeError):
            return

    def edits_of(self, turn: str) -> list[Edit]:
        """What the turn answers for, oldest first; also of a subagent's turn."""
        return [edit for edit in self.edits if turn in (edit.turn, edit.via)]

    def open_turns(self) -> Sequence[TurnRecord]:
        return tuple(turn for turn in self.turns.values() if turn.state == "open")

    def last_of(self, path: str) -> Known:
        """What the path was after the newest edit of it."""
        for edit in reversed(self.edits):
            if edit.path == path:
                return edit.after
            if edit.old_path == path:
                return ABSENT
        return None

    def roots(self) -> set[str]:
        """Repositories in which there may be refs of the session."""
        return {root for turn in self.turns.values() for root in (*turn.starts, *turn.ends)}

    def _of(self, record: Record) -> TurnRecord:
        return self.turns.setdefault(record["turn"], TurnRecord(record["turn"], record["chat"]))


def book_of(records: Iterable[Record]) -> Book:
    book = Book()
    for record in records:
        book.apply(record)
    return book


# -- records ---------------------------------------------------------------------------------------------------------


def start_record(turn: TurnRecord) -> Record:
    starts = {file_uri(root): {"tree": s.tree, "common": file_uri(s.common)} for root, s in turn.starts.items()}
    failed = {file_uri(root): code for root, code in turn.failed.items()}
    beside = sorted(map(list, turn.beside))
    return {
        "kind": "start", "turn": turn.turn, "chat": turn.chat, "starts": starts, "failed": failed, "beside": beside
    }  # fmt: skip


def beside_record(turn: str, chat: str, other: TurnKey) -> Record:
    return {"kind": "beside", "turn": turn, "chat": chat, "other": list(other)}


def end_record(turn: TurnRecord) -> Record:
    ends = {file_uri(root): {"tree": e.tree, "commit": e.commit, "number": e.number} for root, e in turn.ends.items()}
    failed = {file_uri(root): code for root, code in turn.failed.items()}
    return {"kind": "end", "turn": turn.turn, "chat": turn.chat, "ends": ends, "failed": failed}


def state_record(turn: str, chat: str, state: TurnState) -> Record:
    return {"kind": "state", "turn": turn, "chat": chat, "state": state}


def edit_record(edits: Sequence[Edit], chat: str, turn: str, via: str, call: str) -> Record:
    """Of one call, also of one that changed nothing."""
    files = [
        {
            "uri": file_uri(edit.path),
            **({"old": file_uri(edit.old_path)} if edit.old_path is not None else {}),
            **({"lines": list(edit.lines)} if edit.lines is not None else {}),
            "before": _said(edit.before),
            "after": _said(edit.after),
        }
        for edit in edits
    ]
    return {"kind": "edit", "chat": chat, "turn": turn, "via": via, "call": call, "files": files}


def _said(known: Known) -> object:
    match known:
        case Content(digest, id, size):
            return {"digest": digest, "id": id, "size": size}
        case Absent():
            return "absent"
        case None:
            return None


def _heard(said: Any) -> Known:
    if said is None:
        return None
    if said == "absent":
        return ABSENT
    return Content(str(said["digest"]), str(said["id"]), int(said["size"]))


def _start(book: Book, record: Record) -> None:
    starts = {path_of(uri): Start(said["tree"], path_of(said["common"])) for uri, said in record["starts"].items()}
    turn = book._of(record)
    turn.state, turn.starts, turn.ends = "open", starts, {}
    turn.failed = {path_of(uri): str(code) for uri, code in record["failed"].items()}
    turn.beside |= {(str(session), str(other)) for session, other in record["beside"]}


def _beside(book: Book, record: Record) -> None:
    session, other = record["other"]
    book._of(record).beside.add((str(session), str(other)))


def _end(book: Book, record: Record) -> None:
    ends = {path_of(uri): End(e["tree"], e["commit"], int(e["number"])) for uri, e in record["ends"].items()}
    turn = book._of(record)
    turn.state, turn.ends = "ended", ends
    turn.failed |= {path_of(uri): str(code) for uri, code in record["failed"].items()}


def _state(book: Book, record: Record) -> None:
    turn = book._of(record)
    turn.state = record["state"]
    if turn.state in ("discarded", "forgotten"):
        turn.starts, turn.ends = {}, {}


def _edit(book: Book, record: Record) -> None:
    chat, turn, via, call = record["chat"], record["turn"], record["via"], record["call"]
    edits = [
        Edit(
            chat,
            turn,
            via,
            call,
            path_of(file["uri"]),
            _heard(file["before"]),
            _heard(file["after"]),
            path_of(file["old"]) if "old" in file else None,
            (int(file["lines"][0]), int(file["lines"][1])) if "lines" in file else None,
        )
        for file in record["files"]
    ]
    book.journaled.add((via, call))
    book.edits.extend(edits)


FOLDS: Final = {"start": _start, "beside": _beside, "end": _end, "state": _state, "edit": _edit}


# -- paths and contents ----------------------------------------------------------------------------------------------


def path_of(uri: str) -> str:
    """The local path of a file URI, without `.` and `..`. Raises ValueError for another URI."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise ValueError("no local file")
    return normpath(unquote(parts.path, errors="surrogateescape"))


def git_id(content: bytes) -> str:
    """The id of a git blob with that content, where the repository names objects by SHA-1."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
