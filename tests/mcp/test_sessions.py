"""What a request, a person and a change of files do to a session's servers (M4.1b-M4.3, M5; rows of users' reports)."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from innkeeper.customizations.enablement import Place
from innkeeper.mcp.declarations.model import StdioLaunch
from innkeeper.mcp.held_file import GrantedFile
from innkeeper.mcp.settings import HostServer, McpSettings, WorkspaceAllowance
from innkeeper.mcp.supervision.admission import Admission
from innkeeper.ports.declarations import RequiredServerUnavailable
from innkeeper.ports.mcp import McpRefused

pytestmark = pytest.mark.anyio

S = "session:/s"
ALL = McpSettings(trust_mode="all")


class Writes:
    """The host's record, as the test says it is."""

    def __init__(self) -> None:
        self.files: set[str] = set()

    def wrote(self, path: str, since: float, changed: float | None) -> bool:
        return path in self.files


class Memory:
    def __init__(self) -> None:
        self.held: dict[str, list[str]] = {}

    def load(self) -> dict[str, list[str]]:
        return self.held

    def save(self, held: Any) -> None:
        self.held = {workspace: list(fingerprints) for workspace, fingerprints in held.items()}


async def running_call(host: Any, name: str = "one") -> "asyncio.Task[Any]":
    """A call that has reached the server and takes a second."""
    before = len(host.log(name, "call"))
    host.full_access.add(S)
    calling = asyncio.create_task(host.gateway.call_tool(host.caller(), name, "wait", {"seconds": 1}))
    await host.until(lambda: len(host.log(name, "call")) > before)
    return calling


async def test_changed_entry_never_cuts_a_running_call_and_takes_no_new_one(host: Any) -> None:
    """M5.3: between tool calls, and in the request that found it."""
    host.settings = ALL
    await host.connected("one", "two")
    old, neighbour = host.row("one").pid, host.row("two").pid
    calling = await running_call(host)
    host.declare("ws", {"one": host.entry("one", "--slow", "0"), "two": host.entry("two")})
    await host.servers.prepare(S, "t2")
    row = host.row("one")
    assert (row.pid, row.change_pending, row.status) == (old, True, "connected")
    with pytest.raises(McpRefused) as refused:
        await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"})
    assert refused.value.code == "DECLARATION_CHANGED"
    assert [tools.server for tools in host.gateway.tools(S)] == ["two"]
    assert (await asyncio.wait_for(calling, 5))["success"]
    await host.listener.wait_for(lambda: host.row("one").status == "connected" and host.row("one").pid != old)
    assert (host.row("one").change_pending, host.row("two").pid) == (False, neighbour)


async def test_removed_entry_and_lost_permission_wait_for_the_running_call_too(host: Any) -> None:
    host.settings = ALL
    await host.connected("one", "two")
    calls = [await running_call(host, "one"), await running_call(host, "two")]
    host.settings = McpSettings()
    host.declare("ws", {"two": host.entry("two")})
    await host.servers.prepare(S, "t2")
    assert [(row.name, row.status) for row in host.servers.report(S)] == [("two", "connected"), ("one", "connected")]
    for calling in calls:
        assert (await asyncio.wait_for(calling, 5))["success"]
    await host.listener.wait_for(lambda: [row.name for row in host.servers.report(S)] == ["two"])
    await host.listener.wait_for(lambda: host.row("two").status == "not allowed")
    await host.until(lambda: host.living_children() == [])


@pytest.mark.parametrize("way", ["disconnect", "toggle", "preset"])
async def test_what_a_person_switches_off_ends_at_once_also_in_a_call(host: Any, way: str) -> None:
    """M5.6, M5.8"""
    host.settings = ALL
    await host.connected("one")
    calling = await running_call(host)
    match way:
        case "disconnect":
            await host.servers.stop(S, "mcp:one")
        case "toggle":
            await host.toggle(S, "one", {"kind": "session", "enabled": False})
        case _:
            host.settings = McpSettings(trust_mode="all", presets=())
            await host.servers.refresh_all()
    result = await asyncio.wait_for(calling, 5)
    assert (result["success"], result["error"]["code"]) == (False, "CONNECTION_LOST")
    await host.until(lambda: host.living_children() == [])


