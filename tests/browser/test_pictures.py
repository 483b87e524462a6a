"""The pages with the content of the target pictures, at their sizes (issue 7 B.6).

Each test makes one picture's page from real parts, checks what must be in it, and writes its screenshot: below the
folder that `INNKEEPER_SHOTS` names, so that it can be laid beside the target, else where pytest keeps files. The first
start is in `test_first_start.py`, since it needs a host without sessions.
"""

import asyncio
import http.server
import re
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.conftest import TOKEN
from browser.editor_client import Editor
from browser.mcp_project import pictured
from innkeeper.client.turns import turn_started

WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 360, "height": 780}
MESSAGE = "Some carts are off by one cent at checkout. Find out why, fix it, and add a test that would have caught it."
OTHERS = (
    ("Flaky test in test_cart.py", "claude", "shop", "say Done."),
    ("Split settings into modules", "codex", "api", "say Done."),
    ("Accessibility pass on checkout", "claude", "shop", "say Done."),
    ("Find the slow query on /orders", "claude", "api", "say Done."),
    ("Upgrade the build image", "codex", "shop", "fail"),
    ("Explain the tax module", "gemini", "shop", "say Done."),
    ("Document the webhook retries", "claude", "shop", "say Done."),
    ("Shorten the cold start", "copilot", "api", "slow pictures 1"),
    ("Migrate invoices to v2", "codex", "ledger", "gates 1"),
)
ARCHIVED = 14


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *words], cwd=folder, check=True)


