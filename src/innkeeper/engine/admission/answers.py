"""Answers to input requests (AHP §9.8): unknown questions, wrong value kinds, missing required answers."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from innkeeper.engine.effects import JsonObject

VALUE_KINDS: MappingProxyType[str, str] = MappingProxyType(
    {
        "text": "text",
        "number": "number",
        "integer": "number",
        "boolean": "boolean",
        "single-select": "selected",
        "multi-select": "selected-many",
    }
)


def refuse_answer(request: JsonObject, question_id: str, answer: Any) -> str | None:
    """The reason why `answer` does not fit the question; None clears a draft and always fits."""
    question = _question(request, question_id)
    if question is None:
        return f"input request {request['id']} has no question {question_id}"
    if not isinstance(answer, Mapping) or answer.get("state") == "skipped":
        return None
    value = answer.get("value") or {}
    expected = VALUE_KINDS.get(question.get("kind", ""))
    if expected is not None and value.get("kind") != expected:
        return f"question {question_id} takes an answer of kind {expected}"
    if expected in ("selected", "selected-many"):
        return _refuse_selection(question, value)
    if question.get("kind") == "integer" and value.get("value") != int(value.get("value", 0)):
        return f"question {question_id} takes a whole number"
    return None


def refuse_completion(request: JsonObject, action: JsonObject) -> str | None:
    """The reason why the request cannot be completed so: a bad answer, or a required one missing on accept."""
    answers: Mapping[str, Any] = action.get("answers") or {}
    for question_id, answer in answers.items():
        if (why := refuse_answer(request, question_id, answer)) is not None:
            return why
    if action["response"] != "accept":
        return None
    given = {**(request.get("answers") or {}), **answers}
    for question in request.get("questions") or ():
        answer = given.get(question["id"])
        answered = isinstance(answer, Mapping) and answer.get("state") != "skipped"
        if question.get("required") and not answered:
            return f"question {question['id']} needs an answer"
    return None


def _question(request: JsonObject, question_id: str) -> JsonObject | None:
    return next((q for q in request.get("questions") or () if q.get("id") == question_id), None)


def _refuse_selection(question: JsonObject, value: JsonObject) -> str | None:
    if question.get("allowFreeformInput"):
        return None
    offered = {option.get("id") for option in question.get("options") or ()}
    chosen = value.get("value")
    picked = chosen if isinstance(chosen, list) else [chosen]
    if all(one in offered for one in picked):
        return None
    return f"question {question['id']} has no such option"
