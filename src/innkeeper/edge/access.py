"""Who may connect: checked for every request before anything is accepted (AHP §1; issue 2, section 5).

Rules
* The token comes in `Authorization: Bearer …` or as the query parameter `tkn`; it is compared in constant time.
* A Unix socket needs no token, since only its owner can open the file (mode 0600), unless the operator asks for one.
* A browser says which page it acts for (`Origin`): only pages of this very address are let in, so that no web site can
  drive the host of a visitor. `null` is a foreign origin.
* A request that arrived on a loopback address must name a loopback host, so that a name that an attacker points at this
  machine (DNS rebinding) is of no use. A proxy in front of the host sets `Host` to the address that it forwards to, and
  `X-Forwarded-Host` to the one that the browser knows: pages of that address are own ones too. No web site can make a
  browser send that header here without asking first, and the question is refused.
* A browser that has shown the token once keeps a cookie instead (`page_cookie`): made from the token, never the token
  itself, for pages alone, of no use to a WebSocket. Each port has a cookie of its own, since browsers do not tell ports
  apart.
* A refusal is HTTP 403 with a code of the error table, or 503 when there are too many connections. It repeats no
  token.
"""

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs, quote, urlencode, urlsplit

Scope = Mapping[str, Any]
COOKIE_SECONDS = 30 * 24 * 3600
"""How long a browser keeps its cookie; it is void as soon as the token is another one."""
RefusalCode = Literal["TOKEN_WRONG", "ORIGIN_FOREIGN", "HOST_FOREIGN", "CONNECTIONS_FULL"]

_PREFIX = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+")
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
        known_as = [host, *(name.strip() for name in headers.get("x-forwarded-host", "").split(",") if name.strip())]
        if origin is not None and not any(_is_own(origin, name, scope) for name in known_as):
            return Refusal(403, "ORIGIN_FOREIGN", origin)
        if self._needs_token(scope) and not self._may_pass(scope, headers):
            return Refusal(403, "TOKEN_WRONG")
        return None

    def arrival(self, scope: Scope) -> tuple[str, str] | None:
        """For a browser that comes with the token in the address: where it is sent instead (a relative reference
        without the token), and the cookie that it gets. None for every other request that is let in."""
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if scope["type"] != "http" or scope["method"] != "GET" or self.token is None or not query.get("tkn"):
            return None
        rest = urlencode([(name, value) for name, values in query.items() if name != "tkn" for value in values])
        last = quote(scope["path"].rsplit("/", 1)[-1])
        headers = _headers(scope)
        proxied = str(headers.get("x-forwarded-proto") or scope.get("scheme") or "http").split(",")[0].strip()
        cookie = f"{_cookie_name(scope)}={page_cookie(self.token)}; Path={base_path(headers) or '/'}; HttpOnly"
        cookie += f"; SameSite=Strict; Max-Age={COOKIE_SECONDS}" + ("; Secure" if proxied == "https" else "")
        return f"./{last}" + (f"?{rest}" if rest else ""), cookie

    def _may_pass(self, scope: Scope, headers: Mapping[str, str]) -> bool:
        if any(self._matches(given) for given in _given_tokens(scope, headers)):
            return True
        if scope["type"] != "http" or self.token is None:
            return False
        wanted = page_cookie(self.token)
        return any(hmac.compare_digest(wanted.encode(), given.encode()) for given in _cookies(scope, headers))

    def _needs_token(self, scope: Scope) -> bool:
        return self.token is not None and (self.token_on_unix or not is_unix(scope))

    def _matches(self, given: str) -> bool:
        return hmac.compare_digest(_digest(given), _digest(self.token or ""))


def page_cookie(token: str) -> str:
    """What a browser keeps in the place of the token; the token cannot be had from it."""
    return hmac.new(token.encode("utf-8", "surrogatepass"), b"innkeeper page cookie", hashlib.sha256).hexdigest()


def base_path(headers: Mapping[str, str]) -> str:
    """The path below which a proxy shows this host (`X-Forwarded-Prefix`), without a slash at its end; "" at the top.
    Anything that is not a plain path counts as the top."""
    prefix = headers.get("x-forwarded-prefix", "").rstrip("/")
    return prefix if _PREFIX.fullmatch(prefix) else ""


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


def _cookie_name(scope: Scope) -> str:
    server = scope.get("server") or ("", None)
    return f"innkeeper_{server[1] or 'socket'}"


def _cookies(scope: Scope, headers: Mapping[str, str]) -> list[str]:
    pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
    return [value for name, _, value in pairs if name == _cookie_name(scope) and value.isascii()]


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
