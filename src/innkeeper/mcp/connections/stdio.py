"""MCP over a child process's pipes: our spawning, the SDK's session (architecture §5).

Rules
* The SDK gets a pair of streams and never a process: what it starts is not in our tree.
* A line that is no JSON-RPC message is skipped, and its content is not logged: it may hold anything (M7.7).
"""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from innkeeper.ports.processes import Process

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

logger = logging.getLogger(__name__)


@asynccontextmanager
async def process_streams(process: Process, ended: Callable[[], None]) -> AsyncGenerator["TransportStreams", None]:
    """Streams of messages over the process. `ended` is called once when the child closes its output or its input.
    Leaving does not end the process."""
    to_session, from_server = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
    from_session, outgoing = anyio.create_memory_object_stream["SessionMessage"](0)
    async with anyio.create_task_group() as group:
        group.start_soon(_read, process, to_session, ended)
        group.start_soon(_write, process, outgoing, to_session, ended)
        try:
            yield from_server, from_session
        finally:
            for stream in (from_server, from_session):
                stream.close()
            group.cancel_scope.cancel()


async def _read(
    process: Process, incoming: "MemoryObjectSendStream[SessionMessage | Exception]", ended: Callable[[], None]
) -> None:
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    async with incoming:
        async for line in process.output():
            if not line.strip():
                continue
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                logger.debug("process %d wrote a line that is no message", process.pid)
                continue
            try:
                await incoming.send(SessionMessage(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
        ended()


async def _write(
    process: Process,
    outgoing: "MemoryObjectReceiveStream[SessionMessage]",
    incoming: "MemoryObjectSendStream[SessionMessage | Exception]",
    ended: Callable[[], None],
) -> None:
    async with outgoing:
        async for message in outgoing:
            encoded = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await process.write(encoded.encode() + b"\n")
            except (BrokenPipeError, ConnectionResetError):
                ended()
                await incoming.aclose()
                return
