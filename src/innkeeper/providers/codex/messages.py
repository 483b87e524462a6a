"""A message as input of a Codex turn: text, files, pictures, and what the agent does not know yet (AHP §9.7). Pure.

Rules
* A picture in the message goes as a picture; other embedded text goes as text, named; what cannot be read is said so.
* A file by reference goes by its path: the agent reads it itself, within its sandbox.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from innkeeper.protocol.chat.state import Message, Turn
from innkeeper.texts import text

EMBEDDED_CHARACTERS: Final = 200_000
PREFACE_CHARACTERS: Final = 60_000
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
    parts = urlsplit(str(attachment.get("uri", "")))
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return words(f"{label}: {attachment.get('uri', '')}")
    path = unquote(parts.path)
    if str(attachment.get("contentType", "")) in PICTURES or path.lower().endswith((".png", ".jpg", ".jpeg", ".webp")):
        return {"type": "localImage", "path": path}
    return words(f"{label}: {path}{_lines(attachment)}")


def _lines(attachment: Mapping[str, Any]) -> str:
    span = (attachment.get("selection") or {}).get("range") or {}
    start, end = (span.get("start") or {}).get("line"), (span.get("end") or {}).get("line")
    return f" (lines {start + 1}-{end + 1})" if isinstance(start, int) and isinstance(end, int) else ""


def preface(context: Sequence[Turn], history: Sequence[Turn]) -> str | None:
    """What was said before, for an agent that has nothing of it: the newest of it where it is long."""
    said = [*_conversation(context), *_conversation(history)]
    if not said:
        return None
    whole = "\n\n".join(said)
    kept = whole[-PREFACE_CHARACTERS:]
    return f"<earlier_conversation>\n{kept}\n</earlier_conversation>"


def _conversation(turns: Sequence[Turn]) -> list[str]:
    said: list[str] = []
    for turn in turns:
        said.append(f"User: {turn['message'].get('text', '')}")
        answer = "".join(str(part.get("content", "")) for part in turn["responseParts"] if part["kind"] == "markdown")
        if answer:
            said.append(f"Assistant: {answer}")
    return said
