"""Content between AHP and ACP: messages to prompts, tool content to results (AHP §9.2, §9.7). Pure."""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final, cast

from innkeeper.protocol.chat.state import Message, ToolCallResult, ToolResultContent
from innkeeper.texts import text
from innkeeper.wire.json import encode

CHARACTERS: Final = 256 * 1024
ERROR_CHARACTERS: Final = 2000
PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

Part = dict[str, Any]


def words(given: str) -> Part:
    return {"type": "text", "text": given}


def prompt_of(given: str, message: Message, *, pictures: bool, embedded: bool) -> list[Part]:
    """What the agent said it takes decides how an attachment goes."""
    parts = [words(given)]
    for attachment in cast(Sequence[Mapping[str, Any]], message.get("attachments") or ()):
        parts.extend(_attached(attachment, pictures, embedded))
    return parts


def _attached(attachment: Mapping[str, Any], pictures: bool, embedded: bool) -> Iterator[Part]:
    label, kind = str(attachment.get("label", "")), attachment.get("type")
    if kind == "simple" and attachment.get("modelRepresentation"):
        yield words(f"{label}:\n{attachment['modelRepresentation']}")
    elif kind == "embeddedResource":
        yield _embedded(label, attachment, pictures, embedded)
    elif kind == "resource":
        uri = str(attachment.get("uri", ""))
        yield {"type": "resource_link", "uri": uri, "name": label or uri}
    elif kind in ("annotations", "chat"):
        yield words(f"{label}: {attachment.get('resource', '')}")


def _embedded(label: str, attachment: Mapping[str, Any], pictures: bool, embedded: bool) -> Part:
    kind, data = str(attachment.get("contentType", "")).partition(";")[0], str(attachment.get("data", ""))
    if kind in PICTURES and pictures:
        return {"type": "image", "mimeType": kind, "data": data}
    try:
        found = base64.b64decode(data, validate=True).decode()[:CHARACTERS]
    except ValueError:
        return words(text("acp.unreadable", label=label, type=kind or "application/octet-stream"))
    if embedded:
        resource = {"uri": f"attachment:///{label}", "text": found, "mimeType": kind or "text/plain"}
        return {"type": "resource", "resource": resource}
    return words(f"{label}:\n{found}")


def shown_content(content: Iterable[Mapping[str, Any]]) -> list[ToolResultContent]:
    return [block for one in content if (block := _block(one)) is not None]


def result_of(update: Mapping[str, Any], content: Iterable[Mapping[str, Any]]) -> ToolCallResult:
    shown = shown_content(content)
    raw = update.get("rawOutput")
    if not shown and raw is not None:
        shown = [_text(raw if isinstance(raw, str) else encode(raw).decode())]
    success = update.get("status") == "completed"
    result: dict[str, Any] = {
        "success": success,
        "pastTenseMessage": text("acp.done" if success else "acp.failed"),
        "content": shown,
    }
    if not success:
        said = "\n".join(str(block.get("text", "")) for block in shown if block["type"] == "text")
        result["error"] = {"message": said[:ERROR_CHARACTERS] or text("acp.failed")}
    return cast(ToolCallResult, result)


def edits_of(update: Mapping[str, Any]) -> Iterator[str]:
    """Files that a call edits, as far as it says so."""
    for one in update.get("content") or ():
        if one.get("type") == "diff" and one.get("path"):
            yield str(one["path"])


def _block(one: Mapping[str, Any]) -> ToolResultContent | None:
    match one.get("type"):
        case "content":
            return _content(one.get("content") or {})
        case "diff" if str(one.get("path", "")).startswith("/"):
            return _edit(one)
        case _:
            return None


def _edit(one: Mapping[str, Any]) -> ToolResultContent:
    uri = PurePath(str(one["path"])).as_uri()
    old, new = one.get("oldText"), str(one.get("newText") or "")
    side = {"uri": uri, "content": {"uri": uri}}
    edit: dict[str, Any] = {"type": "fileEdit", "after": side}
    if old is not None:
        edit["before"] = side
    before, after = str(old or "").splitlines(), new.splitlines()
    edit["diff"] = {"added": max(0, len(after) - len(before)), "removed": max(0, len(before) - len(after))}
    return cast(ToolResultContent, edit)


def _content(block: Mapping[str, Any]) -> ToolResultContent | None:
    match block.get("type"):
        case "text":
            return _text(str(block.get("text", "")))
        case "image" | "audio":
            kind = str(block.get("mimeType") or "application/octet-stream")
            return {"type": "embeddedResource", "data": str(block.get("data", "")), "contentType": kind}
        case "resource_link":
            return {"type": "resource", "uri": str(block.get("uri", ""))}
        case "resource":
            return _text(str((block.get("resource") or {}).get("text") or ""))
        case _:
            return None


def _text(given: str) -> ToolResultContent:
    if len(given) > CHARACTERS:
        given = f"{given[:CHARACTERS]}\n{text('acp.cut', n=len(given))}"
    return {"type": "text", "text": given}
