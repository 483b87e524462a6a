"""The gate's question in the words of the person at this terminal (M6.2, M9.4)."""

from typing import Any

import pytest

from innkeeper.cli import words
from innkeeper.cli.chat.conversation import choice, question_text
from innkeeper.cli.chat.wording import KNOWN, own_words
from innkeeper.mcp.asking import META_KEY, question
from innkeeper.mcp.gate import Call, Decision
from innkeeper.ports.questions import Reason
from innkeeper.texts import text


def asked(*also: Reason, lang: str = "zh_Hans") -> dict[str, Any]:
    """A call as it waits in the state of a chat, asked in somebody else's language."""
    made = question(
        "one", "echo", {"text": "hi"}, Call("w", "mcp__one__echo", "f"), Decision("ask", "unknown", also), lang
    )
    return {
        "toolCallId": "c",
        "status": "pending-confirmation",
        "confirmationTitle": made.title,
        "invocationMessage": made.invocation,
        "options": [option._asdict() for option in made.options],
        "toolInput": made.tool_input,
        "_meta": dict(made.meta),
    }


def test_a_question_of_another_language_is_shown_in_ones_own() -> None:
    call = own_words(asked())
    shown = question_text(call, call["options"])
    assert shown.startswith("Run echo of the MCP server one?\n")
    assert "1. Allow once\n  2. Always allow this tool\n  3. Deny" in shown
    assert call["invocationMessage"] == "echo of one"
    assert choice("allow once", call["options"]) == "allow-once"
    assert call["toolCallId"] == "c"


def test_a_chinese_reader_sees_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "LANGUAGE", "zh_Hans")
    assert own_words(asked(lang="en")) == asked(lang="zh_Hans")


def test_what_the_rules_would_have_asked_is_told_too() -> None:
    """M6.8"""
    call = own_words(asked(Reason("gate.why.sessionRule", {"tool": "echo"})))
    assert call["confirmationTitle"].endswith("Rules ask as well: A rule of this session denies echo.")


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {META_KEY: "damaged"},
        {META_KEY: {}},
        {META_KEY: {"message": "gate.of_a_newer_host", "options": {"deny": "gate.newer"}, "invocation": 7}},
        {META_KEY: {"message": "gate.title", "also": [{"message": "rule.newer"}], "options": []}},
    ],
)
def test_what_this_version_does_not_know_stays_as_the_host_says_it(meta: dict[str, Any]) -> None:
    call = {**asked(), "_meta": meta}
    assert own_words(call) == call


def test_every_text_that_the_gate_sends_is_known_here() -> None:
    sent = asked()["_meta"][META_KEY]
    assert {sent["message"], sent["invocation"], *sent["options"].values()} == KNOWN
    assert all(text(id, server="s", tool="t") != id for id in KNOWN)
