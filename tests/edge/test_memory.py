"""The in-memory edge with the client library's transport (architecture §3.11)."""

import asyncio
from typing import Any

import pytest

from innkeeper.client.memory import MemoryTransport
from innkeeper.client.transport import TransportClosed
from innkeeper.edge.memory import MemoryDoor
from innkeeper.engine.effects import Frame

pytestmark = pytest.mark.anyio


async def test_messages_go_both_ways_in_order(recording: Any) -> None:
    host = recording()
    client = MemoryTransport(MemoryDoor(host.attach).accept)
    async with asyncio.timeout(5):
        await client.open()
        await client.send(b"a")
        await client.send(b"b")
        assert [await client.receive(), await client.receive()] == [b"echo a", b"echo b"]
        await client.close()
        await host.links[0].gone.wait()


async def test_the_host_closes_after_what_it_sent(recording: Any) -> None:
    host = recording()
    client = MemoryTransport(MemoryDoor(host.attach).accept)
    async with asyncio.timeout(5):
        await client.open()
        await client.send(b"a")
        await client.receive()
        host.links[0].peer.send(Frame(b"last"))
        host.links[0].peer.close(4000, "enough")
        assert await client.receive() == b"last"
        with pytest.raises(TransportClosed) as caught:
            await client.receive()
        assert (caught.value.code, caught.value.reason) == (4000, "enough")
        await host.links[0].gone.wait()


async def test_closing_the_door_ends_all_connections(recording: Any) -> None:
    host = recording()
    door = MemoryDoor(host.attach)
    clients = [MemoryTransport(door.accept) for _ in range(3)]
    async with asyncio.timeout(5):
        for client in clients:
            await client.open()
            await client.send(b"a")
            await client.receive()
        await door.close()
        for client in clients:
            with pytest.raises(TransportClosed):
                await client.receive()
    assert all(link.gone.is_set() for link in host.links)
