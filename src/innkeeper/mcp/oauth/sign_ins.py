"""Sign-ins by this host that are open: one a resource, from the address that a person opens to the way back.

Rules
* Nothing is opened or started here: whoever began the sign-in shows the address (M7.9).
* A sign-in ends by itself after `QUESTION_SECONDS`; its listener with it.
* A dynamic registration is used again as long as its redirect port is free; otherwise this host registers anew.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from innkeeper.limits import QUESTION_SECONDS
from innkeeper.mcp.oauth.redirects import RedirectListener
from innkeeper.mcp.oauth.values import Challenge, Credentials, JsonObject, OAuthClient
from innkeeper.ports.authentication import SignInOutcome, SignInRefused

if TYPE_CHECKING:
    from mcp.shared.auth import AuthorizationCodeResult

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """For what, and as whom, a person is to sign in."""

    url: str
    resource: str
    challenge: Challenge
    metadata_url: str | None
    client: OAuthClient | None
    registration: JsonObject | None
    granted: tuple[str, ...]


@dataclass(eq=False, slots=True)
class _Open:
    address: "asyncio.Future[str]"
    task: "asyncio.Task[SignInOutcome]" = field(init=False)


class _Denied(Exception):
    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


class SignIns:
    """`done` is awaited with what a completed sign-in gave, before its outcome is told."""

    def __init__(
        self,
        done: Callable[[Credentials], Awaitable[None]],
        seconds: Callable[[], float],
        *,
        timeout: float = QUESTION_SECONDS,
        lang: str = "en",
    ) -> None:
        self._done = done
        self._seconds = seconds
        self._timeout = timeout
        self._lang = lang
        self._last: dict[str, _Open] = {}

    async def begin(self, wanted: Wanted) -> str:
        """The address for the person. Raises SignInRefused."""
        present = self._last.get(wanted.resource)
        if present is None or present.task.done():
            present = _Open(asyncio.get_running_loop().create_future())
            present.task = asyncio.create_task(self._run(wanted, present), name="mcp sign-in")
            self._last[wanted.resource] = present
        waited: set[asyncio.Future[Any]] = {present.address, present.task}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if present.address.done():
            return present.address.result()
        raise SignInRefused((await present.task).reason or "the sign-in could not begin")

    async def finished(self, resource: str) -> SignInOutcome:
        """Raises SignInRefused when none was begun."""
        present = self._last.get(resource)
        if present is None:
            raise SignInRefused("no sign-in was begun for this server")
        return await asyncio.shield(present.task)

    async def close(self) -> None:
        tasks = [one.task for one in self._last.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self, wanted: Wanted, present: _Open) -> SignInOutcome:
        from innkeeper.mcp.oauth.exchange import ExchangeFailed

        listener = RedirectListener(self._lang)
        try:
            async with asyncio.timeout(self._timeout):
                registration = await self._listen(listener, wanted)
                credentials = await self._exchange(listener, wanted, registration, present)
                await self._done(credentials)
        except TimeoutError:
            return SignInOutcome(False, "nobody signed in in time")
        except _Denied as denied:
            return SignInOutcome(False, f"the authorization server answered {denied.error}")
        except ExchangeFailed as failed:
            logger.info("a sign-in failed: %s", failed)
            return SignInOutcome(False, str(failed))
        except OSError as error:
            return SignInOutcome(False, f"the redirect port cannot be listened on ({type(error).__name__})")
        finally:
            await listener.close()
        return SignInOutcome(True)

    async def _listen(self, listener: RedirectListener, wanted: Wanted) -> JsonObject | None:
        """Open the listener where the client is registered for it; gives the registration that is still of use."""
        if wanted.client is not None:
            if wanted.client.callback_port:
                await listener.open(wanted.client.callback_port, "localhost")
            else:
                await listener.open()
            return None
        port = _registered_port(wanted.registration)
        if port is not None:
            with suppress(OSError):
                await listener.open(port)
                return wanted.registration
        await listener.open()
        return None

    async def _exchange(
        self, listener: RedirectListener, wanted: Wanted, registration: JsonObject | None, present: _Open
    ) -> Credentials:
        from innkeeper.mcp.oauth.exchange import SignIn, sign_in

        async def redirect(address: str) -> None:
            listener.expect(parse_qs(urlsplit(address).query)["state"][0])
            if not present.address.done():
                present.address.set_result(address)

        ask = SignIn(
            url=wanted.url,
            resource=wanted.resource,
            challenge=wanted.challenge,
            metadata_url=wanted.metadata_url,
            redirect_uri=listener.uri,
            client=wanted.client,
            registration=registration,
            granted=wanted.granted,
        )
        return await sign_in(ask, self._seconds, redirect, lambda: _returned(listener))


async def _returned(listener: RedirectListener) -> "AuthorizationCodeResult":
    """Raises _Denied."""
    from mcp.shared.auth import AuthorizationCodeResult

    found = await listener.returned()
    if found.error is not None or found.code is None:
        error = found.error or "invalid_request"
        raise _Denied(error if error.replace("_", "").isalpha() and len(error) <= 40 else "an error")
    return AuthorizationCodeResult(code=found.code, state=found.state, iss=found.issuer)


def _registered_port(registration: JsonObject | None) -> int | None:
    """The port of the redirect address that a dynamic registration was made with."""
    addresses: Any = (registration or {}).get("redirect_uris")
    if not isinstance(addresses, list) or not addresses:
        return None
    try:
        return urlsplit(str(addresses[0])).port
    except ValueError:
        return None