async def test_refresh_in_a_turn_starts_what_became_allowed_and_outside_it_waits_for_the_request(host: Any) -> None:
    """M5.3, M5.8, L1: no restart."""
    host.settings = ALL
    await host.servers.open_session(S, host.declare("ws", {}))
    host.declare("ws", {"one": host.entry("one")})
    await host.servers.refresh(S, start=False)
    assert (host.row("one").status, host.log("one")) == ("stopped", [])
    await host.servers.refresh(S, start=True)
    await host.listener.wait_for(lambda: host.row("one").status == "connected")


async def test_unchanged_servers_keep_the_order_and_text_of_their_tools(host: Any) -> None:
    """L2: the prompt cache holds."""
    host.settings = ALL
    await host.connected("one")
    before = json.dumps([tools.tools for tools in host.gateway.tools(S)])
    host.declare("ws", {"one": host.entry("one"), "two": host.entry("two")})
    await host.servers.prepare(S, "t2")
    assert json.dumps([tools.tools for tools in host.gateway.tools(S)][:1]) == before


async def test_connecting_by_hand_makes_the_selection_custom_until_policy_is_followed(host: Any) -> None:
    """M4.3"""
    uri = host.declare("ws", {"one": host.entry("one"), "two": host.entry("two")})
    host.settings = McpSettings(workspace_allowances=(WorkspaceAllowance(uri, frozenset({"two", "three"})),))
    await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t1")
    assert (host.row("two").status, host.row("two").selection) == ("connected", "policy")
    await host.servers.start(S, "mcp:one")
    assert [row.selection for row in host.servers.report(S)] == ["custom", "custom"]
    assert host.published("one")["_meta"]["x-innkeeper/mcp"]["selection"] == "custom"
    host.declare("ws", {n: host.entry(n) for n in ("one", "two", "three")})
    await host.servers.prepare(S, "t2")
    assert (host.row("three").status, host.row("three").reason) == ("stopped", "NOT_SELECTED")
    host.declare("ws", {"one": host.entry("one"), "two": host.entry("two", "--slow", "0")})
    await host.servers.prepare(S, "t3")
    row = host.row("two")
    assert (row.status, row.reason, len(host.log("two", "start"))) == ("needs a new grant", "DECLARATION_CHANGED", 1)
    assert row.granted.command != row.present.command
    await host.servers.follow_policy(S)
    assert (host.row("one").status, host.row("one").selection) == ("not allowed", "policy")
    await host.servers.prepare(S, "t4")
    assert host.row("two").status == "connected"


async def test_connect_on_an_allowed_server_only_retries_and_lifts_a_disconnect(host: Any) -> None:
    """M4.3"""
    host.settings = ALL
    await host.connected("one")
    await host.servers.stop(S, "mcp:one")
    await host.servers.start(S, "mcp:one")
    assert (host.row("one").status, host.row("one").selection) == ("connected", "policy")
    assert host.row("one").allowed_by == "trustMode"


async def test_connect_while_a_try_is_under_way_waits_for_that_one(host: Any) -> None:
    host.settings = ALL
    await host.servers.open_session(S, host.declare("ws", {"one": host.entry("one", "--slow", "0.5")}))
    preparing = asyncio.create_task(host.servers.prepare(S, "t1"))
    await host.listener.wait_for(lambda: host.row("one").status == "connecting")
    await host.servers.start(S, "mcp:one")
    assert (host.row("one").status, len(host.log("one", "start"))) == ("connected", 1)
    await preparing


async def test_session_acts_are_forgotten_with_the_session_and_at_a_restart(host: Any) -> None:
    """M4.3, D3: session choices do not leak."""
    uri = await host.connected("one")
    await host.servers.open_session("session:/other", uri)
    await host.servers.prepare("session:/other", "t1")
    assert host.row("one", "session:/other").status == "not allowed"
    await host.restart()
    await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t2")
    assert (host.row("one").status, host.row("one").selection) == ("not allowed", "policy")


