"""The gate's question, and what its answer means (M6.1, M6.2, M6.4).

Rules
* Three answers. Message ids and values go along, so that each client shows the question in its own language; the texts
  themselves are in the language of the person whose turn it is (M9.4).
* Anything but an approval is a refusal with its reason.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from innkeeper.mcp.gate import ALLOW_ALWAYS, ALLOW_ONCE, DENY, Call, Decision
from innkeeper.ports.mcp import JsonObject
from innkeeper.ports.questions import Answer, Confirmation, Option
from innkeeper.texts import text

META_KEY: Final = "x-innkeeper/gate"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not made: a row of the error table, and words for a person."""

    code: str
    reason: str


def question(server: str, tool: str, arguments: JsonObject, call: Call, decision: Decision, lang: str) -> Confirmation:
    """What is asked about a call of `tool` of the declared `server`."""
    values = {"server": server, "tool": tool}
    title = text("gate.title", lang=lang, **values)
    if decision.also:
        reasons = "; ".join(text(reason.message, lang=lang, **reason.values) for reason in decision.also)
        title = text("gate.title_and_rules", lang=lang, title=title, reasons=reasons)
    return Confirmation(
        title=title,
        invocation=text("gate.invocation", lang=lang, **values),
        tool_input=json.dumps(arguments, ensure_ascii=False, indent=2),
        options=(
            Option(ALLOW_ONCE, text("gate.allow_once", lang=lang), "approve"),
            Option(ALLOW_ALWAYS, text("gate.allow_always", lang=lang), "approve"),
            Option(DENY, text("gate.deny", lang=lang), "deny"),
        ),
        meta={
            META_KEY: {
                "message": "gate.title",
                "invocation": "gate.invocation",
                "values": values,
                "options": {ALLOW_ONCE: "gate.allow_once", ALLOW_ALWAYS: "gate.allow_always", DENY: "gate.deny"},
                "why": decision.why,
                "tool": call.tool,
                "also": [{"message": reason.message, "values": dict(reason.values)} for reason in decision.also],
            }
        },
        lang=lang,
    )


def refusal(answer: Answer, lang: str) -> Refusal | None:
    """Why the answer is no approval; None when it is one."""
    if answer.approved and answer.option != DENY:
        return None
    return Refusal("TOOL_DENIED", answer.message or text(_REASONS[answer.reason], lang=lang))


def edited(answer: Answer, arguments: JsonObject, lang: str) -> JsonObject | Refusal:
    """The arguments of the approved call: those that the person left, or wrote."""
    if answer.edited_input is None:
        return arguments
    try:
        written = json.loads(answer.edited_input)
    except (ValueError, RecursionError):
        written = None
    return written if isinstance(written, dict) else Refusal("TOOL_DENIED", text("gate.bad_input", lang=lang))


_REASONS: Final[Mapping[str, str]] = {
    "user": "gate.denied",
    "timeout": "gate.timed_out",
    "cancelled": "gate.cancelled",
    "no-conversation": "gate.unanswerable",
    "withdrawn": "gate.cancelled",
}
