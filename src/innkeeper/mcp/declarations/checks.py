"""What a single value of an entry must be (M2.1, M2.8): each check gives a diagnostic code, or None when it is fine."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

URL_LIMIT: Final = 65_536

_LONE = re.compile("[\ud800-\udfff]")
_UNPRINTABLE = re.compile(r"[\x00-\x20]")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OWNED_HEADERS: Final = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "mcp-session-id",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that belong to the connection itself."""

SENSITIVE_ENVIRONMENT: Final = re.compile(
    r"LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT|DYLD_.*|PATH|BASH_ENV|ENV|IFS|NODE_OPTIONS|NODE_PATH|PYTHON(PATH|STARTUP|HOME)"
    r"|PERL5(LIB|OPT)|RUBY(LIB|OPT)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|GIT_.*|NPM_CONFIG_.*|HTTPS?_PROXY|ALL_PROXY",
    re.IGNORECASE,
)
"""Variables that change what a command runs or whom it talks to (note ENV_SENSITIVE)."""


def check_text(value: str) -> str | None:
    """A value that can be handed to a process: encodable, without NUL."""
    if "\0" in value:
        return "NUL_BYTE"
    return None if value.isascii() or _LONE.search(value) is None else "FIELD_VALUE"


def check_trimmed(value: str) -> str | None:
    """A command, directory or address: not blank, without white space around it."""
    return check_text(value) or ("FIELD_WHITESPACE" if value != value.strip() else None)


def check_url(value: str) -> str | None:
    """An absolute http or https address with a host."""
    if code := check_trimmed(value):
        return code
    if len(value) > URL_LIMIT or _UNPRINTABLE.search(value):
        return "FIELD_VALUE"
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "URL_SCHEME"
    return None if parts.scheme in ("http", "https") and host else "URL_SCHEME"


def check_headers(headers: Mapping[str, str]) -> str | None:
    """The name of the first header that cannot be sent, or None: no injection, no header of the connection's own, no
    name twice, no credential that is only its scheme."""
    seen: set[str] = set()
    for name, value in headers.items():
        lower = name.lower()
        bad_name = not _HEADER_NAME.fullmatch(name) or lower in _OWNED_HEADERS or lower in seen
        bad_value = not _HEADER_VALUE.fullmatch(value) or value != value.strip()
        if bad_name or bad_value or (lower == "authorization" and value.lower() in ("", "bearer", "basic")):
            return name
        seen.add(lower)
    return None


def check_environment_name(name: str) -> str | None:
    return check_text(name) or ("FIELD_VALUE" if not name or "=" in name else None)