async def test_changed_command_under_a_granted_name_does_not_start_and_shows_old_beside_new(host: Any) -> None:
    """T1, T2"""
    uri = host.declare("ws", {"one": host.entry("one", env={"A": "1"})})
    await host.servers.open_session(S, uri)
    await host.servers.allow(S, "mcp:one")
    for changed in (
        host.entry("one", "--name", "evil", env={"A": "1"}),
        host.entry("one", env={"A": "2"}),
        host.entry("one", env={"A": "1", "LD_PRELOAD": "./evil.so"}),
        {**host.entry("one", env={"A": "1"}), "cwd": "/"},
    ):
        host.declare("ws", {"one": changed})
        await host.servers.prepare(S, "t")
        row = host.row("one")
        assert (row.status, row.reason, host.log("one")) == ("needs a new grant", "DECLARATION_CHANGED", [])
        assert row.granted.environment == ("A",) and row.granted_at == "2026-11-30T12:00:00.000Z"
        assert row.granted != row.present or changed["env"] == {"A": "2"}
    meta = host.published("one")["_meta"]["x-innkeeper/mcp"]
    assert meta["grantedAt"] == "2026-11-30T12:00:00.000Z" and meta["granted"]["environment"] == ["A"]
    await host.servers.allow(S, "mcp:one")
    await host.servers.prepare(S, "t")
    assert host.row("one").status != "needs a new grant"


async def test_old_declaration_is_shown_after_a_restart_too(host: Any) -> None:
    """M4.2b"""
    host.joined["granted"] = GrantedFile(host.place / "granted.json")
    await host.restart()
    uri = host.declare("ws", {"one": host.entry("one", env={"A": "1"})})
    await host.servers.open_session(S, uri)
    await host.servers.allow(S, "mcp:one")
    await host.servers.close()
    host.joined["granted"] = GrantedFile(host.place / "granted.json")
    await host.restart()
    host.declare("ws", {"one": {"command": "/bin/evil", "args": ["--token", "abc"]}})
    await host.servers.open_session(S, uri)
    row = host.row("one")
    assert (row.status, row.granted.environment, row.granted.command[0]) == (
        "needs a new grant",
        ("A",),
        sys.executable,
    )
    assert row.present.command == ("/bin/evil", "--token", "•••")


async def test_missing_capability_of_the_sdk_is_said_and_starts_nothing(host: Any) -> None:
    """M7.8"""
    host.servers._starting._admitted = lambda: Admission({"mcp": "99"}, {"connect": ("x",)})
    host.settings = ALL
    await host.servers.open_session(S, host.declare("ws", {"one": host.entry("one")}))
    await host.servers.prepare(S, "t1")
    assert (host.row("one").status, host.row("one").reason) == ("failed", "MONITORING_UNSUPPORTED")
    assert host.log("one") == []


async def test_files_of_the_project_cannot_make_themselves_trusted(host: Any) -> None:
    """T3, T4, T5: nothing starts and nothing is stored, whatever they claim."""
    entry = {**host.entry("one"), "trust": True, "autoApprove": ["*"], "alwaysAllow": ["echo"]}
    uri = host.declare("ws", json.dumps({"mcpServers": {"one": entry}, "enableAllProjectMcpServers": True}))
    claude = host.place / "ws" / ".claude"
    claude.mkdir()
    (claude / "settings.json").write_text(json.dumps({"enabledMcpjsonServers": ["one"]}))
    await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t1")
    await host.servers.refresh(S, start=True)
    assert (host.row("one").status, host.log("one"), host.stored) == ("not allowed", [], [])


async def test_parents_children_and_other_worktrees_are_other_workspaces(host: Any) -> None:
    """T7, T8: policy is computed from the session's own directory when it is used."""
    uri = host.declare("ws", {"one": host.entry("one")})
    nested = host.declare("ws/nested", {"one": host.entry("one")})
    host.settings = McpSettings(trusted_workspaces=frozenset({uri}))
    for session, directory in ((S, uri), ("session:/n", nested)):
        await host.servers.open_session(session, directory)
        await host.servers.prepare(session, "t1")
    assert [host.row("one", session).status for session in (S, "session:/n")] == ["connected", "not allowed"]


