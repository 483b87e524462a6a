"""The changes of a session beside its conversation: the button in the bar and the drawer (issue 7 B.1; AHP §7).

Rules
* What is shown is a changeset channel, followed while the drawer is open: a running turn's changes come by themselves.
* Files stand as the host gives them; a diff is loaded when its fold is opened, again when the content is another.
* What loses work asks first, with the host's own words; a refusal stands where it was asked for.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from innkeeper.client import RpcFailure
from innkeeper.client.changesets import ChangedFile, Wanted, changed_file, channel_of, offer_of
from innkeeper.web.asking import Ask
from innkeeper.web.extras import DRAWERS, REGIONS, Drawer, Place
from innkeeper.web.live import Node, Region, block
from innkeeper.web.names import session_path
from innkeeper.web.tool_cards import plain

State = Mapping[str, Any]
SHOWN: Final = 200
"""Files that are shown at first; the others on demand."""
TURNS: Final = 30


def dom_of(file: ChangedFile) -> str:
    """The id of its element: another content is in the same place."""
    return f"f-{hashlib.sha256(file.id.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


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
        rows = [changed_file(file, folders) for file in files[:limit]]
        operations: Sequence[State] = state.get("operations") or ()
        head = self._head(state, files)
        foot = self._render("changes_foot.html", operations=operations, channel=channel or "")
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
        return str((offer_of(self.wanted.kind, self.session) or {}).get("description") or "")

    def _file(self, row: ChangedFile, channel: str, operations: Sequence[State]) -> Node:
        single = [one for one in operations if "resource" in one["scopes"] and one["id"] == "discard"]
        discard = single[0] if single else None
        asked = self.ask.choices.get("sure") == f"discard {row.id}" and discard is not None
        address = urlencode({"set": channel, "file": row.id, "v": row.version})
        dom = dom_of(row)

        def render() -> str:
            return self._render(
                "changes_file.html", row=row, dom=dom, channel=channel, discard=discard, asked=asked, address=address
            )

        return Node(dom, (row, channel, asked, discard), render)

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
