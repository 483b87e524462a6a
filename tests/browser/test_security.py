"""What no web site, no link and no agent may do through the page (issue 7 B.9)."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.conftest import TOKEN
from browser.visitor import FORM, Visitor

pytest.importorskip("playwright.sync_api", reason="Playwright is a development dependency")


@pytest.fixture
def visitor(stage: Any) -> Visitor:
    return Visitor(stage)


def test_without_the_token_or_its_cookie_nothing_is_shown(stage: Any, visitor: Visitor) -> None:
    stranger = Visitor(stage)
    for cookie in ("", "innkeeper_1=x", f"{visitor.cookie[:-1]}x", f"innkeeper_{stage.port}={TOKEN}"):
        stranger.cookie = cookie
        for path in ("/", "/new", "/-/live?page=x&at=/", "/static/x/app.js"):
            status, _, words = stranger.get(path)
            assert status == 403 and TOKEN not in words


def test_the_cookie_is_for_this_site_alone_out_of_reach_of_scripts_and_not_the_token(stage: Any) -> None:
    _, headers, _ = Visitor(stage).get(f"/?tkn={TOKEN}")
    cookie = headers["set-cookie"]
    assert TOKEN not in cookie and "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
    assert "Secure" not in cookie, "plain HTTP on this machine"
    _, headers, _ = Visitor(stage).get(f"/?tkn={TOKEN}", X_Forwarded_Proto="https", X_Forwarded_Prefix="/ink")
    assert "Secure" in headers["set-cookie"] and "Path=/ink" in headers["set-cookie"]


def test_the_cookie_opens_no_websocket(stage: Any, visitor: Visitor) -> None:
    """A page speaks to the host by forms; whoever wants AHP brings the token."""
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13"}
    status, _, _ = visitor.get("/", Sec_WebSocket_Key="MDEyMzQ1Njc4OWFiY2RlZg==", **upgrade)
    assert status == 403


def test_every_answer_forbids_what_the_page_does_not_need(stage: Any, visitor: Visitor) -> None:
    """Clickjacking, foreign scripts, sniffing, referrers."""
    fingerprint = re.search(r"/static/(\w+)/", visitor.get("/")[2])
    assert fingerprint is not None
    for path in ("/", "/new", "/nothing", f"/static/{fingerprint[1]}/app.js"):
        _, headers, _ = visitor.get(path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert "base-uri 'none'" in policy and "form-action 'self'" in policy
        assert headers["x-frame-options"] == "DENY" and headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        assert headers["cache-control"] == (
            "no-store" if "/static/" not in path else "public, max-age=31536000, immutable"
        )


class Inline(HTMLParser):
    """Code and style that are in a page itself."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "style" or (tag == "script" and "src" not in given):
            self.found.append(tag)
        self.found += [name for name in given if name == "style" or name.startswith("on")]
        self.found += [value for value in given.values() if value.strip().lower().startswith("javascript:")]


def test_no_page_has_a_script_or_a_style_of_its_own(stage: Any, visitor: Visitor) -> None:
    path = stage.session("rounding-not", "tools 4", "fail", title="Inline")
    for address in ("/", "/new", path, "/archived", "/nothing"):
        _, _, html = visitor.get(address)
        assert Inline(html).found == [], address


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example"]
)
def test_another_site_s_request_is_refused_whatever_it_knows(stage: Any, visitor: Visitor, origin: str) -> None:
    """CSRF and origin"""
    path = stage.session(title="Foreign")
    fields = {"form_token": visitor.token(), "text": "say hi"}
    assert visitor.post(f"{path}/send", fields, Origin=origin)[0] == 403
    assert visitor.post(f"{path}/send", fields, Sec_Fetch_Site="cross-site")[0] == 403
    assert visitor.get(path, Origin=origin)[0] == 403