async def test_worktree_that_the_host_made_counts_as_its_directory_for_equal_entries(host: Any) -> None:
    """M4.1c, which stands over T7; what is shown names the directory."""
    uri = host.declare("ws", {"one": host.entry("one"), "two": host.entry("two")})
    tree = host.declare("tree", {"one": host.entry("one"), "two": host.entry("two", "--slow", "0")})
    host.settings = McpSettings(trusted_workspaces=frozenset({uri}))
    host.joined["worktrees"] = {tree: uri}.get
    await host.restart()
    await host.servers.open_session(S, tree)
    await host.servers.prepare(S, "t1")
    assert [(row.status, row.directory) for row in host.servers.report(S)] == [
        ("connected", uri),
        ("not allowed", None),
    ]
    host.settings = McpSettings()
    await host.servers.reconcile(S)
    await host.servers.allow(S, "mcp:one")
    assert [grant.workspace for grant in host.decisions.grants] == [uri]


async def test_worktree_of_the_hosts_record_counts_for_equal_entries_alone(host: Any) -> None:
    """M4.1c: the record of decisions (C3.3) is the same one, and trust of the directory covers nothing that differs."""
    uri = host.declare("ws", {"one": host.entry("one"), "two": host.entry("two")})
    tree = host.declare("tree", {"one": host.entry("one"), "two": host.entry("two", "--slow", "0")})
    host.settings = McpSettings(trusted_workspaces=frozenset({uri}))
    host.servers.place_by(lambda session, directory: Place(session, directory, repository=uri))
    await host.servers.open_session(S, tree)
    await host.servers.prepare(S, "t1")
    assert [(row.name, row.status, row.directory) for row in host.servers.report(S)] == [
        ("one", "connected", uri),
        ("two", "not allowed", None),
    ]


async def test_entry_that_an_agent_wrote_is_held_until_a_person_connects_it(host: Any) -> None:
    """M4.1b, T9: also in a trusted directory, and over a restart."""
    uri = host.declare("ws", {"one": host.entry("one")})
    writes, memory = Writes(), Memory()
    host.joined = {"writes": writes, "holds": memory}
    host.settings = McpSettings(trusted_workspaces=frozenset({uri}))
    await host.restart()
    await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t1")
    assert host.row("one").status == "connected"
    writes.files.add(str(host.place / "ws" / ".mcp.json"))
    host.declare("ws", {"one": host.entry("one"), "new": host.entry("new")})
    await host.servers.prepare(S, "t2")
    assert (host.row("one").status, host.row("new").status) == ("connected", "written by an agent")
    assert host.published("new")["_meta"]["x-innkeeper/mcp"]["reason"] == "WRITTEN_BY_AGENT"
    writes.files.clear()
    host.declare("ws", "{ broken")
    await host.servers.prepare(S, "t3")
    host.declare("ws", {"one": host.entry("one"), "new": host.entry("new")})
    await host.restart()
    await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t4")
    assert (host.row("new").status, host.log("new")) == ("written by an agent", [])
    await host.servers.start(S, "mcp:new")
    assert (host.row("new").status, host.row("new").selection) == ("connected", "policy")
    assert memory.held == {}


async def test_entry_whose_environment_file_an_agent_wrote_is_held_too(host: Any) -> None:
    """M4.1b, M4.2b: the content of `envFile` is part of what was allowed, also in a trusted directory."""
    uri = host.declare("ws", {"one": host.entry("one", envFile=".env")})
    environment = host.place / "ws" / ".env"
    environment.write_text("LEVEL=1\n")
    writes = Writes()
    host.joined = {"writes": writes}
    host.settings = McpSettings(trusted_workspaces=frozenset({uri}))
    await host.restart()
    await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t1")
    assert host.row("one").status == "connected"
    writes.files.add(str(environment))
    environment.write_text("PATH=./evil\n")
    await host.servers.prepare(S, "t2")
    assert (host.row("one").status, host.row("one").reason) == ("written by an agent", "WRITTEN_BY_AGENT")
    assert len(host.log("one", "start")) == 1
    await host.servers.confirm_file(S, ".env")
    assert host.row("one").reason != "WRITTEN_BY_AGENT"


