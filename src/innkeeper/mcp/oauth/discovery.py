"""Protected-resource metadata of a server that refused a request (RFC 9728).

Rules
* Where to look, in this order: what the challenge names, the well-known address of the path, that of the origin. Only
  addresses on the server's own origin are asked.
* Metadata that names another resource than this server is not used (RFC 9728 §3.3): a token for one audience is never
  asked for on behalf of another.
"""

from typing import Any, cast

import httpx2

from innkeeper.mcp.oauth.fetching import Unreachable, fetcher
from innkeeper.mcp.oauth.values import Challenge, Discovered, covers, origin
from innkeeper.protocol.common.state import ProtectedResourceMetadata


async def discover(server: str, challenge: Challenge) -> Discovered:
    """Never raises for what the server says or fails to say."""
    from mcp.client.auth.utils import build_protected_resource_metadata_discovery_urls

    fetch = fetcher(server)
    foreign = False
    for url in build_protected_resource_metadata_discovery_urls(challenge.metadata_url, server):
        if origin(url) != origin(server):
            continue
        try:
            response = await fetch(httpx2.Request("GET", url))
        except (Unreachable, httpx2.InvalidURL):
            continue
        found = _metadata(response)
        if found is None:
            continue
        if covers(found["resource"], server):
            return Discovered(found, url)
        foreign = True
    return Discovered(foreign=foreign)


def _metadata(response: httpx2.Response) -> ProtectedResourceMetadata | None:
    if response.status_code != 200:
        return None
    try:
        found: Any = response.json()
    except ValueError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("resource"), str):
        return None
    servers = found.get("authorization_servers", [])
    if not isinstance(servers, list) or not all(isinstance(server, str) for server in servers):
        return None
    return cast(ProtectedResourceMetadata, found)
