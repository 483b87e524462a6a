"""Who gets in: address, path, secret (architecture §5), asked with plain HTTP."""

import asyncio
import json
import socket
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from innkeeper.mcp.endpoint.door import Door

pytestmark = pytest.mark.anyio

S = "session:/s"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


async def send(url: str, headers: dict[str, str], method: str = "POST") -> httpx2.Response:
    async with httpx2.AsyncClient(timeout=5) as http:
        return await http.request(method, url, headers={**ACCEPT, **headers}, json=CALL if method == "POST" else None)


def closed(response: httpx2.Response, status: int = 403) -> bool:
    """Refused, without a word why."""
    telling = {"www-authenticate", "access-control-allow-origin", "server", "location"}
    return (response.status_code, response.content) == (status, b"") and not telling & set(response.headers)


async def test_either_header_opens_and_nothing_else_does(inn: Any) -> None:
    offer = await inn.offered("one")
    secret = offer.headers["x-innkeeper-key"]
    for right in (
        {"x-innkeeper-key": secret},
        {"authorization": f"Bearer {secret}"},
        {"Authorization": f"bearer {secret}"},
    ):
        assert not closed(await send(offer.url, right))
    for wrong in (
        {},
        {"x-innkeeper-key": ""},
        {"x-innkeeper-key": secret[:-1]},
        {"x-innkeeper-key": secret + "x"},
        {"x-innkeeper-key": "x", "authorization": f"Bearer {secret}"},
        {"authorization": secret},
        {"authorization": f"Basic {secret}"},
        {"authorization": "Bearer"},
    ):
        for method in ("POST", "GET", "DELETE", "OPTIONS", "PUT"):
            assert closed(await send(offer.url, wrong, method)), (wrong, method)


async def test_foreign_host_header_or_any_origin_is_refused(inn: Any) -> None:
    """DNS rebinding and browser pages: there is no CORS, and no page is an agent."""
    offer = await inn.offered("one")
    own, headers = urlsplit(offer.url).netloc, dict(offer.headers)
    port = own.split(":")[1]
    assert not closed(await send(offer.url, {**headers, "host": f"localhost:{port}"}))
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        f"127.0.0.1:{int(port) + 1}",
        f"{own}.evil.example",
    ):
        assert closed(await send(offer.url, {**headers, "host": host})), host
    for origin in (f"http://{own}", "null", "https://evil.example"):
        assert closed(await send(offer.url, {**headers, "origin": origin})), origin
        assert closed(await send(offer.url, {**headers, "origin": origin}, "OPTIONS"))


async def test_unknown_paths_are_not_found_whatever_is_shown(inn: Any) -> None:
    offer = await inn.offered("one")
    base = f"http://{urlsplit(offer.url).netloc}"
    for path in ("/", "/mcp", urlsplit(offer.url).path + "/", "/.well-known/oauth-protected-resource", "/%00"):
        for headers in ({}, dict(offer.headers)):
            assert closed(await send(base + path, headers), 404), path


async def test_headers_that_are_there_twice_are_refused(inn: Any) -> None:
    offer = await inn.offered("one")
    where, key = urlsplit(offer.url), offer.headers["x-innkeeper-key"]
    for double in (f"x-innkeeper-key: {key}", f"host: {where.netloc}"):
        with socket.create_connection((where.hostname, where.port), 5) as connection:
            connection.settimeout(5)
            lines = (f"GET {where.path} HTTP/1.1", f"host: {where.netloc}", f"x-innkeeper-key: {key}", double)
            await asyncio.to_thread(connection.sendall, "\r\n".join((*lines, "", "")).encode())
            answer = await asyncio.to_thread(connection.recv, 4096)
        assert answer.split(b" ")[1] in (b"403", b"400"), answer


async def test_listener_is_on_the_loopback_address_only(inn: Any) -> None:
    offer = await inn.offered("one")
    where = urlsplit(offer.url)
    assert where.hostname == "127.0.0.1"
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", where.port), 1).close()


async def test_paths_and_secrets_differ_and_open_only_their_own(inn: Any) -> None:
    """Two sessions, and a child agent, never see each other's endpoints."""
    offers = [await inn.offered("one", session="session:/a"), await inn.offered("one", session="session:/b")]
    offers.append(await inn.endpoints.offer("session:/a", "one", subagent="call9"))
    secrets = [offer.headers["x-innkeeper-key"] for offer in offers]
    paths = [urlsplit(offer.url).path for offer in offers]
    assert len({*secrets, *paths}) == 6
    assert all(len(secret) >= 43 for secret in secrets)
    for offer in offers:
        for secret in secrets:
            mine = secret == offer.headers["x-innkeeper-key"]
            assert closed(await send(offer.url, {"x-innkeeper-key": secret})) is not mine


async def test_offers_and_logs_hold_no_secret(inn: Any, agent_of: Any, caplog: pytest.LogCaptureFixture) -> None:
    """M7.7"""
    with caplog.at_level("DEBUG"):
        offer = await inn.offered("one")
        async with agent_of(offer, "legacy") as agent:
            assert await agent.text("echo", {"text": "canary-in-a-call"}) == "canary-in-a-call"
        await send(offer.url, {"x-innkeeper-key": "canary-key"})
    own = [r.getMessage() for r in caplog.records if r.name.startswith(("innkeeper", "uvicorn", "mcp", "sse"))]
    for secret in (*offer.headers.values(), urlsplit(offer.url).path, "canary-key", "canary-in-a-call"):
        assert secret not in "".join(own)
        assert secret not in repr(offer)


async def test_what_is_no_http_request_is_left_alone() -> None:
    sent: list[Any] = []

    async def send_it(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {}

    await Door({})({"type": "lifespan"}, receive, send_it)
    assert sent == []


def test_nothing_heavy_is_imported_before_the_first_offer() -> None:
    """The SDK and the HTTP server take half a second."""
    code = (
        "import sys, innkeeper.mcp.endpoint.endpoints, innkeeper.mcp.gateway;"
        "print([name for name in ('mcp', 'mcp_types', 'uvicorn', 'starlette', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


async def test_big_answer_of_the_first_generation_passes_whole(inn: Any) -> None:
    """Asked with plain HTTP: the SDK's own client gives up at 1 MiB of one event, other agents' do not."""
    offer = await inn.talking()
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    calls = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "big", "arguments": {"characters": 3_000_000}}},
    ]
    headers = {**ACCEPT, **offer.headers}
    async with httpx2.AsyncClient(timeout=20) as http:
        for call in calls:
            answer = await http.post(offer.url, headers=headers, json={"jsonrpc": "2.0", **call})
            assert answer.status_code in (200, 202)
            headers = {"mcp-session-id": answer.headers["mcp-session-id"], **headers}
    (line,) = [line for line in answer.text.splitlines() if line.startswith("data:")]
    assert len(json.loads(line[5:])["result"]["content"][0]["text"]) == 3_000_000
