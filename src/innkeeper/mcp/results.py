"""A tool's answer in AHP's shape (AHP §9.2): MCP content blocks become tool result content.

What a conversation keeps of one answer is bounded and says what is not there. An agent that calls by MCP gets it whole.
"""

import base64
from collections.abc import Iterable, Mapping
from typing import cast

from innkeeper.mcp.connections.values import RawResult
from innkeeper.protocol.chat.state import ToolCallResult, ToolResultContent
from innkeeper.texts import text
from innkeeper.wire.json import encode

ERROR_LIMIT = 2000
"""Characters of a server's error text that go into `error.message`; the content has all of it."""


CONTENT_LIMIT = 1024 * 1024
"""Characters of one answer's texts and data that are kept, and bytes of its structured content."""


def completed(raw: RawResult, server: str, tool: str, lang: str) -> ToolCallResult:
    """Success or failure as the server says; structured content is kept."""
    content = _bounded([block for item in raw.content if (block := _content(item)) is not None], lang)
    message = text("gate.failed" if raw.is_error else "gate.called", lang=lang, tool=tool, server=server)
    result: ToolCallResult = {"success": not raw.is_error, "pastTenseMessage": message, "content": content}
    if raw.structured is not None:
        size = len(encode(raw.structured))
        if size <= CONTENT_LIMIT:
            result = {**result, "structuredContent": raw.structured}
        else:
            note: ToolResultContent = {"type": "text", "text": text("gate.leftOut", lang=lang, n=size)}
            result = {**result, "content": [*content, note]}
    if raw.is_error:
        result = {**result, "error": {"message": _error_text(raw.content) or message}}
    return result


def _bounded(content: list[ToolResultContent], lang: str) -> list[ToolResultContent]:
    """The blocks as far as there is room: a text is cut, data is there or not."""
    room, kept = CONTENT_LIMIT, list[ToolResultContent]()
    for block in content:
        if block["type"] == "text" and len(block["text"]) > room:
            note = text("gate.cut", lang=lang, kept=room, n=len(block["text"]))
            block = {**block, "text": f"{block['text'][:room]}\n{note}"}
            room = 0
        elif block["type"] == "embeddedResource" and len(block["data"]) > room:
            block = {"type": "text", "text": text("gate.leftOut", lang=lang, n=len(block["data"]))}
        elif block["type"] in ("text", "embeddedResource"):
            room -= len(str(block.get("text", block.get("data", ""))))
        kept.append(block)
    return kept


def failed(server: str, tool: str, code: str, message: str, lang: str) -> ToolCallResult:
    """The call was made, or begun, and gave no answer."""
    return {
        "success": False,
        "pastTenseMessage": text("gate.failed", lang=lang, tool=tool, server=server),
        "error": {"message": message[:ERROR_LIMIT], "code": code},
    }


def refused(server: str, tool: str, code: str, reason: str, lang: str) -> ToolCallResult:
    """The call was not made."""
    return {
        "success": False,
        "pastTenseMessage": text("gate.refused", lang=lang, tool=tool, server=server),
        "error": {"message": reason, "code": code},
    }


def _content(block: Mapping[str, object]) -> ToolResultContent | None:
    match block.get("type"):
        case "text":
            return {"type": "text", "text": str(block.get("text", ""))}
        case "image" | "audio":
            return {
                "type": "embeddedResource",
                "data": str(block.get("data", "")),
                "contentType": str(block.get("mimeType", "application/octet-stream")),
            }
        case "resource":
            return _embedded(cast(Mapping[str, object], block.get("resource", {})))
        case "resource_link":
            link: ToolResultContent = {"type": "resource", "uri": str(block.get("uri", ""))}
            kind = block.get("mimeType")
            return link if kind is None else cast(ToolResultContent, {**link, "contentType": kind})
        case _:
            return None


def _embedded(resource: Mapping[str, object]) -> ToolResultContent:
    kind = resource.get("mimeType")
    if "blob" in resource:
        return {
            "type": "embeddedResource",
            "data": str(resource["blob"]),
            "contentType": str(kind or "application/octet-stream"),
        }
    written = str(resource.get("text", ""))
    if kind is None or str(kind).startswith("text/plain"):
        return {"type": "text", "text": written}
    return {
        "type": "embeddedResource",
        "data": base64.b64encode(written.encode("utf-8", "replace")).decode(),
        "contentType": str(kind),
    }


def _error_text(content: Iterable[Mapping[str, object]]) -> str:
    written = [str(block.get("text", "")) for block in content if block.get("type") == "text"]
    return "\n".join(written)[:ERROR_LIMIT]
