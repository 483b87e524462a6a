"""The terminals of a session beside its conversation: the button in the bar and the drawer (issue 7 B.1; AHP §9.9).

Rules
* Shown are terminals that this session's chats hold, and those that a client holds. A terminal is followed while the
  drawer shows it; its output is reduced to words and classes (`ansi`), and bounded.
* What is typed goes to a terminal that a chat holds. One that a tool call holds is taken over first, for the chat, so
  that every page of the person may type; one of another client takes nothing from here.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from innkeeper.client import RpcFailure
from innkeeper.web.ansi import ROWS, markup, rows
from innkeeper.web.asking import Ask
from innkeeper.web.extras import DRAWERS, REGIONS, Drawer, Place
from innkeeper.web.link import CLIENT_ID, ROOT
from innkeeper.web.live import Node, Region, block
from innkeeper.web.names import session_path

State = Mapping[str, Any]
PARTS: Final = 40
"""Commands of a terminal that are shown, the last ones."""


class TerminalRow(NamedTuple):
    """One terminal. `held` is `chat`, `call`, `client` (another one) or `own`; `code` None: not ended, or not known."""

    uri: str
    title: str
    running: bool
    code: int | None
    held: str


def terminal_rows(root: State, session: str) -> list[TerminalRow]:
    """The session's terminals, and those of no session; the last one first."""
    found = []
    for one in root.get("terminals") or ():
        claim: State = one.get("claim") or {}
        if claim.get("kind") == "session" and claim.get("session") != session:
            continue
        found.append(row_of(str(one["resource"]), one))
    return found[::-1]


def row_of(uri: str, state: State) -> TerminalRow:
    """A terminal's state, or its line in the list of the root channel."""
    claim: State = state.get("claim") or {}
    lifecycle: State = state.get("lifecycle") or {}
    if claim.get("kind") == "session":
        held = "call" if claim.get("toolCallId") is not None else "chat"
    else:
        held = "own" if claim.get("clientId") == CLIENT_ID else "client"
    running = lifecycle.get("status") == "running"
    return TerminalRow(uri, str(state.get("title") or ""), running, lifecycle.get("exitCode"), held)


class TerminalDrawer:
    """The drawer in one tab. `argument` is the terminal's URI; empty: the latest."""

    def __init__(self, ask: Ask, at: Place, argument: str) -> None:
        self.ask, self.at, self.argument = ask, at, argument

    @property
    def rows(self) -> list[TerminalRow]:
        return terminal_rows(self.ask.link.peek(ROOT) or {}, self.at.session)

    @property
    def channel(self) -> str:
        found = [row.uri for row in self.rows]
        return self.argument if self.argument in found else (found or [""])[0]

    async def prepare(self) -> None:
        if channel := self.channel:
            try:
                await self.ask.link.state(channel)
            except RpcFailure:
                self.ask.choices["drawer"] = ""
                raise

    def channels(self) -> Collection[str]:
        return (ROOT, *((self.channel,) if self.channel else ()))

    def nodes(self) -> Sequence[Node]:
        channel = self.channel
        if channel:
            self.ask.link.follow(channel)
        state: State = (self.ask.link.peek(channel) if channel else None) or {}
        row = row_of(channel, state) if state else None
        head = self._render("terminal_head.html", rows=self.rows, chosen=channel, row=row)
        foot = self._render("terminal_foot.html", row=row)
        children = (
            Node("terminal-head", head, lambda: head),
            Node("terminal-body", "", lambda: self._render("terminal_body.html"), self._parts(state), "</div>"),
            Node("terminal-foot", foot, lambda: foot),
        )
        return (Node("drawer-it", "terminals", lambda: self._render("terminal_open.html"), children, "</aside>"),)

    def _parts(self, state: State) -> tuple[Node, ...]:
        content: Sequence[State] = state.get("content") or ()
        found: list[Node] = []
        before = ""
        for at, part in list(enumerate(content))[-PARTS:]:
            if _text_of(part) or _line(part):
                found.append(self._part(at, part, typed=before.rstrip().endswith(_line(part) or "\0")))
            before = _text_of(part)
        if not found:
            html = self._render("terminal_empty.html", any=bool(state))
            found = [Node("terminal-none", html, lambda: html)]
        return tuple(found)

    def _part(self, at: int, part: State, *, typed: bool) -> Node:
        """`typed`: the command line stands above already, as it was typed."""
        id = f"tp-{part.get('commandId') or at}"
        text, line = _text_of(part), _line(part)
        over, code = part.get("isComplete", True), part.get("exitCode")

        def render() -> str:
            found = rows(text)
            values = {"id": id, "line": "" if typed else line, "over": over, "code": code, "cut": len(found) >= ROWS}
            return self._render("terminal_part.html", html=markup(found), **values)

        return Node(id, (text, line, over, code, typed), render)

    def _render(self, template: str, **values: Any) -> str:
        return str(self.ask.render(template, path=f"{session_path(self.at.session)}/terminal", **values))


def _text_of(part: State) -> str:
    return str(part.get("output") if part.get("type") == "command" else part.get("value") or "")


def _line(part: State) -> str:
    return str(part.get("commandLine") or "") if part.get("type") == "command" else ""


async def bar(ask: Ask, at: Place) -> Sequence[Region]:
    """The button in the bar of the page."""

    def render() -> str:
        found = terminal_rows(ask.link.peek(ROOT) or {}, at.session)
        running = sum(row.running for row in found)
        is_open = ask.choices.get("drawer", "").partition(":")[0] == "terminal"
        return ask.render("bar_terminal.html", running=running, is_open=is_open)

    return [block("bar-terminal", render, (ROOT,))]


async def _prepare(ask: Ask, at: Place, argument: str) -> None:
    await TerminalDrawer(ask, at, argument).prepare()


REGIONS.append(bar)
DRAWERS["terminal"] = Drawer(
    _prepare,
    lambda ask, at, argument: TerminalDrawer(ask, at, argument).nodes(),
    lambda ask, at, argument: TerminalDrawer(ask, at, argument).channels(),
)
