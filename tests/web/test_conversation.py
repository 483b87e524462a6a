"""A chat as the nodes of its page: every kind of part, folded, asking, growing (design, ui.md §3)."""

from typing import Any

import pytest

from innkeeper.web.asking import Ask, WebOptions
from innkeeper.web.conversation import Conversation
from innkeeper.web.extras import Place
from innkeeper.web.files import Files
from innkeeper.web.live import differences, markup
from innkeeper.web.templates import Reader, Templates
from innkeeper.web.times import Times

SESSION, CHAT = "ahp-session:/s", "ahp-chat:/c"


class Known:
    """States, as a link has them."""

    def __init__(self, chat: dict[str, Any]) -> None:
        self.states: dict[str, Any] = {CHAT: chat, SESSION: {"provider": "claude", "workingDirectories": ["file:///w"]}}
        self.times = Times()

    def peek(self, name: str) -> Any:
        return self.states.get(name)

    def follow(self, name: str) -> None:
        return


@pytest.fixture(scope="module")
def templates() -> Templates:
    return Templates(Files())


def conversation(templates: Templates, chat: dict[str, Any], lang: Any = "en") -> tuple[Conversation, Known]:
    link = Known(chat)
    reader = Reader(lang=lang, base="", fingerprint="f")
    ask = Ask(link, templates, reader, WebOptions(home="/home/ada"), "/", {}, {}, "token")  # type: ignore[arg-type]
    return Conversation(ask, Place(SESSION, CHAT, link.states[SESSION], "/s/s")), link


def turn(*parts: dict[str, Any], id: str = "1", **more: Any) -> dict[str, Any]:
    message = {"text": "asked", "origin": {"kind": "user"}}
    return {"id": id, "message": message, "responseParts": list(parts), "state": "complete", **more}


def call(id: str, status: str = "completed", **more: Any) -> dict[str, Any]:
    shown = {"toolCallId": id, "toolName": "Read", "displayName": "Read", "invocationMessage": "Read", **more}
    ended = {"success": True, "pastTenseMessage": "Read"} if status == "completed" else {}
    return {"kind": "toolCall", "toolCall": {**ended, **shown, "status": status}}


def shown(templates: Templates, chat: dict[str, Any], lang: Any = "en") -> str:
    return "".join(markup(node) for node in conversation(templates, chat, lang)[0].nodes())


def test_an_empty_chat_says_what_to_do(templates: Templates) -> None:
    assert "Say what you want done." in shown(templates, {"turns": []})


@pytest.mark.parametrize("lang", ["en", "zh_Hans"])
def test_every_kind_of_part_is_shown(templates: Templates, lang: str) -> None:
    """Also one of a later version, which shows nothing and breaks nothing."""
    parts = [
        {"kind": "markdown", "id": "m", "content": "**bold**"},
        {"kind": "reasoning", "id": "r", "content": "because"},
        {"kind": "systemNotification", "content": {"markdown": "`note`"}},
        {"kind": "contentRef", "uri": "file:///w/report.pdf"},
        {"kind": "inputRequest", "request": {"id": "q", "message": "Which?"}, "response": "accept"},
        {"kind": "error", "error": {"errorType": "STORAGE_FULL", "message": "no room"}},
        {"kind": "of-a-later-version"},
        call("c"),
    ]
    html = shown(templates, {"turns": [turn(*parts)]}, lang)
    for words in ("<strong>bold</strong>", "because", "note", "report.pdf", "Which?", "no room", "STORAGE_FULL"):
        assert words in html, words


@pytest.mark.parametrize(
    "status",
    [
        "streaming",
        "running",
        "auth-required",
        "pending-confirmation",
        "pending-result-confirmation",
        "completed",
        "cancelled",
    ],
)
def test_every_state_of_a_call_is_shown(templates: Templates, status: str) -> None:
    active = turn(call("c", status, reason="skipped", reasonMessage="too late", auth={"reason": "required"}))
    html = shown(templates, {"turns": [], "activeTurn": active})
    assert ('role="group"' in html) == status.startswith("pending")
    assert ("Sign in" in html) == (status == "auth-required")
    assert ("too late" in html) == (status == "cancelled")


def test_three_finished_calls_fold_when_their_turn_has_ended_and_not_before(templates: Templates) -> None:
    parts = [call("a"), call("b"), call("c")]
    assert "3 steps" in shown(templates, {"turns": [turn(*parts)]})
    assert "3 steps" not in shown(templates, {"turns": [], "activeTurn": turn(*parts)})
    assert "steps" not in shown(templates, {"turns": [turn(*parts[:2])]})
    failed = call("d", success=False, error={"message": "no"})
    assert "steps" not in shown(templates, {"turns": [turn(parts[0], failed, *parts[1:])]})


def test_while_text_streams_its_last_block_alone_is_sent(templates: Templates) -> None:
    """ui.md §8.3"""
    text = {"kind": "markdown", "id": "m", "content": "one\n\ntwo"}
    page, link = conversation(templates, {"turns": [turn(id="0")], "activeTurn": turn(text)})
    before = page.nodes()
    link.states[CHAT] = {**link.states[CHAT], "activeTurn": turn({**text, "content": "one\n\ntwo and more"})}
    patches = differences("log", before, page.nodes())
    assert [(patch["op"], patch["id"]) for patch in patches] == [("put", "t-1-0-1")]


def test_a_turn_that_ends_keeps_what_it_showed(templates: Templates) -> None:
    text = {"kind": "markdown", "id": "m", "content": "one\n\ntwo"}
    page, link = conversation(templates, {"turns": [], "activeTurn": turn(text)})
    before = page.nodes()
    link.states[CHAT] = {"turns": [turn(text)]}
    patches = differences("log", before, page.nodes())
    assert [patch["op"] for patch in patches] == ["add"], "the line with what can be done after an answer"


def test_older_turns_come_before_and_touch_nothing_else(templates: Templates) -> None:
    page, link = conversation(templates, {"turns": [turn(id="2")], "turnsNextCursor": "x"})
    before = page.nodes()
    link.states[CHAT] = {"turns": [turn(id="1"), turn(id="2")]}
    patches = differences("log", before, page.nodes())
    assert [(patch["op"], patch.get("id") or patch["before"]) for patch in patches] == [
        ("del", "older"),
        ("add", "t-2"),
    ]