async def test_confirming_the_file_lets_policy_decide_again_and_outside_edits_load(host: Any) -> None:
    uri = host.declare("ws", {})
    writes = Writes()
    host.joined = {"writes": writes}
    host.settings = McpSettings(trusted_workspaces=frozenset({uri}))
    await host.restart()
    await host.servers.open_session(S, uri)
    host.declare("ws", {"outside": host.entry("outside")})
    await host.servers.prepare(S, "t1")
    assert host.row("outside").status == "connected"
    writes.files.add(str(host.place / "ws" / ".mcp.json"))
    host.declare("ws", {"outside": host.entry("outside"), "new": host.entry("new")})
    await host.servers.prepare(S, "t2")
    assert host.row("new").status == "written by an agent"
    await host.servers.confirm_file(S, ".mcp.json")
    assert host.log("new") == []
    await host.servers.prepare(S, "t3")
    assert host.row("new").status == "connected"


async def test_trust_mode_all_holds_nothing(host: Any) -> None:
    writes = Writes()
    host.joined, host.settings = {"writes": writes}, ALL
    await host.restart()
    writes.files.add(str(host.place / "ws" / ".mcp.json"))
    await host.servers.open_session(S, host.declare("ws", {"one": host.entry("one")}))
    await host.servers.prepare(S, "t1")
    assert host.row("one").status == "connected"


def codex(host: Any, name: str, *switches: str, more: str = "required = true") -> str:
    """A directory whose Codex file declares the fixture server as required; gives its URI."""
    entry = host.entry(name, *switches)
    folder = Path(host.place) / "ws" / ".codex"
    folder.mkdir(parents=True, exist_ok=True)
    arguments = ", ".join(json.dumps(argument) for argument in entry["args"])
    (folder / "config.toml").write_text(
        f'[mcp_servers.{name}]\ncommand = "{entry["command"]}"\nargs = [{arguments}]\n{more}\n'
    )
    return (Path(host.place) / "ws").as_uri()


@pytest.mark.parametrize(
    ("switches", "more", "code"),
    [
        (("--crash", "1"), "required = true", "SPAWN_FAILED"),
        (("--hang",), "required = true\nstartup_timeout_sec = 0.3", "START_TIMEOUT"),
        ((), "required = true\ncwd = 5", "FIELD_TYPE"),
    ],
)
async def test_required_server_that_cannot_be_had_refuses_the_request(
    host: Any, switches: tuple[str, ...], more: str, code: str
) -> None:
    """M5.5"""
    host.settings = ALL
    uri = codex(host, "must", *switches, more=more)
    (Path(host.place) / "ws" / ".mcp.json").write_text(json.dumps({"mcpServers": {"peer": host.entry("peer")}}))
    await host.servers.open_session(S, uri)
    with pytest.raises(RequiredServerUnavailable) as refused:
        await asyncio.wait_for(host.servers.prepare(S, "t1"), 10)
    assert (refused.value.server, refused.value.code) == ("must", code)
    await host.listener.wait_for(lambda: host.row("peer").status == "connected")


async def test_required_server_is_known_to_be_down_until_its_file_changes(host: Any) -> None:
    """K19: a turn is refused at once, without a reading, only while nothing can have changed."""
    host.settings = ALL
    uri = codex(host, "must", "--crash", "1")
    await host.servers.open_session(S, uri)
    assert host.servers.known_down(S) == (), "nothing is known before a try"
    told: list[str] = []
    end = host.servers.watch(told.append)
    with pytest.raises(RequiredServerUnavailable):
        await host.servers.prepare(S, "t1")
    assert list(host.servers.known_down(S)) == [("must", "SPAWN_FAILED")]
    assert not host.servers.complete(S) and S in told
    end()
    told.clear()
    codex(host, "must")
    assert host.servers.known_down(S) == (), "the file says something else: the stage reads it"
    await asyncio.wait_for(host.servers.prepare(S, "t2"), 10)
    assert host.servers.known_down(S) == () and host.row("must").status == "connected"
    assert host.servers.complete(S) and not told, "nobody is told any more"
    await host.servers.close_session(S)
    assert host.servers.known_down(S) == () and not host.servers.complete(S), "it has none, so nothing goes on"


