"""The gate's question in the language of the person at this terminal, whoever's turn it is (M6.2, M9.4).

Rules
* The call's `_meta["x-innkeeper/gate"]` says which texts the question is made of, and their values.
* Ids that this version does not know leave the words of the host as they are; so does a host that sends none.
"""

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.cli.words import text

Call = Mapping[str, Any]

KEY: Final = "x-innkeeper/gate"
KNOWN: Final = frozenset({"gate.title", "gate.invocation", "gate.allow_once", "gate.allow_always", "gate.deny"})
RULES: Final = frozenset({"gate.why.askingRule", "gate.why.sessionRule", "gate.why.operatorRule"})


def own_words(call: Call) -> Call:
    """The call with title, invocation and options in this language where it says how, else as it is."""
    asked = (call.get("_meta") or {}).get(KEY)
    if not isinstance(asked, Mapping):
        return call
    values = _values(asked.get("values"))
    ids: Mapping[str, Any] = asked["options"] if isinstance(asked.get("options"), Mapping) else {}
    said = {
        "confirmationTitle": _title(asked, values),
        "invocationMessage": _said(asked.get("invocation"), values),
        "options": [
            {**option, "label": _said(ids.get(option.get("id")), values) or option.get("label")}
            for option in call.get("options") or ()
        ],
    }
    return {**call, **{name: words for name, words in said.items() if words}}


def _title(asked: Mapping[str, Any], values: Mapping[str, str]) -> str | None:
    title, also = _said(asked.get("message"), values), asked.get("also") or ()
    if title is None or not also:
        return title
    reasons = [text(str(one["message"]), **_values(one.get("values"))) for one in also if one.get("message") in RULES]
    if len(reasons) != len(also):
        return None
    return text("gate.title_and_rules", title=title, reasons="; ".join(reasons))


def _said(id: object, values: Mapping[str, str]) -> str | None:
    return text(str(id), **values) if id in KNOWN else None


def _values(given: object) -> dict[str, str]:
    """`server` and `tool` at least: a missing one is shown as its name."""
    named = given if isinstance(given, Mapping) else {}
    return {"server": "?", "tool": "?", **{str(name): str(value) for name, value in named.items()}}
