"""An agent's own questions (AHP §9.8): what a line means."""

from typing import Any

import pytest

from innkeeper.cli.chat.form import ask_form, form_text, question_lines, read_answer
from innkeeper.engine.admission.answers import refuse_completion

OPTIONS = [{"id": "r", "label": "Red", "description": "like fire"}, {"id": "g", "label": "Green"}]


THREE = {"state": "submitted", "value": {"kind": "number", "value": 3}}


def question(kind: str, **more: Any) -> dict[str, Any]:
    return {"id": "q", "kind": kind, "message": "which?", **more}


@pytest.mark.parametrize(
    ("asked", "line", "value"),
    [
        (question("text"), " hello ", {"kind": "text", "value": "hello"}),
        (question("ofTomorrow"), "x", {"kind": "text", "value": "x"}),
        (question("boolean"), "Yes", {"kind": "boolean", "value": True}),
        (question("boolean"), "否", {"kind": "boolean", "value": False}),
        (question("number"), "1.5", {"kind": "number", "value": 1.5}),
        (question("integer"), "12", {"kind": "number", "value": 12}),
        (question("single-select", options=OPTIONS), "1", {"kind": "selected", "value": "r"}),
        (question("single-select", options=OPTIONS), "green", {"kind": "selected", "value": "g"}),
        (question("single-select", allowFreeformInput=True), "Blue", {"kind": "selected", "value": "Blue"}),
        (question("multi-select", options=OPTIONS), "1, g", {"kind": "selected-many", "value": ["r", "g"]}),
    ],
)
def test_a_line_becomes_the_value_that_the_host_accepts(asked: Any, line: str, value: Any) -> None:
    answer = read_answer(asked, line)
    assert answer == {"state": "submitted", "value": value}
    request = {"id": "r", "questions": [asked]}
    assert refuse_completion(request, {"response": "accept", "answers": {"q": answer}}) is None


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (question("boolean"), "maybe"),
        (question("number"), "many"),
        (question("integer"), "1.5"),
        (question("single-select", options=OPTIONS), "3"),
        (question("multi-select", options=OPTIONS), "1, 3"),
        (question("multi-select", options=OPTIONS), ","),
        (question("text", required=True), "  "),
    ],
)
def test_a_line_that_does_not_fit_is_asked_for_again(asked: Any, line: str) -> None:
    assert read_answer(asked, line) is None


def test_an_empty_line_skips_what_may_be_skipped() -> None:
    assert read_answer(question("text"), "") == {"state": "skipped"}


def test_a_question_shows_its_options_by_number() -> None:
    shown = question_lines(question("single-select", title="Colour", options=OPTIONS))
    assert shown == "Colour\n  which?\n  1. Red: like fire\n  2. Green\n"
    assert form_text({"message": "Tell me", "url": "https://x.test"}) == "Tell me\nhttps://x.test\n"
    assert form_text({}) == ""


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("questions", "lines", "expected"),
    [
        ([question("integer")], ["x", "3"], ("accept", {"q": THREE})),
        ([question("text")], [None], ("cancel", {})),
        ([], [""], ("accept", {})),
        ([], [None], ("cancel", {})),
    ],
)
async def test_a_form_is_asked_question_by_question(questions: Any, lines: list[str | None], expected: Any) -> None:
    given = iter(lines)

    async def ask(prompt: str) -> str | None:
        return next(given)

    shown: list[str] = []
    assert await ask_form({"id": "r", "message": "Tell me", "questions": questions}, ask, shown.append) == expected
    assert shown[0] == "Tell me\n"
