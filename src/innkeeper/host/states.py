"""First states of sessions and chats (AHP §9.1, §9.3, §15). Pure.

Every list that a client's decoder looks for is there from the beginning, empty or not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from innkeeper.host.summaries import CREATED_AT, chat_summary


@dataclass(frozen=True, slots=True)
class NewSession:
    """What a session is created with; `config` is `SessionConfigState`."""

    provider: str
    chat: str
    now: str
    directories: Sequence[str]
    config: Mapping[str, Any]
    active_client: Mapping[str, Any] | None = None


def chat_state(
    uri: str,
    now: str,
    *,
    title: str = "",
    origin: Mapping[str, Any] | None = None,
    turns: Sequence[Any] = (),
    directories: Sequence[str] | None = None,
) -> dict[str, Any]:
    state: dict[str, Any] = {
        "resource": uri,
        "title": title,
        "status": 1,
        "modifiedAt": now,
        "origin": origin or {"kind": "user"},
        "turns": list(turns),
    }
    if directories is not None:
        state["workingDirectories"] = list(directories)
    return state


def session_state(new: NewSession) -> tuple[dict[str, Any], dict[str, Any]]:
    """The session's state, being created, and that of its default chat."""
    chat = chat_state(new.chat, new.now)
    state: dict[str, Any] = {
        "provider": new.provider,
        "title": "",
        "status": 1,
        "lifecycle": "creating",
        "activeClients": [] if new.active_client is None else [new.active_client],
        "chats": [chat_summary(chat)],
        "defaultChat": new.chat,
        "config": new.config,
        "_meta": {CREATED_AT: new.now},
    }
    if new.directories:
        state["workingDirectories"] = list(new.directories)
        state["project"] = _project(new.directories[0])
    return state, chat


def _project(directory: str) -> dict[str, Any]:
    """What clients group sessions by: the primary directory, under its own name."""
    name = unquote(directory.rstrip("/").rsplit("/", 1)[-1])
    return {"uri": directory, "displayName": name or directory}


def session_error(error_type: str, message: str) -> dict[str, Any]:
    return {"type": "session/creationFailed", "error": {"errorType": error_type, "message": message}}
