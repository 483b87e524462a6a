"""Challenges, addresses, requests that are not made: the parts of tokens that need no server."""

import asyncio
import subprocess
import sys
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.mcp.oauth.challenges import read_challenge, write_challenge
from innkeeper.mcp.oauth.fetching import BODY_LIMIT, Unreachable, fetcher
from innkeeper.mcp.oauth.redirects import RedirectListener
from innkeeper.mcp.oauth.values import Challenge, covers, is_private


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", Challenge(401)),
        ("Basic realm=x", Challenge(401)),
        ("Bearer", Challenge(401)),
        ('bearer error="invalid_token"', Challenge(401, "invalid_token")),
        ("Bearer error=invalid_token, scope=read", Challenge(401, "invalid_token", ("read",))),
        ('Bearer scope="a b  c"', Challenge(401, scopes=("a", "b", "c"))),
        ('Basic realm="x", Bearer scope="a"', Challenge(401, scopes=("a",))),
        ('Bearer scope="a", Basic scope="b"', Challenge(401, scopes=("a",))),
        ('Bearer error_description="scope=\\"evil\\", error=x"', Challenge(401, description='scope="evil", error=x')),
        ('Bearer xscope="a", x_error="b"', Challenge(401)),
        ('Bearer scope="a", scope="b"', Challenge(401, scopes=("a",))),
        ('Bearer resource_metadata="https://h/m"', Challenge(401, metadata_url="https://h/m")),
        ('Bearer scope="unterminated', Challenge(401)),
    ],
)
def test_challenge_is_read_as_the_rfcs_say(header: str, expected: Challenge) -> None:
    """RFC 9110 §11.6.1, RFC 6750 §3, RFC 9728 §5.1."""
    assert read_challenge(401, header) == expected


@pytest.mark.parametrize("status", [200, 400, 404, 407, 500])
def test_other_answers_are_no_challenge(status: int) -> None:
    assert read_challenge(status, 'Bearer error="insufficient_scope"') is None


def test_forbidden_is_a_challenge_only_for_want_of_scope() -> None:
    """RFC 6750 §3.1: any other 403 is not about tokens."""
    assert read_challenge(403, "") is None
    assert read_challenge(403, 'Bearer error="invalid_token"') is None
    found = read_challenge(403, 'Bearer error="insufficient_scope", scope="write"')
    assert found is not None and found.insufficient_scope and found.scopes == ("write",)


@given(st.text(max_size=300))
def test_no_header_is_too_strange(header: str) -> None:
    found = read_challenge(401, header)
    assert found is not None and found.status == 401


@given(st.lists(st.text("abc:/.-", min_size=1, max_size=8), max_size=3))
def test_written_challenge_reads_back(scopes: list[str]) -> None:
    challenge = Challenge(401, "invalid_token", tuple(scopes))
    found = read_challenge(401, write_challenge(challenge, "https://h/m"))
    assert found == Challenge(401, "invalid_token", tuple(scopes), "https://h/m")


@pytest.mark.parametrize(
    ("resource", "url", "expected"),
    [
        ("https://h/mcp", "https://h/mcp", True),
        ("https://h/mcp", "https://H:443/mcp/", True),
        ("https://h", "https://h/mcp", True),
        ("https://h/mcp", "https://h/mcp/sub?x=1", True),
        ("https://h/mcp", "https://h/mcpx", False),
        ("https://h/mcp", "https://h/", False),
        ("https://h/mcp", "http://h/mcp", False),
        ("https://h/mcp", "https://h:8443/mcp", False),
        ("https://h/mcp", "https://h.evil/mcp", False),
        ("https://h/mcp", "https://h@evil/mcp", False),
        ("https://h/mcp", "https://h/mcp/../admin", False),
        ("https://h/mcp", "https://h/mcp/%2e%2E/admin", False),
        ("https://h/mcp", "https://h/mcp/..%2fadmin", False),
        ("https://h/mcp", "https://h/mcp\\..\\admin", False),
        ("urn:x", "https://h/mcp", False),
        ("https://h:bad/mcp", "https://h/mcp", False),
    ],
)
def test_token_is_shown_only_where_its_resource_covers(resource: str, url: str, expected: bool) -> None:
    """RFC 8707: the audience; never another origin or a path beside it."""
    assert covers(resource, url) is expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://h/mcp", True),
        ("http://127.0.0.1:1/mcp", True),
        ("http://localhost/mcp", True),
        ("http://[::1]:2/mcp", True),
        ("http://h/mcp", False),
        ("http://127.0.0.1.evil/mcp", False),
        ("http://localhost@evil/mcp", False),
    ],
)
def test_token_travels_only_over_tls_or_on_this_machine(url: str, expected: bool) -> None:
    assert is_private(url) is expected


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("server", "asked"),
    [
        ("https://h/mcp", "http://127.0.0.1:1/token"),
        ("https://h/mcp", "http://169.254.169.254/latest"),
        ("http://127.0.0.1:1/mcp", "http://10.0.0.1/token"),
        ("https://h/mcp", "ftp://h/token"),
    ],
)
async def test_metadata_cannot_make_the_host_ask_its_own_network(server: str, asked: str) -> None:
    """A remote server names its authorization server; it may not name a service behind the firewall in the clear."""
    with pytest.raises(Unreachable, match="without TLS"):
        await fetcher(server)(httpx2.Request("GET", asked))


@pytest.mark.anyio
async def test_answer_without_end_is_given_up() -> None:
    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + b"[" * (BODY_LIMIT * 2))
        writer.close()

    listener = await asyncio.start_server(flood, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    with pytest.raises(Unreachable, match="more than"):
        await fetcher("http://127.0.0.1/mcp")(httpx2.Request("GET", f"http://127.0.0.1:{port}/"))
    listener.close()
    await listener.wait_closed()


@pytest.mark.anyio
@pytest.mark.parametrize("sent", [b"", b"\r\n\r\n", b"GET\r\n\r\n", b"GET /callback", b"\xff" * 40_000])
async def test_redirect_listener_survives_any_visitor(sent: bytes) -> None:
    listener = RedirectListener()
    await listener.open()
    listener.expect("the-state")
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    writer.write(sent)
    writer.write_eof()
    await asyncio.wait_for(reader.read(), 10)
    writer.close()
    async with httpx2.AsyncClient() as browser:
        good = await browser.get(listener.uri, params={"code": "c", "state": "the-state", "iss": "i"})
    assert good.status_code == 200 and good.headers["cache-control"] == "no-store"
    found = await asyncio.wait_for(listener.returned(), 5)
    assert (found.code, found.issuer, found.error) == ("c", "i", None)
    assert "'c'" not in repr(found)
    await listener.close()


@pytest.mark.anyio
async def test_redirect_listener_listens_on_loopback_alone() -> None:
    """RFC 8252 §7.3."""
    listener = RedirectListener()
    await listener.open()
    server: Any = listener._server
    assert [sock.getsockname()[0] for sock in server.sockets] == ["127.0.0.1"]
    await listener.close()


def test_host_that_connects_nothing_loads_no_http_client() -> None:
    """The SDK is imported when the first connection starts, not before (architecture §5)."""
    code = "import sys, innkeeper.app.compose; print([m for m in ('mcp', 'httpx2', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == "[]"
