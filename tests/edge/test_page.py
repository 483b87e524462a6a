"""The page at `/` and the health check (issue 2, section 5; M9.4)."""

import asyncio
import base64
import hashlib
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from innkeeper._version import running_version
from innkeeper.edge.page import HEADERS, render
from innkeeper.edge.websocket import ListenOptions

pytestmark = pytest.mark.anyio

TOKEN = "s3cret-token_of-a-test"


async def test_the_page_says_what_runs_and_how_to_connect_without_the_token(
    edges: Callable[..., Awaitable[Any]],
) -> None:
    edge = await edges(ListenOptions(token=TOKEN))
    _, arrival, _ = await edge.http(f"GET /?tkn={TOKEN} HTTP/1.1\nAccept-Language: en")
    cookie = arrival["set-cookie"].split(";")[0]
    status, headers, body = await edge.http(f"GET / HTTP/1.1\nCookie: {cookie}\nAccept-Language: en")
    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert running_version() in body
    assert "innkeeper chat" in body
    assert f"ws://127.0.0.1:{edge.port}/" in body
    assert TOKEN not in body
    assert TOKEN not in str(headers)


async def test_the_policy_allows_nothing_but_the_page_s_own_style(edges: Callable[..., Awaitable[Any]]) -> None:
    edge = await edges()
    _, headers, body = await edge.http("GET / HTTP/1.1")
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "<script" not in body
    assert not re.search(r"\b(src|href|style)=", body)


@pytest.mark.parametrize(
    ("accepted", "operator", "lang"),
    [
        ("en", "zh", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "en", "zh-Hans"),
        ("de, en;q=0.5", None, "en"),
        ("de", "en", "en"),
        ("de", None, "zh-Hans"),
        (None, None, "zh-Hans"),
    ],
)
async def test_the_reader_s_language_is_the_browser_s_then_the_operator_s_then_chinese(
    accepted: str | None, operator: str | None, lang: str
) -> None:
    """M9.4"""
    html = render(host="x", accept_language=accepted, language=operator)
    assert f'<html lang="{lang}">' in html
    assert ("正在运行" in html) == (lang == "zh-Hans")


async def test_a_host_header_cannot_become_markup() -> None:
    html = render(host='x"><script>alert(1)</script>', accept_language="en", language=None)
    assert "<script" not in html


async def test_the_style_is_the_one_that_the_policy_names() -> None:
    html = render(host="x", accept_language="en", language=None)
    style = html.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert digest in HEADERS["content-security-policy"]
    assert "light dark" in style


async def test_a_connection_that_asks_for_nothing_is_ended(
    edges: Callable[..., Awaitable[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("innkeeper.limits.HANDSHAKE_SECONDS", 0.05)
    edge = await edges()
    async with edge.raw(upgrade=False) as silent:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(silent, b"GET / HT")
        try:
            assert await edge.within(loop.sock_recv(silent, 100)) == b""
        except ConnectionResetError:
            return
