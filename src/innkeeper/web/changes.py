"""The changes of a session beside its conversation: the button in the bar and the drawer (issue 7 B.1; AHP §7).

Rules
* What is shown is a changeset channel, followed while the drawer is open: a running turn's changes come by themselves.
* Files stand as the host gives them; a diff is loaded when its fold is opened, again when the content is another.
* What loses work asks first, with the host's own words; a refusal stands where it was asked for.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from innkeeper.client import RpcFailure
from innkeeper.web.asking import Ask
from innkeeper.web.extras import DRAWERS, REGIONS, Drawer, Place
from innkeeper.web.live import Node, Region, block
from innkeeper.web.names import local_path, session_path
from innkeeper.web.tool_cards import plain

State = Mapping[str, Any]
SHOWN: Final = 200
"""Files that are shown at first; the others on demand."""
TURNS: Final = 30
META: Final = "x-innkeeper/"


class FileRow(NamedTuple):
    """One file. `change` is `added`, `deleted`, `renamed` or `changed`; `tags` its kinds, `shared` whose it is too."""

    id: str
    dom: str
    path: str
    was: str
    change: str
    tags: tuple[str, ...]
    shared: str
    added: int | None
    removed: int | None
    reviewed: bool
    version: str


def file_row(file: State, folders: Sequence[str]) -> FileRow:
    """A file of a changeset as it is shown, its path below the session's folder."""
    edit: State = file["edit"]
    before, after = edit.get("before"), edit.get("after")
    meta: State = file.get("_meta") or {}
    uri, old = str((after or before or {}).get("uri") or file["id"]), str((before or {}).get("uri") or "")
    change = "added" if before is None else "deleted" if after is None else "renamed" if old != uri else "changed"
    kind = meta.get(f"{META}kind")
    tags = [str(kind)] if kind else []
    tags += [name for name in ("binary", "lfs") if meta.get(f"{META}{name}")]
    diff: State = edit.get("diff") or {}
    nonces = [str(((side or {}).get("content") or {}).get("nonce") or "") for side in (before, after)]
    digest = hashlib.sha256(str(file["id"]).encode("utf-8", "surrogatepass")).hexdigest()
    return FileRow(
        id=str(file["id"]),
        dom=f"f-{digest[:12]}",
        path=below(uri, folders),
        was=below(old, folders) if change == "renamed" else "",
        change=change,
        tags=tuple(tags),
        shared=str((meta.get(f"{META}attribution") or {}).get("kind") or ""),
        added=diff.get("added"),
        removed=diff.get("removed"),
        reviewed=bool(file.get("reviewed")),
        version=hashlib.sha256("\0".join(nonces).encode()).hexdigest()[:12],
    )


def below(uri: str, folders: Sequence[str]) -> str:
    """The path, relative to the folder that it is in."""
    path = local_path(uri)
    for folder in folders:
        root = local_path(folder).rstrip("/") + "/"
        if path.startswith(root):
            return path[len(root) :]
    return path


class Wanted(NamedTuple):
    """Which changeset: its kind, and the turns it is about (one, or the original and the modified one)."""

    kind: str
    turns: tuple[str, ...] = ()


def channel_of(wanted: Wanted, session: State) -> str | None:
    """Its channel, by the template that the session lists; None where the session offers none such."""
    listed = "compare-turns" if wanted.kind == "compare" else wanted.kind
    entry = next((one for one in session.get("changesets") or () if one["changeKind"] == listed), None)
    names = {"turn": ("turnId",), "compare": ("originalTurnId", "modifiedTurnId")}.get(wanted.kind, ())
    if entry is None or len(wanted.turns) != len(names) or not all(wanted.turns):
        return None
    uri = str(entry["uriTemplate"])
    for name, turn in zip(names, wanted.turns, strict=True):
        uri = uri.replace(f"{{{name}}}", quote(turn, safe=""))
    return uri


