"""Who may open the page: the cookie in the place of the token, and what a proxy may say (issue 7 B.9)."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from innkeeper.edge.access import Access, base_path, page_cookie
from innkeeper.edge.websocket import ListenOptions

pytestmark = pytest.mark.anyio

TOKEN = "token-of-a-test"


def scope(path: str = "/", query: str = "", method: str = "GET", type: str = "http", **headers: str) -> dict[str, Any]:
    named = {"host": "127.0.0.1:4665", **{name.replace("_", "-"): value for name, value in headers.items()}}
    coded = [(name.encode(), value.encode()) for name, value in named.items()]
    where = {"server": ("127.0.0.1", 4665), "scheme": "http", "path": path, "query_string": query.encode()}
    return {"type": type, "method": method, "headers": coded, **where}


def let_in(**given: Any) -> bool:
    return Access(TOKEN).refusal(scope(**given)) is None


async def test_the_cookie_is_of_this_token_and_this_port() -> None:
    cookie = page_cookie(TOKEN)
    assert let_in(cookie=f"a=b; innkeeper_4665={cookie}; c=d")
    assert not let_in(cookie=f"innkeeper_4666={cookie}"), "browsers send cookies to every port"
    assert not let_in(cookie=f"innkeeper_4665={page_cookie('another')}")
    assert not let_in(cookie=f"innkeeper_4665={TOKEN}")
    assert not let_in(cookie="innkeeper_4665=")
    assert TOKEN not in cookie


async def test_the_cookie_opens_no_websocket() -> None:
    assert not let_in(type="websocket", cookie=f"innkeeper_4665={page_cookie(TOKEN)}")


async def test_a_browser_with_the_token_is_sent_on_to_where_it_wanted_without_it() -> None:
    access = Access(TOKEN)
    where, cookie = access.arrival(scope("/s/abc", f"q=a%20b&tkn={TOKEN}&x=")) or ("", "")
    assert where == "./abc?q=a+b&x=" and TOKEN not in where + cookie
    assert access.arrival(scope("/", "")) is None
    assert access.arrival(scope("/", f"tkn={TOKEN}", method="POST")) is None
    assert Access(None).arrival(scope("/", "tkn=x")) is None, "no token is needed, and none is made of a guess"


@pytest.mark.parametrize(
    "path", ["//evil.example/x", "/\\evil.example", "/a:b", "/%2f%2fevil.example", "/x/https:evil"]
)
async def test_the_way_on_never_leaves_this_origin(path: str) -> None:
    """Open redirect: a reference that begins with `./` is relative, whatever follows."""
    where, _ = Access(TOKEN).arrival(scope(path, f"tkn={TOKEN}")) or ("", "")
    assert where.startswith("./") and "//" not in where and "\\" not in where


async def test_a_proxy_says_how_the_browser_knows_the_host() -> None:
    own = {"authorization": f"Bearer {TOKEN}", "origin": "https://dev.example"}
    assert not let_in(**own)
    assert let_in(**own, x_forwarded_host="dev.example")
    assert let_in(**own, x_forwarded_host="dev.example:443, inner.example")
    assert not let_in(**own, x_forwarded_host="dev.example:8443")
    assert not let_in(**own, x_forwarded_host="dev.example", host="dev.example"), (
        "the name of the request itself decides"
    )
    assert not let_in(authorization=f"Bearer {TOKEN}", origin="null", x_forwarded_host="null")


@pytest.mark.parametrize(
    ("prefix", "base"),
    [
        ("/ink", "/ink"),
        ("/a/b-c_d.e~f/", "/a/b-c_d.e~f"),
        ("", ""),
        ("/", ""),
        ("ink", ""),
        ("//evil", ""),
        ("/a b", ""),
        ("/..", ""),
    ],
)
async def test_a_prefix_is_a_plain_path_or_nothing(prefix: str, base: str) -> None:
    assert base_path({"x-forwarded-prefix": prefix}) == base


async def test_pages_take_what_is_neither_the_socket_nor_the_health_check(
    edges: Callable[..., Awaitable[Any]],
) -> None:
    edge = await edges(ListenOptions(token=TOKEN))
    assert (await edge.http("GET /healthz HTTP/1.1"))[0] == 200
    assert (await edge.http(f"GET /nothing HTTP/1.1\nAuthorization: Bearer {TOKEN}"))[0] == 404
