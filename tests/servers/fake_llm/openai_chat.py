"""A model behind OpenAI's Chat Completions, streamed (`POST /v1/chat/completions`): what most other agents speak."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.routing import Route

from servers.fake_llm.recording import Asked, Call, FakeModel, Offered, Reply, Say, Think, halves, named, now


class FakeChat(FakeModel):
    def routes(self) -> list[Route]:
        return [Route("/v1/chat/completions", self.answer, methods=["POST"])]

    def read(self, body: Mapping[str, Any]) -> tuple[Sequence[Offered], str]:
        tools = [Offered(str(tool["function"]["name"])) for tool in body.get("tools") or ()]
        messages = body.get("messages") or [{}]
        return tools, _words(messages[-1].get("content"))

    async def write(self, asked: Asked, answer: Reply) -> AsyncIterator[bytes]:
        head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": now(), "model": asked.body.get("model")}

        def chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            whole = {**head, "object": "chat.completion.chunk", "choices": [choice], **more}
            return f"data: {json.dumps(whole)}\n\n".encode()

        yield chunk({"role": "assistant", "content": ""})
        calls = 0
        for part in answer.parts:
            match part:
                case Say(pieces):
                    deltas: list[Mapping[str, Any]] = [{"content": piece} for piece in pieces]
                case Think(pieces):
                    deltas = [{"reasoning_content": piece} for piece in pieces]
                case Call():
                    deltas = _called(asked, part, calls)
                    calls += 1
            for delta in deltas:
                await asyncio.sleep(answer.pause)
                yield chunk(delta)
        if answer.then != "end":
            return
        used = answer.usage
        usage = {"prompt_tokens": used.fresh, "completion_tokens": used.written}
        usage["total_tokens"] = used.fresh + used.written
        yield chunk({}, "tool_calls" if calls else "stop", usage=usage)
        yield b"data: [DONE]\n\n"


def _called(asked: Asked, part: Call, index: int) -> list[Mapping[str, Any]]:
    given = part.raw if part.raw is not None else json.dumps(dict(part.arguments))
    first = {"index": index, "id": part.id or f"call_{uuid.uuid4().hex}", "type": "function"}
    begun = {**first, "function": {"name": named(asked, part).name, "arguments": ""}}
    rest = [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in halves(given)]
    return [{"tool_calls": [begun]}, *rest]


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or () if isinstance(part, Mapping))
