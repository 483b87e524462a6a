"""An agent's own questions, asked line by line (AHP §9.8). The reading is pure; the asking takes the person's lines.

A line that does not fit is asked for again; an empty one skips a question that may be skipped; the end of the input
cancels the whole request.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from innkeeper.cli.words import text

Question = Mapping[str, Any]
Answer = dict[str, Any]
Ask = Callable[[str], Awaitable[str | None]]

YES = frozenset({"y", "yes", "true", "1", "是"})
NO = frozenset({"n", "no", "false", "0", "否"})
SKIPPED: Mapping[str, Any] = {"state": "skipped"}


def form_text(request: Mapping[str, Any]) -> str:
    """What is asked, before the first question."""
    lines = [str(request[name]) for name in ("message", "url") if request.get(name)]
    return "".join(line + "\n" for line in lines)


def question_lines(question: Question) -> str:
    """A question with its numbered options."""
    lines = [str(question.get("title") or question.get("message", "?"))]
    if question.get("title") and question.get("message"):
        lines.append(f"  {question['message']}")
    for number, option in enumerate(question.get("options") or (), 1):
        description = option.get("description")
        lines.append(f"  {number}. {option['label']}" + (f": {description}" if description else ""))
    return "\n".join(lines) + "\n"


def read_answer(question: Question, line: str) -> Answer | None:
    """The answer in a line, or None when the line is none."""
    line = line.strip()
    if not line:
        return None if question.get("required") else dict(SKIPPED)
    value = _value(question, line)
    return None if value is None else {"state": "submitted", "value": value}


async def ask_form(
    request: Mapping[str, Any], ask: Ask, show: Callable[[str], None]
) -> tuple[str, Mapping[str, Answer]]:
    """The person's response (`accept`, `cancel`) and the answers by question."""
    show(form_text(request))
    answers: dict[str, Answer] = {}
    questions: Sequence[Question] = request.get("questions") or ()
    for question in questions:
        show(question_lines(question))
        answer = None
        while answer is None:
            line = await ask("? ")
            if line is None:
                return "cancel", {}
            answer = read_answer(question, line)
        answers[str(question["id"])] = answer
    if not questions:
        line = await ask(text("cli.chat.done"))
        return ("cancel" if line is None else "accept"), {}
    return "accept", answers


def _value(question: Question, line: str) -> Answer | None:
    match question.get("kind"):
        case "boolean":
            word = line.casefold()
            return {"kind": "boolean", "value": word in YES} if word in YES | NO else None
        case "number" | "integer" as kind:
            return _number(line, whole=kind == "integer")
        case "single-select":
            chosen = _option(question, line)
            return None if chosen is None else {"kind": "selected", "value": chosen}
        case "multi-select":
            several = [_option(question, part.strip()) for part in line.split(",") if part.strip()]
            return None if None in several or not several else {"kind": "selected-many", "value": several}
        case _:
            return {"kind": "text", "value": line}


def _number(line: str, *, whole: bool) -> Answer | None:
    try:
        value = int(line) if whole else float(line)
    except ValueError:
        return None
    return {"kind": "number", "value": value}


def _option(question: Question, line: str) -> str | None:
    options: Sequence[Mapping[str, Any]] = question.get("options") or ()
    if line.isdecimal() and 1 <= int(line) <= len(options):
        return str(options[int(line) - 1]["id"])
    wanted = line.casefold()
    for option in options:
        if wanted in (str(option["id"]).casefold(), str(option["label"]).casefold()):
            return str(option["id"])
    return line if question.get("allowFreeformInput") else None
