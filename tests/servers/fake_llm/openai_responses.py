"""A model behind the API that Codex speaks: OpenAI's Responses, streamed (`POST /v1/responses`).

What is offered to the model are the functions of `tools`, those of its namespaces, and tools that a later input item
brings. A namespace is given back with a call of one of its functions.
"""

import asyncio
import itertools
import json
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from starlette.routing import Route

from servers.fake_llm.recording import (
    Asked,
    Call,
    FakeModel,
    Offered,
    Part,
    Reply,
    Say,
    Think,
    event,
    halves,
    named,
    now,
)


class FakeOpenAI(FakeModel):
    def routes(self) -> list[Route]:
        return [Route("/v1/responses", self.answer, methods=["POST"])]

    def read(self, body: Mapping[str, Any]) -> tuple[Sequence[Offered], str]:
        given = body.get("input") or []
        items = given if isinstance(given, list) else [given]
        tools = [*_offered(body.get("tools") or ())]
        for item in items:
            if isinstance(item, dict):
                tools.extend(_offered(item.get("tools") or ()))
        return tools, _words(items[-1]) if items else ""

    async def write(self, asked: Asked, answer: Reply) -> AsyncIterator[bytes]:
        numbers = itertools.count()
        whole = _response(asked, answer)

        def said(kind: str, **data: Any) -> bytes:
            return event(kind, sequence_number=next(numbers), **data)

        yield said("response.created", response={**whole, "output": [], "usage": None})
        for index, part in enumerate(answer.parts):
            item = whole["output"][index]
            yield said("response.output_item.added", output_index=index, item=_unfilled(item))
            async for piece in _filling(part, item, index, answer.pause, said):
                yield piece
            yield said("response.output_item.done", output_index=index, item=item)
        if answer.then != "end":
            return
        if answer.error is not None:
            code, message = answer.error
            failed = {**whole, "status": "failed", "output": [], "error": {"code": code, "message": message}}
            yield said("response.failed", response=failed)
            return
        yield said("response.completed", response=whole)


async def _filling(part: Part, item: Mapping[str, Any], index: int, pause: float, said: Any) -> AsyncIterator[bytes]:
    """The deltas of one item."""
    where = {"item_id": item["id"], "output_index": index}
    match part:
        case Say(pieces):
            name, where = "response.output_text", {**where, "content_index": 0}
            yield said("response.content_part.added", **where, part={**item["content"][0], "text": ""})
        case Think(pieces):
            name, where = "response.reasoning_summary_text", {**where, "summary_index": 0}
            yield said("response.reasoning_summary_part.added", **where, part={"type": "summary_text", "text": ""})
        case Call(raw=None):
            name, pieces = "response.function_call_arguments", tuple(halves(item["arguments"]))
        case _:
            name, pieces = "response.custom_tool_call_input", tuple(halves(item["input"]))
    for piece in pieces:
        await asyncio.sleep(pause)
        yield said(f"{name}.delta", **where, delta=piece)


def _response(asked: Asked, answer: Reply) -> dict[str, Any]:
    used = answer.usage
    return {
        "id": _id("resp"),
        "object": "response",
        "created_at": now(),
        "status": "completed",
        "model": asked.body.get("model"),
        "output": [_item(asked, part) for part in answer.parts],
        "error": None,
        "usage": {
            "input_tokens": used.fresh,
            "input_tokens_details": {"cached_tokens": used.cached},
            "output_tokens": used.written,
            "output_tokens_details": {"reasoning_tokens": used.reasoned},
            "total_tokens": used.fresh + used.written,
        },
    }


def _item(asked: Asked, part: Part) -> dict[str, Any]:
    match part:
        case Say(pieces):
            text = {"type": "output_text", "text": "".join(pieces), "annotations": []}
            return {"id": _id("msg"), "type": "message", "role": "assistant", "status": "completed", "content": [text]}
        case Think(pieces):
            summary = {"type": "summary_text", "text": "".join(pieces)}
            return {"id": _id("rs"), "type": "reasoning", "summary": [summary], "encrypted_content": "b3BhcXVl"}
    tool = named(asked, part)
    base = {"call_id": part.id or _id("call"), "name": tool.name, "status": "completed"}
    if tool.space is not None:
        base["namespace"] = tool.space
    if part.raw is not None:
        return {"id": _id("ctc"), "type": "custom_tool_call", **base, "input": part.raw}
    return {"id": _id("fc"), "type": "function_call", **base, "arguments": json.dumps(dict(part.arguments))}


def _unfilled(item: Mapping[str, Any]) -> dict[str, Any]:
    """The item before its deltas."""
    unfilled = {"content": [], "summary": [], "arguments": "", "input": "", "status": "in_progress"}
    return {key: unfilled.get(key, value) for key, value in item.items() if key != "encrypted_content"}


def _offered(tools: Iterable[Mapping[str, Any]], space: str | None = None) -> list[Offered]:
    found: list[Offered] = []
    for tool in tools:
        if tool.get("type") == "namespace":
            found.extend(_offered(tool.get("tools") or (), str(tool["name"])))
        else:  # a tool of the API itself has a type and no name
            found.append(Offered(str(tool.get("name") or tool.get("type")), space))
    return found


def _words(item: Any) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, list):
        return "\n".join(filter(None, map(_words, item)))
    if isinstance(item, Mapping):
        return _words(next((item[key] for key in ("text", "content", "output") if key in item), ""))
    return ""


def _id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex}"
