"""The agent's own questions as a form, and the form as answers (AHP §9.8). Pure.

Rules
* Every kind of question has its fields: `q.ID` (several for a multi-select), `f.ID` for words of one's own. An empty
  field skips a question that may be skipped; what a question does not take is said beside it and nothing is sent.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

State = Mapping[str, Any]
Fields = Callable[[str], list[str]]


class NotAnAnswer(Exception):
    """A question was not answered as it takes it; `question` is its id, `kind` what is wrong."""

    def __init__(self, question: State, kind: str) -> None:
        super().__init__(kind)
        self.question, self.kind = question, kind


def answers(request: State, fields: Fields) -> dict[str, Any]:
    """The answers by question. Raises NotAnAnswer."""
    return {str(one["id"]): _answer(one, fields) for one in request.get("questions") or ()}


def _answer(question: State, fields: Fields) -> dict[str, Any]:
    given = [value for value in fields(f"q.{question['id']}") if value != ""]
    own = [value.strip() for value in fields(f"f.{question['id']}") if value.strip()]
    if not given and not (own and question.get("allowFreeformInput")):
        if question.get("required"):
            raise NotAnAnswer(question, "required")
        return {"state": "skipped"}
    return {"state": "submitted", "value": _value(question, given, own)}


def _value(question: State, given: Sequence[str], own: Sequence[str]) -> dict[str, Any]:
    match question.get("kind"):
        case "boolean":
            return {"kind": "boolean", "value": given[0] == "true"}
        case "number" | "integer" as kind:
            return {"kind": "number", "value": _number(question, given[0], whole=kind == "integer")}
        case "single-select":
            return _selected(question, given, own)
        case "multi-select":
            return _selected_many(question, given, own)
        case _:
            return {"kind": "text", "value": _text(question, given[0])}


def _text(question: State, value: str) -> str:
    if len(value) < int(question.get("min") or 0):
        raise NotAnAnswer(question, "short")
    if question.get("max") is not None and len(value) > int(question["max"]):
        raise NotAnAnswer(question, "long")
    return value


def _number(question: State, value: str, *, whole: bool) -> int | float:
    try:
        number = int(value) if whole else float(value)
    except ValueError as error:
        raise NotAnAnswer(question, "whole" if whole else "number") from error
    if number != number or number in (float("inf"), float("-inf")):
        raise NotAnAnswer(question, "number")
    if question.get("min") is not None and number < question["min"]:
        raise NotAnAnswer(question, "small")
    if question.get("max") is not None and number > question["max"]:
        raise NotAnAnswer(question, "large")
    return number


def _selected(question: State, given: Sequence[str], own: Sequence[str]) -> dict[str, Any]:
    if own and question.get("allowFreeformInput") and not given:
        return {"kind": "selected", "value": own[0], "freeformValues": list(own)}
    _known(question, given[:1])
    return {"kind": "selected", "value": given[0]}


def _selected_many(question: State, given: Sequence[str], own: Sequence[str]) -> dict[str, Any]:
    _known(question, given)
    free = list(own) if question.get("allowFreeformInput") else []
    count = len(given) + len(free)
    if count < int(question.get("min") or 0):
        raise NotAnAnswer(question, "few")
    if question.get("max") is not None and count > int(question["max"]):
        raise NotAnAnswer(question, "many")
    value: dict[str, Any] = {"kind": "selected-many", "value": list(given)}
    return {**value, "freeformValues": free} if free else value


def _known(question: State, given: Sequence[str]) -> None:
    known = {str(option["id"]) for option in question.get("options") or ()}
    if not set(given) <= known:
        raise NotAnAnswer(question, "unknown")
