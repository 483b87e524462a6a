"""MCP over Streamable HTTP by the SDK, with what the host must see for itself: refusals and their metadata.

Rules
* Headers of the declaration go to the declared origin only; redirects elsewhere are not followed (the SDK's rule).
* A refusal for want of a token is a state of its own, not a failure (AHP §10.2), and it is one only when no token that
  there is, or that comes while a call waits, was taken (`oauth`).
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from innkeeper.mcp.connections.values import Signals
from innkeeper.mcp.declarations.model import HttpLaunch
from innkeeper.mcp.oauth.access import ServerAccess
from innkeeper.mcp.oauth.challenges import read_challenge

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 300.0


@asynccontextmanager
async def http_streams(
    launch: HttpLaunch, signals: Signals, refused: Callable[[int], None], access: ServerAccess
) -> AsyncGenerator["TransportStreams", None]:
    """Streams of messages to the address. `refused` is called for each answer of 400 or more that stays one."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from innkeeper.mcp.oauth.bearer import Bearer

    def left(status: int) -> None:
        signals.http_status = status
        refused(status)

    async def look(response: "httpx2.Response") -> None:
        status = response.status_code
        if status >= 400 and read_challenge(status, response.headers.get("www-authenticate", "")) is None:
            left(status)

    async with (
        httpx2.AsyncClient(
            headers=dict(launch.headers),
            timeout=httpx2.Timeout(CONNECT_TIMEOUT, read=READ_TIMEOUT),
            auth=Bearer(access, left),
            event_hooks={"response": [look]},
        ) as client,
        streamable_http_client(launch.url, http_client=client) as streams,
    ):
        yield streams
