"""Who may connect: checked for every request before anything is accepted (AHP §1; issue 2, section 5).

Rules
* The token comes in `Authorization: Bearer …` or as the query parameter `tkn`; it is compared in constant time.
* A Unix socket needs no token, since only its owner can open the file (mode 0600), unless the operator asks for one.
* A browser says which page it acts for (`Origin`): only pages of this very address are let in, so that no web site can
  drive the host of a visitor. `null` is a foreign origin.
* A request that arrived on a loopback address must name a loopback host, so that a name that an attacker points at this
  machine (DNS rebinding) is of no use. A proxy in front of the host sets `Host` to the address that it forwards to.
* A refusal is HTTP 403 with a code of the error table, or 503 when there are too many connections. It repeats no
  token.
"""

import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

Scope = Mapping[str, Any]
RefusalCode = Literal["TOKEN_WRONG", "ORIGIN_FOREIGN", "HOST_FOREIGN", "CONNECTIONS_FULL"]

DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served."""

    status: int
    code: RefusalCode
    detail: str = ""
    """What a log line may add: a host name or an origin, never what was meant to be a secret."""


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of one listener. `token` None means that none is needed anywhere."""

    token: str | None = field(repr=False)
    token_on_unix: bool = False

    def refusal(self, scope: Scope) -> Refusal | None:
        """Why the request of an ASGI scope is refused; None when it may go on."""
        headers = _headers(scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if not is_unix(scope) and is_loopback(scope["server"][0]) and not is_loopback(_split_host(host)[0]):
            return Refusal(403, "HOST_FOREIGN", host)
        if origin is not None and not _is_own(origin, host, scope):
            return Refusal(403, "ORIGIN_FOREIGN", origin)
        if self._needs_token(scope) and not any(self._matches(given) for given in _given_tokens(scope, headers)):
            return Refusal(403, "TOKEN_WRONG")
        return None

    def _needs_token(self, scope: Scope) -> bool:
        return self.token is not None and (self.token_on_unix or not is_unix(scope))

    def _matches(self, given: str) -> bool:
        return hmac.compare_digest(_digest(given), _digest(self.token or ""))


def is_unix(scope: Scope) -> bool:
    """The request came through a Unix socket (ASGI: `server` is its path and no port)."""
    server = scope.get("server")
    return server is None or server[1] is None


def is_loopback(host: str) -> bool:
    """The name or address means this machine and cannot be reached from another one."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _given_tokens(scope: Scope, headers: Mapping[str, str]) -> list[str]:
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=False)
    given = query.get("tkn", [])[:1]
    return [credentials.strip(), *given] if scheme.lower() == "bearer" else given


def _split_host(host: str) -> tuple[str, int | None]:
    """Name and port of a `Host` header; an empty name when it cannot be read."""
    try:
        parts = urlsplit(f"//{host}")
        return parts.hostname or "", parts.port
    except ValueError:
        return "", None


def _is_own(origin: str, host: str, scope: Scope) -> bool:
    try:
        parts = urlsplit(origin)
        name, port = parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or not name:
        return False
    asked, asked_port = _split_host(host)
    if name == asked and port == (asked_port or DEFAULT_PORTS[parts.scheme]):
        return True
    return not is_unix(scope) and is_loopback(name) and is_loopback(asked) and port == scope["server"][1]
