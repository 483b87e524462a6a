"""`WWW-Authenticate` as a value (RFC 9110 §11.6.1, RFC 6750 §3, RFC 9728 §5.1). Pure.

Rules
* Only a challenge of scheme Bearer counts; of several the first. What cannot be read is a challenge without parameters.
* A parameter is found by its whole name, never inside the text of another one.
"""

import re
from typing import Final

from innkeeper.mcp.oauth.values import Challenge

LONGEST: Final = 8192

_ITEM: Final = re.compile(
    r"""\s*,*\s*(?:
        (?P<name>[A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s,"]+))
        | (?P<scheme>[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]*)(?=\s|,|$)
    )""",
    re.VERBOSE,
)


def read_challenge(status: int, header: str) -> Challenge | None:
    """The refusal that an answer is; None when it is not one for want of a token."""
    found = _bearer(header[:LONGEST])
    if status == 403 and found.get("error") != "insufficient_scope":
        return None
    if status not in (401, 403):
        return None
    return Challenge(
        status=status,
        error=found.get("error"),
        scopes=tuple(found.get("scope", "").split()),
        metadata_url=found.get("resource_metadata"),
        description=found.get("error_description"),
    )


def write_challenge(challenge: Challenge, metadata_url: str | None) -> str:
    """The header that says the same, for the SDK's flow."""
    fields = {"error": challenge.named_error, "scope": " ".join(challenge.scopes), "resource_metadata": metadata_url}
    written = ", ".join(f'{name}="{value}"' for name, value in fields.items() if value and '"' not in value)
    return f"Bearer {written}".rstrip()


def _bearer(header: str) -> dict[str, str]:
    found: dict[str, str] = {}
    inside = False
    at = 0
    while (item := _ITEM.match(header, at)) is not None:
        at = item.end()
        if item["scheme"] is not None:
            if inside:
                break
            inside = item["scheme"].lower() == "bearer"
        elif inside:
            quoted = item["quoted"]
            value = item["bare"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            found.setdefault(item["name"].lower(), value)
    return found
