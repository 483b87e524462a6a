"""The SDK's client as this host makes it; importing this module imports the SDK (0.4 s, 50 MB: on first connect).

The log lines of the SDK and of its HTTP library quote messages and addresses, which may carry credentials (M7.7): they
are switched off, and the owner task logs outcomes of its own.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from typing import Any

from mcp.client._transport import Transport
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp_types import INVALID_REQUEST, ElicitRequestParams, ElicitResult, ErrorData, Implementation

from innkeeper.ports.mcp import ElicitationRefused

Elicit = Callable[[Mapping[str, object]], Awaitable[Mapping[str, object]]]


def make_client(
    transport: Transport, notified: Callable[[object], Awaitable[None]], elicit: Elicit | None = None
) -> Client:
    """Both protocol generations (`auto`); no cache; sampling and roots are refused, and elicitation where nobody can
    be asked: the server is told so before it asks."""

    for name in ("mcp", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    async def handler(message: Any) -> None:
        await notified(message)

    async def ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        assert elicit is not None
        try:
            answer = await elicit(params.model_dump(mode="json", by_alias=True, exclude_none=True))
        except ElicitationRefused as refused:
            return ErrorData(code=INVALID_REQUEST, message=str(refused))
        return ElicitResult.model_validate(answer)

    return Client(
        transport,
        mode="auto",
        cache=None,
        message_handler=handler,
        elicitation_callback=None if elicit is None else ask,
        client_info=Implementation(name="innkeeper", version=version("innkeeper")),
    )
