"""The editor beside a host's servers: what a person saves is theirs, whatever an agent does meanwhile (M4.1b, M8.7)."""

import sys
from pathlib import Path
from typing import Any

import pytest

from innkeeper.mcp.authorship import Authorship
from innkeeper.mcp.connections.values import Limits
from innkeeper.mcp.servers import ProjectServers
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.decisions import Decisions
from innkeeper.workspace.processes import LocalProcesses
from innkeeper.workspace.system import SystemClock

pytestmark = pytest.mark.anyio
SESSION = "session:/s"


class Listener:
    def customizations_changed(self, session: str, customizations: object) -> None:
        pass

    def state_changed(self, session: str, customization: object) -> None:
        pass


class Busy:
    """A tool call runs all the time: whatever changes counts as written by an agent."""

    def wrote(self, path: str, since: float, changed: float | None) -> bool:
        return True


@pytest.fixture
async def servers(workspace: Any) -> Any:
    processes = LocalProcesses()

    async def store(ops: object) -> None:
        pass

    made = ProjectServers(
        processes=processes,
        clock=SystemClock(),
        decisions=Decisions,
        store=store,
        settings=lambda: McpSettings(trusted_workspaces=frozenset({workspace.path})),
        environment=workspace.environment,
        limits=Limits(start=10.0),
        writes=Busy(),
    )
    made.publish_to(Listener())
    yield made
    await made.close()
    await processes.close()


async def test_an_entry_that_a_person_saved_is_not_held_and_another_one_is(workspace: Any, servers: Any) -> None:
    await servers.open_session(SESSION, workspace.root.as_uri())
    mine = workspace.add("root", "mine", command=sys.executable)
    await servers.refresh(SESSION, start=False)
    rows = {row.name: row for row in servers.report(SESSION)}
    assert rows["mine"].reason == "WRITTEN_BY_AGENT", "a file that changed while a tool ran"
    await servers.entered(SESSION, "mine", mine.fingerprint)
    assert {row.name: row.allowed for row in servers.report(SESSION)} == {"mine": True}
    workspace.write(".cursor/mcp.json", {"mcpServers": {"theirs": {"command": sys.executable}}})
    await servers.refresh(SESSION, start=False)
    await servers.entered(SESSION, "theirs", "another fingerprint")
    assert {row.name: row.reason for row in servers.report(SESSION)} == {"mine": None, "theirs": "WRITTEN_BY_AGENT"}


def test_the_editor_writes_nothing_that_the_loader_would_hold_for_itself(workspace: Any) -> None:
    """The same fingerprint from the editor and from the loader: what is released is what is held."""
    outcome = workspace.add("codex", "a", command="x", env={"A": "b"})
    server = next(entry.server for entry in workspace.resolve().entries)
    assert outcome.fingerprint == server.fingerprint
    authorship = Authorship(Busy())
    authorship.read("file:///w", str(Path(workspace.path)), [server], 1.0)
    assert authorship.held("file:///w", server)
