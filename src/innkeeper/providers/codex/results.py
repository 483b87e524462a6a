"""Results of Codex's tools in AHP's shape (AHP §9.2). Pure.

What a conversation keeps of one result is bounded; the model has it whole.
"""

import base64
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final, cast

from innkeeper.protocol.chat.state import ToolCallResult, ToolResultContent
from innkeeper.texts import text

CHARACTERS: Final = 256 * 1024
ERROR_CHARACTERS: Final = 2000


def plain_result(words: str, *, success: bool) -> ToolCallResult:
    message = text("codex.done" if success else "codex.failed")
    result: dict[str, Any] = {"success": success, "pastTenseMessage": message}
    if words:
        result["content"] = [_text(words)]
    if not success:
        result["error"] = {"message": words[:ERROR_CHARACTERS] or message}
    return cast(ToolCallResult, result)


def command_result(item: Mapping[str, Any]) -> ToolCallResult:
    """Success is a command that ran and ended with 0."""
    output, code = str(item.get("aggregatedOutput") or ""), item.get("exitCode")
    if item.get("status") == "declined":
        return {"success": False, "pastTenseMessage": text("codex.declined"), "error": {"message": _why_declined()}}
    success = item.get("status") == "completed" and code in (0, None)
    said = text("codex.ran") if success else text("codex.exited", code=str(code))
    result: dict[str, Any] = {"success": success, "pastTenseMessage": said}
    if output:
        result["content"] = [_text(output)]
    if not success:
        result["error"] = {"message": said}
    return cast(ToolCallResult, result)


def edit_result(item: Mapping[str, Any]) -> ToolCallResult:
    """Each file with what happened to it, so that the host knows what an agent wrote (M4.1b)."""
    if item.get("status") == "declined":
        return {"success": False, "pastTenseMessage": text("codex.declined"), "error": {"message": _why_declined()}}
    success = item.get("status") == "completed"
    content = [_edit(change) for change in item.get("changes") or () if success and change.get("path")]
    result: dict[str, Any] = {
        "success": success,
        "pastTenseMessage": text("codex.edited", n=len(content)) if success else text("codex.failed"),
        "content": content,
    }
    if not success:
        result["error"] = {"message": text("codex.failed")}
    return cast(ToolCallResult, result)


def _edit(change: Mapping[str, Any]) -> dict[str, Any]:
    uri, kind = PurePath(str(change["path"])).as_uri(), (change.get("kind") or {}).get("type")
    moved = (change.get("kind") or {}).get("move_path")
    lines = str(change.get("diff") or "").splitlines()
    if kind == "add":
        added, removed = len(lines), 0
    elif kind == "delete":
        added, removed = 0, len(lines)
    else:
        added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
        removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    edit: dict[str, Any] = {"type": "fileEdit", "diff": {"added": added, "removed": removed}}
    if kind != "add":
        edit["before"] = {"uri": uri, "content": {"uri": uri}}
    if kind != "delete":
        after = PurePath(str(moved)).as_uri() if moved else uri
        edit["after"] = {"uri": after, "content": {"uri": after}}
    return edit


def mcp_result(item: Mapping[str, Any]) -> ToolCallResult:
    error, result = item.get("error"), item.get("result") or {}
    if error or item.get("status") == "failed":
        why = str((error or {}).get("message") or "") or _words(result)
        message = text("codex.failed")
        return {
            "success": False,
            "pastTenseMessage": message,
            "error": {"message": why[:ERROR_CHARACTERS] or message},
        }
    content = [block for one in result.get("content") or () if (block := _block(one)) is not None]
    done: dict[str, Any] = {"success": True, "pastTenseMessage": text("codex.done"), "content": content}
    structured = result.get("structuredContent")
    if isinstance(structured, Mapping):
        done["structuredContent"] = structured
    return cast(ToolCallResult, done)


def _words(result: Mapping[str, Any]) -> str:
    return "\n".join(str(one.get("text")) for one in result.get("content") or () if one.get("type") == "text")


def _block(block: Mapping[str, Any]) -> ToolResultContent | None:
    match block.get("type"):
        case "text":
            return _text(str(block.get("text", "")))
        case "image" | "audio":
            kind = str(block.get("mimeType") or "application/octet-stream")
            return _data(str(block.get("data", "")), kind)
        case "resource_link":
            return {"type": "resource", "uri": str(block.get("uri", ""))}
        case "resource":
            resource = block.get("resource") or {}
            kind = str(resource.get("mimeType") or "text/plain")
            if "blob" in resource:
                return _data(str(resource["blob"]), kind)
            words = str(resource.get("text", ""))
            if kind.startswith("text/plain"):
                return _text(words)
            return _data(base64.b64encode(words.encode("utf-8", "replace")).decode(), kind)
        case _:
            return None


def _text(words: str) -> ToolResultContent:
    if len(words) > CHARACTERS:
        words = f"{words[:CHARACTERS]}\n{text('codex.cut', n=len(words))}"
    return {"type": "text", "text": words}


def _data(data: str, kind: str) -> ToolResultContent:
    if len(data) > 4 * CHARACTERS:
        return _text(text("codex.cut", n=len(data)))
    return {"type": "embeddedResource", "data": data, "contentType": kind}


def _why_declined() -> str:
    return text("codex.declined")
