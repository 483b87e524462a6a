"""Conversations that the person had with the agent itself: listed, and adopted by a copy (issue 6 §8).

Rules
* Reading only: the person's files are never written. What is adopted is copied when its first turn starts, and goes on
  under an id of its own.
* A conversation is a folder with a log of one JSON object a line; what is not understood is passed over.
* A turn is a message of the user with what the agent said and did until the next one. What a tool gave is cut short.
"""

import json
import logging
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from innkeeper.providers.copilot import content
from innkeeper.providers.copilot.place import Place
from innkeeper.providers.spi import Adopted, Transcript

log = logging.getLogger(__name__)

FOLDER: Final = "session-state"
LOG: Final = "events.jsonl"
LISTED: Final = 200
FILE_BYTES: Final = 64 * 1024 * 1024
HEAD_BYTES: Final = 256 * 1024
TITLE_CHARACTERS: Final = 80
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MARKED: Final = re.compile(r"<system_reminder>.*?</system_reminder>\s*", re.S)

Entry = dict[str, Any]


def listed(home: Path, directory: str | None) -> list[Transcript]:
    """Newest first, of one directory or all; `home` is a configuration directory of the agent."""
    found: list[Transcript] = []
    for folder in sorted(_folders(home), key=_changed, reverse=True):
        if len(found) >= LISTED:
            break
        one = _about(folder)
        if one is not None and directory in (None, one.directory):
            found.append(one)
    return found


def read(home: Path, id: str, directory: str | None) -> Adopted | None:
    """None where there is no such conversation. `id` is never used as a path."""
    for folder in _folders(home):
        if folder.name == id and (directory is None or (_about(folder) or _NONE).directory == directory):
            turns = list(_turns(folder))
            points = tuple((turn["id"], turn["id"]) for turn in turns)
            return Adopted(turns, Place(id, points, str(folder)).backing())
    return None


def copy(source: str, id: str, home: Path) -> None:
    """Put a conversation where the host's agent finds it, unless it is there. Raises OSError."""
    target = home / FOLDER / id
    if _ID.fullmatch(id) is None or target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = target.with_name(f".{id}.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(source, part, ignore=shutil.ignore_patterns("*.lock"))
    part.rename(target)


_NONE: Final = Transcript("", "", None, "")


def _folders(home: Path) -> Iterator[Path]:
    return (log.parent for log in (home / FOLDER).glob(f"*/{LOG}") if _ID.fullmatch(log.parent.name))


def _changed(folder: Path) -> float:
    try:
        return (folder / LOG).stat().st_mtime
    except OSError:
        return 0.0


def _about(folder: Path) -> Transcript | None:
    directory, title = None, ""
    for entry in _entries(folder, HEAD_BYTES):
        data = entry["data"]
        if entry.get("type") == "session.start":
            directory = (data.get("context") or {}).get("cwd")
        if (words := _prompt(entry)) is not None:
            title = " ".join(words.split())[:TITLE_CHARACTERS]
            break
    if not title:
        return None
    modified = datetime.fromtimestamp(_changed(folder), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Transcript(folder.name, _name(folder) or title, directory, modified)


def _name(folder: Path) -> str | None:
    """What the person calls it, where they gave it a name."""
    try:
        lines = (folder / "workspace.yaml").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    kept = dict(line.split(": ", 1) for line in lines if ": " in line)
    return kept.get("name", "").strip("\"' ") or None if kept.get("user_named") == "true" else None


def _entries(folder: Path, most: int) -> Iterator[Entry]:
    """The events of the chat's own agent."""
    try:
        with (folder / LOG).open("rb") as lines:
            size = 0
            for line in lines:
                size += len(line)
                if size > most:
                    return
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if isinstance(entry, dict) and isinstance(entry.get("data"), dict) and not entry.get("agentId"):
                    yield entry
    except OSError as error:
        log.warning("a transcript cannot be read: %s", error.strerror)


def _prompt(entry: Entry) -> str | None:
    """The words of a message that a person wrote."""
    data = entry["data"]
    if entry.get("type") != "user.message" or data.get("delivery") == "steering":
        return None
    if data.get("source") not in (None, "user"):
        return None
    words = _MARKED.sub("", str(data.get("content") or ""))
    return words if words.strip() else None


def _turns(folder: Path) -> Iterator[Any]:
    turn: dict[str, Any] | None = None
    for entry in _entries(folder, FILE_BYTES):
        words = _prompt(entry)
        if words is not None:
            if turn is not None:
                yield turn
            turn = {
                "id": str(entry.get("id")),
                "message": {"text": words, "origin": {"kind": "user"}},
                "startedAt": str(entry.get("timestamp") or "1970-01-01T00:00:00.000Z"),
                "responseParts": [],
                "state": "complete",
            }
        elif turn is not None:
            _add(turn["responseParts"], entry)
    if turn is not None:
        yield turn


def _add(parts: list[dict[str, Any]], entry: Entry) -> None:
    data, id = entry["data"], str(entry.get("id"))
    match entry.get("type"):
        case "assistant.message":
            if data.get("reasoningText"):
                parts.append({"kind": "reasoning", "id": f"{id}:r", "content": str(data["reasoningText"])})
            if data.get("content"):
                parts.append({"kind": "markdown", "id": id, "content": str(data["content"])})
            parts.extend({"kind": "toolCall", "toolCall": _call(one)} for one in data.get("toolRequests") or ())
        case "tool.execution_complete":
            _complete(parts, data)


def _call(request: Entry) -> dict[str, Any]:
    tool = str(request.get("name"))
    server, name = request.get("mcpServerName"), request.get("mcpToolName")
    return {
        "toolCallId": str(request.get("toolCallId")),
        "toolName": f"mcp__{server}__{name}" if server and name else tool,
        "displayName": str(name or tool),
        "status": "cancelled",
        "reason": "skipped",
        "invocationMessage": str(request.get("intentionSummary") or request.get("toolTitle") or tool),
        "toolInput": content.shown(request.get("arguments") or {}),
    }


def _complete(parts: list[dict[str, Any]], data: Entry) -> None:
    for part in reversed(parts):
        call = part.get("toolCall")
        if call is not None and call["toolCallId"] == data.get("toolCallId"):
            call.pop("reason", None)
            call |= {**content.result(call["displayName"], data), "status": "completed", "confirmed": "not-needed"}
            return
