"""Sessions and their servers, with real processes (M4, M5, M7.3)."""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from innkeeper.mcp.settings import McpSettings, WorkspaceAllowance
from innkeeper.mcp.supervision.supervisor import Timing
from innkeeper.ports.mcp import McpRefused

pytestmark = pytest.mark.anyio

S = "session:/s"


async def test_nothing_starts_unasked(host: Any) -> None:
    """M4.1: not at open, not at a request, not when looked at."""
    uri = host.declare("ws", {"one": host.entry("one"), "two": host.entry("two")})
    published = await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t1")
    await host.servers.reconcile(S)
    assert [c["state"] for c in published] == [{"kind": "stopped"}, {"kind": "stopped"}]
    assert [row.status for row in host.servers.report(S)] == ["not allowed", "not allowed"]
    assert host.gateway.tools(S) == []
    assert host.log("one") == host.log("two") == []
    assert host.living_children() == []


async def test_published_server_has_the_shape_of_ahp(host: Any) -> None:
    uri = host.declare("ws", {"my server": host.entry("one")})
    (published,) = await host.servers.open_session(S, uri)
    assert published["type"] == "mcpServer"
    assert published["id"].startswith("mcp:my_server-")
    assert published["uri"] == f"{uri}/.mcp.json#mcp=my%20server"
    assert published["name"] == "my server"
    assert published["range"]["start"] == {"line": 2, "character": 2}
    assert "enablement" not in published and "channel" not in published
    meta = published["_meta"]["x-innkeeper/mcp"]
    assert meta == {
        "status": "not allowed",
        "reason": "NOT_ALLOWED",
        "transport": "stdio",
        "preset": "root",
        "selection": "policy",
        "diagnostics": ["NAME_NORMALISED"],
    }


async def test_connect_by_hand_starts_and_tells_of_each_state(host: Any) -> None:
    await host.connected("one")
    assert [c["state"]["kind"] for _, c in host.listener.states][-1] == "ready"
    told = [c["state"]["kind"] for _, c in host.listener.states]
    assert told[0] == "starting"
    row = host.row("one")
    assert row.pid == host.log("one", "start")[0]["pid"]
    assert "echo" in row.tools
    assert (row.allowed, row.reason) == (True, None)
    assert row.command[0] == sys.executable
    (tools,) = host.gateway.tools(S)
    assert (tools.server, tools.customization_id) == ("one", "mcp:one")
    assert host.gateway.instructions(S) == {"one": "fixture instructions"}


@pytest.mark.parametrize(
    "settings",
    [
        McpSettings(trust_mode="all"),
        McpSettings(workspace_allowances=(WorkspaceAllowance("PLACE", frozenset({"one"})),)),
        McpSettings(trusted_workspaces=frozenset({"PLACE"})),
    ],
    ids=["trust mode", "allowance", "trusted"],
)
async def test_what_policy_allows_starts_at_the_request_and_not_before(host: Any, settings: McpSettings) -> None:
    uri = host.declare("ws", {"one": host.entry("one")})
    host.settings = McpSettings(
        trust_mode=settings.trust_mode,
        trusted_workspaces=frozenset({uri}) if settings.trusted_workspaces else frozenset(),
        workspace_allowances=tuple(WorkspaceAllowance(uri, a.allow_mcp) for a in settings.workspace_allowances),
    )
    await host.servers.open_session(S, uri)
    assert host.log("one") == []
    await host.servers.prepare(S, "t1")
    assert host.row("one").status == "connected"


async def test_child_has_the_allow_listed_environment_and_the_declared_values(host: Any) -> None:
    """M2.8"""
    uri = host.declare("ws", {"one": host.entry("one", env={"DECLARED": "${CANARY}", "EMPTY": ""})})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:one")
    start = host.log("one", "start")[0]
    environment = start["environment"]
    assert environment["DECLARED"] == host.environment["CANARY"]
    assert environment["EMPTY"] == ""
    assert environment["PATH"] == host.environment["PATH"]
    assert "CANARY" not in environment and "NOT_LISTED" not in environment
    assert not [name for name in environment if name.startswith(("PYTEST", "INNKEEPER"))]
    assert start["directory"] == str(host.place / "ws")


