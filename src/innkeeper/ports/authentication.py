"""Tokens for protected resources, as the host sees them (AHP §8, §10.2; M7.3).

`Authentication` is what commands of clients reach; `ToolAuthentication` and `AuthenticationListener` are what the host
does for the connections that want a token. No token goes through any state: only metadata and requirements do.
"""

from collections.abc import Awaitable, Sequence
from typing import Literal, NamedTuple, Protocol

from innkeeper.ports.questions import Caller
from innkeeper.protocol.common.state import ProtectedResourceMetadata
from innkeeper.protocol.session.state import McpAuthRequirement

Reason = Literal["required", "expired"]


class ResourceUnknown(Exception):
    """Nothing on this host asks for a token for that resource."""


class TokenRefused(Exception):
    """The resource did not take the token, or its scopes do not suffice. The text is for a person, without a value."""

    def __init__(self, message: str, resources: Sequence[ProtectedResourceMetadata]) -> None:
        super().__init__(message)
        self.resources = resources


class SignInRefused(Exception):
    """A sign-in by the host cannot begin. The text says why and what would help."""


class SignInOutcome(NamedTuple):
    """How a sign-in ended. `reason` says why it did not complete, without a value."""

    completed: bool
    reason: str | None = None


class Authentication(Protocol):
    """What clients can do about tokens."""

    async def accept(
        self, client_id: str, resource: str, token: str, expires_in: int | None, scopes: Sequence[str] | None
    ) -> None:
        """Take a client's token and use it at once. Returns when a server has taken it, or when none is waiting for
        one. Raises ResourceUnknown, and TokenRefused when the first server that saw it refused it."""
        ...

    async def revoke(self, client_id: str, resource: str) -> None:
        """Forget the client's token and what this host signed in for; connections that used them are opened anew.
        Tokens of other clients stay. Raises ResourceUnknown."""
        ...

    async def begin(self, session: str, server: str) -> str:
        """The address at which a person signs in for this server of the session; the host waits for the way back. A
        second call while one is open gives the same address. Raises SignInRefused."""
        ...

    async def finished(self, session: str, server: str) -> SignInOutcome:
        """How the sign-in that was begun last for this server ended; waits while it is open. Raises SignInRefused when
        none was begun."""
        ...


class AuthenticationListener(Protocol):
    """Called on the event loop; never raises."""

    def token_wanted(self, resource: ProtectedResourceMetadata, reason: Reason) -> None:
        """A token is needed, or the present one has expired."""
        ...


class ToolAuthentication(Protocol):
    """A tool call that waits for a token, shown in its conversation (AHP §9.2)."""

    async def wait(self, caller: Caller, requirement: McpAuthRequirement, granted: Awaitable[object]) -> bool:
        """Show that the call waits; True once `granted` is done, and the call is then running again. False when the
        call was failed, its turn ended, time ran out, or there is no conversation to show it in. Never raises for
        these."""
        ...
