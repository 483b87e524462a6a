"""What the user says in the agent's shape, and what its tools gave in AHP's (AHP §9.2, §9.7).

What a conversation keeps of one result is bounded; the model has it whole.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Final, cast

from innkeeper.protocol.chat.state import Message, ToolCallResult, ToolResultContent
from innkeeper.providers.files import local
from innkeeper.texts import text

CHARACTERS: Final = 256 * 1024
ERROR_CHARACTERS: Final = 2000
PICTURE_BYTES: Final = 5 * 1024 * 1024
PICTURES: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_ENDED: Final = re.compile(r"<shellId: \S+ completed with exit code -?\d+>\s*\Z")
"""What is said of a command to the model, behind its output."""
CREATED: Final = "create"
DELETED: Final = "delete"


def prompt(words: str, message: Message, before: Sequence[str]) -> tuple[str, list[dict[str, Any]]]:
    """The text of a message and its attachments. Reads pictures that are named by their path."""
    said = [f"<system_reminder>\n{one}\n</system_reminder>" for one in before if one]
    attached: list[dict[str, Any]] = []
    for attachment in message.get("attachments") or ():
        more, file = _attached(cast(Mapping[str, Any], attachment))
        if more:
            said.append(more)
        if file is not None:
            attached.append(file)
    return "\n\n".join((*said, words or " ")), attached


def _attached(attachment: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    label = str(attachment.get("label", ""))
    match attachment.get("type"):
        case "simple":
            return f"Attached: {label}\n{attachment.get('modelRepresentation') or label}", None
        case "embeddedResource":
            return _embedded(label, str(attachment.get("contentType", "")), str(attachment.get("data", "")))
        case "resource":
            return _referred(label, str(attachment.get("uri", "")), attachment.get("selection"))
    return f"Attached: {label}", None


def _embedded(label: str, kind: str, data: str) -> tuple[str, dict[str, Any] | None]:
    plain = kind.partition(";")[0].strip()
    if plain in PICTURES.values():
        return "", {"type": "blob", "data": data, "mimeType": plain, "displayName": label}
    try:
        words = base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return f"Attached: {label} ({kind}), which cannot be shown as text", None
    return f"Attached: {label}\n{words[:CHARACTERS]}", None


def _referred(label: str, uri: str, selection: object) -> tuple[str, dict[str, Any] | None]:
    """A file by its path: the agent reads it with its own tools. A picture is given to it at once."""
    path = local(uri)
    if path is None:
        return f"Attached: {label} at {uri}", None
    kind = PICTURES.get(PurePath(path).suffix.lower())
    if kind is None:
        return f"Attached file: {path}{_lines(selection)}", None
    try:
        if Path(path).stat().st_size <= PICTURE_BYTES:
            data = base64.b64encode(Path(path).read_bytes()).decode()
            return "", {"type": "blob", "data": data, "mimeType": kind, "displayName": label or path}
    except OSError:
        return f"Attached picture, which cannot be read: {path}", None
    return f"Attached picture: {path}", None


def _lines(selection: object) -> str:
    chosen = selection.get("range") if isinstance(selection, Mapping) else None
    try:
        return f", lines {chosen['start']['line'] + 1} to {chosen['end']['line'] + 1}" if chosen else ""
    except (KeyError, TypeError):
        return ""


# -- results --------------------------------------------------------------------------------------------------------


def plain(words: str) -> list[ToolResultContent]:
    return [{"type": "text", "text": words[:CHARACTERS]}] if words else []


def spoken(words: str, *, success: bool) -> ToolCallResult:
    """What a subagent said last."""
    message = text("agent.done" if success else "agent.failed", tool="task")
    found: dict[str, Any] = {"success": success, "pastTenseMessage": message, "content": plain(words)}
    if not success:
        found["error"] = {"message": words[:ERROR_CHARACTERS] or message}
    return cast(ToolCallResult, found)


def result(tool: str, data: Mapping[str, Any]) -> ToolCallResult:
    """`tool.execution_complete`: success is a tool that ran, and a command that ended with 0."""
    given, error = data.get("result") or {}, data.get("error") or {}
    code = (data.get("shellExecution") or {}).get("exitCode")
    success = bool(data.get("success")) and code in (0, None)
    message = text("agent.done" if success else "agent.failed", tool=tool)
    found: dict[str, Any] = {
        "success": success,
        "pastTenseMessage": message,
        "content": [*_edits(data, success), *_blocks(given)],
    }
    if given.get("structuredContent") is not None and isinstance(given["structuredContent"], Mapping):
        found["structuredContent"] = given["structuredContent"]
    if not success:
        why = str(error.get("message") or "") or (text("agent.exitCode", code=code) if code else message)
        found["error"] = {"message": why[:ERROR_CHARACTERS]}
    return cast(ToolCallResult, found)


def _blocks(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for block in given.get("contents") or ():
        match block.get("type"):
            case "text":
                blocks.extend(cast(Any, plain(str(block.get("text") or ""))))
            case "image" if block.get("data"):
                blocks.append(
                    {
                        "type": "embeddedResource",
                        "data": block["data"],
                        "contentType": block.get("mimeType", "image/png"),
                    }
                )
            case "shell_exit":
                blocks.extend(cast(Any, plain(str(block.get("outputPreview") or ""))))
    return blocks or cast(Any, plain(_ENDED.sub("", str(given.get("content") or ""))))


def _edits(data: Mapping[str, Any], success: bool) -> list[dict[str, Any]]:
    """Each file that was changed, so that the host knows what an agent wrote (M4.1b)."""
    diff = str((data.get("result") or {}).get("detailedContent") or "")
    edits = [one for one in data.get("fileEdits") or () if success and PurePath(str(one.get("path"))).is_absolute()]
    return [_edit(one, diff if len(edits) == 1 else "") for one in edits]


def _edit(one: Mapping[str, Any], diff: str) -> dict[str, Any]:
    uri = PurePath(str(one["path"])).as_uri()
    lines = diff.splitlines()
    counted = {
        "added": sum(line.startswith("+") and not line.startswith("+++") for line in lines),
        "removed": sum(line.startswith("-") and not line.startswith("---") for line in lines),
    }
    side = {"uri": uri, "content": {"uri": uri}}
    kind = one.get("kind")
    return {
        "type": "fileEdit",
        **({"diff": counted} if diff else {}),
        **({} if kind == CREATED else {"before": side}),
        **({} if kind == DELETED else {"after": side}),
    }


def shown(input: Any) -> str:
    """A tool's input as text."""
    return input if isinstance(input, str) else json.dumps(input, ensure_ascii=False)
