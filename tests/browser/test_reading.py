"""Who reads: languages, themes, widths, keyboards, screen readers, proxies (issue 7 B.5, ui.md §2, §6, §7)."""

import contextlib
import http.server
import re
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.conftest import TOKEN

axe = pytest.importorskip("axe_core_python.base", reason="axe is a development dependency")
CJK = re.compile(r"[\u3400-\u9fff]")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def talk(stage: Any) -> str:
    """A session with a bit of everything."""
    return str(
        stage.session("say **Hello** `code`\n\n```python\nx = 1\n```", "tools 4", "fail", title="A bit of everything")
    )


def violations(page: Any) -> list[str]:
    """What axe finds. Its script comes by the debugger, which the page's policy does not bind."""
    page.evaluate(AXE)
    found = page.evaluate("tags => axe.run(document, {runOnly: {type: 'tag', values: tags}})", RULES)
    return [f"{one['id']}: {node['html'][:200]}" for one in found["violations"] for node in one["nodes"]]


AXE = next(Path(axe.__file__).parent.glob("axe.min.js")).read_text(encoding="utf-8")


@pytest.mark.parametrize(("lang", "theme"), [("en", "light"), ("zh", "dark")])
def test_axe_finds_nothing(stage: Any, tab: Any, talk: str, lang: str, theme: str) -> None:
    """WCAG AA contrast, names, roles, landmarks: on the list, a conversation with a question, a new session."""
    page = tab(talk, lang=lang, theme=theme)
    assert violations(page) == []
    asking = stage.session(title="axe")
    page.goto(stage.url + asking)
    page.locator("#text").fill("rounding")
    page.keyboard.press("Enter")
    page.locator("[data-gate]").wait_for()
    assert violations(page) == []
    page.goto(stage.url + "/new")
    assert violations(page) == []


def test_axe_finds_nothing_in_questions_menus_and_dialogs_on_a_phone(stage: Any, tab: Any) -> None:
    page = tab(stage.session(title="axe narrow"), width=360, height=780)
    page.locator("#text").fill("ask")
    page.keyboard.press("Enter")
    page.get_by_role("group", name="Some questions").wait_for()
    assert violations(page) == []
    page.get_by_role("button", name="More").click()
    assert violations(page) == []
    page.get_by_role("menuitem", name="Rename").click()
    assert violations(page) == []
    page.goto(stage.url + "/")
    assert violations(page) == []


def test_a_page_is_in_the_reader_s_language_and_no_word_of_it_is_left_over(stage: Any, tab: Any, talk: str) -> None:
    """M9.4: every name and label of the page itself is Chinese, also those that only screen readers have."""
    for path in ("/", "/new", "/archived", talk):
        page = tab(path, lang="zh")
        expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
        found = page.evaluate(
            """() => [...document.querySelectorAll('[aria-label], [title], [placeholder]')].filter((one) =>
                 !one.closest('.log, .facts, .session, #folders, .agent-list, .new-config'))
               .flatMap((one) => ['aria-label', 'title', 'placeholder'].map((name) => one.getAttribute(name)))"""
        )
        own = [words for words in found if words and re.search(r"[A-Za-z]{3}", words)]
        names = ("MCP", "Claude", "Codex", "Innkeeper", "Sonnet", "Opus", "Ask before edits")
        left = [words for words in own if not CJK.search(words) and not any(name in words for name in names)]
        assert left == [], (path, left)


def test_language_and_theme_are_chosen_and_the_page_does_not_flash(stage: Any, tab: Any) -> None:
    """The server writes both into the page; the choice is this browser's."""
    page = tab("/")
    expect(page.locator("html")).to_have_attribute("data-theme", "system")
    form = page.evaluate("document.body.dataset.form")
    fields = {"form_token": form, "lang": "zh_Hans", "theme": "dark", "back": "/archived"}
    page.request.post(f"{stage.url}/-/preferences", form=fields, headers={"origin": stage.url})
    page.goto(stage.url)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(23, 25, 29)"


@pytest.mark.parametrize("width", [360, 700, 1100, 1500, 1900])
def test_nothing_is_wider_than_the_window(stage: Any, tab: Any, talk: str, width: int) -> None:
    for path in ("/", "/new", talk):
        page = tab(path, width=width)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)
        assert page.locator("#text" if path != "/" else "#search").is_visible() or width >= 640 or path == "/"


def test_list_and_conversation_are_two_pages_on_a_phone_and_a_drawer_between(stage: Any, tab: Any, talk: str) -> None:
    """ui.md §2"""
    page = tab(talk, width=360, height=780)
    expect(page.locator("#side")).to_be_hidden()
    page.get_by_role("link", name="Sessions").click()
    expect(page.locator("#side")).to_be_visible()
    expect(page.locator("#main .button")).to_be_hidden()
    page = tab(talk, width=800)
    expect(page.locator("#side")).to_be_hidden()
    page.get_by_role("button", name="Show the list").click()
    expect(page.get_by_role("link", name=re.compile("A bit of everything"))).to_be_in_viewport()
    page = tab(talk)
    page.get_by_role("button", name="Hide the list").click()
    page.reload()
    expect(page.locator("#side")).to_be_hidden()