async def test_unchanged_server_keeps_its_process_and_a_changed_one_needs_a_new_grant(host: Any) -> None:
    """M5.3, M4.2: a changed declaration does not run on an old grant."""
    uri = await host.connected("one", "two")
    before = {name: host.row(name).pid for name in ("one", "two")}
    await host.servers.prepare(S, "t1")
    assert {name: host.row(name).pid for name in ("one", "two")} == before
    host.declare("ws", {"one": host.entry("one", "--slow", "0"), "two": host.entry("two")})
    await host.servers.prepare(S, "t2")
    assert host.row("two").pid == before["two"]
    row = host.row("one")
    assert (row.status, row.reason, row.pid) == ("needs a new grant", "DECLARATION_CHANGED", None)
    assert len(host.log("one", "start")) == 1
    assert [tools.server for tools in host.gateway.tools(S)] == ["two"]
    await host.servers.start(S, "mcp:one")
    assert host.row("one").status == "connected"
    assert uri.endswith("/ws")


async def test_connect_grants_what_the_person_saw_and_not_what_the_file_says_by_then(host: Any) -> None:
    uri = host.declare("ws", {"one": host.entry("one")})
    await host.servers.open_session(S, uri)
    host.declare("ws", {"one": host.entry("one", "--name", "evil")})
    await host.servers.start(S, "mcp:one")
    assert host.row("one").status == "needs a new grant"
    assert host.log("one") == []
    assert host.published("one")["_meta"]["x-innkeeper/mcp"]["reason"] == "DECLARATION_CHANGED"


async def test_removed_entry_closes_its_server(host: Any, wait_dead: Any) -> None:
    await host.connected("one", "two")
    pid = host.row("one").pid
    host.declare("ws", {"two": host.entry("two")})
    await host.servers.prepare(S, "t1")
    assert [row.name for row in host.servers.report(S)] == ["two"]
    assert wait_dead([pid])
    assert [c["name"] for c in host.listener.lists[-1][1]] == ["two"]


async def test_broken_file_loses_its_servers_for_that_request(host: Any) -> None:
    """M2.8b"""
    await host.connected("one")
    host.declare("ws", "{ broken")
    await host.servers.prepare(S, "t1")
    assert host.servers.report(S) == []
    assert [found.code for found in host.servers.findings(S)] == ["FILE_SYNTAX"]
    assert host.living_children() == []


async def test_bad_entry_is_published_as_error_and_harms_no_other(host: Any) -> None:
    uri = host.declare("ws", {"bad": {"type": "sse", "url": "https://x.example"}, "one": host.entry("one")})
    host.settings = McpSettings(trust_mode="all")
    published = await host.servers.open_session(S, uri)
    assert published[0]["state"]["kind"] == "error"
    assert published[0]["state"]["error"]["errorType"] == "UNSUPPORTED_SSE"
    await host.servers.prepare(S, "t1")
    assert [(row.name, row.status) for row in host.servers.report(S)] == [("bad", "invalid"), ("one", "connected")]
    await host.servers.start(S, "mcp:bad")
    assert host.row("bad").status == "invalid"


async def test_stop_is_sticky_until_a_person_connects(host: Any, wait_dead: Any) -> None:
    """M4.2"""
    host.settings = McpSettings(trust_mode="all")
    await host.connected("one")
    pid = host.row("one").pid
    await host.servers.stop(S, "mcp:one")
    assert wait_dead([pid])
    assert host.published("one")["state"] == {"kind": "stopped"}
    await host.servers.prepare(S, "t1")
    host.declare("ws", {"one": host.entry("one", "--slow", "0")})
    await host.servers.prepare(S, "t2")
    assert host.row("one").status == "stopped"
    assert len(host.log("one", "start")) == 1
    await host.servers.start(S, "mcp:one")
    assert host.row("one").status == "connected"


async def test_two_sessions_in_one_directory_have_processes_of_their_own(host: Any, wait_dead: Any) -> None:
    """M5.2"""
    uri = await host.connected("one")
    await host.servers.open_session("session:/other", uri)
    assert host.row("one", "session:/other").status == "not allowed"
    await host.servers.start("session:/other", "mcp:one")
    pids = [host.row("one", session).pid for session in (S, "session:/other")]
    assert len(set(pids)) == 2
    await host.servers.close_session(S)
    assert wait_dead(pids[:1])
    assert host.row("one", "session:/other").status == "connected"
    assert host.gateway.tools(S) == []


