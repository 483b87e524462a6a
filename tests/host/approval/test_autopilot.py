"""What autopilot answers (reference §5.6; docs/reference/approvals.md)."""

import pytest

from innkeeper.host.autopilot import by_itself


def question(kind="text", required=True, **more):
    return {"id": "q", "kind": kind, "message": "?", "required": required, **more}


OPTIONS = [{"id": "a", "label": "A"}, {"id": "b", "label": "B", "recommended": True}]


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        (question(defaultValue="x"), {"kind": "text", "value": "x"}),
        (question("boolean", defaultValue=False), {"kind": "boolean", "value": False}),
        (question("number", defaultValue=1.5), {"kind": "number", "value": 1.5}),
        (question("integer", defaultValue=0), {"kind": "number", "value": 0}),
        (question("single-select", options=OPTIONS), {"kind": "selected", "value": "b"}),
        (question("multi-select", options=OPTIONS), {"kind": "selected-many", "value": ["b"]}),
    ],
)
def test_what_the_request_proposes_is_the_answer(asked, value):
    answer = by_itself({"id": "r", "questions": [asked]})
    assert answer.response == "accept"
    assert answer.answers == {"q": {"state": "submitted", "value": value}}


@pytest.mark.parametrize(
    "request_",
    [
        {"id": "r"},
        {"id": "r", "questions": []},
        {"id": "r", "url": "https://example.org/", "questions": [question(defaultValue="x")]},
        {"id": "r", "questions": [question()]},
        {"id": "r", "questions": [question(defaultValue="x"), {**question(), "id": "other"}]},
        {"id": "r", "questions": [question("single-select", options=OPTIONS[:1])]},
        {"id": "r", "questions": [question("multi-select", options=OPTIONS, min=2)]},
        {"id": "r", "questions": [question("unheard-of", defaultValue="x")]},
    ],
)
def test_what_proposes_too_little_is_declined(request_):
    answer = by_itself(request_)
    assert (answer.response, dict(answer.answers)) == ("decline", {})


def test_a_question_that_need_not_be_answered_is_left_out():
    answer = by_itself({"id": "r", "questions": [question(required=False)]})
    assert (answer.response, answer.answers) == ("accept", {"q": {"state": "skipped"}})
