"""Answers without a person, in a session's autopilot (reference §5.6). Pure.

Rules
* Only what the request itself proposes is an answer: a default, an option that is recommended. Nothing is invented.
* A question without a proposal is left out where it may be; where it must be answered, the request is declined, and so
  is a link to open: the agent goes on by itself.
"""

from collections.abc import Mapping
from typing import Any

from innkeeper.protocol.chat.state import ChatInputRequest
from innkeeper.providers.spi import InputAnswer


def by_itself(request: ChatInputRequest) -> InputAnswer:
    """The answer that the request proposes; declined where it proposes too little."""
    questions: Any = request.get("questions") or ()
    if request.get("url") is not None or not questions:
        return InputAnswer("decline")
    answers: dict[str, Any] = {}
    for question in questions:
        value = _proposed(question)
        if value is None and question.get("required", False):
            return InputAnswer("decline")
        answers[question["id"]] = {"state": "skipped"} if value is None else {"state": "submitted", "value": value}
    return InputAnswer("accept", answers)


def _proposed(question: Mapping[str, Any]) -> dict[str, Any] | None:
    kind, default = question.get("kind"), question.get("defaultValue")
    recommended = [option["id"] for option in question.get("options") or () if option.get("recommended")]
    match kind:
        case "text" | "boolean" if default is not None:
            return {"kind": kind, "value": default}
        case "number" | "integer" if default is not None:
            return {"kind": "number", "value": default}
        case "single-select" if recommended:
            return {"kind": "selected", "value": recommended[0]}
        case "multi-select" if recommended and len(recommended) >= (question.get("min") or 0):
            return {"kind": "selected-many", "value": recommended[: question.get("max")]}
        case _:
            return None