async def test_session_grants_and_disconnects_are_forgotten_at_a_restart(host: Any) -> None:
    """M4.3"""
    uri = await host.connected("one")
    await host.restart()
    await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t1")
    assert host.row("one").status == "not allowed"
    assert host.living_children() == []


async def test_allow_is_stored_and_holds_in_other_sessions_and_after_a_restart(host: Any) -> None:
    """M4.2b"""
    uri = host.declare("ws", {"one": host.entry("one")})
    await host.servers.open_session(S, uri)
    await host.servers.allow(S, "mcp:one")
    assert host.log("one") == []
    (grant,) = host.decisions.grants
    assert (grant.workspace, grant.kind, grant.name) == (uri, "server", "one")
    await host.restart()
    await host.servers.open_session("session:/later", f"{uri}/")
    await host.servers.prepare("session:/later", "t1")
    assert host.row("one", "session:/later").status == "connected"
    await host.servers.revoke("session:/later", "mcp:one")
    assert host.row("one", "session:/later").status == "not allowed"
    assert host.decisions.grants == ()
    assert host.living_children() == []


async def test_policy_that_no_longer_allows_disconnects_at_once(host: Any) -> None:
    """M5.8"""
    host.settings = McpSettings(trust_mode="all")
    uri = host.declare("ws", {"one": host.entry("one")})
    await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t1")
    host.settings = McpSettings()
    await host.servers.reconcile(S)
    assert host.row("one").status == "not allowed"
    assert host.living_children() == []


async def test_toggle_off_stops_the_process_and_removes_the_tools(host: Any, wait_dead: Any) -> None:
    uri = await host.connected("one", "two")
    pid = host.row("one").pid
    assert host.row("one").switch_acts == "now"
    off = {"kind": "workspace", "uri": uri, "enabled": False}
    await host.toggle(S, "one", off)
    assert wait_dead([pid])
    assert [tools.server for tools in host.gateway.tools(S)] == ["two"]
    assert host.published("one")["enablement"] == [off]
    assert host.published("one")["state"] == {"kind": "stopped"}
    assert (host.row("one").status, host.row("one").switch_acts) == ("disabled", "nextRequest")
    await host.servers.prepare(S, "t1")
    await host.servers.start(S, "mcp:one")
    assert len(host.log("one", "start")) == 1
    with pytest.raises(McpRefused) as refused:
        await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"})
    assert refused.value.code == "SERVER_DISABLED"
    await host.toggle(S, "one")
    await host.servers.prepare(S, "t2")
    assert host.row("one").status == "connected"


async def test_workspace_toggle_holds_in_another_session_and_after_a_restart(host: Any) -> None:
    uri = await host.connected("one")
    await host.toggle(S, "one", {"kind": "workspace", "uri": uri, "enabled": False})
    host.settings = McpSettings(trust_mode="all")
    await host.restart()
    await host.servers.open_session("session:/later", uri)
    await host.servers.prepare("session:/later", "t1")
    assert host.row("one", "session:/later").status == "disabled"
    assert host.living_children() == []


async def test_entry_that_the_file_switches_off_is_off_until_a_person_switches_it_on(host: Any) -> None:
    """C2.3: the discovery default is part of what is inherited."""
    host.settings = McpSettings(trust_mode="all")
    uri = host.declare("ws", {"one": host.entry("one", disabled=True)})
    (published,) = await host.servers.open_session(S, uri)
    assert published["enablement"] == [{"kind": "global", "enabled": False}]
    await host.servers.prepare(S, "t1")
    assert (host.row("one").status, host.log("one")) == ("disabled", [])
    await host.toggle(S, "one", {"kind": "session", "enabled": True}, {"kind": "global", "enabled": False})
    await host.servers.prepare(S, "t2")
    assert host.row("one").status == "connected"


