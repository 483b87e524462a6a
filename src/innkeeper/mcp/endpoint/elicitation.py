"""A server's question as an AHP input request, and the answer back (MCP elicitation, AHP §9.8). Pure.

Rules
* A form becomes one question a property, in order; a URL becomes a link to open. The server's name stands before its
  words, so that nobody takes them for the host's.
* What cannot be asked faithfully (a nested or unknown kind of property) is refused as a whole, never guessed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from innkeeper.ports.endpoints import Asked
from innkeeper.ports.mcp import ElicitationRefused, JsonObject
from innkeeper.protocol.chat.state import ChatInputAnswer, ChatInputQuestion, ChatInputRequest

_Schema = Mapping[str, Any]


def request_of(params: JsonObject, server: str, id: str) -> ChatInputRequest:
    """The input request; `params` are those of `elicitation/create`. Raises ElicitationRefused."""
    message = f"{server}: {params.get('message', '')}"
    if params.get("mode") == "url":
        return {"id": id, "message": message, "url": str(params.get("url", ""))}
    schema = cast(_Schema, params.get("requestedSchema") or {})
    required = schema.get("required") or ()
    properties = cast(Mapping[str, _Schema], schema.get("properties") or {})
    questions = [_question(name, found, name in required) for name, found in properties.items()]
    return {"id": id, "message": message, "questions": questions}


def result_of(asked: Asked, params: JsonObject) -> JsonObject:
    """MCP's `ElicitResult`."""
    if asked.response != "accept":
        return {"action": asked.response}
    if params.get("mode") == "url":
        return {"action": "accept"}
    schema = cast(_Schema, params.get("requestedSchema") or {})
    properties = cast(Mapping[str, _Schema], schema.get("properties") or {})
    content: dict[str, object] = {}
    for name, found in properties.items():
        answer = asked.answers.get(name)
        if answer is not None and answer["state"] != "skipped":
            content[name] = _value(answer, found)
    return {"action": "accept", "content": content}


_BOUNDS: Final[Mapping[str, tuple[str, str]]] = {
    "string": ("minLength", "maxLength"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
}


def _question(name: str, schema: _Schema, required: bool) -> ChatInputQuestion:
    kind = schema.get("type")
    title = str(schema.get("title") or name)
    question: dict[str, Any] = {"id": name, "title": title, "message": str(schema.get("description") or title)}
    if required:
        question["required"] = True
    for key, bound in zip(("min", "max"), _BOUNDS.get(str(kind), ()), strict=False):
        if bound in schema:
            question[key] = schema[bound]
    options = _options(schema if kind != "array" else cast(_Schema, schema.get("items") or {}))
    if kind == "array" and options:
        return cast(ChatInputQuestion, {**question, "kind": "multi-select", "options": options})
    if kind == "string" and options:
        return cast(ChatInputQuestion, {**question, "kind": "single-select", "options": options})
    if kind == "string":
        question |= {"kind": "text"} | ({"format": schema["format"]} if "format" in schema else {})
    elif kind in ("number", "integer", "boolean"):
        question["kind"] = kind
    else:
        raise ElicitationRefused(f"A property of type {kind!r} cannot be asked for.")
    if schema.get("default") is not None:
        question["defaultValue"] = schema["default"]
    return cast(ChatInputQuestion, question)


def _options(schema: _Schema) -> list[dict[str, object]]:
    titled = schema.get("oneOf") or schema.get("anyOf")
    if titled:
        return [{"id": str(one["const"]), "label": str(one.get("title") or one["const"])} for one in titled]
    values = cast(Sequence[object], schema.get("enum") or ())
    names = cast(Sequence[object], schema.get("enumNames") or ())
    labels = names if len(names) == len(values) else values
    return [{"id": str(value), "label": str(label)} for value, label in zip(values, labels, strict=True)]


def _value(answer: ChatInputAnswer, schema: _Schema) -> object:
    given = cast(Mapping[str, Any], answer)["value"]["value"]
    if schema.get("type") == "integer" and isinstance(given, float) and given.is_integer():
        return int(given)
    return given