async def test_optional_and_unselected_servers_are_never_known_to_be_down(host: Any) -> None:
    """K19: selected and required ones alone."""
    uri = codex(host, "may", "--crash", "1", more="")
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:may")
    await host.listener.wait_for(lambda: host.row("may").status == "failed")
    assert host.servers.known_down(S) == ()


async def test_required_server_that_dropped_refuses_until_it_recovers_and_unselected_ones_are_no_error(
    host: Any,
) -> None:
    """M5.5, L3"""
    uri = codex(host, "must")
    await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t1")
    await host.servers.start(S, "mcp:must")
    await host.servers.prepare(S, "t2")
    host.full_access.add(S)
    await host.gateway.call_tool(host.caller(), "must", "leave", {"code": 3})
    await host.listener.wait_for(lambda: host.row("must").status == "failed")
    with pytest.raises(RequiredServerUnavailable) as refused:
        await host.servers.prepare(S, "t3")
    assert refused.value.code == "CONNECTION_LOST"
    await host.servers.start(S, "mcp:must")
    await host.servers.prepare(S, "t4")
    good = (Path(host.place) / "ws" / ".codex" / "config.toml").read_text()
    (Path(host.place) / "ws" / ".codex" / "config.toml").write_text(good[:-9])
    for turn in ("t5", "t6"):
        with pytest.raises(RequiredServerUnavailable) as refused:
            await host.servers.prepare(S, turn)
        assert refused.value.code == "FILE_SYNTAX"
    (Path(host.place) / "ws" / ".codex" / "config.toml").write_text(good)
    await host.servers.prepare(S, "t7")
    assert host.row("must").status == "connected"


async def test_released_session_closes_its_servers_and_its_next_request_starts_them(host: Any) -> None:
    """M5.8, P3"""
    host.settings = ALL
    await host.connected("one")
    await host.servers.release_session(S)
    assert (host.row("one").status, host.living_children()) == ("stopped", [])
    await host.servers.prepare(S, "t2")
    assert host.row("one").status == "connected"


async def test_host_wide_server_is_seen_by_all_and_stands_behind_a_project_server_of_its_name(host: Any) -> None:
    """M5.2: one process, not gated, not removed by these rules."""
    wide = host.entry("wide")
    launch = StdioLaunch(wide["command"], tuple(wide["args"]), {}, str(host.place))
    host.settings = McpSettings(host_servers=(HostServer("tools", launch),))
    uri = host.declare("ws", {"tools": host.entry("mine")})
    for session in (S, "session:/b"):
        await host.servers.open_session(session, uri)
        await host.servers.prepare(session, "t1")
    assert len(host.log("wide", "start")) == 1
    result = await host.gateway.call_tool(host.caller(), "tools", "echo", {"text": "wide"})
    assert (result["success"], host.asked.questions) == (True, [])
    assert [(row.name, row.scope, row.status) for row in host.servers.report(S)] == [
        ("tools", "project", "not allowed"),
        ("tools", "host", "connected"),
    ]
    await host.servers.start(S, "mcp:tools")
    host.full_access.add(S)
    await host.gateway.call_tool(host.caller(), "tools", "echo", {"text": "mine"})
    assert [call["text"] for call in host.log("mine", "call")] == ["mine"]
    assert [tools.server for tools in host.gateway.tools(S)] == ["tools"]
    await host.servers.close_session(S)
    assert len(host.log("wide", "start")) == 1
    assert [row.status for row in host.servers.report("session:/b")][-1] == "connected"


async def test_instructions_of_connected_servers_are_given_for_the_turn(host: Any) -> None:
    """M5.7"""
    await host.connected("one")
    assert host.servers.instructions(S) == {"one": "fixture instructions"}
    await host.servers.stop(S, "mcp:one")
    assert host.servers.instructions(S) == {}


def test_nothing_is_spawned_by_importing_or_composing() -> None:
    """D1, T3"""
    code = "import innkeeper.mcp.servers, psutil; print(len(psutil.Process().children()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert found.stdout.strip() == "0"