def test_an_action_needs_the_form_token_of_the_page(stage: Any, visitor: Visitor) -> None:
    """CSRF"""
    path = stage.session(title="Token")
    for token in ("", "x", "é", visitor.token()[:-1]):
        status, _, words = visitor.post(f"{path}/send", {"form_token": token, "text": "x"}, Accept="application/json")
        assert status == 403 and json.loads(words)["code"] == "FORM_STALE"
    assert visitor.get(f"{path}/send")[0] == 404, "nothing is changed by an address"
    own = f"http://127.0.0.1:{stage.port}"
    assert visitor.post(f"{path}/send", {"form_token": visitor.token(), "text": "say hi"}, Origin=own)[0] == 303


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "169.254.0.1"])
def test_a_name_that_an_attacker_points_here_is_of_no_use(visitor: Visitor, host: str) -> None:
    """DNS rebinding"""
    assert visitor.get("/", Host=host)[0] == 403
    assert visitor.get("/", Host=host, X_Forwarded_Host="127.0.0.1")[0] == 403


@pytest.mark.parametrize(
    "back",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "\\\\evil",
    ],
)
def test_no_redirect_leads_elsewhere(stage: Any, visitor: Visitor, back: str) -> None:
    """Open redirect"""
    status, headers, _ = visitor.post("/-/preferences", {"form_token": visitor.token(), "theme": "dark", "back": back})
    assert (
        status == 303
        and re.fullmatch(r"/(?![/\\]).*|/", headers["location"])
        and "evil" not in headers["location"].split("/")[1]
    )
    visitor.cookie = ""
    status, headers, _ = visitor.get(f"//evil.example/?tkn={TOKEN}")
    assert status == 303 and headers["location"] == "./"


@pytest.mark.parametrize("prefix", ["//evil.example", '/a"onload=x', "/../..", "https://evil.example", "/a b", "/%2e"])
def test_a_forwarded_prefix_that_is_no_plain_path_counts_for_nothing(visitor: Visitor, prefix: str) -> None:
    html = visitor.get("/", X_Forwarded_Prefix=prefix)[2]
    assert 'data-base=""' in html and "evil" not in html


@pytest.mark.parametrize(
    "name",
    [
        "../files.py",
        "..%2ffiles.py",
        "css/../../files.py",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "css/tokens.css",
        "app.js%00.css",
        "templates/base.html",
    ],
)
def test_no_file_but_the_static_ones_is_served(visitor: Visitor, name: str) -> None:
    """Path traversal"""
    assert visitor.get(f"/static/x/{name}")[0] == 404


@pytest.mark.parametrize(
    "key", ["nothing", "~", "~!!", "..", "%2e%2e", "~YWhwLXRlcm1pbmFsOi94", "a" * 500, "<script>alert(1)</script>"]
)
def test_an_address_of_no_session_is_none(visitor: Visitor, key: str) -> None:
    status, _, html = visitor.get(f"/s/{key}")
    assert status == 404 and "<script>alert" not in html


def test_a_form_that_is_too_large_is_refused_before_it_is_read(visitor: Visitor) -> None:
    assert visitor.ask("POST", "/new", "", Content_Length=str(64 * 1024 * 1024), Content_Type=FORM)[0] == 413


def test_markup_of_agents_names_and_files_stays_text(stage: Any, tab: Any) -> None:
    """XSS: in Markdown, reasoning, tool names, arguments, output, notices, titles, the gate's question, file names."""
    folder = stage.project.parent / "<img src=x onerror=window.hit=1>"
    folder.mkdir(exist_ok=True)
    page = tab(stage.session(folder=folder, title="<script>window.hit=1</script>"))
    page.get_by_label("Message to the agent").fill("hostile <b>bold</b>")
    page.keyboard.press("Enter")
    page.locator("[data-gate]").wait_for()
    for button in page.locator("#log [data-fold]").all():
        if button.is_enabled() and button.get_attribute("aria-expanded") == "false":
            button.click()
    assert page.evaluate("window.hit") is None
    expect(page.locator("#log script, #log img, #log style, #log b, #sessions img, .bar img")).to_have_count(0)
    links = page.locator("#log .md a").evaluate_all("found => found.map(one => one.getAttribute('href'))")
    assert links == ["https://evil.example/i.png"], "an image is a link, and no other address is one"
    expect(page.locator("h1")).to_have_text("<script>window.hit=1</script>")
    page.reload()
    page.locator("[data-gate]").wait_for()
    assert page.evaluate("window.hit") is None
