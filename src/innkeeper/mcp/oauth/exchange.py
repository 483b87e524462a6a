"""The SDK's OAuth client, driven step by step: authorization code with PKCE, dynamic registration, refresh.

Rules
* The SDK's `OAuthClientProvider` makes and checks every request and answer; this module only carries them, through
  `fetching`. It is driven from the refusal that the connection saw: no MCP request is made for a sign-in, and none is
  sent again by it.
* Endpoints and client that a refresh needs come from what the sign-in stored (the SDK keeps them in memory only).
* What the SDK raises may quote answers: only its kind, and error codes in their standard shape, leave this module.
"""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

import httpx2
from mcp.client.auth import (
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel

from innkeeper.mcp.oauth.challenges import write_challenge
from innkeeper.mcp.oauth.fetching import Fetch, Unreachable, fetcher
from innkeeper.mcp.oauth.values import Challenge, Credentials, JsonObject, OAuthClient

CLIENT_NAME: Final = "Innkeeper"
LONG_AGO: Final = 1.0


class ExchangeFailed(Exception):
    """No tokens came. `final`: trying the same again is of no use. The text has no value of any request or answer."""

    def __init__(self, message: str, *, final: bool) -> None:
        super().__init__(message)
        self.final = final


@dataclass(frozen=True, slots=True)
class SignIn:
    """What a sign-in begins with. `client` is a registered one, `registration` an earlier dynamic one; without either
    this host registers itself. `granted` are the scopes of the present token."""

    url: str
    resource: str
    challenge: Challenge
    metadata_url: str | None
    redirect_uri: str
    client: OAuthClient | None = None
    registration: JsonObject | None = None
    granted: tuple[str, ...] = ()


class _Storage:
    """What the SDK is given, and what it gives back."""

    def __init__(self, tokens: OAuthToken | None, client: OAuthClientInformationFull | None) -> None:
        self.tokens = tokens
        self.client = client

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def sign_in(
    ask: SignIn,
    seconds: Callable[[], float],
    redirect: Callable[[str], Awaitable[None]],
    returned: Callable[[], Awaitable[AuthorizationCodeResult]],
) -> Credentials:
    """The whole flow; `redirect` gets the address for the person, `returned` waits for the way back. `seconds` is the
    time since 1970. Raises ExchangeFailed."""
    _silence()
    granted = " ".join(ask.granted) or None
    storage = _Storage(OAuthToken(access_token="-", scope=granted) if granted else None, _registered(ask))
    provider = OAuthClientProvider(ask.url, _about_us(ask), storage, redirect, returned)
    request = httpx2.Request("POST", ask.url)
    header = write_challenge(ask.challenge, ask.metadata_url)
    refusal = httpx2.Response(ask.challenge.status, headers={"WWW-Authenticate": header}, request=request)
    await _drive(provider, request, refusal, _Recording(fetcher(ask.url)))
    return _credentials(provider, ask.resource, seconds())


async def refresh(credentials: Credentials, url: str, seconds: Callable[[], float]) -> Credentials:
    """New tokens for old. Raises ExchangeFailed: final when the authorization server refused."""
    _silence()
    storage = _Storage(_tokens(credentials), OAuthClientInformationFull.model_validate(credentials.client))
    provider = _provider(credentials, url, storage)
    provider.context.token_expiry_time = LONG_AGO
    request = httpx2.Request("POST", url)
    recording = _Recording(fetcher(url))
    await _drive(provider, request, None, recording)
    if not provider.context.is_token_valid():
        refused = recording.status is not None and 400 <= recording.status < 500 and recording.status != 429
        raise ExchangeFailed(f"the refresh was answered with HTTP {recording.status}", final=refused)
    return _credentials(provider, credentials.resource, seconds())


async def revoke(credentials: Credentials, url: str) -> None:
    """Tell the authorization server that the tokens are not used any more (RFC 7009), where it takes that."""
    _silence()
    with suppress(ValueError, Unreachable, OAuthTokenError):
        client = OAuthClientInformationFull.model_validate(credentials.client)
        provider = _provider(credentials, url, _Storage(None, client))
        provider.context.client_info = client
        metadata = provider.context.oauth_metadata
        if metadata is None or metadata.revocation_endpoint is None:
            return
        fetch = fetcher(url)
        for token, kind in (
            (credentials.refresh_token, "refresh_token"),
            (credentials.access_token, "access_token"),
        ):
            if token is None:
                continue
            form = {"token": token, "token_type_hint": kind, "client_id": client.client_id}
            data, headers = provider.context.prepare_token_auth(form, {})
            await fetch(httpx2.Request("POST", str(metadata.revocation_endpoint), data=data, headers=headers))


class _Recording:
    """A fetch that remembers the last status."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self.status: int | None = None

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._fetch(request)
        self.status = response.status_code
        return response


async def _drive(
    provider: OAuthClientProvider, request: httpx2.Request, refusal: httpx2.Response | None, fetch: Fetch
) -> None:
    """Run the flow until it would send the MCP request again, which it is not let do. Raises ExchangeFailed."""
    flow = provider.async_auth_flow(request)
    try:
        outgoing = await anext(flow)
        if refusal is not None and outgoing is request:
            outgoing = await flow.asend(refusal)
        while outgoing is not request:
            outgoing = await flow.asend(await fetch(outgoing))
    except StopAsyncIteration:
        return
    except Unreachable as error:
        raise ExchangeFailed(str(error), final=False) from None
    except OAuthRegistrationError:
        raise ExchangeFailed(
            "the authorization server does not register this host; it needs a client id", final=True
        ) from None
    except OAuthTokenError:
        raise ExchangeFailed("the authorization server gave no token", final=True) from None
    except OAuthFlowError:
        raise ExchangeFailed("the authorization server or its answer does not fit the resource", final=True) from None
    except (ValueError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ExchangeFailed(f"unusable answer ({type(error).__name__})", final=True) from None
    finally:
        await cast(Any, flow).aclose()


def _provider(credentials: Credentials, url: str, storage: _Storage) -> OAuthClientProvider:
    """One that knows already what a sign-in found out. Raises ValueError when what was stored is not usable."""
    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl("http://127.0.0.1/callback")])
    provider = OAuthClientProvider(url, metadata, storage)
    if credentials.server:
        provider.context.oauth_metadata = OAuthMetadata.model_validate(credentials.server)
    if credentials.metadata:
        found = ProtectedResourceMetadata.model_validate(credentials.metadata)
        provider.context.protected_resource_metadata = found
        provider.context.auth_server_url = str(found.authorization_servers[0])
    return provider


def _about_us(ask: SignIn) -> OAuthClientMetadata:
    scopes = () if ask.client is None else ask.client.scopes
    return OAuthClientMetadata(
        redirect_uris=[AnyUrl(ask.redirect_uri)],
        token_endpoint_auth_method="none",
        client_name=CLIENT_NAME,
        scope=" ".join(scopes) or None,
    )


def _registered(ask: SignIn) -> OAuthClientInformationFull | None:
    if ask.client is not None:
        return OAuthClientInformationFull(
            client_id=ask.client.client_id,
            client_secret=ask.client.client_secret,
            token_endpoint_auth_method="none" if ask.client.client_secret is None else "client_secret_basic",
            redirect_uris=[AnyUrl(ask.redirect_uri)],
        )
    if ask.registration is None:
        return None
    return OAuthClientInformationFull.model_validate(ask.registration)


def _tokens(credentials: Credentials) -> OAuthToken:
    return OAuthToken(
        access_token=credentials.access_token,
        refresh_token=credentials.refresh_token,
        scope=" ".join(credentials.scopes) or None,
    )


def _credentials(provider: OAuthClientProvider, resource: str, now: float) -> Credentials:
    context = provider.context
    tokens, client = context.current_tokens, context.client_info
    if tokens is None or client is None:
        raise ExchangeFailed("the authorization server gave no token", final=True)
    return Credentials(
        resource=resource,
        client_id=client.client_id,
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token,
        expires_at=None if tokens.expires_in is None else now + tokens.expires_in,
        scopes=tuple((tokens.scope or "").split()),
        client=_dumped(client),
        server=_dumped(context.oauth_metadata),
        metadata=_dumped(context.protected_resource_metadata),
    )


def _dumped(model: BaseModel | None) -> JsonObject:
    return {} if model is None else cast(JsonObject, model.model_dump(mode="json", exclude_none=True))


def _silence() -> None:
    """The SDK's and its HTTP client's lines quote answers, which carry tokens (M7.7)."""
    for name in ("mcp", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
