"""A chat as the nodes of its page: turns with their messages, answers, tool calls and questions (design, ui.md §3).

Rules
* A node's key is the part of the state that it shows: what did not change is not rendered again, whatever the length
  of the chat. Text that grows is cut into blocks, so that its last block alone is sent again.
* Turns are those that the chat has loaded; older ones come when they are asked for, before what is shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from innkeeper.web import markdown
from innkeeper.web.asking import Ask
from innkeeper.web.live import Node

State = Mapping[str, Any]


class Conversation:
    """The nodes of one chat on one page; it remembers what was rendered of growing texts."""

    def __init__(self, ask: Ask, chat: str) -> None:
        self._ask = ask
        self._chat = chat
        self._grown: dict[str, markdown.Grown] = {}

    def nodes(self) -> Sequence[Node]:
        """What the chat shows now."""
        state = self._ask.link.peek(self._chat) or {}
        turns = list(state.get("turns") or ())
        nodes = [self._turn(turn, running=False) for turn in turns]
        active = state.get("activeTurn")
        if active:
            nodes.append(self._turn(active, running=True))
        else:
            self._grown.clear()
        return nodes or [self._nothing()]

    def _nothing(self) -> Node:
        ask = self._ask
        return Node("log-none", ask.reader.lang, lambda: ask.render("log_empty.html"))

    def _turn(self, turn: State, *, running: bool) -> Node:
        id = f"t-{turn['id']}"
        opening = Markup('<div class="turn" id="{}">').format(id)
        children = (self._message(id, turn), *self._parts(id, turn, running=running))
        return Node(id, running, lambda: str(opening), children)

    def _message(self, id: str, turn: State) -> Node:
        message, ask = turn["message"], self._ask
        return Node(f"{id}-m", message, lambda: ask.render("message.html", id=f"{id}-m", message=message))

    def _parts(self, turn_id: str, turn: State, *, running: bool) -> Iterator[Node]:
        parts = turn.get("responseParts") or ()
        for at, part in enumerate(parts):
            id = f"{turn_id}-{at}"
            last = running and at == len(parts) - 1
            match part.get("kind"):
                case "markdown":
                    yield from self._text(id, part, growing=last)
                case "reasoning":
                    yield self._part("reasoning.html", id, part, running=last)
                case "toolCall":
                    yield self._part("card.html", id, part, call=part["toolCall"])
                case "error":
                    yield self._part("turn_error.html", id, part)
                case "systemNotification":
                    yield self._part("notice.html", id, part)

    def _part(self, template: str, id: str, part: State, **values: Any) -> Node:
        ask = self._ask
        return Node(
            id, (part, tuple(values.items())), lambda: ask.render(template, id=id, part=part, md=markdown.of, **values)
        )

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
