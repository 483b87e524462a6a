"""Real servers that are killed, hang, refuse, and come back (M7.1-M7.5; rows P1, P4, R1-R6 of the users' reports)."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from innkeeper.mcp.settings import McpSettings
from innkeeper.mcp.supervision.supervisor import Timing

pytestmark = pytest.mark.anyio

S = "session:/s"
SERVER = Path(__file__).resolve().parents[2] / "servers" / "fixture_server.py"
SOON = Timing(time.monotonic, lambda _: "soon", unit=lambda: -3.9)
"""A fiftieth of every delay."""
NEVER = Timing(time.monotonic, lambda _: "later", unit=lambda: 1e6)


@pytest.fixture
async def kept(host: Any) -> AsyncIterator[Any]:
    """The host, trusting everything and trying again soon; nothing of it may be left."""
    host.settings = McpSettings(trust_mode="all")
    host.joined["timing"] = SOON
    await host.restart()
    host.full_access.add(S)
    yield host
    await asyncio.wait_for(host.servers.close(), 15)
    assert host.living_children() == []


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Callable[..., tuple[int, "subprocess.Popen[str]"]]]:
    """Starts an HTTP server of ours; with a port, at the same address again."""
    started: list[subprocess.Popen[str]] = []

    def start(port: int = 0) -> tuple[int, "subprocess.Popen[str]"]:
        arguments = [sys.executable, str(SERVER), "--http", "--name", "web", "--log", str(tmp_path / "web.log")]
        arguments += ["--refuse", str(tmp_path / "refuse"), "--port", str(port)]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        started.append(process)
        assert process.stdout is not None
        return int(process.stdout.readline()), process

    yield start
    for process in started:
        process.kill()
        process.wait(5)
        assert process.stdout is not None
        process.stdout.close()


async def connect(host: Any, *switches: str, **more: Any) -> None:
    uri = host.declare("ws", {"one": host.entry("one", *switches), **more})
    await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t1")


async def recovered(host: Any, starts: int, name: str = "one") -> None:
    await host.until(lambda: len(host.log(name, "start")) >= starts)
    await host.listener.wait_for(lambda: host.row(name).status == "connected")


async def test_killed_server_comes_back_with_the_same_tools_and_its_neighbour_is_untouched(kept: Any) -> None:
    """P4, R3b"""
    await connect(kept, two=kept.entry("two"))
    tools, neighbour = kept.row("one").tools, kept.row("two").pid
    os.kill(kept.row("one").pid, signal.SIGKILL)
    await recovered(kept, 2)
    assert kept.row("one").tools == tools
    assert (kept.row("two").pid, len(kept.log("two", "start"))) == (neighbour, 1)
    told = [c["_meta"]["x-innkeeper/mcp"] for _, c in kept.listener.states if c["name"] == "one"]
    waited = [meta for meta in told if meta["status"] == "reconnecting" and "nextTry" in meta]
    assert {(meta["attempt"], meta["reason"], meta["nextTry"]) for meta in waited} == {(1, "CONNECTION_LOST", "soon")}
    assert len(waited) <= 2, "told again only when the exit code becomes known after the loss"


async def test_call_on_a_dying_server_fails_at_once_and_is_never_sent_twice(kept: Any) -> None:
    """R5, M7.5: the counter stands at the server."""
    await connect(kept)
    result = await asyncio.wait_for(kept.gateway.call_tool(kept.caller(), "one", "leave", {"code": 7}), 5)
    assert (result["success"], result["error"]["code"]) == (False, "CONNECTION_LOST")
    await recovered(kept, 2)
    assert (await kept.gateway.call_tool(kept.caller(), "one", "echo", {"text": "x"}))["success"]
    assert [call["tool"] for call in kept.log("one", "call")] == ["leave", "echo"]


async def test_server_that_will_not_end_is_ended_with_its_tree_before_the_next_one_starts(
    kept: Any, wait_dead: Any
) -> None:
    """R4, P1: behind a wrapper script, deaf to TERM, with a grandchild in a session of its own."""
    path = kept.place / "ws"
    path.mkdir()
    entry = kept.entry("one", "--grandchild", "--ignore-term")
    (path / "wrapper.sh").write_text(f"#!/bin/sh\ntrap '' TERM\n{entry['command']} \"$@\"\n")
    (path / "wrapper.sh").chmod(0o755)
    uri = kept.declare("ws", {"one": {"command": "./wrapper.sh", "args": entry["args"]}})
    await kept.servers.open_session(S, uri)
    await kept.servers.prepare(S, "t1")
    old = [kept.row("one").pid, kept.log("one", "start")[0]["pid"], kept.log("one", "grandchild")[0]["child"]]
    os.kill(old[1], signal.SIGKILL)
    async with asyncio.timeout(15):
        while len(kept.log("one", "start")) < 2:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.02)
    assert wait_dead(old)
    await kept.listener.wait_for(lambda: kept.row("one").status == "connected")
    assert len(kept.living_children()) == 3


async def test_hung_start_keeps_nobody_waiting_longer_than_its_limit(kept: Any) -> None:
    """R1, M5.4"""
    kept.servers._starting._limits = type(kept.limits)(start=3.0)
    began = time.monotonic()
    await connect(kept, "--hang", two=kept.entry("two"))
    assert kept.row("two").status == "connected"
    assert time.monotonic() - began < 10
    await kept.listener.wait_for(lambda: kept.row("one").status == "reconnecting")
    assert kept.row("one").reason == "START_TIMEOUT"


async def test_declared_start_limit_stands_over_the_hosts(kept: Any) -> None:
    """M1.7: Codex `startup_timeout_sec`."""
    (kept.place / "ws" / ".codex").mkdir(parents=True)
    entry = kept.entry("slow", "--hang")
    arguments = ", ".join(f'"{argument}"' for argument in entry["args"])
    (kept.place / "ws" / ".codex" / "config.toml").write_text(
        f'[mcp_servers.slow]\ncommand = "{entry["command"]}"\nargs = [{arguments}]\nstartup_timeout_sec = 0.4\n'
    )
    await kept.servers.open_session(S, (kept.place / "ws").as_uri())
    await asyncio.wait_for(kept.servers.prepare(S, "t1"), 5)
    await kept.listener.wait_for(lambda: kept.row("slow").reason == "START_TIMEOUT")
    assert len(kept.log("slow", "start")) >= 1


async def test_retry_that_finds_another_command_stops_and_the_next_request_takes_it(kept: Any) -> None:
    """M7.3"""
    kept.joined["timing"] = Timing(time.monotonic, lambda _: "soon", unit=lambda: -3.0)
    await kept.restart()
    await connect(kept)
    kept.declare("ws", {"one": kept.entry("one", "--slow", "0")})
    os.kill(kept.row("one").pid, signal.SIGKILL)
    await kept.listener.wait_for(lambda: kept.row("one").reason == "DECLARATION_CHANGED")
    assert (kept.row("one").status, len(kept.log("one", "start"))) == ("failed", 1)
    assert kept.published("one")["state"]["error"]["errorType"] == "DECLARATION_CHANGED"
    await kept.servers.prepare(S, "t2")
    assert (kept.row("one").status, len(kept.log("one", "start"))) == ("connected", 2)


async def test_stop_connecting_is_as_sticky_as_disconnect(kept: Any) -> None:
    """M7.1"""
    kept.joined["timing"] = NEVER
    await kept.restart()
    await connect(kept, "--crash", "1")
    await kept.listener.wait_for(lambda: kept.row("one").status == "reconnecting")
    await kept.servers.stop_connecting(S, "mcp:one")
    await kept.servers.prepare(S, "t2")
    assert (kept.row("one").status, kept.row("one").reason) == ("stopped", "DISCONNECTED")
    kept.declare("ws", {"one": kept.entry("one")})
    await kept.servers.prepare(S, "t3")
    assert len(kept.log("one", "start")) == 1
    await kept.servers.start(S, "mcp:one")
    assert kept.row("one").status == "connected"


async def test_disabled_while_it_waits_is_not_tried_again(kept: Any) -> None:
    """D1"""
    kept.joined["timing"] = NEVER
    await kept.restart()
    await connect(kept, "--crash", "1")
    await kept.listener.wait_for(lambda: kept.row("one").status == "reconnecting")
    await kept.toggle(S, "one", {"kind": "session", "enabled": False})
    assert kept.row("one").status == "disabled"
    assert not [t for t in asyncio.all_tasks() if t.get_name() == "supervise mcp one"]


async def test_missing_program_is_not_tried_again(kept: Any) -> None:
    await connect(kept, bad={"command": "/no/such/program"})
    assert (kept.row("bad").status, kept.row("bad").reason) == ("failed", "SPAWN_FAILED")
    supervisor = kept.servers.mounted(S, "bad")[1].supervisor
    assert (supervisor.course.phase, supervisor.course.attempt) == ("paused", 1)


@pytest.mark.parametrize("status", [401, 404, 500])
async def test_endpoint_that_refuses_pauses_or_comes_back_and_no_call_is_repeated(
    kept: Any, web: Any, status: int
) -> None:
    """M7.3, M7.5, R6: 401 waits for a person; 404 is a session that is gone; 500 fails the call and nothing else."""
    port, _ = web()
    refuse = kept.place / "refuse"
    await connect(kept, web={"type": "http", "url": f"http://127.0.0.1:{port}/mcp"})
    refuse.write_text(str(status))
    result = await kept.gateway.call_tool(kept.caller(), "web", "echo", {"text": "1"})
    assert result["success"] is False
    if status == 401:
        await kept.listener.wait_for(lambda: kept.row("web").reason == "AUTH_REQUIRED")
        assert kept.servers.mounted(S, "web")[1].supervisor.course.phase == "paused"
        refuse.unlink()
        await kept.servers.retry(S, "mcp:web")
    elif status == 404:
        await kept.listener.wait_for(lambda: kept.row("web").status == "reconnecting")
        refuse.unlink()
    else:
        assert kept.row("web").status == "connected"
        refuse.unlink()
    await kept.listener.wait_for(lambda: kept.row("web").status == "connected")
    assert kept.log("web", "call") == []
    assert (await kept.gateway.call_tool(kept.caller(), "web", "echo", {"text": "2"}))["success"]
    assert [call["text"] for call in kept.log("web", "call")] == ["2"]


async def test_endpoint_that_is_gone_fails_the_call_with_the_reason_and_comes_back(kept: Any, web: Any) -> None:
    """M7.4: the call does not wait for the tool time-out."""
    port, process = web()
    await connect(kept, web={"type": "http", "url": f"http://127.0.0.1:{port}/mcp"})
    process.kill()
    process.wait(5)
    supervisor = kept.servers.mounted(S, "web")[1].supervisor
    if supervisor._probing is not None:
        supervisor._probing = type(supervisor._probing)(confirmed=time.monotonic() - 6, worked=time.monotonic())
        result = await asyncio.wait_for(kept.gateway.call_tool(kept.caller(), "web", "echo", {"text": "x"}), 8)
        assert (result["success"], result["error"]["code"]) in (
            (False, "ENDPOINT_UNREACHABLE"),
            (False, "CONNECTION_LOST"),
        )
    await kept.listener.wait_for(lambda: kept.row("web").status == "reconnecting")
    web(port)
    await kept.listener.wait_for(lambda: kept.row("web").status == "connected")
    assert kept.log("web", "call") == []


async def test_processes_and_tasks_stay_flat_over_many_connections(kept: Any) -> None:
    """P2"""
    await connect(kept)
    tasks, opened = len(asyncio.all_tasks()), psutil.Process().num_fds()
    for _ in range(6):
        await kept.servers.stop(S, "mcp:one")
        await kept.servers.start(S, "mcp:one")
    assert len(kept.living_children()) == 1
    assert len(asyncio.all_tasks()) <= tasks + 1
    assert psutil.Process().num_fds() <= opened + 3


async def test_standard_error_is_given_masked_and_only_when_asked_for(kept: Any) -> None:
    """M7.7, V4"""
    secret = kept.environment["CANARY"]
    noise = f"token {secret} and ghp_{'a' * 36} at https://me:pw@host/ key=abcdefgh"
    uri = kept.declare("ws", {"one": kept.entry("one", "--secret-stderr", noise, env={"T": "${CANARY}"})})
    await kept.servers.open_session(S, uri)
    assert kept.servers.stderr(S, "mcp:one") == ""
    await kept.servers.prepare(S, "t1")
    await kept.until(lambda: "token" in kept.servers.stderr(S, "mcp:one"))
    shown = kept.servers.stderr(S, "mcp:one")
    for hidden in (secret, "ghp_", "me:pw"):
        assert hidden not in shown
    assert "•••" in shown
