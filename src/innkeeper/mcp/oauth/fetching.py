"""One way out for metadata, registration, token and revocation requests.

Rules
* Only over TLS, or to this machine when the MCP server itself is on this machine: no project file makes the host talk
  to a service of its own network in the clear.
* No redirect is followed here (the SDK's flow follows those within one origin); at most 64 KiB are read; ten seconds.
* No header of a declaration goes along.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import httpx2

from innkeeper.mcp.oauth.values import is_local, origin

BODY_LIMIT: Final = 64 * 1024
TIMEOUT: Final = 10.0

Fetch = Callable[[httpx2.Request], Awaitable[httpx2.Response]]


class Unreachable(Exception):
    """No usable answer: no connection, too much, too late, or an address that may not be asked."""


def fetcher(server: str) -> Fetch:
    """How requests on behalf of the MCP server at `server` are sent. Raises Unreachable."""

    async def fetch(request: httpx2.Request) -> httpx2.Response:
        url = str(request.url)
        found = origin(url)
        if found is None or not (found[0] == "https" or (is_local(url) and is_local(server))):
            raise Unreachable(f"{request.url.host} would be asked without TLS")
        try:
            async with httpx2.AsyncClient(timeout=TIMEOUT, follow_redirects=False) as client:
                response = await client.send(request, stream=True)
                try:
                    return await _bounded(response)
                finally:
                    await response.aclose()
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise Unreachable(f"{request.url.host} did not answer ({type(error).__name__})") from None

    return fetch


async def _bounded(response: httpx2.Response) -> httpx2.Response:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > BODY_LIMIT:
            raise Unreachable(f"{response.request.url.host} answered with more than {BODY_LIMIT} bytes")
    headers = {k: v for k, v in response.headers.items() if k not in ("content-encoding", "content-length")}
    whole = httpx2.Response(response.status_code, headers=headers, content=bytes(content), request=response.request)
    whole.next_request = response.next_request
    return whole
