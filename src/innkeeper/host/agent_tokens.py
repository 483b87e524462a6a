"""Tokens that clients give for agents (AHP §8, issue 6 §6): the resources that an agent names come before servers'.

A token goes to the provider and nowhere else. Of several agents that name one resource each gets it.
"""

from collections.abc import Sequence

from innkeeper.ports.authentication import Authentication, SignInOutcome, TokenRefused
from innkeeper.protocol.common.state import ProtectedResourceMetadata
from innkeeper.providers.spi import Provider, ProviderError, TokenTaking


class AgentTokens:
    """`Authentication` of a host with agents; what no agent asks for goes to `servers`."""

    def __init__(self, providers: Sequence[Provider], servers: Authentication) -> None:
        self._providers = providers
        self._servers = servers

    async def accept(
        self, client_id: str, resource: str, token: str, expires_in: int | None, scopes: Sequence[str] | None
    ) -> None:
        taking = self._taking(resource)
        if not taking:
            await self._servers.accept(client_id, resource, token, expires_in, scopes)
        for provider, metadata in taking:
            try:
                await provider.take_token(resource, token)
            except ProviderError as error:
                raise TokenRefused(error.message, [metadata]) from None

    async def revoke(self, client_id: str, resource: str) -> None:
        taking = self._taking(resource)
        if not taking:
            await self._servers.revoke(client_id, resource)
        for provider, _ in taking:
            await provider.take_token(resource, None)

    async def begin(self, session: str, server: str) -> str:
        return await self._servers.begin(session, server)

    async def finished(self, session: str, server: str) -> SignInOutcome:
        return await self._servers.finished(session, server)

    def _taking(self, resource: str) -> list[tuple[TokenTaking, ProtectedResourceMetadata]]:
        found: list[tuple[TokenTaking, ProtectedResourceMetadata]] = []
        for provider in self._providers:
            if isinstance(provider, TokenTaking):
                named = (one for one in provider.info.get("protectedResources") or () if one["resource"] == resource)
                found.extend((provider, one) for one in named)
        return found
