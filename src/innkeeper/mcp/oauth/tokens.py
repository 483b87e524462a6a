"""The tokens that there are now: those of clients, in memory, and those that this host signed in for (AHP §8).

Rules
* A token belongs to who gave it: one client's revocation or refusal takes no other's. The one that came last is used.
* A client's token is in memory only. It goes when it is revoked, refused by the resource, expired, or with the host.
* A token is looked up by the address it would be shown at, and only where its resource covers that address.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from innkeeper.mcp.oauth.store import TokenStore
from innkeeper.mcp.oauth.values import Credentials, covers
from innkeeper.ports.clock import Clock

logger = logging.getLogger(__name__)

Verdict = Literal["taken", "refused", "insufficient"]

EARLY: Final = 30.0
"""Seconds before its end at which a token is renewed."""


@dataclass(eq=False, slots=True)
class Token:
    """One token. `client_id` is the AHP client that gave it; None: this host signed in, and `credentials` say how."""

    resource: str
    value: str = field(repr=False)
    client_id: str | None = None
    expires_at: float | None = None
    scopes: frozenset[str] | None = None
    """None: not known."""
    credentials: Credentials | None = field(default=None, repr=False)
    verdict: "asyncio.Future[Verdict] | None" = field(default=None, repr=False)
    """What the first server that saw it said."""

    def judge(self, verdict: Verdict) -> None:
        if self.verdict is not None and not self.verdict.done():
            self.verdict.set_result(verdict)


class Tokens:
    def __init__(self, store: TokenStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._tokens: list[Token] = []
        self._loaded = False
        self._loading = asyncio.Lock()

    async def load(self) -> None:
        """Read the store, once."""
        async with self._loading:
            if not self._loaded:
                self._loaded = True
                self._tokens[:0] = [_signed_in(entry) for entry in await self._store.all()]

    def seconds(self) -> float:
        """The present, in seconds since 1970."""
        return datetime.fromisoformat(self._clock.now()).timestamp()

    def give(self, token: Token) -> None:
        """From now on this one is used; it replaces what the same client gave before."""
        self._tokens = [known for known in self._tokens if not _same_owner(known, token)]
        self._tokens.append(token)

    def take(self, token: Token) -> None:
        """It is not used any more. Idempotent."""
        self._tokens = [known for known in self._tokens if known is not token]

    def of_client(self, client_id: str, resource: str) -> Token | None:
        return next((t for t in self._tokens if t.client_id == client_id and t.resource == resource), None)

    def signed_in(self, resource: str) -> list[Token]:
        return [t for t in self._tokens if t.credentials is not None and t.resource == resource]

    def current(self, url: str, tried: Sequence[Token] = ()) -> Token | None:
        """The token to show at `url`, expired or not, besides those that were `tried`; the last that came, and one
        that is alive before one that is not."""
        fitting = [token for token in self._tokens if token not in tried and covers(token.resource, url)]
        alive = [token for token in fitting if not self.expired(token)]
        return next(reversed(alive or fitting), None)

    def expired(self, token: Token, *, early: float = 0.0) -> bool:
        return token.expires_at is not None and self.seconds() + early >= token.expires_at

    async def keep(self, credentials: Credentials) -> Token:
        """Durable when it returns; where the store fails it holds until the host ends, and the log says so."""
        token = _signed_in(credentials)
        self.give(token)
        try:
            await self._store.put(credentials)
        except OSError as error:
            logger.warning("the sign-in for a server could not be kept: %s", type(error).__name__)
        return token

    async def forget(self, token: Token) -> None:
        """Take it, and its entry in the store."""
        self.take(token)
        if token.credentials is None:
            return
        try:
            await self._store.remove(token.credentials.key)
        except OSError as error:
            logger.warning("a sign-in could not be removed: %s", type(error).__name__)


def _signed_in(credentials: Credentials) -> Token:
    return Token(
        resource=credentials.resource,
        value=credentials.access_token,
        expires_at=credentials.expires_at,
        scopes=frozenset(credentials.scopes) if credentials.scopes else None,
        credentials=credentials,
    )


def _same_owner(known: Token, new: Token) -> bool:
    if known.resource != new.resource or known.client_id != new.client_id:
        return False
    if known.credentials is None or new.credentials is None:
        return known.credentials is new.credentials
    return known.credentials.key == new.credentials.key
