"""One look at an HTTP endpoint (M7.4): read-only, without credentials, and any HTTP answer means that it is alive.

The address is asked for without its user and query, which may be credentials; no header of the declaration goes along,
no cookie is kept, and no redirect is followed.
"""

import asyncio
import logging
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from innkeeper.mcp.supervision.probing import TIMEOUT

if TYPE_CHECKING:
    import ssl

logger = logging.getLogger(__name__)


class HttpProbe:
    """Looks at endpoints; the trust store of TLS is read once."""

    def __init__(self) -> None:
        self._context: ssl.SSLContext | None = None

    async def __call__(self, url: str) -> bool:
        """Whether anything answered in HTTP within the time. Never raises for what the endpoint does."""
        import httpx2

        if self._context is None:
            self._context = await asyncio.to_thread(httpx2.create_ssl_context)
        try:
            async with (
                asyncio.timeout(TIMEOUT),
                httpx2.AsyncClient(verify=self._context, follow_redirects=False, timeout=TIMEOUT) as client,
            ):
                await client.send(client.build_request("HEAD", plain(url)), stream=True)
        except (TimeoutError, httpx2.HTTPError, OSError) as error:
            logger.debug("a look at an endpoint was not answered: %s", type(error).__name__)
            return False
        return True


def plain(url: str) -> str:
    """The address without user, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path or "/", "", ""))
