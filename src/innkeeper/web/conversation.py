"""A chat as the nodes of its page: turns with their messages, answers, tool calls and questions (design, ui.md §3).

Rules
* A node's key is the part of the state that it shows: what did not change is not rendered again, whatever the length
  of the chat. Text that grows is cut into blocks, so that its last block alone is sent again.
* Turns are those that the chat has loaded; older ones come when they are asked for, before what is shown.
* Three or more finished calls in a row become one line once their turn has ended, so that nothing folds away while
  somebody reads it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup, escape

from innkeeper.web import ansi, markdown
from innkeeper.web.asking import Ask
from innkeeper.web.extras import Place
from innkeeper.web.gate_cards import GATE, gate, waiting_calls
from innkeeper.web.live import Node
from innkeeper.web.names import chat_path, last_part, local_path
from innkeeper.web.times import Span
from innkeeper.web.tool_cards import LINES, Card, card, is_over, running_terminal

State = Mapping[str, Any]
FOLDED: Final = 3
"""So many finished calls in a row are shown as one line."""


class Conversation:
    """The nodes of one chat on one page; it remembers what was rendered of growing texts."""

    def __init__(self, ask: Ask, at: Place) -> None:
        self._ask = ask
        self._at = at
        self._grown: dict[str, markdown.Grown] = {}

    def channels(self) -> Collection[str]:
        """What it depends on: the chat, its session, and the terminals in which calls run now."""
        active = (self._ask.link.peek(self._at.chat) or {}).get("activeTurn") or {}
        calls = [part["toolCall"] for part in active.get("responseParts") or () if part.get("kind") == "toolCall"]
        return (self._at.chat, self._at.session, *(uri for call in calls if (uri := running_terminal(call))))

    def nodes(self) -> Sequence[Node]:
        """What the chat shows now."""
        state = self._ask.link.peek(self._at.chat) or {}
        waiting = tuple(call["toolCallId"] for call in waiting_calls(state))
        turns = [self._turn(turn, None) for turn in state.get("turns") or ()]
        active = state.get("activeTurn")
        if active:
            turns.append(self._turn(active, waiting))
        else:
            self._grown.clear()
        older = self._older(state)
        return [*older, *turns] or [self._nothing()]

    def _older(self, state: State) -> list[Node]:
        if not state.get("turnsNextCursor"):
            return []
        ask, path = self._ask, self._at.path
        return [Node("older", path, lambda: ask.render("older.html", path=path))]

    def _nothing(self) -> Node:
        ask = self._ask
        return Node("log-none", ask.reader.lang, lambda: ask.render("log_empty.html"))

    def _turn(self, turn: State, waiting: tuple[str, ...] | None) -> Node:
        id = f"t-{turn['id']}"
        opening = Markup('<div class="turn" id="{}">').format(id)
        parts = tuple(self._parts(id, turn, waiting))
        ends = self._end(id, turn) if waiting is None else self._activity(id, parts)
        return Node(id, None, lambda: str(opening), (self._message(id, turn), *parts, *ends))

    def _message(self, id: str, turn: State) -> Node:
        message, ask = turn["message"], self._ask
        shown = {"message": message, "name": last_part, "path": local_path}
        return Node(f"{id}-m", message, lambda: ask.render("message.html", id=f"{id}-m", **shown))

    def _activity(self, id: str, parts: Sequence[Node]) -> tuple[Node, ...]:
        """The line that says that the agent is at work, while nothing else does."""
        if parts:
            return ()
        ask = self._ask
        return (Node(f"{id}-w", "w", lambda: ask.render("working.html", id=f"{id}-w")),)

    def _end(self, id: str, turn: State) -> tuple[Node, ...]:
        ask, path = self._ask, self._at.path
        shown = (turn.get("state"), turn.get("duration"), turn.get("usage"))
        values = {"id": f"{id}-e", "turn": turn, "path": path}
        return (Node(f"{id}-e", shown, lambda: ask.render("turn_end.html", **values)),)

    def _parts(self, turn_id: str, turn: State, waiting: tuple[str, ...] | None) -> Iterator[Node]:
        parts = turn.get("responseParts") or ()
        running = waiting is not None
        at = 0
        while at < len(parts):
            calls = 0 if running else _finished(parts, at)
            if calls >= FOLDED:
                yield self._folded(f"{turn_id}-{at}", turn, at, parts[at : at + calls])
                at += calls
                continue
            yield from self._one(turn_id, turn, at, waiting)
            at += 1

    def _one(self, turn_id: str, turn: State, at: int, waiting: tuple[str, ...] | None) -> Iterator[Node]:
        parts = turn.get("responseParts") or ()
        part, id = parts[at], f"{turn_id}-{at}"
        last = waiting is not None and at == len(parts) - 1
        match part.get("kind"):
            case "markdown":
                yield from self._text(id, part, growing=last)
            case "reasoning":
                span = self._span(id, running=last)
                yield self._part("reasoning.html", id, part, running=last, span=span)
            case "toolCall":
                yield self._call(id, turn, part["toolCall"], waiting or ())
            case "inputRequest":
                yield self._part("input.html", id, part, open=waiting is not None, path=self._at.path)
            case "error":
                yield self._part("turn_error.html", id, part, turn_id=turn["id"], path=self._at.path)
            case "systemNotification":
                yield self._part("notice.html", id, part)
            case "contentRef":
                yield self._part("content_ref.html", id, part, name=last_part(str(part.get("uri") or "")))

    def _part(self, template: str, id: str, part: State, **values: Any) -> Node:
        ask = self._ask
        shown = {"id": id, "part": part, "md": markdown.of, **values}
        return Node(id, (part, tuple(values.values())), lambda: ask.render(template, **shown))

    def _call(self, id: str, turn: State, call: State, waiting: tuple[str, ...]) -> Node:
        ask = self._ask
        if call["toolCallId"] in waiting:
            first = waiting[0] == call["toolCallId"]
            return Node(id, (call, first), lambda: self._gate(id, turn, call, first=first))
        span = self._span(id, running=not is_over(call))
        shown: dict[str, Any] = {"id": id, "call": call, "span": span, "path": self._at.path, "turn_id": turn["id"]}
        printed = self._printed(call)
        return Node(id, (call, span, printed), lambda: ask.render("card.html", **shown, **self._card(call, printed)))

    def _printed(self, call: State) -> str:
        """What the terminal of a running call shows now, its last lines."""
        if not (uri := running_terminal(call)):
            return ""
        self._ask.link.follow(uri)
        parts = (self._ask.link.peek(uri) or {}).get("content") or ()
        last: State = next((part for part in reversed(parts) if part.get("type") == "command"), {})
        return ansi.plain(str(last.get("output") or ""), LINES)

    def _card(self, call: State, printed: str = "") -> dict[str, Any]:
        folders = (self._ask.link.peek(self._at.session) or self._at.state).get("workingDirectories") or ("",)
        made: Card = card(call, local_path(str(folders[0])))
        if printed:
            made = made._replace(outputs=tuple(o._replace(text=printed) if o.terminal else o for o in made.outputs))
        session, default = self._at.session, (self._ask.link.peek(self._at.session) or {}).get("defaultChat")
        chats = [(str(one.get("title")), chat_path(session, str(one["resource"]), default)) for one in made.chats]
        return {"card": made, "chats": chats, "gated": GATE in (call.get("_meta") or {})}

    def _gate(self, id: str, turn: State, call: State, *, first: bool) -> str:
        session = self._ask.link.peek(self._at.session) or self._at.state
        made = gate(call, self._ask.reader.lang, session.get("customizations") or ())
        root = self._ask.link.peek("ahp-root://") or {}
        names = {agent["provider"]: agent["displayName"] for agent in root.get("agents") or ()}
        agent = names.get(str(session.get("provider")), str(session.get("provider") or ""))
        folders = session.get("workingDirectories") or ("",)
        values = {"gate": made, "first": first, "agent": agent, "turn_id": turn["id"], "path": self._at.path}
        return self._ask.render("gate.html", id=id, folder=self._ask.folder(str(folders[0])), **values)

    def _folded(self, id: str, turn: State, at: int, parts: Sequence[State]) -> Node:
        ask = self._ask
        calls = [self._call(f"{id}-f{n}", turn, part["toolCall"], ()) for n, part in enumerate(parts)]
        known = [
            ask.link.times.seen(self._times_name(f"t-{turn['id']}-{at + n}"), running=False).seconds
            for n in range(len(parts))
        ]
        seconds = sum(one or 0 for one in known) if None not in known else None

        def render() -> str:
            inside = Markup("").join(Markup(node.render()) for node in calls)
            return ask.render("steps.html", id=id, count=len(parts), seconds=seconds, inside=inside)

        return Node(id, (tuple(parts), seconds), render)

    def _span(self, id: str, *, running: bool) -> Span:
        return self._ask.link.times.seen(self._times_name(id), running=running)

    def _times_name(self, id: str) -> str:
        return f"{self._at.chat} {id}"

    def _text(self, id: str, part: State, *, growing: bool) -> Iterator[Node]:
        source = str(part.get("content") or "")
        if growing:
            grown = self._grown[id] = markdown.grow(self._grown.get(id, markdown.Grown()), source)
            made = grown.blocks
        else:
            made = markdown.blocks(source)
        for at, html in enumerate(made):
            yield self._block(f"{id}-{at}", html)

    def _block(self, id: str, html: str) -> Node:
        return Node(id, html, lambda: f'<div class="md" id="{escape(id)}">{html}</div>')


def _finished(parts: Sequence[State], at: int) -> int:
    """How many calls in a row, from `at` on, ended well."""
    count = 0
    for part in parts[at:]:
        call = part.get("toolCall") if part.get("kind") == "toolCall" else None
        if call is None or call.get("status") != "completed" or not call.get("success"):
            break
        count += 1
    return count