@pytest.mark.parametrize("width", [360, 1440])
def test_every_menu_opens_inside_the_window(stage: Any, tab: Any, talk: str, width: int) -> None:
    page = tab(talk, width=width)
    openers = page.locator("[data-menu]:visible")
    assert openers.count() >= 2
    for opener in openers.all():
        opener.click()
        menu = page.locator(f"#{opener.get_attribute('data-menu')}")
        expect(menu).to_be_in_viewport(ratio=1)
        box = menu.bounding_box()
        assert box is not None and box["height"] > 60
        page.keyboard.press("Escape")
        expect(menu).to_be_hidden()


def test_everything_can_be_reached_and_done_by_keys(stage: Any, tab: Any) -> None:
    """ui.md §6"""
    stage.session(title="Second")
    page = tab(stage.session(title="First"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("c")
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.press("Shift+Enter")
    expect(page.locator("#text")).to_have_value("\n")
    page.locator("#main").focus()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    page.get_by_role("button", name="More").press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "More", "focus goes back"
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator("h1")).to_have_text("Second")
    page.locator("#main").focus()
    page.keyboard.press("n")
    page.wait_for_url("**/new")


def test_enter_sends_nothing_while_an_input_method_composes(stage: Any, tab: Any) -> None:
    page = tab(stage.session(title="Input method"))
    page.locator("#text").fill("中")
    page.evaluate(
        """document.getElementById('text').dispatchEvent(
             new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true, cancelable: true}))"""
    )
    page.wait_for_timeout(200)
    expect(page.locator("#text")).to_have_value("中")
    expect(page.locator("#log .turn")).to_have_count(0)


def test_a_screen_reader_is_told_once_what_becomes_of_a_turn(stage: Any, tab: Any) -> None:
    """ui.md §7: the log is silent, one status says it."""
    page = tab(stage.session(title="Spoken"))
    expect(page.locator("#log")).to_have_attribute("aria-live", "off")
    said = page.get_by_role("status").first
    page.locator("#text").fill("gates 1")
    page.keyboard.press("Enter")
    expect(said).to_have_text("Question: Allow tool_0 from ledger?")
    page.get_by_role("button", name="Allow once").click()
    expect(said).to_have_text("Answer complete")


def test_a_new_session_begins_with_its_first_message(stage: Any, tab: Any) -> None:
    page = tab("/new")
    page.get_by_role("radio", name=re.compile("Codex")).check()
    page.get_by_label("Project folder").fill("relative")
    page.get_by_label("Say what you want done").fill("say begun")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("alert")).to_contain_text("Write the whole path of the folder")
    page.get_by_label("Project folder").fill(str(stage.project))
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/s/*")
    page.get_by_text("begun", exact=True).wait_for()
    expect(page.locator('#sessions [aria-current="page"] .about')).to_contain_text("Codex")


class Proxy(http.server.BaseHTTPRequestHandler):
    """A reverse proxy that shows the host below `/ink`, as nginx does."""

    target = ""

    def _pass_on(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        address = self.target + self.path.removeprefix("/ink")
        request = urllib.request.Request(address, self.rfile.read(length) or None, method=self.command)
        for name, value in self.headers.items():
            if name.lower() not in ("host", "content-length", "connection"):
                request.add_header(name, value)
        request.add_header("X-Forwarded-Host", self.headers["host"])
        request.add_header("X-Forwarded-Prefix", "/ink")
        opener = urllib.request.build_opener(Silent)
        with contextlib.suppress(OSError), opener.open(request, timeout=20) as answer:
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.end_headers()
            while block := answer.read1(65536):
                self.wfile.write(block)
                self.wfile.flush()

    do_GET = do_POST = _pass_on

    def log_message(self, *_: Any) -> None:
        return


class Silent(urllib.request.HTTPRedirectHandler, urllib.request.HTTPErrorProcessor):
    """Redirects and errors are the browser's business."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response

    def redirect_request(self, *_: Any) -> None:
        return None


@pytest.fixture
def proxied(stage: Any) -> Iterator[str]:
    Proxy.target = stage.url
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/ink"
    server.shutdown()
    server.server_close()


def test_the_pages_work_below_a_path_of_a_reverse_proxy(stage: Any, tab: Any, proxied: str) -> None:
    path = stage.session(title="Behind a proxy")
    page = tab("/")
    page.context.clear_cookies()
    page.goto(f"{proxied}/?tkn={TOKEN}")
    assert page.url == f"{proxied}/"
    page.locator(f'a.session[href$="{path}"]').click()
    assert page.url == proxied + path
    page.locator("#text").fill("say through the proxy")
    page.keyboard.press("Enter")
    page.get_by_text("through the proxy", exact=True).wait_for()
    addresses = page.evaluate(
        """['href', 'action', 'src'].flatMap((name) =>
             [...document.querySelectorAll(`[${name}^="/"]`)].map((one) => one.getAttribute(name)))"""
    )
    assert addresses and all(address.startswith("/ink/") for address in addresses)


def test_a_browser_without_script_reads_and_writes(stage: Any, tab: Any) -> None:
    page = tab(stage.session("say earlier", title="No script"), java_script_enabled=False)
    expect(page.get_by_text("earlier", exact=True)).to_be_visible()
    page.locator("#text").fill("say by a form")
    page.locator("#send").click()
    page.wait_for_url("**/s/*")
    expect(page.get_by_text("say by a form")).to_be_visible()