class WantsSignIn(http.server.BaseHTTPRequestHandler):
    """Answers 401 to everything."""

    def do_POST(self) -> None:
        self.send_response(401)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_POST

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture(scope="module")
def closed_port() -> Iterator[int]:
    """Where a server wants a sign-in."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), WantsSignIn)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def write_folders(stage: Any, port: int) -> dict[str, Path]:
    """The three projects; `shop` is a repository."""
    shop: Path = stage.project
    pictured(shop, stage.home / "bin", port=port)
    (shop / "cart").mkdir()
    (shop / "cart" / "total.py").write_text("def total(lines):\n" + "    x = 1\n" * 7)
    for command in (("init", "-q", "-b", "fix/rounding"), ("add", "-A"), ("commit", "-q", "-m", "one")):
        git(shop, *command)
    folders = {name: stage.home / "work" / name for name in ("shop", "api", "ledger")}
    for folder in folders.values():
        folder.mkdir(exist_ok=True)
    api = folders["api"]
    files = {"AGENTS.md": "# R\n", ".claude/agents/reviewer.md": "---\nname: reviewer\ndescription: R\n---\nx"}
    files[".claude/skills/profile-startup/SKILL.md"] = "---\nname: profile-startup\ndescription: P\n---\nx"
    files[".claude/rules/python.md"] = "x"
    files[".mcp.json"] = '{"mcpServers": {"ledger": {"command": "true"}, "browser": {"command": "true"}}}'
    for name, content in files.items():
        (api / name).parent.mkdir(parents=True, exist_ok=True)
        (api / name).write_text(content)
    return folders


def archive(stage: Any, count: int) -> None:
    """So many sessions, out of the list."""

    async def made(client: Any) -> None:
        for number in range(count):
            await client.create_session(f"ahp-session:/old-{number}", provider="claude")
            session = await client.subscribe_session(f"ahp-session:/old-{number}")
            await session.dispatch({"type": "session/isArchivedChanged", "isArchived": True})

    stage.run(made)


@pytest.fixture(scope="module")
def work(stage: Any, closed_port: int) -> dict[str, str]:
    """The sessions of the pictures by title: the path of each page."""
    (stage.home / "more-agents").touch()
    stage.restart()
    folders = write_folders(stage, closed_port)
    archive(stage, ARCHIVED)
    found = {
        title: stage.session(title=title, provider=agent, folder=folders[where], isolation="folder")
        for title, agent, where, _ in OTHERS
    }
    for title, _, _, message in OTHERS:
        begin(stage, found[title], message)
    found["Fix rounding"] = stage.session(title="Fix rounding in cart totals", isolation="folder")
    begin(stage, found["Fix rounding"], MESSAGE, model="sonnet")
    shop = folders["shop"]
    (shop / "cart" / "total.py").write_text("def total(lines):\n" + "    y = 2\n" * 4)
    (shop / "tests").mkdir()
    for name in ("test_cart.py", "test_total.py"):
        (shop / "tests" / name).write_text("assert True\n" * 19)
    wait_and_read(stage, [path for title, path in found.items() if not title.startswith(("Document", "Migrate"))])
    return found


def wait_and_read(stage: Any, paths: list[str]) -> None:
    """Once nothing is to come, these sessions are read."""

    async def read(client: Any) -> None:
        for path in paths:
            session = await client.subscribe_session("ahp-session:/" + path.removeprefix("/s/"))
            chat = await client.subscribe_chat(session.state["defaultChat"])
            await chat.wait_for(lambda state: state["turns"] or state.get("activeTurn"))
            await session.dispatch({"type": "session/isReadChanged", "isRead": True})

    stage.run(read)


def begin(stage: Any, path: str, message: str, *, model: str = "") -> None:
    """Starts a turn and does not wait for its end."""
    action = dict(turn_started("t1", message, datetime.now(UTC).isoformat()))
    if model:
        action["message"] = {**action["message"], "model": {"id": model}}

    async def said(client: Any) -> None:
        session = await client.subscribe_session("ahp-session:/" + path.removeprefix("/s/"))
        chat = await client.subscribe_chat(session.state["defaultChat"])
        await chat.dispatch(action)

    stage.run(said)


def start_servers(stage: Any, path: str) -> None:
    """A person allows three servers and a tool for good; each of them comes to something else."""
    session = {"channel": "ahp-session:/" + path.removeprefix("/s/")}
    wanted = {"ledger": "connected", "playwright": "reconnecting", "search": "failed"}

    async def work(client: Any) -> None:
        for server in wanted:
            await client.request("x-innkeeper/mcp/allow", {**session, "server": server})
        await client.request("x-innkeeper/mcp/reload", session)
        while await states(client) != wanted:  # noqa: ASYNC110 - another process says so
            await asyncio.sleep(0.05)
        await client.request("x-innkeeper/mcp/allow", {**session, "server": "ledger", "tool": "list_accounts"})

    async def states(client: Any) -> dict[str, str]:
        items = (await client.request("x-innkeeper/mcp/list", session))["items"]
        return {item["name"]: item["status"] for item in items if item["name"] in wanted}

    stage.run(work)


def picture(page: Any, shots: Path, name: str) -> None:
    page.wait_for_timeout(300)
    path = shots / f"{name}.png"
    page.screenshot(path=str(path))
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_conversation(tab: Any, work: dict[str, str], shots: Path, theme: str) -> None:
    page = tab(work["Fix rounding"], theme=theme, **WIDE)
    page.locator("[data-gate] button").first.wait_for()
    page.keyboard.press("q")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    for words in ("Thought", "per line", "Edited", "Allow", "Always allow this tool", "Deny", "of context", "Queue"):
        expect(page.locator(".main")).to_contain_text(words)
    expect(page.locator("#sessions .session")).to_have_count(len(OTHERS) + 1)
    expect(page.locator("#bar-changes")).to_contain_text("3 files +42 −7")
    expect(page.locator(".gate-foot")).to_contain_text("Your answer also covers: A rule asks about it.")
    expect(page.locator("#log")).to_contain_text("Thought for")
    picture(page, shots, f"chat-{theme}")


def test_the_conversation_on_a_phone(tab: Any, work: dict[str, str], shots: Path) -> None:
    page = tab(work["Fix rounding"], **PHONE)
    page.locator("[data-gate] button").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    picture(page, shots, "chat-narrow-360")


def test_the_customizations(stage: Any, tab: Any, work: dict[str, str], shots: Path) -> None:
    session = "ahp-session:/" + work["Shorten the cold start"].removeprefix("/s/")
    editor = Editor(f"ws://127.0.0.1:{stage.port}/", TOKEN, session)
    try:
        decided = show_customizations(
            tab(work["Shorten the cold start"] + "/customizations", theme="dark", **WIDE), shots
        )
    finally:
        editor.close()
    assert decided == "On · Session"


def show_customizations(page: Any, shots: Path) -> str:
    """The tree as in the picture; who decided about `profile-startup`."""
    page.locator("tr", has_text="tracker").first.wait_for()

    def switch(scope: str, name: str, value: str) -> None:
        group = page.get_by_role("radiogroup", name=f"{scope} decision for {name}", exact=True)
        group.get_by_label(value).check()
        page.wait_for_timeout(150)

    switch("Workspace", "profile-startup", "Off")
    switch("Session", "profile-startup", "On")
    switch("Session", ".claude/rules", "Off")
    switch("Workspace", "tracker", "Off")
    page.locator("tr", has_text="tracker").locator("[data-why]").first.click()
    page.get_by_role("heading", name="Why tracker is off").wait_for()
    page.locator("tr", has_text="write-changelog").locator("[data-why]").first.click()
    page.get_by_role("heading", name="Why write-changelog").wait_for()
    page.get_by_role("button", name="Pin Session").click()
    page.locator("tr", has_text="write-changelog").locator(".pinned").wait_for()
    page.locator("tr", has_text="tracker").locator("[data-why]").first.click()
    page.get_by_role("heading", name="Why tracker is off").wait_for()
    picture(page, shots, "customizations-dark")
    return str(page.locator("tr", has_text="profile-startup").locator(".tree-by").inner_text())


@pytest.fixture(scope="module")
def servers(stage: Any, work: dict[str, str]) -> None:
    start_servers(stage, work["Fix rounding"])


@pytest.mark.usefixtures("servers")
def test_the_panel(tab: Any, work: dict[str, str], shots: Path) -> None:
    page = tab(work["Fix rounding"], **WIDE)
    page.locator("#mcp-control").click()
    box = page.locator("#mcp-box")
    expect(page.locator(".mcp-rows .name-link")).to_have_count(5)
    page.get_by_role("button", name="Details of ledger").click()
    expect(box).to_contain_text("1 of 5 connected · follows policy")
    expect(box.locator("#server-playwright-state [data-until]")).to_have_text(re.compile(r"Reconnecting in \d+ s"))
    for words in ("Connected · 3 tools", "Always allowed", "Asks first", "Disabled by project", "AUTH_REQUIRED"):
        expect(box).to_contain_text(words)
    expect(box.get_by_text("Not allowed yet · runs uvx sentry-mcp")).to_be_visible()
    picture(page, shots, "mcp-panel-light")


@pytest.mark.usefixtures("servers")
def test_the_panel_as_a_sheet_in_chinese(tab: Any, work: dict[str, str], shots: Path) -> None:
    page = tab(work["Fix rounding"], lang="zh", **PHONE)
    page.locator("#mcp-control").click()
    page.locator("#mcp-box").wait_for()
    expect(page.locator("#mcp-box")).to_contain_text("MCP 服务器")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    picture(page, shots, "mcp-sheet-zh-360")


def open_editor(page: Any) -> None:
    page.locator("#mcp-control").click()
    page.get_by_role("button", name="Manage").click()
    page.locator("#mcp-editor").wait_for()
    page.locator("#mcp-editor button[data-name=playwright]").click()
    page.locator("#edit-command").wait_for()


@pytest.mark.usefixtures("servers")
def test_the_editor(tab: Any, work: dict[str, str], shots: Path) -> None:
    page = tab(work["Fix rounding"], **WIDE)
    open_editor(page)
    page.locator("#edit-args").fill("-y\n@playwright/mcp@0.9.2\n--headless")
    page.locator("#edit-command").focus()
    page.locator("#mcp-editor tr.added").first.wait_for()
    expect(page.get_by_role("button", name="Save and connect")).to_be_enabled()
    picture(page, shots, "editor-dialog-light")


@pytest.mark.usefixtures("servers")
def test_the_editor_after_the_file_changed(stage: Any, tab: Any, work: dict[str, str], shots: Path) -> None:
    page = tab(work["Fix rounding"], **WIDE)
    open_editor(page)
    page.locator("#edit-args").fill("-y\n@playwright/mcp@0.9.2\n--headless")
    page.locator("#mcp-editor tr.added").first.wait_for()
    file = stage.project / ".vscode" / "mcp.json"
    before = file.read_text()
    file.write_text(before.replace("keep in step", "keep in line"))
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator("#mcp-editor", has_text="The file changed on disk while you were editing").wait_for()
    page.locator("#edit-env [name=env_key]").nth(1).fill("BROWSER_TOKEN")
    expect(page.locator("#edit-env")).to_contain_text("This key is already above. Rename or remove one of the two.")
    expect(page.locator("#edit-args")).to_have_value(re.compile("--headless$"))
    expect(page.locator("#edit-note")).to_contain_text("EDIT_CONFLICT")
    expect(page.locator("#edit-foot")).to_contain_text("2 problems")
    picture(page, shots, "editor-conflict-light")
    file.write_text(before)


def configure(stage: Any) -> None:
    """The settings of the picture: a trusted workspace, an allowance by name, one preset off."""
    work = stage.home / "work"

    async def change(client: Any) -> None:
        root = {"channel": "ahp-root://"}
        revision = (await client.request("x-innkeeper/settings/get", root))["revision"]
        values = {
            "enabled_builtins": ["root", "vscode", "codex", "cursor"],
            "trusted_workspaces": [str(work / "ledger")],
            "workspace_allowances": [{"workspace": str(work / "api"), "allow_mcp": ["browser"], "allow_tools": []}],
        }
        edits = [{"op": "set", "path": [name], "value": value} for name, value in values.items()]
        await client.request("x-innkeeper/settings/change", {**root, "revision": revision, "edits": edits})

    stage.run(change)


@pytest.mark.usefixtures("servers")
def test_the_settings_in_chinese(stage: Any, tab: Any, work: dict[str, str], shots: Path) -> None:
    configure(stage)
    page = tab("/settings/mcp", lang="zh", theme="dark", **WIDE)
    page.get_by_text("信任方式").first.wait_for()
    expect(page.locator("#main")).to_contain_text("~/work/ledger")
    expect(page.locator("#main")).to_contain_text("browser")
    picture(page, shots, "settings-zh-dark")
