"""What is known about a server that wants a token. Secrets stand in fields that `repr` leaves out (M7.7)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from innkeeper.protocol.common.state import ProtectedResourceMetadata

JsonObject = Mapping[str, object]

_ERROR: Final = re.compile(r"[a-z_]{1,40}")
_INDIRECT: Final = re.compile(r"/(?:\.|%2e){1,2}/|\\|%2f|%5c", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client that is registered already: from a declaration or the operator's settings, in place of dynamic
    registration. `callback_port` is the port of its registered address `http://localhost:<port>/callback`, as other
    clients have it; None: `http://127.0.0.1:<any>/callback` (RFC 8252 §7.3)."""

    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    callback_port: int | None = None
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Challenge:
    """A refusal for want of a token (RFC 6750 §3): 401, or 403 with `insufficient_scope`."""

    status: int
    error: str | None = None
    scopes: tuple[str, ...] = ()
    metadata_url: str | None = field(default=None, repr=False)
    description: str | None = field(default=None, repr=False)

    @property
    def insufficient_scope(self) -> bool:
        return self.status == 403

    @property
    def named_error(self) -> str | None:
        """The error code, where it has the shape of one."""
        return self.error if self.error is not None and _ERROR.fullmatch(self.error) else None


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a sign-in by this host gave. `expires_at` is in seconds since 1970; `client`, `server` and `metadata` are
    the client's registration, the authorization server's and the resource's metadata in the shape of the wire."""

    resource: str
    client_id: str
    access_token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    expires_at: float | None = None
    scopes: tuple[str, ...] = ()
    client: JsonObject = field(default_factory=dict, repr=False)
    server: JsonObject = field(default_factory=dict, repr=False)
    metadata: JsonObject = field(default_factory=dict, repr=False)

    @property
    def key(self) -> tuple[str, str]:
        return self.resource, self.client_id


@dataclass(frozen=True, slots=True)
class Discovered:
    """Where a resource says how to get a token. `metadata` None: it does not; `foreign`: what it shows is another's.
    `url` is where the metadata stands."""

    metadata: ProtectedResourceMetadata | None = None
    url: str | None = None
    foreign: bool = False


def covers(resource: str, url: str) -> bool:
    """Whether a token for `resource` may be shown at `url`: the same origin, and the path or one below it (RFC 8707).
    A path that would be another one after normalisation is below nothing."""
    ours, theirs = _parts(resource), _parts(url)
    if ours is None or theirs is None or ours[0] != theirs[0] or _INDIRECT.search(theirs[1]):
        return False
    return theirs[1].startswith(ours[1])


def origin(url: str) -> tuple[str, str, int | None] | None:
    """Scheme, host and port; None for what is no address."""
    parts = _parts(url)
    return None if parts is None else parts[0]


def is_private(url: str) -> bool:
    """Whether a token may travel there: TLS, or this machine."""
    found = origin(url)
    return found is not None and (found[0] == "https" or found[1] in ("localhost", "127.0.0.1", "::1"))


def is_local(url: str) -> bool:
    """Whether the address is on this machine."""
    found = origin(url)
    return found is not None and found[1] in ("localhost", "127.0.0.1", "::1")


def _parts(url: str) -> tuple[tuple[str, str, int | None], str] | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    if scheme not in ("http", "https") or not parts.hostname:
        return None
    place = (scheme, parts.hostname.lower(), port or (443 if scheme == "https" else 80))
    return place, parts.path if parts.path.endswith("/") else f"{parts.path}/"