@pytest.mark.parametrize(
    ("switches", "code", "detail"),
    [
        (("--crash", "3"), "SPAWN_FAILED", "[exit 3]"),
        (("--hang",), "START_TIMEOUT", ""),
        (("--slow", "30"), "START_TIMEOUT", ""),
    ],
)
async def test_server_that_does_not_start_has_its_error_and_harms_no_other(
    host: Any, switches: tuple[str, ...], code: str, detail: str
) -> None:
    host.servers._starting._limits = type(host.limits)(start=3.0)
    host.settings = McpSettings(trust_mode="all")
    uri = host.declare("ws", {"bad": host.entry("bad", *switches), "one": host.entry("one")})
    await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t1")
    ended = [c for _, c in host.listener.states if c["name"] == "bad" and c["state"]["kind"] == "error"]
    await host.listener.wait_for(lambda: host.published("bad")["state"]["kind"] == "error" or ended)
    ended = [c for _, c in host.listener.states if c["name"] == "bad" and c["state"]["kind"] == "error"]
    assert ended[0]["state"]["error"]["errorType"] == code
    assert ended[0]["state"]["error"]["message"].endswith(detail)
    meta = ended[0]["_meta"]["x-innkeeper/mcp"]
    assert (meta["status"], meta["reason"], meta["attempt"]) == ("reconnecting", code, 1)
    assert meta["nextTry"] == "2026-11-30T12:00:01Z"
    assert (host.row("one").status, host.row("one").reason) == ("connected", None)


async def test_request_does_not_bypass_the_back_off_and_a_person_does(host: Any) -> None:
    """M7.2, M7.6"""
    host.settings = McpSettings(trust_mode="all")
    host.joined["timing"] = Timing(time.monotonic, lambda _: "later", unit=lambda: 1e6)
    await host.restart()
    uri = host.declare("ws", {"bad": host.entry("bad", "--crash", "3")})
    await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t1")
    await host.listener.wait_for(lambda: host.row("bad").status == "reconnecting")
    await host.servers.prepare(S, "t2")
    assert len(host.log("bad", "start")) == 1
    await host.servers.retry(S, "mcp:bad")
    assert len(host.log("bad", "start")) == 2
    await host.servers.start(S, "mcp:bad")
    assert len(host.log("bad", "start")) == 3
    assert host.row("bad").attempt == 3


async def test_retry_of_a_server_that_was_disconnected_by_hand_is_refused_and_starts_nothing(host: Any) -> None:
    """M4.2, M7.6: Retry only retries; Connect lifts the disconnect."""
    await host.connected("one")
    await host.servers.stop(S, "mcp:one")
    with pytest.raises(McpRefused) as refused:
        await host.servers.retry(S, "mcp:one")
    assert refused.value.code == "SERVER_NOT_CONNECTED"
    assert len(host.log("one", "start")) == 1
    await host.servers.start(S, "mcp:one")
    assert host.row("one").status == "connected"


@pytest.mark.parametrize(
    "fields",
    [{"command": "/no/such/program"}, {"command": "no-such-program"}, {"command": "n", "cwd": "/no/such/place"}],
)
async def test_program_that_is_not_there_is_a_spawn_error(host: Any, fields: dict[str, str]) -> None:
    uri = host.declare("ws", {"bad": fields})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:bad")
    assert host.published("bad")["state"]["error"]["errorType"] == "SPAWN_FAILED"
    assert host.published("bad")["state"]["error"]["message"].endswith("[errno 2]")


async def test_program_that_is_no_mcp_server_times_out_or_ends(host: Any) -> None:
    uri = host.declare("ws", {"bad": {"command": "/bin/echo", "args": ["hello"]}})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:bad")
    assert host.row("bad").reason == "SPAWN_FAILED"
    assert host.living_children() == []


async def test_banner_on_standard_output_does_no_harm(host: Any) -> None:
    uri = host.declare("ws", {"one": host.entry("one", "--garbage")})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:one")
    assert host.row("one").status == "connected"


async def test_killed_server_that_a_person_connected_gets_no_second_try(host: Any) -> None:
    """M7.1: one attempt where policy does not allow."""
    await host.connected("one")
    os.kill(host.row("one").pid, signal.SIGKILL)
    await host.listener.wait_for(lambda: host.published("one")["state"]["kind"] == "error")
    assert host.published("one")["state"]["error"]["errorType"] == "CONNECTION_LOST"
    assert host.published("one")["state"]["error"]["message"].endswith("[exit -9]")
    await host.servers.prepare(S, "t1")
    assert (host.row("one").status, host.gateway.tools(S)) == ("failed", [])
    assert len(host.log("one", "start")) == 1
    await host.servers.start(S, "mcp:one")
    assert host.row("one").status == "connected"


