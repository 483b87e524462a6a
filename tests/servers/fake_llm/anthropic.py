"""A model behind the API that Claude Code speaks: Anthropic's Messages, streamed (`POST /v1/messages`).

What is offered to the model are the entries of `tools`. A tool of an MCP server is one flat name there,
`mcp__<server>__<tool>`.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from servers.fake_llm.recording import Asked, FakeModel, Offered, Part, Reply, Say, Think, event, halves, named


class FakeAnthropic(FakeModel):
    def routes(self) -> list[Route]:
        return [
            Route("/v1/messages", self.answer, methods=["POST"]),
            Route("/v1/messages/count_tokens", self.count, methods=["POST"]),
        ]

    def read(self, body: Mapping[str, Any]) -> tuple[Sequence[Offered], str]:
        said = [message for message in body.get("messages") or () if message.get("role") != "system"]
        messages = said or [{}]
        tools = [Offered(str(tool["name"])) for tool in body.get("tools") or ()]
        return tools, _words(messages[-1].get("content"))

    def error(self, type: str, message: str) -> Any:
        return {"type": "error", "error": {"type": type, "message": message}}

    async def count(self, http: Request) -> Response:
        self.other.append(http.url.path)
        return JSONResponse({"input_tokens": len(await http.body()) // 4})

    async def write(self, asked: Asked, answer: Reply) -> AsyncIterator[bytes]:
        yield event("message_start", message=_opening(asked, answer))
        for index, part in enumerate(answer.parts):
            block = _block(asked, part)
            yield event("content_block_start", index=index, content_block=_unfilled(block))
            for delta in _deltas(part, block):
                await asyncio.sleep(answer.pause)
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        if answer.then != "end":
            return
        if answer.error is not None:
            yield event("error", **{key: value for key, value in self.error(*answer.error).items() if key != "type"})
            return
        calls = not all(isinstance(part, (Say, Think)) for part in answer.parts)
        reason = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
        yield event("message_delta", delta=reason, usage={"output_tokens": answer.usage.written})
        yield event("message_stop")


def _opening(asked: Asked, answer: Reply) -> dict[str, Any]:
    usage = {
        "input_tokens": answer.usage.fresh,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": answer.usage.cached,
        "output_tokens": 1,
    }
    return {
        "id": _id("msg"),
        "type": "message",
        "role": "assistant",
        "model": asked.body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _block(asked: Asked, part: Part) -> dict[str, Any]:
    match part:
        case Say(pieces):
            return {"type": "text", "text": "".join(pieces)}
        case Think(pieces):
            return {"type": "thinking", "thinking": "".join(pieces), "signature": "c2lnbmVk"}
    name = named(asked, part).name
    return {"type": "tool_use", "id": part.id or _id("toolu"), "name": name, "input": dict(part.arguments)}


def _unfilled(block: Mapping[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: empty.get(key, value) for key, value in block.items()}


def _deltas(part: Part, block: Mapping[str, Any]) -> list[dict[str, Any]]:
    match part:
        case Say(pieces):
            return [{"type": "text_delta", "text": piece} for piece in pieces]
        case Think(pieces):
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return [*({"type": "thinking_delta", "thinking": piece} for piece in pieces), signed]
    return [{"type": "input_json_delta", "partial_json": half} for half in halves(json.dumps(block["input"]))]


def _words(content: Any) -> str:
    """The text of a message, results of tools too, without what the agent puts beside it."""
    if isinstance(content, str):
        return content
    blocks = [block for block in content or () if isinstance(block, Mapping)]
    found = (block["text"] if block.get("type") == "text" else _words(block.get("content")) for block in blocks)
    return "\n".join(one for one in found if one and not one.lstrip().startswith("<system-reminder>"))


def _id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:24]}"
