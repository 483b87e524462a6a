"""The record of what agents wrote (M4.1b), and servers of archived sessions (M5.8), from what leaves the host."""

import asyncio
import os
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from innkeeper.engine.effects import Released
from innkeeper.host.agent_writes import AgentWriteRecord
from innkeeper.host.archiving import ArchivedSessions
from innkeeper.mcp.held_file import GrantedFile, HeldFile
from innkeeper.ports.mcp import DeclarationView
from innkeeper.protocol.status import IDLE, IN_PROGRESS, IS_ARCHIVED

FILE = "/repo/.mcp.json"


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> str:
        return datetime.fromtimestamp(self.seconds, UTC).isoformat()

    def monotonic(self) -> float:
        return self.seconds


def chat(status: str | None, call: str = "call1") -> dict[str, Any]:
    """A chat whose running turn has that call; without a status there is no running turn."""
    if status is None:
        return {"turns": []}
    part = {"kind": "toolCall", "toolCall": {"toolCallId": call, "status": status}}
    return {"activeTurn": {"id": "t1", "responseParts": [part]}}


def act(record: Any, before: str | None, after: str | None, kind: str, **fields: Any) -> None:
    action = {"type": f"chat/{kind}", "toolCallId": "call1", **fields}
    record.observe(Released("chat:/c", "chat", action, 1, None, chat(before), chat(after)))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def record(clock: Clock) -> AgentWriteRecord:
    return AgentWriteRecord(clock)


def test_change_while_a_tool_call_ran_counts_and_one_before_or_after_it_does_not(
    record: AgentWriteRecord, clock: Clock
) -> None:
    act(record, "streaming", "running", "toolCallReady")
    clock.seconds = 1010.0
    assert record.wrote(FILE, 0, 1005.0) and not record.wrote(FILE, 0, 999.0)
    act(record, "running", "completed", "toolCallComplete")
    clock.seconds = 1100.0
    assert record.wrote(FILE, 0, 1005.0)
    assert not record.wrote(FILE, 0, 1050.0)
    assert not record.wrote(FILE, 0, None)


def test_call_that_waits_for_a_person_does_not_run(record: AgentWriteRecord, clock: Clock) -> None:
    act(record, "streaming", "pendingConfirmation", "toolCallReady")
    assert not record.wrote(FILE, 0, 1000.0)
    act(record, "pendingConfirmation", "running", "toolCallConfirmed")
    assert record.wrote(FILE, 0, 1000.0)


def test_end_of_the_turn_ends_what_ran_in_it(record: AgentWriteRecord, clock: Clock) -> None:
    act(record, "streaming", "running", "toolCallReady")
    clock.seconds = 1001.0
    act(record, "running", None, "turnCancelled")
    assert record.wrote(FILE, 0, 1000.5) and not record.wrote(FILE, 0, 1002.0)


@pytest.mark.parametrize("side", ["before", "after"])
def test_reported_edit_counts_from_then_on_and_not_for_what_was_read_since(
    record: AgentWriteRecord, clock: Clock, side: str
) -> None:
    edit = {"type": "fileEdit", side: {"uri": f"file://{FILE}"}}
    act(record, "running", "completed", "toolCallComplete", result={"content": [{"type": "text", "text": "x"}, edit]})
    clock.seconds = 2000.0
    assert record.wrote(FILE, 990.0, None) and not record.wrote("/repo/other", 990.0, None)
    assert not record.wrote(FILE, 1500.0, None)


def test_rejected_actions_and_other_channels_say_nothing(record: AgentWriteRecord) -> None:
    action = {"type": "chat/toolCallReady", "toolCallId": "call1"}
    record.observe(Released("chat:/c", "chat", action, 1, None, chat("running"), chat("running"), "no"))
    record.observe(Released("session:/s", "session", action, 1, None, {}, chat("running")))
    assert not record.wrote(FILE, 0, 1000.0)


def test_held_fingerprints_survive_in_a_file_that_only_the_owner_reads(tmp_path: Path) -> None:
    path = tmp_path / "held.json"
    assert HeldFile(path).load() == {}
    HeldFile(path).save({"file:///repo": ["sha256:1", "sha256:2"]})
    assert HeldFile(path).load() == {"file:///repo": ["sha256:1", "sha256:2"]}
    assert os.stat(path).st_mode & 0o777 == 0o600
    path.write_text("{ broken")
    assert HeldFile(path).load() == {}
    HeldFile(tmp_path / "missing" / "held.json").save({"a": []})
    assert [one.name for one in tmp_path.iterdir()] == ["held.json"]


def test_what_allowed_declarations_said_survives_too(tmp_path: Path) -> None:
    """M4.2b: old beside new also after a restart."""
    path = tmp_path / "granted.json"
    views = {"sha256:1": DeclarationView(("npx", "x"), None, ("A",), (), "/repo"), "sha256:2": DeclarationView(url="u")}
    GrantedFile(path).save(views)
    assert GrantedFile(path).load() == views
    path.write_text('{"sha256:1": {"command": 5}, "sha256:2": null}')
    assert GrantedFile(path).load() == {}


class Core:
    def __init__(self, status: int) -> None:
        self.status = status
        self.spawned: list[str] = []

    def head(self, channel: str) -> dict[str, Any]:
        return {"status": self.status}

    def owner(self, chat: str) -> str:
        return "session:/s"

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self.spawned.append(name)
        asyncio.run(work)


class Servers:
    def __init__(self) -> None:
        self.released: list[str] = []

    async def release_session(self, session: str) -> None:
        self.released.append(session)


@pytest.mark.parametrize(
    ("status", "released"),
    [(IDLE | IS_ARCHIVED, ["session:/s"]), (IN_PROGRESS | IS_ARCHIVED, []), (IDLE, [])],
)
def test_archiving_ends_the_servers_of_an_idle_session(status: int, released: list[str]) -> None:
    """M5.8"""
    servers, core = Servers(), Core(status)
    watching = ArchivedSessions(core, servers)  # type: ignore[arg-type]
    action = {"type": "session/isArchivedChanged", "isArchived": True}
    watching.observe(Released("session:/s", "session", action, 1, None, {}, {}))
    assert servers.released == released


def test_busy_archived_session_lets_go_at_the_end_of_its_turn() -> None:
    servers, core = Servers(), Core(IDLE | IS_ARCHIVED)
    watching = ArchivedSessions(core, servers)  # type: ignore[arg-type]
    act(watching, "running", "running", "toolCallContentChanged")
    assert servers.released == []
    act(watching, "running", None, "turnComplete")
    assert servers.released == ["session:/s"]