async def test_whole_tree_dies_with_the_session(host: Any, wait_dead: Any) -> None:
    """M5.6: behind a wrapper script, in another process group, deaf to TERM."""
    path = host.place / "ws"
    path.mkdir()
    wrapper = path / "wrapper.sh"
    entry = host.entry("one", "--grandchild", "--ignore-term")
    wrapper.write_text(f"#!/bin/sh\ntrap '' TERM\n{entry['command']} \"$@\"\n")
    wrapper.chmod(0o755)
    uri = host.declare("ws", {"one": {"command": "./wrapper.sh", "args": entry["args"]}})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:one")
    pids = [host.row("one").pid, host.log("one", "start")[0]["pid"], host.log("one", "grandchild")[0]["child"]]
    assert len(set(pids)) == 3
    assert len(host.living_children()) == 3
    await asyncio.wait_for(host.servers.close_session(S), 8)
    assert wait_dead(pids)
    assert host.living_children() == []


async def test_closing_while_a_server_starts_leaves_nothing(host: Any) -> None:
    uri = host.declare("ws", {f"s{n}": host.entry(f"s{n}", "--hang") for n in range(8)})
    host.settings = McpSettings(trust_mode="all")
    await host.servers.open_session(S, uri)
    preparing = asyncio.create_task(host.servers.prepare(S, "t1"))
    await host.until(lambda: any(host.log(f"s{n}", "start") for n in range(8)))
    await asyncio.wait_for(host.servers.close_session(S), 8)
    await asyncio.wait_for(preparing, 5)
    assert host.living_children() == []
    assert list(host.servers.report(S)) == []


async def test_starts_run_at_the_same_time_six_at_most(host: Any) -> None:
    """M5.4: with a limit of six, the seventh and eighth have not started while six hang."""
    uri = host.declare("ws", {f"s{n}": host.entry(f"s{n}", "--hang") for n in range(8)})
    host.settings = McpSettings(trust_mode="all")
    await host.servers.open_session(S, uri)
    preparing = asyncio.create_task(host.servers.prepare(S, "t1"))

    def started() -> int:
        return sum(1 for n in range(8) if host.log(f"s{n}", "start"))

    await host.until(lambda: started() >= 6)
    assert [row.status for row in host.servers.report(S)] == ["connecting"] * 8
    assert started() == 6
    await host.servers.close_session(S)
    await asyncio.wait_for(preparing, 5)
    assert started() == 6


async def test_cancelled_request_leaves_the_start_going(host: Any) -> None:
    uri = host.declare("ws", {"one": host.entry("one", "--slow", "0.3")})
    host.settings = McpSettings(trust_mode="all")
    await host.servers.open_session(S, uri)
    preparing = asyncio.create_task(host.servers.prepare(S, "t1"))
    await host.listener.wait_for(lambda: bool(host.listener.states))
    preparing.cancel()
    await asyncio.wait([preparing])
    await host.listener.wait_for(lambda: host.row("one").status == "connected")
    assert preparing.cancelled()
    assert len(host.log("one", "start")) == 1


async def test_changed_tool_list_is_followed(host: Any) -> None:
    """M5.7"""
    host.settings = McpSettings(trust_mode="all")
    await host.connected("one")
    assert "grown" not in host.row("one").tools
    await host.gateway.call_tool(host.caller(), "one", "grow", {})
    await host.until(lambda: "grown" in host.row("one").tools)
    result = await host.gateway.call_tool(host.caller(), "one", "grown", {})
    assert result["success"]


async def test_remote_workspace_declares_nothing_and_says_so(host: Any) -> None:
    """M1.6"""
    assert await host.servers.open_session(S, "vscode-remote://host/repo") == []
    await host.servers.prepare(S, "t1")
    assert [found.code for found in host.servers.findings(S)] == ["REMOTE_WORKSPACE"]


