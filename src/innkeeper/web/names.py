"""Names of sessions and chats in addresses, and how folders and times are written. Pure.

Rules
* A key is the rest of the URI where that is plain; anything else is its base64url, marked by `~`. A key gives back
  exactly one URI of its kind, so that no address leads to another channel.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import unquote, urlsplit

SESSION: Final = "ahp-session:/"
CHAT: Final = "ahp-chat:/"
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,200}")


def key_of(uri: str) -> str:
    """The key of a session's or chat's URI."""
    for scheme in (SESSION, CHAT):
        rest = uri.removeprefix(scheme)
        if rest != uri and _PLAIN.fullmatch(rest):
            return rest
    return "~" + base64.urlsafe_b64encode(uri.encode()).decode().rstrip("=")


def session_uri(key: str) -> str | None:
    """The session of a key; None when it names none."""
    return _uri(key, SESSION)


def chat_uri(key: str) -> str | None:
    """The chat of a key; None when it names none."""
    return _uri(key, CHAT)


def _uri(key: str, scheme: str) -> str | None:
    if not key.startswith("~"):
        return scheme + key if _PLAIN.fullmatch(key) else None
    coded = key[1:]
    try:
        uri = base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4)).decode()
    except (binascii.Error, ValueError):
        return None
    return uri if uri.startswith(scheme.rstrip("/")) else None


def session_path(session: str) -> str:
    """The page of a session."""
    return f"/s/{key_of(session)}"


def chat_path(session: str, chat: str, default: str | None = None) -> str:
    """The page of a chat; the session's own where the chat is its default one."""
    return session_path(session) if chat == default else f"{session_path(session)}/c/{key_of(chat)}"


def local_path(uri: str) -> str:
    """The path of a `file:` URI, or the URI itself."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def folder(uri: str, home: str | None) -> str:
    """A folder as a person knows it: below the home with `~`."""
    path = local_path(uri)
    if home and (path == home or path.startswith(home.rstrip("/") + "/")):
        return "~" + path[len(home.rstrip("/")) :]
    return path


def workspace(session: Mapping[str, Any]) -> str:
    """The folder that a session or summary is for: its project, also while it works in a worktree; "" without one."""
    folders = session.get("workingDirectories") or ("",)
    return str((session.get("project") or {}).get("uri") or folders[0])


def last_part(uri: str) -> str:
    """The name of a file or folder."""
    return PurePosixPath(local_path(uri)).name or local_path(uri)
