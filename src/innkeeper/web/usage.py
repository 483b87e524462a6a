"""What a session used: its total, and each turn of the chat that is shown (issue 7 B.1).

Rules
* The total is the host's (`x-innkeeper/usage`): it counts turns that were taken back, and subagents. The rows are the
  turns that are loaded; a number that nobody reported is a dash, never a zero.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from innkeeper.web import composing
from innkeeper.web.asking import Ask
from innkeeper.web.extras import DRAWERS, Drawer, Place
from innkeeper.web.link import ROOT
from innkeeper.web.live import Node

State = Mapping[str, Any]
COUNTS: Final = ("inputTokens", "cacheReadTokens", "outputTokens")
SHOWN: Final = 200


class TurnUsage(NamedTuple):
    """One turn. `counts` are in the order of `COUNTS`."""

    id: str
    message: str
    model: str
    counts: tuple[str, ...]
    running: bool


def numbers(usage: State) -> tuple[str, ...]:
    """The counts as they are read."""
    return tuple(f"{usage[name]:,}" if isinstance(usage.get(name), int) else "–" for name in COUNTS)


def turn_rows(chat: State, models: Mapping[str, str]) -> list[TurnUsage]:
    """The turns that are loaded, the latest first; `models` are names by id."""
    active = chat.get("activeTurn")
    turns: Sequence[State] = [*(chat.get("turns") or ()), *([active] if active else [])]
    found = []
    for turn in reversed(turns[-SHOWN:]):
        usage: State = turn.get("usage") or {}
        model = str(usage.get("model") or "")
        words = str((turn.get("message") or {}).get("text") or "")
        found.append(TurnUsage(str(turn["id"]), words[:200], models.get(model, model), numbers(usage), turn is active))
    return found


async def _prepare(ask: Ask, at: Place, argument: str) -> None:
    """Session and chat are followed by the page."""


def _nodes(ask: Ask, at: Place, argument: str) -> Sequence[Node]:
    session, chat = ask.link.peek(at.session) or at.state, ask.link.peek(at.chat) or {}
    agent = composing.agent_of(ask.link.peek(ROOT) or {}, session)
    models = {str(one["id"]): str(one["name"]) for one in agent.get("models") or ()}
    total: State = (session.get("_meta") or {}).get("x-innkeeper/usage") or {}
    html = str(
        ask.render(
            "usage.html",
            total=numbers(total) if total else (),
            rows=turn_rows(chat, models),
            context=composing.context_used(agent, chat),
            names=COUNTS,
        )
    )
    return (Node("drawer-it", html, lambda: html),)


DRAWERS["usage"] = Drawer(_prepare, _nodes, lambda ask, at, argument: (at.session, at.chat, ROOT))
