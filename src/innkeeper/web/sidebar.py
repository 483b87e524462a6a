"""The list of sessions at the left of every page (design, ui.md §3, session row)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from innkeeper.protocol.status import IS_ARCHIVED
from innkeeper.web.asking import Ask
from innkeeper.web.link import LINK, ROOT, SESSIONS
from innkeeper.web.live import Node, Region, block
from innkeeper.web.names import session_path
from innkeeper.web.session_rows import Row, rows

LIMIT: Final = 200
"""Rows that are shown; the last line says how many a search would find beyond them."""


def sidebar(ask: Ask, current: str | None, *, place: str = "") -> tuple[Region, ...]:
    """The regions `sessions` and `side-foot`. `current` is the session that the page shows, `place` the page in the
    foot (`archived`, `customizations`, `settings`) that is shown."""
    link = ask.link
    ask.choices.setdefault("q", ask.query.get("q", ""))

    def nodes() -> Sequence[Node]:
        root = link.peek(ROOT) or {}
        found = rows(
            link.sessions.all(),
            agents={agent["provider"]: agent["displayName"] for agent in root.get("agents") or ()},
            home=ask.options.home,
            now=datetime.now(UTC),
            query=ask.choices["q"],
            archived=place == "archived",
        )
        shown = _nodes(ask, found[:LIMIT], current) or (_empty(ask, place),)
        return (*shown, _rest(ask, len(found) - LIMIT)) if len(found) > LIMIT else shown

    def foot() -> str:
        archived = sum(1 for one in link.sessions.all() if int(one.get("status") or 0) & IS_ARCHIVED)
        return ask.render("side_foot.html", archived=archived, connected=link.connected, place=place)

    return (
        Region("sessions", nodes, lambda: (SESSIONS, ROOT)),
        block("side-foot", foot, (SESSIONS, LINK)),
    )


def _nodes(ask: Ask, found: Sequence[Row], current: str | None) -> Sequence[Node]:
    nodes: list[Node] = []
    for group in dict.fromkeys(row.group for row in found):
        inside = [row for row in found if row.group == group]
        nodes.append(_heading(ask, group, len(inside)))
        nodes += [_node(ask, row, row.uri == current) for row in inside]
    return nodes


def _heading(ask: Ask, group: str, count: int) -> Node:
    def render() -> str:
        return ask.render("session_group.html", group=group, count=count)

    return Node(f"group-{group}", (group, count), render)


def _node(ask: Ask, row: Row, current: bool) -> Node:
    path = session_path(row.uri)

    def render() -> str:
        return ask.render("session_row.html", row=row, current=current, path=path, id=_id(path))

    return Node(_id(path), (row, current), render)


def _rest(ask: Ask, count: int) -> Node:
    def render() -> str:
        return ask.render("sessions_rest.html", count=count)

    return Node("sessions-rest", count, render)


def _id(path: str) -> str:
    return "row-" + path.removeprefix("/s/")


def _empty(ask: Ask, place: str) -> Node:
    query = ask.choices["q"]

    def render() -> str:
        return ask.render("sessions_empty.html", query=query, place=place)

    return Node("sessions-none", (query, place), render)
