"""Connections on real sockets: delivery, bad and slow clients, the end (issue 2, section 5 and "Bad input")."""

import asyncio
import os
import stat
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from innkeeper.edge.websocket import Listener, ListenOptions
from innkeeper.engine.effects import Delta, Frame
from innkeeper.wire.json import decode
from innkeeper.wire.jsonrpc import encode_notification

pytestmark = pytest.mark.anyio

Edges = Callable[..., Awaitable[Any]]
MIB = 1024 * 1024


def delta(seq: int, content: str) -> Frame:
    action = {"type": "chat/delta", "turnId": "t", "partId": "p", "content": content}
    params = {"channel": "ahp-chat:/c", "action": action, "serverSeq": seq}
    return Frame(encode_notification("action", params), Delta("ahp-chat:/c", action, seq))


async def closed(edge: Any, client: Any) -> tuple[int, str]:
    """Reads until the close frame; its code and reason."""
    with pytest.raises(ConnectionClosed) as caught:
        while True:
            await edge.within(client.recv())
    frame = caught.value.rcvd
    return (frame.code, frame.reason) if frame is not None else (1006, "")


async def test_text_and_binary_frames_arrive_as_bytes_and_answers_leave_as_text(edges: Edges) -> None:
    """AHP §1: one message per text frame; binary frames with JSON are tolerated."""
    edge = await edges()
    client, link = await edge.connected()
    await client.send("ä")
    assert await edge.within(client.recv()) == "echo ä"
    await client.send(b"\x7b\x7d")
    assert await edge.within(client.recv()) == "echo {}"
    await client.send(["frag", "mented"])
    assert await edge.within(client.recv()) == "echo fragmented"
    assert link.heard == [b"hello", "ä".encode(), b"{}", b"fragmented"]
    assert all(type(data) is bytes for data in link.heard)
    await client.close()
    await edge.within(link.gone.wait())


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65535, 65536, 3 * MIB])
async def test_messages_of_every_header_form_arrive_whole(edges: Edges, size: int) -> None:
    """RFC 6455 §5.2"""
    edge = await edges()
    client, link = await edge.connected(max_size=None)
    body = os.urandom((size + 1) // 2).hex()[:size]
    link.peer.send(Frame(body.encode()))
    assert await edge.within(client.recv()) == body
    await client.send(body)
    assert await edge.within(client.recv()) == f"echo {body}"
    await client.close()


async def test_what_is_sent_in_one_step_arrives_in_order_for_everyone(edges: Edges) -> None:
    edge = await edges()
    pairs = [await edge.connected() for _ in range(5)]
    for number in range(300):
        frame = Frame(b"%d" % number)
        for _, link in pairs:
            link.peer.send(frame)
    for client, _ in pairs:
        received = [await edge.within(client.recv()) for _ in range(300)]
        assert received == [str(number) for number in range(300)]
        await client.close()


async def test_frames_that_may_wait_are_merged_and_leave_before_one_that_may_not(edges: Edges) -> None:
    """AHP §2.5, `delivery.maxLatencyMs`; order is kept"""
    edge = await edges()
    client, link = await edge.connected()
    for seq in range(10):
        link.peer.send(delta(seq, f"{seq}"), 60_000)
    link.peer.send(Frame(b'"now"'))
    merged: Any = decode(await edge.within(client.recv()))
    assert merged["params"]["action"]["content"] == "0123456789"
    assert merged["params"]["serverSeq"] == 9
    assert await edge.within(client.recv()) == '"now"'
    link.peer.send(delta(11, "x"), 60_000)
    link.peer.send(delta(12, "y"), 5)
    merged = decode(await edge.within(client.recv()))
    assert merged["params"]["action"]["content"] == "xy"
    await client.close()


async def test_an_oversized_message_closes_with_1009_and_harms_nobody(edges: Edges) -> None:
    edge = await edges(ListenOptions(message_bytes=100_000))
    good, _ = await edge.connected()
    bad, link = await edge.connected()
    await bad.send("x" * 100_000)
    assert len(await edge.within(bad.recv())) == 100_005
    with pytest.raises(ConnectionClosed):
        await bad.send("x" * 8 * MIB)
        await bad.wait_closed()
    assert (await closed(edge, bad))[0] == 1009
    await edge.within(link.gone.wait())
    await good.send("fine")
    assert await edge.within(good.recv()) == "echo fine"
    await good.close()


@pytest.mark.parametrize(
    "garbage",
    [b"\x81\x05hello", b"\x83\x80\0\0\0\0", b"\xff\xff\xff\xff", b"\x80\x80\0\0\0\0", b"\x89\xfe\x00\x80" + bytes(132)],
)
async def test_malformed_frames_end_only_their_own_connection(edges: Edges, garbage: bytes) -> None:
    """RFC 6455 §5: unmasked, unknown opcode, reserved bits, lone continuation, long ping."""
    edge = await edges()
    good, _ = await edge.connected()
    async with edge.raw() as bad:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(bad, garbage)
        answer = b""
        while chunk := await edge.within(loop.sock_recv(bad, 4096)):
            answer += chunk
        assert answer[0] == 0x88
        assert struct.unpack("!H", answer[2:4])[0] == 1002
    await edge.within(edge.host.links[-1].gone.wait())
    await good.send("fine")
    assert await edge.within(good.recv()) == "echo fine"
    await good.close()


async def test_an_error_of_ours_closes_one_connection_without_saying_what_went_wrong(
    edges: Edges, caplog: pytest.LogCaptureFixture
) -> None:
    edge = await edges()
    client, link = await edge.connected()
    await client.send("boom")
    assert await closed(edge, client) == (1011, "internal error")
    await edge.within(link.gone.wait())
    assert "planted" in caplog.text


async def test_a_connection_that_says_nothing_is_closed(edges: Edges) -> None:
    edge = await edges(ListenOptions(handshake_seconds=0.05))
    async with edge.client() as client:
        assert await closed(edge, client) == (1008, "nothing was said")
    await edge.within(edge.host.links[0].gone.wait())


async def test_a_half_open_client_is_found_by_pings(edges: Edges) -> None:
    """It never answers a ping; nothing says that it is gone."""
    edge = await edges(ListenOptions(ping_seconds=0.05, pong_seconds=0.05, handshake_seconds=60))
    async with edge.raw():
        link = edge.host.links[0]
        await edge.within(link.gone.wait())
    assert link.heard == [] and link.peer.closing


async def test_a_half_open_client_to_which_much_is_sent_is_cut_off_too(edges: Edges) -> None:
    edge = await edges(ListenOptions(ping_seconds=0.05, pong_seconds=0.05, handshake_seconds=60))
    async with edge.raw(receive_buffer=4096):
        link = edge.host.links[0]
        for _ in range(64):
            link.peer.send(Frame(b"x" * 100_000))
        await edge.within(link.gone.wait())
    assert link.peer.closing and link.peer.waiting_bytes == 0


async def test_a_slow_client_is_closed_with_a_reason_within_bounded_memory_and_others_go_on(edges: Edges) -> None:
    limit = 2 * MIB
    edge = await edges(ListenOptions(outbox_bytes=limit))
    good, good_link = await edge.connected(max_size=None)
    async with edge.raw(receive_buffer=4096) as slow:
        slow_link = edge.host.links[-1]
        frame = Frame(b"x" * 10_000)
        most, sent = 0, 0
        while not slow_link.peer.closing:
            for peer in (slow_link.peer, good_link.peer):
                peer.send(frame)
            sent += 1
            most = max(most, slow_link.peer.waiting_bytes)
            assert len(await edge.within(good.recv())) == 10_000
            assert sent < 5_000, "the slow client was never closed"
        assert most <= limit
        assert slow_link.peer.waiting_bytes == 0, "what waited is forgotten"
        loop = asyncio.get_running_loop()
        answer = bytearray()
        while chunk := await edge.within(loop.sock_recv(slow, 1 << 20)):
            answer += chunk
        assert answer.endswith(struct.pack("!H", 1013) + b"too slow; reconnect to resynchronise")
        await edge.within(slow_link.gone.wait())
    await good.send("still here")
    assert await edge.within(good.recv()) == "echo still here"
    await good.close()


async def test_a_client_that_never_reads_again_is_cut_off(edges: Edges, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("innkeeper.edge.peer.LINGER_SECONDS", 0.05)
    edge = await edges(ListenOptions(outbox_bytes=MIB))
    async with edge.raw(receive_buffer=4096):
        link = edge.host.links[-1]
        while not link.peer.closing:
            link.peer.send(Frame(b"x" * 100_000))
            await asyncio.sleep(0)
        await edge.within(link.gone.wait())
    assert link.heard == [] and link.peer.waiting_bytes == 0


async def test_a_slow_client_gets_merged_deltas_instead_of_overflowing(edges: Edges) -> None:
    edge = await edges(ListenOptions(outbox_bytes=MIB))
    async with edge.raw(receive_buffer=4096) as slow:
        link = edge.host.links[-1]
        while link.peer.waiting_bytes == 0:
            link.peer.send(Frame(b"x" * 50_000))
            await asyncio.sleep(0)
        for seq in range(20_000):
            link.peer.send(delta(seq, "abc"))
        assert not link.peer.closing, "20,000 frames of 170 bytes would be 3.4 MB"
        link.peer.close(1000, "done")
        loop = asyncio.get_running_loop()
        answer = bytearray()
        while chunk := await edge.within(loop.sock_recv(slow, 1 << 20)):
            answer += chunk
        assert answer.count(b"abc") == 20_000
        assert answer.count(b"serverSeq") < 10


async def test_pings_of_a_client_that_does_not_read_take_no_memory(edges: Edges) -> None:
    """RFC 6455 §5.5.3: only the most recent ping needs an answer."""
    edge = await edges()
    loop = asyncio.get_running_loop()
    async with edge.raw(receive_buffer=4096) as client:
        link = edge.host.links[-1]
        link.reply = None
        while link.peer.waiting_bytes == 0:
            link.peer.send(Frame(b"x" * 50_000))
            await asyncio.sleep(0)
        link.peer.send(Frame(b"end"))
        for number in range(2000):
            await edge.within(loop.sock_sendall(client, b"\x89\x84\0\0\0\0%04d" % number))
        await edge.within(loop.sock_sendall(client, b"\x81\x84\0\0\0\0done"))
        await edge.within(link.heard_something.wait())
        answer = bytearray()
        while not answer.endswith(b"end"):
            answer += await edge.within(loop.sock_recv(client, 1 << 20))
        assert answer.count(b"\x8a\x04") < 10
        assert b"\x8a\x041999" in answer


async def test_close_lets_go_what_was_sent_before(edges: Edges) -> None:
    edge = await edges()
    client, link = await edge.connected(max_size=None)
    link.peer.send(Frame(b"y" * 5 * MIB))
    link.peer.send(delta(1, "last"), 60_000)
    link.peer.close(4001, "enough")
    link.peer.send(Frame(b"too late"))
    assert len(await edge.within(client.recv())) == 5 * MIB
    assert "last" in await edge.within(client.recv())
    assert await closed(edge, client) == (4001, "enough")


async def test_stop_flushes_closes_with_1012_and_lets_nobody_in(edges: Edges) -> None:
    edge = await edges()
    client, link = await edge.connected(max_size=None)
    link.peer.send(Frame(b"z" * MIB))
    stopping = asyncio.create_task(edge.listener.stop())
    assert len(await edge.within(client.recv())) == MIB
    assert await closed(edge, client) == (1012, "the host is shutting down")
    await edge.within(stopping, 3.0)
    assert link.gone.is_set()
    with pytest.raises(OSError):
        async with edge.client():
            pass
    await edge.listener.stop()


async def test_stop_does_not_wait_for_clients_that_do_not_read(edges: Edges) -> None:
    """Within 3 s (limits.SHUTDOWN_SECONDS)."""
    edge = await edges()
    async with edge.raw(receive_buffer=4096), edge.raw(upgrade=False):
        link = edge.host.links[-1]
        link.peer.send(Frame(b"x" * 8 * MIB))
        await edge.within(edge.listener.stop(), 3.0)
        assert link.gone.is_set()


async def test_the_unix_socket_is_private_and_removed_at_the_end(short_tmp: Path) -> None:
    path = short_tmp / "new" / "host.sock"
    listener = Listener(lambda peer: pytest.fail("nobody connected"), ListenOptions(socket=path))
    await listener.start()
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert listener.port, "both are served"
    await listener.stop()
    assert not path.exists()


async def test_delivery_over_the_unix_socket(edges: Edges, short_tmp: Path) -> None:
    edge = await edges(ListenOptions(port=None, socket=short_tmp / "h.sock"))
    async with edge.unix_client() as client:
        await client.send("via unix")
        assert await edge.within(client.recv()) == "echo via unix"


async def test_the_url_leaves_the_token_out(edges: Edges) -> None:
    edge = await edges(ListenOptions(token="tok-tok-tok"))
    assert edge.listener.url == f"ws://127.0.0.1:{edge.port}/"
    everywhere = await edges(ListenOptions(host="0.0.0.0", token="tok-tok-tok"))
    assert everywhere.listener.url == f"ws://127.0.0.1:{everywhere.port}/"
