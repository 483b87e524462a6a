"""Conversations that the agent has on disk (issue 6 §8).

Rules
* Reading only. What is adopted goes on in a conversation of the host's own; the file it came from is never written.
* A file holds one JSON object a line; what is not understood is passed over.
* A turn is a message of the user with what the agent said and did until the next one. What a tool gave is cut short.
"""

import json
import logging
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from innkeeper.providers.claude import content
from innkeeper.providers.claude.history import Place
from innkeeper.providers.claude.install import AGENT
from innkeeper.providers.spi import Adopted, ProviderError, Transcript
from innkeeper.texts import text

log = logging.getLogger(__name__)

LISTED: Final = 200
FILE_BYTES: Final = 64 * 1024 * 1024
HEAD_BYTES: Final = 256 * 1024

Entry = dict[str, Any]


def listed(config: Path, directory: str | None) -> list[Transcript]:
    """Newest first, of one directory or all. `config` is a configuration directory of the agent."""
    files = list((config / "projects").glob("*/*.jsonl"))
    found: list[Transcript] = []
    for file in sorted(files, key=_changed, reverse=True):
        if len(found) >= LISTED:
            break
        one = _about(file)
        if one is not None and directory in (None, one.directory):
            found.append(one)
    return found


def read(config: Path, id: str, directory: str | None) -> Adopted | None:
    """None where there is no such conversation. `id` is never used as a path."""
    for file in (config / "projects").glob("*/*.jsonl"):
        if file.stem == id and (directory is None or (_about(file) or _NONE).directory == directory):
            turns = list(_turns(file))
            points = tuple((turn["id"], leaf) for turn, leaf in turns if leaf is not None)
            place = Place(id, points, transcript=str(file))
            return Adopted([turn for turn, _ in turns], place.backing())
    return None


def has(config: Path, conversation: str, message: str) -> bool:
    """Whether a conversation has a message of that id."""
    files = (config / "projects").glob("*/*.jsonl")
    return any(
        entry.get("uuid") == message
        for file in files
        if file.stem == conversation
        for entry in _entries(file, FILE_BYTES)
    )


def copy(file: Path, config: Path) -> None:
    """Put a transcript where the host's agent finds it, unless it is there. Raises ProviderError."""
    target = config / "projects" / file.parent.name / file.name
    if target.exists():
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copyfile(file, target)
    except OSError as error:
        why = text("error.TRANSCRIPT_UNKNOWN.meaning", agent=AGENT)
        raise ProviderError("TRANSCRIPT_UNKNOWN", f"{why} ({error.strerror})") from error


_NONE: Final = Transcript("", "", None, "")


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _about(file: Path) -> Transcript | None:
    directory, title, prompts = None, "", 0
    for entry in _entries(file, HEAD_BYTES):
        directory = directory or entry.get("cwd")
        if entry.get("type") in ("summary", "custom-title", "ai-title"):
            title = str(entry.get("summary") or entry.get("customTitle") or entry.get("aiTitle") or title)
        words = _prompt(entry)
        if words is not None:
            prompts += 1
            title = title or " ".join(words.split())[:60]
    if not prompts:
        return None
    modified = datetime.fromtimestamp(_changed(file), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Transcript(file.stem, title, directory, modified)


def _entries(file: Path, most: int) -> Iterator[Entry]:
    try:
        with file.open("rb") as lines:
            size = 0
            for line in lines:
                size += len(line)
                if size > most:
                    return
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if isinstance(entry, dict) and not entry.get("isSidechain"):
                    yield entry
    except OSError as error:
        log.warning("a transcript cannot be read: %s", error.strerror)


def _prompt(entry: Entry) -> str | None:
    """The words of a message that a person wrote."""
    if entry.get("type") != "user" or entry.get("isMeta") or entry.get("isCompactSummary"):
        return None
    said = (entry.get("message") or {}).get("content")
    if isinstance(said, list):
        if any(isinstance(block, dict) and block.get("type") == "tool_result" for block in said):
            return None
        texts = [
            str(block.get("text", "")) for block in said if isinstance(block, dict) and block.get("type") == "text"
        ]
        said = "\n".join(one for one in texts if not one.startswith("<system-reminder>"))
    return said if isinstance(said, str) and said.strip() else None


def _turns(file: Path) -> Iterator[tuple[Any, str | None]]:
    """Each turn with the id of its last message."""
    turn: dict[str, Any] | None = None
    leaf: str | None = None
    for entry in _entries(file, FILE_BYTES):
        words = _prompt(entry)
        if words is not None:
            if turn is not None:
                yield turn, leaf
            leaf = None
            message = {"text": words, "origin": {"kind": "user"}}
            turn = {
                "id": str(entry.get("uuid")),
                "message": message,
                "startedAt": str(entry.get("timestamp") or "1970-01-01T00:00:00.000Z"),
                "responseParts": [],
                "state": "complete",
            }
        elif turn is not None and entry.get("type") in ("assistant", "user"):
            leaf = entry.get("uuid") or leaf
            _add(turn["responseParts"], entry)
    if turn is not None:
        yield turn, leaf


def _add(parts: list[dict[str, Any]], entry: Entry) -> None:
    said = (entry.get("message") or {}).get("content")
    for number, block in enumerate(said if isinstance(said, list) else ()):
        id = f"{entry.get('uuid')}:{number}"
        match block.get("type"):
            case "text" if entry["type"] == "assistant":
                parts.append({"kind": "markdown", "id": id, "content": str(block["text"])})
            case "thinking" if block.get("thinking"):
                parts.append({"kind": "reasoning", "id": id, "content": str(block["thinking"])})
            case "tool_use":
                parts.append({"kind": "toolCall", "toolCall": _call(block)})
            case "tool_result":
                _complete(parts, block, entry.get("toolUseResult"))


def _call(block: Entry) -> dict[str, Any]:
    name, input = str(block.get("name")), block.get("input") or {}
    return {
        "toolCallId": str(block.get("id")),
        "toolName": name,
        "displayName": name.rpartition("__")[2] if name.startswith("mcp__") else name,
        "status": "cancelled",
        "reason": "skipped",
        "invocationMessage": content.invocation(name, input),
        "toolInput": content.shown(input),
    }


def _complete(parts: list[dict[str, Any]], block: Entry, structured: object) -> None:
    for part in reversed(parts):
        call = part.get("toolCall")
        if call is not None and call["toolCallId"] == block.get("tool_use_id"):
            call.pop("reason", None)
            call |= {
                **content.result(call["toolName"], block, structured),
                "status": "completed",
                "confirmed": "not-needed",
            }
            return
