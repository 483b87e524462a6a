import asyncio
import socket

import pytest

from innkeeper.edge.sockets import open_tcp

pytestmark = pytest.mark.anyio


async def test_small_messages_leave_at_once():
    """issue 2 §9: with Nagle's delay an answer after a notification took 44 ms instead of one."""
    listener = open_tcp("127.0.0.1", 0)
    seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found = writer.get_extra_info("socket")
        seen.set_result(found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    server = await asyncio.start_server(accepted, sock=listener)
    async with server, asyncio.timeout(5):
        _, writer = await asyncio.open_connection(*listener.getsockname()[:2])
        assert await seen
        writer.close()
        await writer.wait_closed()
