"""Standard error of a server, fit for the local user who asks for it (M7.7).

Rules
* Every value that the host put in is masked wherever it stands: expanded environment and headers, `input_values`, user
  and query of the address. Common token shapes and the user part of any address are masked too.
* Masking errs on the side of too much; what is shorter than four characters would only make the text unreadable.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from innkeeper.mcp.declarations.model import HttpLaunch, Launch, StdioLaunch
from innkeeper.mcp.declarations.secrets import MASK

SHORTEST: Final = 4

_TOKEN: Final = re.compile(
    r"(?<![A-Za-z0-9])(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|sbp_[0-9a-f]{20,}"
    r"|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|npm_[A-Za-z0-9]{30,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
)
_SCHEME: Final = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
_USER: Final = re.compile(r"(?<=://)[^\s/@]+@")
_ASSIGNED: Final = re.compile(
    r"(?i)\b([\w-]*(?:api[_-]?key|access[_-]?key|token|secret|passw(?:or)?d|authorization)[\"']?\s*[=:]\s*[\"']?)"
    r"(?!bearer\b|basic\b)[^\s\"'&,;]{4,}"
)


def secrets_of(launch: Launch | None, inputs: Mapping[str, str]) -> frozenset[str]:
    """The values that may not be seen: everything declared and expanded, and the operator's inputs."""
    found: set[str] = set(inputs.values())
    match launch:
        case StdioLaunch():
            found.update(launch.environment.values())
        case HttpLaunch():
            found.update(launch.headers.values())
            found.update(value.rpartition(" ")[2] for value in launch.headers.values())
            parts = urlsplit(launch.url)
            found.update(unquote(part) for part in (parts.username, parts.password) if part)
            found.update(value for _, value in parse_qsl(parts.query))
    return frozenset(value for value in found if len(value) >= SHORTEST)


def masked_text(raw: bytes, secrets: Iterable[str]) -> str:
    """The text with every secret replaced; bytes that are no UTF-8 as replacement characters. A secret that the cut of
    the tail left incomplete at its beginning is masked as well."""
    text = raw.decode("utf-8", "replace")
    ordered = sorted(secrets, key=len, reverse=True)
    text = _masked_head(text, ordered)
    for secret in ordered:
        text = text.replace(secret, MASK)
    text = _USER.sub(f"{MASK}@", text)
    text = _SCHEME.sub(lambda found: f"{found[1]} {MASK}", text)
    text = _ASSIGNED.sub(lambda found: f"{found[1]}{MASK}", text)
    return _TOKEN.sub(MASK, text)


def _masked_head(text: str, secrets: Iterable[str]) -> str:
    """The tail may begin in the middle of a secret."""
    for secret in secrets:
        for length in range(len(secret) - 1, SHORTEST - 1, -1):
            if text.startswith(secret[-length:]):
                return MASK + text[length:]
    return text
