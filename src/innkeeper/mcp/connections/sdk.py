"""The SDK's client as this host makes it; importing this module imports the SDK (0.4 s, 50 MB: on first connect).

The log lines of the SDK and of its HTTP library quote messages and addresses, which may carry credentials (M7.7): they
are switched off, and the owner task logs outcomes of its own.
"""

import logging
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

from mcp.client._transport import Transport
from mcp.client.client import Client
from mcp_types import Implementation


def make_client(transport: Transport, notified: Callable[[object], Awaitable[None]]) -> Client:
    """Both protocol generations (`auto`); no cache; elicitation, sampling and roots are refused."""

    for name in ("mcp", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    async def handler(message: Any) -> None:
        await notified(message)

    return Client(
        transport,
        mode="auto",
        cache=None,
        message_handler=handler,
        client_info=Implementation(name="innkeeper", version=version("innkeeper")),
    )
