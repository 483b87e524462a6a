"""MCP over Streamable HTTP by the SDK, with what the host must see for itself: refusals and their metadata.

Rules
* Headers of the declaration go to the declared origin only; redirects elsewhere are not followed (the SDK's rule).
* 401 is a state of its own, not a failure (AHP §10.2). RFC 9728 metadata is read once, from the same origin, without
  the declared headers, at most 64 KiB.
"""

import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from innkeeper.mcp.connections.values import Signals
from innkeeper.mcp.declarations.model import HttpLaunch
from innkeeper.protocol.common.state import ProtectedResourceMetadata

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 300.0
METADATA_TIMEOUT = 3.0
METADATA_LIMIT = 64 * 1024

_METADATA = re.compile(r'resource_metadata="([^"]+)"')


@asynccontextmanager
async def http_streams(
    launch: HttpLaunch, signals: Signals, refused: Callable[[int], None]
) -> AsyncGenerator["TransportStreams", None]:
    """Streams of messages to the address. `refused` is called for each answer of 400 or more."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def look(response: "httpx2.Response") -> None:
        if response.status_code < 400:
            return
        signals.http_status = response.status_code
        if response.status_code == 401 and signals.resource is None:
            signals.resource = await _metadata(launch.url, response.headers.get("www-authenticate", ""))
        refused(response.status_code)

    async with (
        httpx2.AsyncClient(
            headers=dict(launch.headers),
            timeout=httpx2.Timeout(CONNECT_TIMEOUT, read=READ_TIMEOUT),
            event_hooks={"response": [look]},
        ) as client,
        streamable_http_client(launch.url, http_client=client) as streams,
    ):
        yield streams


async def _metadata(server: str, challenge: str) -> ProtectedResourceMetadata | None:
    """The protected-resource metadata that a challenge points to, when it is on the server's own origin."""
    import httpx2

    match = _METADATA.search(challenge)
    if match is None or _origin(match[1]) != _origin(server):
        return None
    try:
        async with httpx2.AsyncClient(timeout=METADATA_TIMEOUT) as client, client.stream("GET", match[1]) as response:
            if response.status_code != 200:
                return None
            content = bytearray()
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > METADATA_LIMIT:
                    return None
        found: Any = json.loads(content)
    except (httpx2.HTTPError, ValueError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("resource"), str):
        return None
    return cast(ProtectedResourceMetadata, found)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port
    except ValueError:
        return "", None, None
