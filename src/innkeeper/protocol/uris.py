"""URIs of channels (AHP §3). They are opaque: nothing here, or anywhere, reads a kind or an owner out of one."""

import re
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from innkeeper.protocol.types import URI

ROOT: Final = "ahp-root://"
AUTOMATIONS: Final = "ahp-automations://"

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20\x7f]*")


def is_uri(text: object) -> bool:
    """Whether a value is an absolute URI: a scheme, a colon, and no blanks or control characters after it.

    Lenient on purpose: real peers use schemes and forms of their own, `agenthost:/terminal/1` for one (AHP §15).
    """
    return type(text) is str and _ABSOLUTE.fullmatch(text) is not None


def local_path(uri: str) -> str | None:
    """The path of a `file:` URI of this machine, in the system's spelling; None for everything else."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    return unquote(parts.path, errors="surrogateescape")


def file_uri(path: str) -> URI:
    """The URI of an absolute path of this machine; names that are not UTF-8 survive."""
    return f"file://{quote(path, errors='surrogateescape')}"


def session_uri(id: str) -> URI:
    """The URI of a session that we create."""
    return f"ahp-session:/{id}"


def chat_uri(id: str) -> URI:
    """The URI of a chat that we create."""
    return f"ahp-chat:/{id}"


def terminal_uri(id: str) -> URI:
    """The URI of a terminal that we create."""
    return f"ahp-terminal:/{id}"


def changeset_uri(session: URI, *names: str) -> URI:
    """The URI of a changeset of a session, derived as real clients expect it (AHP §15); names are percent-encoded."""
    return "/".join((f"{session}/changeset", *(quote(name, safe="") for name in names)))


def resource_watch_uri(id: str) -> URI:
    """The URI of a watch that we keep."""
    return f"ahp-resource-watch:/{id}"


def automation_uri(id: str) -> URI:
    """The URI of an automation."""
    return f"ahp-automation:/{id}"


def automation_run_uri(id: str) -> URI:
    """The URI of a run."""
    return f"ahp-automation-run:/{id}"


def canvas_uri(id: str) -> URI:
    """The URI of a canvas."""
    return f"ahp-canvas:/{id}"


def annotations_uri(session: URI) -> URI:
    """The URI of a session's annotations, the one that is derived from another."""
    return f"{session}/annotations"
