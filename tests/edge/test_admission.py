"""Who may connect, each way in (issue 2, section 5; AHP §1)."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from innkeeper.edge.access import Access, is_loopback
from innkeeper.edge.websocket import ListenOptions

pytestmark = pytest.mark.anyio

TOKEN = "s3cret-token_of-a-test"
Edges = Callable[..., Awaitable[Any]]


async def status_of(connecting: Any) -> int:
    """101, or the HTTP status of the refusal."""
    try:
        async with connecting:
            return 101
    except InvalidStatus as error:
        return int(error.response.status_code)


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        ("", {}, 403),
        (f"?tkn={TOKEN}", {}, 101),
        ("?tkn=wrong", {}, 403),
        (f"?tkn={TOKEN}x", {}, 403),
        ("?tkn=", {}, 403),
        (f"?token={TOKEN}", {}, 403),
        ("", {"Authorization": f"Bearer {TOKEN}"}, 101),
        ("", {"Authorization": f"bearer  {TOKEN}"}, 101),
        ("", {"Authorization": f"Basic {TOKEN}"}, 403),
        ("", {"Authorization": "Bearer"}, 403),
        ("", {"Authorization": f"Bearer {TOKEN[:-1]}"}, 403),
        ("", {"Authorization": "Bearer é"}, 403),
    ],
)
async def test_the_token_is_checked_at_the_upgrade(
    edges: Edges, query: str, headers: dict[str, str], status: int
) -> None:
    edge = await edges(ListenOptions(token=TOKEN))
    assert await status_of(edge.client(query, additional_headers=headers)) == status
    assert (len(edge.host.links) == 1) == (status == 101), "a refused client is never made known to the host"


async def test_a_refusal_names_its_code_and_the_remedy_but_no_token(edges: Edges) -> None:
    edge = await edges(ListenOptions(token=TOKEN))
    with pytest.raises(InvalidStatus) as caught:
        async with edge.client("?tkn=guess-4711"):
            pass
    body = caught.value.response.body.decode()
    assert body.startswith("TOKEN_WRONG: ")
    assert TOKEN not in body
    assert "guess-4711" not in body


async def test_http_follows_the_same_token_rules_except_the_health_check(edges: Edges) -> None:
    edge = await edges(ListenOptions(token=TOKEN))
    assert (await edge.http("GET / HTTP/1.1"))[0] == 403
    assert (await edge.http(f"GET /?tkn={TOKEN} HTTP/1.1"))[0] == 303
    assert (await edge.http(f"GET / HTTP/1.1\nAuthorization: Bearer {TOKEN}"))[0] == 200
    status, _, body = await edge.http("GET /healthz HTTP/1.1")
    assert (status, body) == (200, "ok")


async def test_without_a_token_anyone_on_this_machine_connects(edges: Edges) -> None:
    edge = await edges()
    assert await status_of(edge.client()) == 101


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://evil.example", 403),
        ("null", 403),
        ("http://127.0.0.1:1", 403),
        ("http://localhost:{port}", 101),
        ("http://127.0.0.1:{port}", 101),
        ("http://[::1]:{port}", 101),
        ("https://localhost:{port}.evil.example", 403),
        ("vscode-file://vscode-app", 403),
        ("http://[", 403),
    ],
)
async def test_pages_of_other_origins_are_refused(edges: Edges, origin: str, status: int) -> None:
    edge = await edges()
    assert await status_of(edge.client(origin=origin.format(port=edge.port))) == status
    header = origin.format(port=edge.port)
    assert (await edge.http(f"GET / HTTP/1.1\nOrigin: {header}"))[0] == (200 if status == 101 else 403)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:{port}", 200),
        ("app.localhost:{port}", 200),
        ("[::1]:{port}", 200),
        ("evil.example", 403),
        ("evil.example:{port}", 403),
        ("127.0.0.1.evil.example", 403),
        ("192.168.0.1", 403),
        ("localhost@evil.example", 403),
    ],
)
async def test_a_name_that_was_pointed_at_this_machine_is_refused(edges: Edges, host: str, status: int) -> None:
    """DNS rebinding: the page is same-origin with itself, but its host is no loopback name."""
    edge = await edges()
    assert (await edge.http(f"GET / HTTP/1.1\nHost: {host.format(port=edge.port)}"))[0] == status


async def test_a_unix_socket_needs_no_token_unless_configured(edges: Edges, short_tmp: Path) -> None:
    """Its mode is the access rule (architecture §8)."""
    edge = await edges(ListenOptions(port=None, socket=short_tmp / "a.sock", token=TOKEN))
    assert edge.listener.port is None
    assert await status_of(edge.unix_client()) == 101
    strict = await edges(ListenOptions(port=None, socket=short_tmp / "b.sock", token=TOKEN, token_on_unix=True))
    assert await status_of(strict.unix_client()) == 403
    assert await status_of(strict.unix_client(additional_headers={"Authorization": f"Bearer {TOKEN}"})) == 101


async def test_more_connections_than_the_limit_get_503_and_harm_nobody(edges: Edges) -> None:
    edge = await edges(ListenOptions(connections=2))
    first, _ = await edge.connected()
    second, link = await edge.connected()
    with pytest.raises(InvalidStatus) as caught:
        async with edge.client():
            pass
    assert caught.value.response.status_code == 503
    assert b"CONNECTIONS_FULL" in caught.value.response.body
    await second.close()
    await edge.within(link.gone.wait())
    assert await status_of(edge.client()) == 101
    await first.send("still here")
    assert await edge.within(first.recv()) == "echo still here"
    await first.close()


@pytest.mark.parametrize("path", ["/other", "/healthz", "//"])
async def test_a_websocket_elsewhere_is_refused(edges: Edges, path: str) -> None:
    edge = await edges()
    assert await status_of(edge.client(path.lstrip("/") or "/")) == 404


async def test_nothing_else_is_served(edges: Edges) -> None:
    edge = await edges()
    assert (await edge.http("GET /favicon.ico HTTP/1.1"))[0] == 404
    assert (await edge.http("GET /../etc/passwd HTTP/1.1"))[0] == 404
    assert (await edge.http("POST / HTTP/1.1\nContent-Length: 0"))[0] == 405
    assert (await edge.http("DELETE /healthz HTTP/1.1"))[0] == 405
    assert (await edge.http("nonsense"))[0] == 400


async def test_the_token_is_not_in_the_representation_of_options_and_rules() -> None:
    assert TOKEN not in repr(ListenOptions(token=TOKEN))
    assert TOKEN not in repr(Access(TOKEN))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("127.0.0.1", True), ("127.3.2.1", True), ("::1", True), ("[::1]", True), ("localhost", True),
        ("LOCALHOST.", True), ("::ffff:127.0.0.1", True), ("0.0.0.0", False), ("::", False), ("", False),
        ("localhost.evil.example", False), ("10.0.0.1", False), ("notlocalhost", False),
    ],
)  # fmt: skip
async def test_loopback_names(name: str, expected: bool) -> None:
    assert is_loopback(name) is expected
