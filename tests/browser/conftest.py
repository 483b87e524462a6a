"""A real host in a process, Debian's Chromium, and pages in it (docs/testing.md).

`stage` is one host for the tests of a module, `browser` one browser. `tab` opens a page as a person does: by
the address with the token, once. Whatever a page says against its policy, or throws, fails the test.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

from innkeeper.client import Client, connect
from innkeeper.client.turns import turn_started

CHROMIUM = next((path for path in ("/usr/bin/chromium", "/usr/bin/chromium-browser") if Path(path).exists()), None)
ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
TOKEN = "token-of-the-browser-tests"
T = TypeVar("T")


class Stage:
    """A host whose agents are scripted; see `scenes.py`."""

    def __init__(self, home: Path, *options: str) -> None:
        self.home = home
        self.options = options
        self.port = 0
        self.project = home / "work" / "shop"
        self.project.mkdir(parents=True, exist_ok=True)
        self._process: subprocess.Popen[str] | None = None
        self._loop = ThreadPoolExecutor(1)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> "Stage":
        programs = f"{self.home / 'bin'}:{os.environ['PATH']}"
        environment = {**os.environ, "INNKEEPER_HOME": str(self.home), "HOME": str(self.home), "PATH": programs}
        command = [sys.executable, str(Path(__file__).with_name("stage_host.py")), "--token", TOKEN]
        command += ["--port", str(self.port), *self.options]
        self._process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, text=True, cwd=self.project, start_new_session=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("READY:"), f"the host said {line!r}"
        self.port = int(line.removeprefix("READY:"))
        return self

    def stop(self, number: int = signal.SIGTERM) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()

    def restart(self) -> None:
        """The same host on the same port."""
        self.stop()
        self.start()

    def go(self, name: str) -> None:
        """Lets a scene that waits for `name` go on."""
        (self.home / f"go-{name}").touch()

    def run(self, work: Callable[[Client], Coroutine[Any, Any, T]], seconds: float = 30) -> T:
        """Does `work` with a client of its own, in another thread, since Playwright's loop runs in this one."""

        async def connected() -> T:
            async with connect(f"ws://127.0.0.1:{self.port}/", token=TOKEN) as client:
                return await work(client)

        return self._loop.submit(asyncio.run, connected()).result(seconds)

    def session(
        self,
        *messages: str,
        provider: str = "claude",
        title: str = "",
        folder: Path | None = None,
        **config: str,
    ) -> str:
        """A session with these turns, all ended; the path of its page. `config` is the session's."""

        async def made(client: Client) -> str:
            directory = (folder or self.project).as_uri()
            uri = await client.create_session(provider=provider, working_directories=[directory], config=config)
            session = await client.subscribe_session(uri)
            await session.wait_for(lambda state: state["lifecycle"] == "ready")
            chat = await client.subscribe_chat(session.state["defaultChat"])
            for number, message in enumerate(messages):
                await chat.dispatch(turn_started(f"turn-{number}", message, "2026-11-30T10:00:00.000Z"))
                await chat.wait_for(lambda state, n=number: len(state["turns"]) > n and "activeTurn" not in state)
            if title:
                await session.dispatch({"type": "session/titleChanged", "title": title})
            return "/s/" + uri.removeprefix("ahp-session:/")

        return self.run(made)

    def close(self) -> None:
        self.stop()
        self._loop.shutdown()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("stage")).start()
    yield stage
    stage.close()


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the pages of the target pictures go: the folder that `INNKEEPER_SHOTS` names."""
    folder = Path(os.environ.get("INNKEEPER_SHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, once for the tests of a module: while Playwright runs, its loop is this thread's, and no test with a
    loop of its own could follow."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is a development dependency")
    playwright.expect.set_options(timeout=20_000)
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


class Tab:
    """A page of its own browser profile. `complaints` are errors of the script and of the policy."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        self.complaints: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._heard)

    def _heard(self, message: Any) -> None:
        refused = "Failed to load resource" in message.text or "net::" in message.text
        if message.type == "error" and not refused:
            self.complaints.append(message.text)

    def visit(self, path: str) -> Any:
        self.page.goto(self.url + path)
        return self.page


@pytest.fixture
def tab(stage: Stage, browser: Any) -> Iterator[Callable[..., Any]]:
    """`tab("/s/…", lang="zh", theme="dark", width=360)`: a Playwright page there, in a browser profile of its own."""
    tabs: list[Tab] = []
    with contextlib.ExitStack() as open_contexts:

        def open_tab(
            path: str = "/",
            *,
            lang: str = "en",
            theme: str = "light",
            width: int = 1440,
            height: int = 900,
            **more: Any,
        ) -> Any:
            context = browser.new_context(
                locale={"en": "en-US", "zh": "zh-CN"}[lang],
                color_scheme=theme,
                viewport={"width": width, "height": height},
                **more,
            )
            open_contexts.callback(context.close)
            context.set_default_timeout(20_000)
            page = context.new_page()
            opened = Tab(page, stage.url)
            tabs.append(opened)
            page.goto(f"{stage.url}/?tkn={TOKEN}")
            return opened.visit(path) if path != "/" else page

        yield open_tab
    complaints = [complaint for one in tabs for complaint in one.complaints]
    assert not complaints, complaints
