"""Tokens of a host's MCP servers: the adapter of `ports.authentication.Authentication`, and the door for connections.

Rules
* A resource is known as long as a session has a server that asked for a token for it.
* A token that comes is used at once: calls that wait are sent again, connections that wait are opened again. Who gave
  it learns what the first server said about it.
* Nothing here keeps a token of a client beyond this process, and nothing tells one to anybody but its resource.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from innkeeper.limits import SERVER_START_SECONDS
from innkeeper.mcp.oauth.access import Joined, ServerAccess
from innkeeper.mcp.oauth.renewals import Renewals
from innkeeper.mcp.oauth.sign_ins import SignIns, Wanted
from innkeeper.mcp.oauth.store import TokenStore
from innkeeper.mcp.oauth.tokens import Token, Tokens, Verdict
from innkeeper.mcp.oauth.values import Credentials, OAuthClient, covers, is_private
from innkeeper.ports.authentication import (
    AuthenticationListener,
    ResourceUnknown,
    SignInOutcome,
    SignInRefused,
    TokenRefused,
    ToolAuthentication,
)
from innkeeper.ports.clock import Clock
from innkeeper.protocol.common.state import ProtectedResourceMetadata

logger = logging.getLogger(__name__)

VERDICT_SECONDS: Final = SERVER_START_SECONDS

Clients = Callable[[str], OAuthClient | None]
"""The operator's registered client for the server at an address."""


class Reconnect(Protocol):
    def __call__(self, session: str, server: str, /, *, force: bool = False) -> Awaitable[None]:
        """Open the connection again if it waits for a token, or, with `force`, if it is open. Grants nothing."""
        ...


