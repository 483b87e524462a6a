"""Issue 7 B.8, the named test: a real uvicorn, from the token to the last server's end, two workspaces at once.

token → status → manual connect → first request → update → unmount; tools, resources and instructions of the fixture
server reach the agent of its own session and no other (M4.2, M4.3, M5.2, M5.3, M5.6, M5.7, M8.7).
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser.conftest import TOKEN, Stage
from browser.mcp_project import server
from browser.visitor import Visitor
from innkeeper.client.turns import turn_started


class Workspace:
    """A project with one server, `ledger`, whose starts and calls are in a log."""

    def __init__(self, stage: Stage, visitor: Visitor, folder: Path) -> None:
        self.stage, self.visitor, self.folder = stage, visitor, folder
        folder.mkdir()
        self.log = folder / "log"
        self.write()
        self.path = stage.session(title=folder.name, folder=folder)
        self.session = "ahp-session:/" + self.path.removeprefix("/s/")
        self.turns = 0

    def write(self, *more: str) -> None:
        entry = server("--name", self.folder.name, "--log", str(self.log), *more)
        (self.folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"ledger": {"type": "stdio", **entry}}}))

    def pids(self) -> list[int]:
        """Of every start, in order."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        events = [json.loads(line) for line in lines]
        return [event["pid"] for event in events if event["event"] == "start"]

    def asks(self) -> Any:
        """A request of this session's agent, which says what reached it."""
        number, self.turns = self.turns, self.turns + 1

        async def work(client: Any) -> str:
            session = await client.subscribe_session(self.session)
            chat = await client.subscribe_chat(session.state["defaultChat"])
            await chat.dispatch(turn_started(f"look-{number}", "look", "2026-11-30T10:00:00.000Z"))
            await chat.wait_for(lambda state: len(state["turns"]) > number and "activeTurn" not in state)
            (part,) = chat.state["turns"][number]["responseParts"]
            return str(part["content"])

        return json.loads(self.stage.run(work))

    def posts(self, act: str, **fields: str) -> int:
        """A person's act in the page."""
        status, _, words = self.visitor.post(f"{self.path}/mcp/{act}", {"form_token": self.visitor.token(), **fields})
        assert status in (200, 204, 303), words
        return status

    def control(self) -> str:
        html = self.visitor.get(self.path)[2]
        return html.split('class="figures">')[1].split("<")[0]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def ends(pid: int) -> bool:
    until = time.monotonic() + 10
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not alive(pid)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path / "home").start()
    yield stage
    stage.close()


def test_from_the_token_to_the_last_servers_end_with_two_workspaces_at_once(stage: Stage, tmp_path: Path) -> None:
    visitor = Visitor(stage)
    status, headers, _ = visitor.get(f"/?tkn={TOKEN}")
    assert status == 303 and headers["location"] in ("/", "./"), "the token leaves the address"
    status, _, words = visitor.get("/settings/about")
    assert status == 200 and "0, 0 at work" in words

    one, two = (Workspace(stage, visitor, tmp_path / name) for name in ("one", "two"))
    assert one.asks() == {"tools": {}, "instructions": {}, "resources": {}, "read": []}
    assert (one.pids(), two.pids(), one.control()) == ([], [], "MCP 0/1"), "nothing starts by itself (M4.1)"

    one.posts("connect", server="ledger")
    assert len(one.pids()) == 1 and two.pids() == [] and one.control() == "MCP 1/1"
    first = one.asks()
    assert "echo" in first["tools"]["ledger"] and "extra" not in first["tools"]["ledger"]
    assert first["instructions"] == {"ledger": "fixture instructions"}
    assert "note://one" in first["resources"]["ledger"] and first["read"][0][0]["text"]
    assert two.asks()["tools"] == {}, "sessions share nothing (M5.2)"
    two.posts("connect", server="ledger")
    assert "echo" in two.asks()["tools"]["ledger"]
    (ones,), (twos,) = one.pids(), two.pids()

    one.write("--tool", "extra")
    assert "ledger" not in one.asks()["tools"], "a changed declaration needs a new grant (M4.2)"
    assert ends(ones)
    one.posts("again", server="ledger")
    assert "extra" in one.asks()["tools"]["ledger"]
    assert len(one.pids()) == 2 and two.pids() == [twos] and alive(twos), "only the changed one was touched (M5.3)"

    one.posts("disconnect", server="ledger")
    assert ends(one.pids()[1]) and alive(twos)
    assert one.asks()["tools"] == {} and one.control() == "MCP 0/1"
    assert "echo" in two.asks()["tools"]["ledger"]
    two.posts("disconnect-all")
    assert ends(twos) and two.control() == "MCP 0/1"
