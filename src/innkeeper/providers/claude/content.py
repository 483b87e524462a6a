"""What the user says in the agent's shape, and what its tools gave in AHP's (AHP §9.2, §9.7).

What a conversation keeps of one result is bounded; the model has it whole.
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Final, cast

from innkeeper.protocol.chat.state import Message, ToolCallResult
from innkeeper.protocol.uris import local_path
from innkeeper.texts import text

CHARACTERS: Final = 256 * 1024
IMAGE_BYTES: Final = 5 * 1024 * 1024
IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SUFFIXES: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}

EDITS: Final = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})


def prompt(words: str, message: Message, before: Sequence[str]) -> list[dict[str, Any]]:
    """The blocks of a message: what the model is told besides, what is attached, the words."""
    blocks = [{"type": "text", "text": f"<system-reminder>\n{one}\n</system-reminder>"} for one in before if one]
    for attachment in message.get("attachments") or ():
        blocks.extend(_attached(cast(Mapping[str, Any], attachment)))
    return [*blocks, {"type": "text", "text": words or " "}]


def _attached(attachment: Mapping[str, Any]) -> list[dict[str, Any]]:
    label = str(attachment.get("label", ""))
    match attachment.get("type"):
        case "simple":
            said = attachment.get("modelRepresentation") or label
            return [_text(f"Attached: {label}\n{said}")]
        case "embeddedResource":
            return _embedded(label, str(attachment.get("contentType", "")), str(attachment.get("data", "")))
        case "resource":
            return _referred(label, str(attachment.get("uri", "")), attachment.get("selection"))
    return [_text(f"Attached: {label}")]


def _embedded(label: str, type: str, data: str) -> list[dict[str, Any]]:
    if type in IMAGES:
        return [_text(f"Attached image: {label}"), _image(type, data)]
    try:
        words = base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return [_text(f"Attached: {label} ({type}), which cannot be shown as text")]
    return [_text(f"Attached: {label}\n{words[:CHARACTERS]}")]


def _referred(label: str, uri: str, selection: object) -> list[dict[str, Any]]:
    """A file by reference; the agent reads it with its own tools, an image is given to it at once. Off the loop."""
    local = local_path(uri)
    if local is None:
        return [_text(f"Attached: {label} at {uri}")]
    path = Path(local)
    type = _SUFFIXES.get(path.suffix.lower())
    if type is not None:
        try:
            if path.stat().st_size <= IMAGE_BYTES:
                return [_text(f"Attached image: {path}"), _image(type, base64.b64encode(path.read_bytes()).decode())]
        except OSError:
            return [_text(f"Attached image, which cannot be read: {path}")]
    return [_text(f"Attached file: {path}{_lines(selection)}")]


def _lines(selection: object) -> str:
    chosen = selection.get("range") if isinstance(selection, Mapping) else None
    try:
        return f", lines {chosen['start']['line'] + 1} to {chosen['end']['line'] + 1}" if chosen else ""
    except (KeyError, TypeError):
        return ""


def _image(type: str, data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": type, "data": data}}


def _text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def result(name: str, block: Mapping[str, Any], structured: object) -> ToolCallResult:
    """A `tool_result` of the tool `name`; `structured` is what the agent knows of it besides."""
    words = words_of(block.get("content"))
    failed = bool(block.get("is_error"))
    content: list[dict[str, Any]] = []
    if not failed and name in EDITS and isinstance(structured, Mapping):
        content.extend(_edited(structured))
    content.extend(_blocks(block.get("content")))
    found: dict[str, Any] = {
        "success": not failed,
        "pastTenseMessage": text("claude.failed" if failed else "claude.done", tool=name),
        "content": content,
    }
    if failed:
        found["error"] = {"message": words[:2000] or text("claude.failed", tool=name)}
    return cast(ToolCallResult, found)


def words_of(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, Mapping) and "text" in block)


def _blocks(content: object) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [_text(content[:CHARACTERS])] if content else []
    blocks: list[dict[str, Any]] = []
    for block in content if isinstance(content, list) else ():
        source = block.get("source") or {}
        if block.get("type") == "text":
            blocks.append(_text(str(block.get("text", ""))[:CHARACTERS]))
        elif block.get("type") == "image" and source.get("type") == "base64":
            blocks.append({"type": "embeddedResource", "data": source["data"], "contentType": source["media_type"]})
    return blocks


def _edited(structured: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The file that was changed, so that the host knows what an agent wrote (M4.1b)."""
    path = structured.get("filePath") or structured.get("notebook_path")
    if not isinstance(path, str) or not PurePath(path).is_absolute():
        return []
    uri = PurePath(path).as_uri()
    lines = [line for hunk in structured.get("structuredPatch") or () for line in hunk.get("lines") or ()]
    created = structured.get("type") == "create"
    added = sum(str(line).startswith("+") for line in lines)
    if created and not lines:
        added = len(str(structured.get("content", "")).splitlines())
    diff = {"added": added, "removed": sum(str(line).startswith("-") for line in lines)}
    side = {"uri": uri, "content": {"uri": uri}}
    return [{"type": "fileEdit", "diff": diff, "after": side, **({} if created else {"before": side})}]


def shown(input: Mapping[str, Any]) -> str:
    """A tool's input as text."""
    return json.dumps(input, ensure_ascii=False)


def invocation(name: str, input: Mapping[str, Any]) -> str:
    """What a call is about, on one line."""
    about = next(
        (
            input[key]
            for key in (
                "description",
                "file_path",
                "notebook_path",
                "pattern",
                "url",
                "query",
                "command",
                "skill",
                "path",
            )
            if isinstance(input.get(key), str)
        ),
        "",
    )
    line = " ".join(str(about).split())[:200]
    return f"{name}: {line}" if line else name
