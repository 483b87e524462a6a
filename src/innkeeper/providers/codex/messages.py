"""A message as input of a Codex turn: text, files, pictures (AHP §9.7). Pure.

Rules
* A picture in the message goes as a picture; other embedded text goes as text, named; what cannot be read is said so.
* A file by reference goes by its path: the agent reads it itself, within its sandbox.
"""

import base64
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.protocol.chat.state import Message
from innkeeper.protocol.uris import local_path
from innkeeper.texts import text

EMBEDDED_CHARACTERS: Final = 200_000
PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

Part = dict[str, object]


def words(given: str) -> Part:
    return {"type": "text", "text": given, "text_elements": []}


def user_input(given: str, message: Message) -> list[Part]:
    """The members of `input`; never empty."""
    parts = [words(given)]
    for attachment in message.get("attachments") or ():
        parts.extend(_attached(attachment))
    return parts


def _attached(attachment: Mapping[str, Any]) -> list[Part]:
    label, kind = str(attachment.get("label", "")), attachment.get("type")
    match kind:
        case "simple":
            given = attachment.get("modelRepresentation")
            return [words(f"{label}:\n{given}")] if given else []
        case "embeddedResource":
            return [_embedded(label, attachment)]
        case "resource":
            return [_file(label, attachment)]
        case _:
            return [words(f"{label}: {attachment.get('resource', '')}")] if label else []


def _embedded(label: str, attachment: Mapping[str, Any]) -> Part:
    kind, data = str(attachment.get("contentType", "")), str(attachment.get("data", ""))
    if kind.partition(";")[0] in PICTURES:
        return {"type": "image", "url": f"data:{kind};base64,{data}"}
    try:
        found = base64.b64decode(data, validate=True).decode()
    except ValueError:
        return words(text("codex.unreadable", label=label, type=kind or "application/octet-stream"))
    return words(f"{label}{_lines(attachment)}:\n{found[:EMBEDDED_CHARACTERS]}")


def _file(label: str, attachment: Mapping[str, Any]) -> Part:
    uri = str(attachment.get("uri", ""))
    path = local_path(uri)
    if path is None:
        return words(f"{label}: {uri}")
    if str(attachment.get("contentType", "")) in PICTURES or path.lower().endswith((".png", ".jpg", ".jpeg", ".webp")):
        return {"type": "localImage", "path": path}
    return words(f"{label}: {path}{_lines(attachment)}")


def _lines(attachment: Mapping[str, Any]) -> str:
    span = (attachment.get("selection") or {}).get("range") or {}
    start, end = (span.get("start") or {}).get("line"), (span.get("end") or {}).get("line")
    return f" (lines {start + 1}-{end + 1})" if isinstance(start, int) and isinstance(end, int) else ""
