"""A whole host on this machine: real git, store and MCP server, the console agent (reference §5.7, C3.3, M4.1c)."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.repositories import RealRepository, environment
from innkeeper.app.compose import DATABASE, WORKTREES, Circumstances, open_host, standard_parts
from innkeeper.client import connect
from innkeeper.client.memory import MemoryTransport
from innkeeper.client.turns import turn_started
from innkeeper.edge.memory import MemoryDoor
from innkeeper.settings.config import Settings, parse_settings

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).resolve().parent.parent / "servers" / "fixture_server.py"


class Place:
    """A repository whose project declares a server, and a host that trusts it or not."""

    def __init__(self, folder: Path, *, trusted: bool) -> None:
        self.folder = folder
        self.variables = environment(folder / "home")
        self.repository = RealRepository.made(folder / "repo", self.variables)
        self.log = folder / "server.log"
        arguments = [str(SERVER), "--log", str(self.log), "--tool", "inspect_things"]
        self.repository.write(
            ".mcp.json", json.dumps({"mcpServers": {"fixture": {"command": sys.executable, "args": arguments}}})
        )
        self.repository.commit("declares a server")
        trust = f'trusted_workspaces = ["{self.repository.path}"]\n' if trusted else ""
        self.listed: Mapping[str, Any] = {}
        self.settings: Settings = parse_settings(trust, folder / "config.toml")

    async def turn(self, text: str, **config: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """One message in a new session; the session's state and the turn."""
        given = Circumstances(self.settings, self.variables, self.folder)
        host = await open_host(standard_parts(self.folder / "data" / DATABASE, self.settings, quiet=True), given)
        try:
            async with connect(MemoryTransport(MemoryDoor(host.attach).accept)) as client:
                uri = await client.create_session(
                    provider="console", working_directories=[self.repository.root.as_uri()], config=config
                )
                session = await client.subscribe_session(uri)
                state = await session.wait_for(lambda s: s["lifecycle"] == "ready")
                chat = await client.subscribe_chat(state["defaultChat"])
                await chat.dispatch(turn_started("t1", text, "2026-01-01T00:00:00.000Z"))
                done = await chat.wait_for(lambda s: any(turn["id"] == "t1" for turn in s["turns"]))
                self.listed = await client.request("x-innkeeper/mcp/list", {"channel": uri})
                return session.state, done["turns"][0]
        finally:
            await host.close(5)

    def starts(self) -> list[str]:
        """The directories in which the server was started."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        events = [json.loads(line) for line in lines]
        return [event["directory"] for event in events if event["event"] == "start"]


async def test_a_servers_of_a_trusted_repository_start_in_the_worktree(tmp_path: Path) -> None:
    place = Place(tmp_path, trusted=True)
    state, turn = await place.turn("/tools")
    worktree = str(place.repository.root.parent / "repo.worktrees" / "tools")
    assert state["workingDirectories"] == [Path(worktree).as_uri()]
    said = "".join(part["content"] for part in turn["responseParts"] if part["kind"] == "markdown")
    assert said.startswith("### Worktree on branch `agents/tools`\n\n") and "inspect_things" in said
    assert place.starts() == [worktree]
    assert json.loads((tmp_path / "data" / WORKTREES).read_text())["worktrees"][0]["branch"] == "agents/tools"


async def test_a_server_that_was_changed_on_the_branch_does_not_inherit_the_trust(tmp_path: Path) -> None:
    """M4.1c: as long as the entry is equal there."""
    place = Place(tmp_path, trusted=True)
    place.repository.git("checkout", "--quiet", "-b", "other")
    declared = json.loads((place.repository.root / ".mcp.json").read_text())
    declared["mcpServers"]["fixture"]["args"].append("--garbage")
    place.repository.write(".mcp.json", json.dumps(declared))
    place.repository.commit("changes the server")
    place.repository.git("checkout", "--quiet", "main")
    _, turn = await place.turn("/tools", branch="other")
    said = "".join(part["content"] for part in turn["responseParts"] if part["kind"] == "markdown")
    assert "inspect_things" not in said and place.starts() == []


async def test_a_servers_of_a_repository_that_is_not_trusted_do_not_start_in_the_worktree(tmp_path: Path) -> None:
    place = Place(tmp_path, trusted=False)
    _, turn = await place.turn("/tools")
    said = "".join(part["content"] for part in turn["responseParts"] if part["kind"] == "markdown")
    assert "inspect_things" not in said and place.starts() == []
    assert place.listed["directory"] == place.repository.root.as_uri(), "what a person would trust there (M4.1c)"


async def test_in_the_folder_everything_is_as_before(tmp_path: Path) -> None:
    place = Place(tmp_path, trusted=True)
    state, _ = await place.turn("/tools", isolation="folder")
    assert state["workingDirectories"] == [place.repository.root.as_uri()]
    assert place.starts() == [place.repository.path]
    assert not (place.repository.root.parent / "repo.worktrees").exists()