class ChangesDrawer:
    """The drawer in one tab. `argument` is `session`, `uncommitted`, `turn:ID` or `compare`; the turns to compare are
    the tab's choices `compare.from` and `compare.to`."""

    def __init__(self, ask: Ask, at: Place, argument: str) -> None:
        self.ask, self.at, self.argument = ask, at, argument or "session"

    @property
    def session(self) -> State:
        found: State = self.ask.link.peek(self.at.session) or self.at.state
        return found

    @property
    def turns(self) -> Sequence[State]:
        """Turns that are loaded, the one that runs included."""
        chat: State = self.ask.link.peek(self.at.chat) or {}
        active = chat.get("activeTurn")
        return [*(chat.get("turns") or ()), *([active] if active else [])]

    @property
    def wanted(self) -> Wanted:
        kind, _, rest = self.argument.partition(":")
        if kind == "turn":
            return Wanted(kind, (rest,))
        if kind != "compare":
            return Wanted(kind)
        ids = [str(one["id"]) for one in self.turns]
        first, last = self.ask.choices.get("compare.from", ""), self.ask.choices.get("compare.to", "")
        ends = (first if first in ids else (ids or [""])[0], last if last in ids else (ids or [""])[-1])
        return Wanted(kind, ends)

    @property
    def channel(self) -> str | None:
        return channel_of(self.wanted, self.session)

    async def prepare(self) -> None:
        if (channel := self.channel) is not None:
            try:
                await self.ask.link.state(channel)
            except RpcFailure:
                self.ask.choices["drawer"] = "changes"
                raise

    def channels(self) -> Collection[str]:
        channel = self.channel
        return (self.at.session, self.at.chat, *((channel,) if channel else ()))

    def nodes(self) -> Sequence[Node]:
        channel = self.channel
        state: State = (self.ask.link.peek(channel) if channel else None) or {}
        folders = [str(one) for one in self.session.get("workingDirectories") or ()]
        files: Sequence[State] = state.get("files") or ()
        limit = None if self.ask.choices.get("files") == "all" else SHOWN
        rows = [file_row(file, folders) for file in files[:limit]]
        operations: Sequence[State] = state.get("operations") or ()
        head = self._head(state, files)
        foot = self._render("changes_foot.html", operations=operations, branch=self._branch(), channel=channel or "")
        inside = [self._file(row, channel or "", operations) for row in rows] or [self._empty(state, channel)]
        if len(rows) < len(files):
            more = self._render("changes_more.html", more=len(files) - len(rows))
            inside.append(Node("changes-more", more, lambda: more))
        children = (
            Node("changes-head", head, lambda: head),
            Node("changes-files", "", lambda: self._render("changes_files.html"), tuple(inside), "</div>"),
            Node("changes-foot", foot, lambda: foot),
        )
        return (Node("drawer-it", "changes", lambda: self._render("changes_open.html"), children, "</aside>"),)

    # Inside

    def _render(self, template: str, **values: Any) -> str:
        path = f"{session_path(self.at.session)}/changes"
        return str(self.ask.render(template, path=path, plain=plain, **values))

    def _head(self, state: State, files: Sequence[State]) -> str:
        counts = [(one["edit"].get("diff") or {}) for one in files]
        return self._render(
            "changes_head.html",
            kind=self.wanted.kind,
            kinds={str(one["changeKind"]) for one in self.session.get("changesets") or ()},
            turns=[
                (str(one["id"]), str((one.get("message") or {}).get("text") or "")[:60]) for one in self.turns[-TURNS:]
            ],
            chosen=self.wanted.turns,
            status=str(state.get("status") or ""),
            error=state.get("error"),
            files=len(files),
            reviewed=sum(1 for one in files if one.get("reviewed")),
            added=sum(int(one.get("added") or 0) for one in counts),
            removed=sum(int(one.get("removed") or 0) for one in counts),
            note=self._note(),
        )

    def _note(self) -> str:
        """What the host says about this changeset: how many files are left out."""
        wanted = "compare-turns" if self.wanted.kind == "compare" else self.wanted.kind
        entries = self.session.get("changesets") or ()
        return next((str(one.get("description") or "") for one in entries if one["changeKind"] == wanted), "")

    def _branch(self) -> str:
        return str((self.session.get("_meta") or {}).get("x-innkeeper/branch") or "")

    def _file(self, row: FileRow, channel: str, operations: Sequence[State]) -> Node:
        single = [one for one in operations if "resource" in one["scopes"] and one["id"] == "discard"]
        discard = single[0] if single else None
        asked = self.ask.choices.get("sure") == f"discard {row.id}" and discard is not None
        address = urlencode({"set": channel, "file": row.id, "v": row.version})

        def render() -> str:
            return self._render(
                "changes_file.html", row=row, channel=channel, discard=discard, asked=asked, address=address
            )

        return Node(row.dom, (row, channel, asked, discard), render)

    def _empty(self, state: State, channel: str | None) -> Node:
        status = "missing" if channel is None else str(state.get("status") or "computing")
        html = self._render("changes_empty.html", status=status, kind=self.wanted.kind)
        return Node("changes-none", html, lambda: html)


async def bar(ask: Ask, at: Place) -> Sequence[Region]:
    """The button in the bar of the page: how much changed."""

    def render() -> str:
        session: State = ask.link.peek(at.session) or at.state
        changes = (session.get("_meta") or {}).get("x-innkeeper/changes") or {}
        is_open = ask.choices.get("drawer", "").partition(":")[0] == "changes"
        offered = bool(session.get("changesets"))
        return ask.render("bar_changes.html", changes=changes, is_open=is_open, offered=offered)

    return [block("bar-changes", render, (at.session,))]


async def _prepare(ask: Ask, at: Place, argument: str) -> None:
    await ChangesDrawer(ask, at, argument).prepare()


REGIONS.append(bar)
DRAWERS["changes"] = Drawer(
    _prepare,
    lambda ask, at, argument: ChangesDrawer(ask, at, argument).nodes(),
    lambda ask, at, argument: ChangesDrawer(ask, at, argument).channels(),
)