async def test_session_without_a_directory_and_unknown_sessions_have_no_servers(host: Any) -> None:
    assert await host.servers.open_session(S, None) == []
    assert host.servers.findings(S) == []
    for session in (S, "session:/unknown"):
        await host.servers.prepare(session, "t1")
        await host.servers.reconcile(session)
        assert list(host.servers.report(session)) == []
        with pytest.raises(McpRefused) as refused:
            await host.servers.start(session, "mcp:one")
        assert refused.value.code == "SERVER_UNKNOWN"
    await host.servers.close_session("session:/unknown")


async def test_equal_publication_is_sent_once(host: Any) -> None:
    await host.connected("one")
    before = len(host.listener.lists), len(host.listener.states)
    await host.servers.prepare(S, "t1")
    await host.servers.reconcile(S)
    assert (len(host.listener.lists), len(host.listener.states)) == before


async def test_reading_and_running_write_nothing_in_the_workspace(host: Any) -> None:
    """M5.1"""
    await host.connected("one")
    assert [path.name for path in (host.place / "ws").iterdir()] == [".mcp.json"]


async def test_no_secret_reaches_a_state_a_report_a_finding_or_a_log(host: Any, caplog: Any) -> None:
    """M7.7: expanded values and standard error stay where they are."""
    caplog.set_level(logging.DEBUG)
    secret = host.environment["CANARY"]
    shown = "--secret-stderr"
    uri = host.declare(
        "ws",
        {
            "ok": host.entry("ok", shown, "${CANARY}", env={"T": "${CANARY}"}),
            "crash": host.entry("crash", shown, "${CANARY}", "--crash", "1"),
            "spawn": {"command": "/no/such/${CANARY}"},
            "http": {
                "url": "http://user:${CANARY}@127.0.0.1:9/?k=${CANARY}",
                "headers": {"Authorization": "Bearer ${CANARY}"},
            },
            "bad": {"url": "ftp://${CANARY}"},
        },
    )
    host.settings = McpSettings(trust_mode="all")
    published = await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t1")
    rows = ["connected", "reconnecting", "failed", "reconnecting", "invalid"]
    assert [row.status for row in host.servers.report(S)] == rows
    result = await host.gateway.call_tool(host.caller(), "ok", "echo", {"text": "x"})
    everything = [
        published,
        host.listener.lists,
        host.listener.states,
        host.servers.report(S),
        host.servers.findings(S),
    ]
    assert secret not in repr([*everything, result, host.stored])
    assert secret not in caplog.text
    assert json.dumps(host.listener.states)


HOST = """
import asyncio, os, sys
from innkeeper.mcp.servers import ProjectServers
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.decisions import Decisions
from innkeeper.workspace.processes import LocalProcesses
from innkeeper.workspace.system import SystemClock

async def main():
    servers = ProjectServers(
        processes=LocalProcesses(), clock=SystemClock(), decisions=Decisions, store=None,
        settings=lambda: McpSettings(trust_mode="all"), environment=os.environ,
    )
    await servers.open_session("session:/s", sys.argv[1])
    await servers.prepare("session:/s", "t1")
    print(*(row.pid for row in servers.report("session:/s")), flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_servers_do_not_outlive_a_killed_host(host: Any, wait_dead: Any) -> None:
    """Architecture §5: SIGKILL of the host, a server that ignores TERM, a grandchild in a session of its own."""
    uri = host.declare("ws", {"one": host.entry("one", "--ignore-term", "--grandchild"), "two": host.entry("two")})
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", HOST, uri, stdout=subprocess.PIPE)
    assert process.stdout is not None
    pids = [int(word) for word in (await asyncio.wait_for(process.stdout.readline(), 20)).split()]
    pids.append(host.log("one", "grandchild")[0]["child"])
    assert len(pids) == 3
    process.kill()
    await asyncio.wait_for(process.wait(), 5)
    assert wait_dead(pids)


def test_importing_the_servers_does_not_import_the_sdk() -> None:
    """Issue 2 §9: 50 MB and 0.4 s are paid at the first connection."""
    code = (
        "import sys, innkeeper.mcp.servers, innkeeper.mcp.gateway, innkeeper.workspace.processes;"
        "print([m for m in ('mcp', 'mcp_types', 'pydantic', 'httpx2', 'psutil', 'starlette') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert found.stdout.strip() == "[]"
