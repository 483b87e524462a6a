"""A chat as text."""

from typing import Any

from innkeeper.cli.chat.conversation import choice, options_of, question_text
from innkeeper.cli.chat.transcript import Piece, TurnPrinter, call_line, content_text, plain, transcript


def turn(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "t", "message": {"text": "hi"}, "responseParts": list(parts), **more}


def said(text: str) -> dict[str, Any]:
    return {"kind": "markdown", "id": "m", "content": text}


def called(status: str, **more: Any) -> dict[str, Any]:
    call = {
        "toolCallId": "c",
        "displayName": "Echo",
        "toolName": "echo",
        "invocationMessage": "echo it",
        "status": status,
    }
    return {"kind": "toolCall", "toolCall": {**call, **more}}


def test_only_what_is_new_is_printed() -> None:
    printer = TurnPrinter()
    assert printer.update(turn(said("Hel"))) == [Piece("out", "Hel")]
    assert printer.update(turn(said("Hello"))) == [Piece("out", "lo")]
    assert printer.update(turn(said("Hello"))) == []
    assert printer.update(turn(said("Hello"), state="complete")) == [Piece("out", "\n")]
    assert printer.update(turn(said("Hello"), state="complete")) == []


def test_a_tool_call_is_told_once_for_each_state_beside_the_answer() -> None:
    printer = TurnPrinter()
    assert printer.update(turn(said("Let me see."), called("streaming"))) == [Piece("out", "Let me see.")]
    running = printer.update(turn(said("Let me see."), called("running")))
    assert running == [Piece("out", "\n"), Piece("err", "→ echo it\n")]
    assert printer.update(turn(said("Let me see."), called("running"))) == []
    done = printer.update(turn(said("Let me see."), called("completed", success=True, pastTenseMessage="echoed")))
    assert done == [Piece("err", "✓ echoed\n")]


def test_text_after_a_tool_call_begins_on_a_line_of_its_own() -> None:
    printer = TurnPrinter()
    first, second = said("a"), {**said("b"), "id": "n"}
    pieces = printer.update(turn(first, second))
    assert "".join(piece.text for piece in pieces) == "a\nb"


def test_a_text_that_was_replaced_is_given_again() -> None:
    printer = TurnPrinter()
    printer.update(turn(said("draft")))
    assert printer.update(turn(said("final"))) == [Piece("out", "final")]


def test_calls_that_did_not_run_say_why() -> None:
    denied = call_line(called("cancelled", reason="denied", reasonMessage={"markdown": "too risky"})["toolCall"])
    assert denied.startswith("✗ Echo")
    assert "too risky" in denied
    assert call_line(called("completed", success=False, pastTenseMessage="broke")["toolCall"]) == "✗ broke"
    assert call_line({"toolName": "x", "status": "running"}) == "→ x"


def test_errors_notices_and_questions_are_lines_beside_the_answer() -> None:
    parts = (
        {"kind": "error", "error": {"message": "no power"}},
        {"kind": "systemNotification", "content": "a notice"},
        {"kind": "inputRequest", "request": {"id": "r", "message": "which?"}, "response": "accept"},
        {"kind": "inputRequest", "request": {"id": "open", "message": "is asked, not told"}},
        {"kind": "contentRef", "uri": "file:///x"},
        {"kind": "reasoning", "id": "r", "content": "hm"},
        {"kind": "ofTomorrow"},
    )
    pieces = TurnPrinter().update(turn(*parts, state="cancelled"))
    assert {piece.to for piece in pieces} == {"err"}
    shown = "".join(piece.text for piece in pieces)
    for words in ("no power", "a notice", "which?", "[file:///x]"):
        assert words in shown
    assert len(pieces) == 5


def test_a_transcript_quotes_the_person_and_holds_the_running_turn() -> None:
    chat = {
        "turns": [turn(said("hello"), message={"text": "hi\nthere"}, state="complete")],
        "activeTurn": turn(said("wor")),
    }
    assert transcript(chat) == "> hi\n> there\nhello\n\n> hi\nwor"
    assert transcript({"turns": [turn(state="complete")]}) == "> hi"


def test_content_that_is_no_text_is_named() -> None:
    content = [
        {"type": "text", "text": "a"},
        {"type": "embeddedResource", "contentType": "image/png", "data": ""},
        {"type": "resource", "uri": "file:///x"},
        {"type": "subagent", "resource": "ahp-chat:/1", "title": "helper"},
        {"type": "ofTomorrow"},
    ]
    assert content_text(content) == "a\n[image/png]\n[file:///x]\n[helper]\n[ofTomorrow]"
    assert (plain({"markdown": "x"}), plain("y"), plain(None)) == ("x", "y", "")


def test_a_question_shows_its_input_and_its_options_by_number() -> None:
    options = [
        {"id": "once", "label": "Allow once", "kind": "approve"},
        {"id": "deny", "label": "Deny", "kind": "deny"},
    ]
    call = {"confirmationTitle": "Run echo?", "toolInput": '{"a": 1}', "options": options}
    assert question_text(call, options) == 'Run echo?\n  {"a": 1}\n  1. Allow once\n  2. Deny\n'
    assert [choice(given, options) for given in ("1", "deny", "ALLOW ONCE", "3", "0", "maybe", "")] == [
        "once",
        "deny",
        "once",
        None,
        None,
        None,
        None,
    ]
    assert [option["kind"] for option in options_of({})] == ["approve", "deny"]
