"""The list of sessions as nodes of every page (design, ui.md §3, §4, §8.6; issue 7 B.7: much of everything)."""

from typing import Any

import pytest

from innkeeper.protocol.status import IDLE, IN_PROGRESS, IS_READ
from innkeeper.web.asking import Ask, WebOptions
from innkeeper.web.files import Files
from innkeeper.web.live import Node, differences
from innkeeper.web.session_index import SessionIndex
from innkeeper.web.sidebar import LIMIT, sidebar
from innkeeper.web.templates import Reader, Templates


class Link:
    """A list of sessions, as a link has it."""

    connected = True

    def __init__(self, count: int) -> None:
        self.sessions = SessionIndex()
        self.sessions.replace(summary(number) for number in range(count))

    def peek(self, name: str) -> Any:
        return None


def summary(number: int, status: int = IDLE | IS_READ) -> dict[str, Any]:
    modified = f"2001-01-01T10:{number // 60:02}:00.000Z"
    shown = {"title": f"Session {number}", "provider": "claude", "modifiedAt": modified}
    return {"resource": f"ahp-session:/{number}", "status": status, **shown}


@pytest.fixture(scope="module")
def templates() -> Templates:
    return Templates(Files())


def nodes(templates: Templates, link: Link, **choices: str) -> list[Node]:
    reader = Reader(lang="en", base="", fingerprint="f")
    ask = Ask(link, templates, reader, WebOptions(), "/", {}, {}, "token", choices=choices)  # type: ignore[arg-type]
    return list(sidebar(ask, None)[0].nodes())


def test_of_many_sessions_the_last_line_says_how_many_more_a_search_finds(templates: Templates) -> None:
    shown = nodes(templates, Link(500))
    assert [node.id for node in shown[:1]] == ["group-older"] and len(shown) == LIMIT + 2
    assert "300 more. The search finds them." in shown[-1].render()
    assert all(node.id != "sessions-rest" for node in nodes(templates, Link(LIMIT)))
    found = nodes(templates, Link(500), q="session 499")
    assert [node.id for node in found] == ["group-found", "row-499"]


def test_a_change_of_one_session_among_many_renders_that_row_alone(templates: Templates) -> None:
    """ui.md §8.3: a patch names what changed and nothing around it."""
    link = Link(500)
    before = nodes(templates, link)
    changes = {"changes": {"status": IN_PROGRESS | IS_READ}, "session": "ahp-session:/499"}
    assert link.sessions.take("root/sessionSummaryChanged", changes)
    patches = differences("sessions", before, nodes(templates, link))
    assert [(patch["op"], patch["id"]) for patch in patches] == [("put", "row-499")]


def test_the_menu_of_a_row_is_loaded_when_it_is_opened_and_again_under_another_title(templates: Templates) -> None:
    _, row = nodes(templates, Link(1))
    assert 'data-load="/s/0/menu?of=Session+0"' in row.render()
    assert "<dialog" not in row.render()
