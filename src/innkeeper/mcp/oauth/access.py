"""One server's tokens, as its connection uses them: what to show, and what to do when it is refused (M7.3, M7.5).

Rules
* A refused request was not carried out: the resource server turned it away before the MCP server saw it. So that one
  HTTP request may be sent again with another token; nothing that was accepted ever is.
* After a refusal, in this order: renew, another token that there is, a person. A person is waited for only by a tool
  call that stands in a conversation; everything else ends with the requirement as the connection's state.
* No token is shown in the clear to another machine.
* A need is told once; a further request without a token says nothing new.
* What the server says about its refusal is quoted only when it is short, printable, and holds no token.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from innkeeper.mcp.oauth.calls import Calling, present_call
from innkeeper.mcp.oauth.renewals import Renewals
from innkeeper.mcp.oauth.tokens import Token, Tokens
from innkeeper.mcp.oauth.values import Challenge, Discovered, OAuthClient, is_private
from innkeeper.ports.authentication import AuthenticationListener, ToolAuthentication
from innkeeper.protocol.session.state import McpAuthRequirement
from innkeeper.texts import text

QUOTED: Final = 200


@dataclass(frozen=True, slots=True)
class Joined:
    """What all servers share."""

    tokens: Tokens
    renewals: Renewals
    listener: AuthenticationListener | None = None
    tools: ToolAuthentication | None = None


class ServerAccess:
    """`requirement` is what the server wants as far as it is known; None when nothing is wanted, or when there is no
    metadata to tell anybody where to get it."""

    def __init__(self, joined: Joined, session: str, server: str, url: str, client: OAuthClient | None) -> None:
        self.session = session
        self.server = server
        self.url = url
        self.client = client
        self.challenge: Challenge | None = None
        self.discovered: Discovered | None = None
        self.requirement: McpAuthRequirement | None = None
        self.shown: Token | None = None
        """The last token that the server took."""
        self._asked: tuple[str, ...] = ()
        self._calls: list[Calling] = []
        self._joined = joined
        self._ran_out = False
        self._lock = asyncio.Lock()
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def resource(self) -> str | None:
        """What the server calls itself."""
        metadata = None if self.discovered is None else self.discovered.metadata
        return None if metadata is None else metadata["resource"]

    @property
    def problem(self) -> str | None:
        """Why there is no requirement although a token is wanted."""
        if self.challenge is None or self.requirement is not None:
            return None
        if not is_private(self.url):
            return "no token is sent without TLS"
        if self.discovered is not None and self.discovered.foreign:
            return "its metadata names another resource"
        return "it has no protected-resource metadata"

    @property
    def scopes(self) -> tuple[str, ...]:
        """What a step-up asks for besides: every scope that the server ever named, and those of the token it took."""
        had = () if self.shown is None else sorted(self.shown.scopes or ())
        return tuple(dict.fromkeys((*had, *self._asked)))

    @property
    def waited_for(self) -> bool:
        """Whether tool calls wait for a person."""
        return bool(self._waiting)

    async def token(self) -> Token | None:
        """What to show with the next request; renewed when its end is near."""
        tokens = self._joined.tokens
        await tokens.load()
        token = tokens.current(self.url)
        self._ran_out = False
        if token is None or not is_private(self.url):
            return None
        if self._joined.renewals.due(token):
            token = await self._joined.renewals.renew(token, self.url) or tokens.current(self.url)
        if token is None or tokens.expired(token):
            self._ran_out = True
            return None
        return token

    def sending(self) -> None:
        """A request goes out; a tool call that it belongs to counts as running until it ends."""
        self._calls = [call for call in self._calls if not call.ended]
        call = present_call()
        if call is not None and call not in self._calls:
            self._calls.append(call)

    def ends_connection(self) -> bool:
        """Whether a refusal that stays one ends the connection. One of another request must not end it under a call
        that was accepted, or that is being decided about: the call finds out for itself."""
        return present_call() is not None or all(call.ended for call in self._calls)

    def taken(self, token: Token | None) -> None:
        """The server answered a request with this token otherwise than by a refusal."""
        self.requirement = None
        self.shown = token
        if token is not None:
            token.judge("taken")

    async def refused(self, challenge: Challenge, shown: Token | None, tried: Sequence[Token]) -> Token | None:
        """Another token to send the refused request with; None when there is none, and it stays refused."""
        async with self._lock:
            other = await self._other(challenge, shown, tried)
            if other is not None:
                return other
            await self._learn(challenge, shown)
        return await self._ask_a_person()

    def arrived(self) -> None:
        """A token came: calls that wait are sent again."""
        for waiting in tuple(self._waiting):
            if not waiting.done():
                waiting.set_result(None)

    async def _other(self, challenge: Challenge, shown: Token | None, tried: Sequence[Token]) -> Token | None:
        tokens = self._joined.tokens
        if shown is not None:
            shown.judge("insufficient" if challenge.insufficient_scope else "refused")
            if not challenge.insufficient_scope:
                renewed = await self._joined.renewals.renew(shown, self.url)
                if renewed is not None and renewed not in tried:
                    return renewed
                if shown.credentials is None or shown.credentials.refresh_token is None:
                    await tokens.forget(shown)
        other = tokens.current(self.url, tried)
        return None if other is None or tokens.expired(other) or not is_private(self.url) else other

    async def _learn(self, challenge: Challenge, shown: Token | None) -> None:
        from innkeeper.mcp.oauth.discovery import discover

        self.challenge = challenge
        self._asked = (*self._asked, *(scope for scope in challenge.scopes if scope not in self._asked))
        if self.discovered is None or self.discovered.metadata is None:
            self.discovered = await discover(self.url, challenge)
        metadata = self.discovered.metadata
        if metadata is None or not is_private(self.url):
            self.requirement = None
            return
        if self.requirement is not None and shown is None and challenge.status == 401:
            return  # known already, and told
        expired = self._ran_out or (shown is not None and (shown is self.shown or shown.credentials is not None))
        requirement: McpAuthRequirement = {"reason": "expired" if expired else "required", "resource": metadata}
        if challenge.insufficient_scope:
            requirement = {**requirement, "reason": "insufficientScope"}
        if challenge.scopes:
            requirement = {**requirement, "requiredScopes": list(challenge.scopes)}
        if self.client is not None:
            requirement = {**requirement, "oauthClient": {"clientId": self.client.client_id}}
        if (described := _description(challenge, shown)) is not None:
            requirement = {**requirement, "description": described}
        self.requirement = requirement
        if self._joined.listener is not None:
            self._joined.listener.token_wanted(metadata, "expired" if expired else "required")

    async def _ask_a_person(self) -> Token | None:
        call, tools = present_call(), self._joined.tools
        if call is None:
            return None
        if call.caller is None or tools is None or self.requirement is None:
            call.refused = True
            return None
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(granted)
        try:
            if await tools.wait(call.caller, self.requirement, granted):
                return await self.token()
        finally:
            self._waiting.discard(granted)
        call.refused = True
        return None


def _description(challenge: Challenge, shown: Token | None) -> str | None:
    """What a person is told, when there is more to say than that a token is wanted."""
    if challenge.insufficient_scope:
        scopes = " ".join(challenge.scopes)
        return text("oauth.insufficientScope", scopes=scopes) if scopes else text("oauth.insufficient")
    if shown is None:
        return None
    said = (challenge.description or "").strip()
    secrets = [shown.value]
    if shown.credentials is not None:
        secrets.append(shown.credentials.refresh_token or shown.value)
    quotable = 0 < len(said) <= QUOTED and said.isprintable() and not any(secret in said for secret in secrets)
    why = said if quotable else challenge.named_error or "invalid_token"
    return text("oauth.refused", why=why)