class Authorization:
    """`listener` is told of needs, `tools` show calls that wait. `clients` gives the operator's registered clients; a
    declared one comes before it."""

    def __init__(
        self,
        *,
        store: TokenStore,
        clock: Clock,
        listener: AuthenticationListener | None = None,
        tools: ToolAuthentication | None = None,
        clients: Clients = lambda _url: None,
        verdict_seconds: float = VERDICT_SECONDS,
        lang: str = "en",
    ) -> None:
        self._tokens = Tokens(store, clock)
        self._renewals = Renewals(self._tokens)
        self._joined = Joined(self._tokens, self._renewals, listener, tools)
        self._sign_ins = SignIns(self._signed_in, self._tokens.seconds, lang=lang)
        self._clients = clients
        self._verdict_seconds = verdict_seconds
        self._accesses: dict[tuple[str, str], ServerAccess] = {}
        self._reconnect: Reconnect | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    def reconnect_by(self, reconnect: Reconnect) -> None:
        """Who opens connections anew; once, before the first one."""
        self._reconnect = reconnect

    # -- for connections -----------------------------------------------------------------------------------------

    def access(self, session: str, server: str, url: str, client: OAuthClient | None = None) -> ServerAccess:
        """The server's access; the same one for the next connection of the same address."""
        wanted = client or self._clients(url)
        known = self._accesses.get((session, server))
        if known is not None and known.url == url and known.client == wanted:
            return known
        made = ServerAccess(self._joined, session, server, url, wanted)
        self._accesses[session, server] = made
        return made

    def forget_session(self, session: str) -> None:
        """The session is closed. Tokens stay: they are the client's and the host's."""
        self._accesses = {key: access for key, access in self._accesses.items() if key[0] != session}

    async def close(self) -> None:
        await self._sign_ins.close()
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))
        await self._renewals.close()

    # -- for clients ---------------------------------------------------------------------------------------------

    def resources(self) -> Sequence[ProtectedResourceMetadata]:
        """Everything that asked for a token, once."""
        found: Mapping[str, ProtectedResourceMetadata] = {
            metadata["resource"]: metadata
            for access in self._accesses.values()
            if access.discovered is not None and (metadata := access.discovered.metadata) is not None
        }
        return tuple(found.values())

    async def accept(
        self, client_id: str, resource: str, token: str, expires_in: int | None, scopes: Sequence[str] | None
    ) -> None:
        servers, metadata = self._asking(resource)
        missing = _missing(servers, scopes)
        if missing:
            raise TokenRefused(f"the token lacks these scopes: {' '.join(missing)}", [metadata])
        if not _presentable(token):
            raise TokenRefused("that is no bearer token", [metadata])
        if not is_private(resource):
            raise TokenRefused("the resource would be shown the token without TLS", [metadata])
        await self._tokens.load()
        expires_at = None if expires_in is None else self._tokens.seconds() + expires_in
        verdict: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        known = None if scopes is None else frozenset(scopes)
        given = Token(resource, token, client_id, expires_at, known, verdict=verdict)
        self._tokens.give(given)
        said = await self._try(servers, verdict)
        if said == "refused":
            self._tokens.take(given)
            raise TokenRefused("the resource refused the token", [metadata])
        if said == "insufficient":
            raise TokenRefused("the token lacks scopes that the resource wants", [metadata])

    async def revoke(self, client_id: str, resource: str) -> None:
        servers, _ = self._asking(resource)
        await self._tokens.load()
        gone = self._tokens.signed_in(resource)
        for token in gone:
            await self._tokens.forget(token)
            self._spawn(self._tell(token, servers[0].url), "mcp token revocation")
        own = self._tokens.of_client(client_id, resource)
        if own is not None:
            self._tokens.take(own)
            gone = [*gone, own]
        for access in servers:
            if access.shown in gone:
                self._spawn(self._open_again(access, force=True), f"reconnect mcp {access.server}")

    async def begin(self, session: str, server: str) -> str:
        access = self._accesses.get((session, server))
        if access is None or access.challenge is None or access.resource is None or access.discovered is None:
            raise SignInRefused("this server has not asked for a sign-in")
        metadata = access.discovered.metadata
        if metadata is None or not metadata.get("authorization_servers"):
            raise SignInRefused("this server names no authorization server; give it a token instead")
        await self._tokens.load()
        present = self._tokens.signed_in(access.resource)
        credentials = present[-1].credentials if present else None
        challenge = access.challenge
        if not challenge.scopes and access.client is not None:
            challenge = replace(challenge, scopes=access.client.scopes)
        return await self._sign_ins.begin(
            Wanted(
                url=access.url,
                resource=access.resource,
                challenge=challenge,
                metadata_url=access.discovered.url,
                client=access.client,
                registration=None if credentials is None or access.client is not None else credentials.client,
                granted=tuple(dict.fromkeys((*(credentials.scopes if credentials else ()), *access.scopes))),
            )
        )

    async def finished(self, session: str, server: str) -> SignInOutcome:
        access = self._accesses.get((session, server))
        if access is None or access.resource is None:
            raise SignInRefused("this server has not asked for a sign-in")
        return await self._sign_ins.finished(access.resource)

    # -- inside --------------------------------------------------------------------------------------------------

    def _asking(self, resource: str) -> tuple[list[ServerAccess], ProtectedResourceMetadata]:
        """The servers of a resource that asked for a token. Raises ResourceUnknown."""
        servers = [access for access in self._accesses.values() if access.resource == resource]
        for access in servers:
            if access.discovered is not None and access.discovered.metadata is not None:
                return servers, access.discovered.metadata
        raise ResourceUnknown(resource)

    async def _try(self, servers: Sequence[ServerAccess], verdict: "asyncio.Future[Verdict]") -> Verdict | None:
        """Use the new token where it is waited for; what the first server said, None when none said anything."""
        calls = any(access.waited_for for access in servers)
        opening = self._spawn(self._use(servers), "mcp token")
        waited: set[asyncio.Future[Any]] = {verdict} if calls else {verdict, opening}
        await asyncio.wait(waited, timeout=self._verdict_seconds, return_when=asyncio.FIRST_COMPLETED)
        return verdict.result() if verdict.done() else None

    async def _use(self, servers: Iterable[ServerAccess]) -> None:
        wanting = list(servers)
        for access in wanting:
            access.arrived()
        await asyncio.gather(*(self._open_again(access) for access in wanting))

    async def _open_again(self, access: ServerAccess, *, force: bool = False) -> None:
        if self._reconnect is None:
            return
        try:
            await self._reconnect(access.session, access.server, force=force)
        except Exception as error:
            logger.info("mcp server %s was not opened again: %s", access.server, type(error).__name__)

    async def _signed_in(self, credentials: Credentials) -> None:
        older = [t for t in self._tokens.signed_in(credentials.resource) if t.credentials is not None]
        await self._tokens.keep(credentials)
        for token in older:
            if token.credentials is not None and token.credentials.key != credentials.key:
                await self._tokens.forget(token)
        await self._use([access for access in self._accesses.values() if covers(credentials.resource, access.url)])

    async def _tell(self, token: Token, url: str) -> None:
        from innkeeper.mcp.oauth.exchange import revoke

        if token.credentials is not None:
            await revoke(token.credentials, url)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _missing(servers: Sequence[ServerAccess], scopes: Sequence[str] | None) -> list[str]:
    """Scopes that a challenge named and the token, as its giver says, does not have."""
    if scopes is None:
        return []
    wanted: set[str] = set()
    for access in servers:
        if access.requirement is not None:
            wanted.update(access.requirement.get("requiredScopes", ()))
    return sorted(wanted - set(scopes))


def _presentable(token: str) -> bool:
    return token.isascii() and token.isprintable() and " " not in token
