"""Turns that Codex has as turns of AHP, for a conversation that is adopted (AHP §7). Pure."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from innkeeper.protocol.chat.state import Turn
from innkeeper.providers.codex.items import finished_call


def turns_of(turns: Iterable[Mapping[str, Any]]) -> list[Turn]:
    """Oldest first, as they come; a turn in which nobody said anything is left out."""
    return [made for turn in turns if (made := _turn(turn)) is not None]


def _turn(turn: Mapping[str, Any]) -> Turn | None:
    items = [item for item in turn.get("items") or () if isinstance(item, Mapping)]
    said = [_said(item) for item in items if item.get("type") == "userMessage"]
    parts = [part for item in items if (part := _part(item)) is not None]
    if not said and not parts:
        return None
    state = {"completed": "complete", "failed": "error"}.get(str(turn.get("status")), "cancelled")
    made: dict[str, Any] = {
        "id": str(turn.get("id")),
        "message": {"text": "\n\n".join(filter(None, said)), "origin": {"kind": "user"}},
        "responseParts": parts,
        "state": state,
    }
    if isinstance(turn.get("startedAt"), int | float):
        started = datetime.fromtimestamp(turn["startedAt"], UTC)
        made["startedAt"] = started.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(turn.get("durationMs"), int | float):
        made["duration"] = int(turn["durationMs"])
    return cast(Turn, made)


def _said(item: Mapping[str, Any]) -> str:
    return "\n".join(str(one.get("text")) for one in item.get("content") or () if one.get("type") == "text")


def _part(item: Mapping[str, Any]) -> dict[str, Any] | None:
    id = str(item.get("id"))
    match item.get("type"):
        case "agentMessage" | "plan":
            return {"kind": "markdown", "id": id, "content": str(item.get("text") or "")}
        case "reasoning":
            return {"kind": "reasoning", "id": id, "content": "\n\n".join(map(str, item.get("summary") or ()))}
        case _:
            call = finished_call(item)
            return None if call is None else {"kind": "toolCall", "toolCall": call}
