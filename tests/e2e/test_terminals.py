"""Terminals of a real host over its socket, and its sudden death (issue 5, points 5 and 9; M5.6)."""

import asyncio
import contextlib
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.host_process import ROOT, BareClient, HostProcess

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
URI = "ahp-terminal:/t"
PROGRAMS = "setsid -w sleep 307 & sleep 308 & echo sta''rted; sleep 309\r"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No shell reads the start-up files of whoever runs the tests: some wait, and leave locks when they are killed."""
    (tmp_path / "person").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "person"))


def shown(state: Any) -> str:
    return "".join(part.get("value") or part.get("output") or "" for part in state["content"])


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def sleeping(pid: int) -> set[int]:
    """The `sleep` programs below it."""
    found = set()
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.name() == "sleep":
                found.add(child.pid)
    return found


async def survivors(pids: set[int]) -> set[int]:
    """Those that still live after 10 seconds."""
    deadline = time.monotonic() + 10
    while (left := {pid for pid in pids if lives(pid)}) and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.02)  # the end of a stranger's process is told to nobody
    return left


async def opened(host: HostProcess, folder: Path, name: str = "writer") -> BareClient:
    client = await BareClient(name).open(host.url)
    await client.initialize(ROOT)
    claim = {"kind": "client", "clientId": name}
    answer = await client.ask("createTerminal", channel=URI, claim=claim, cwd=folder.as_uri())
    assert "error" not in answer, answer
    await client.subscribe(URI)
    await client.until(lambda: client.states[URI].get("supportsCommandDetection"))
    return client


async def test_a_killed_host_leaves_no_process_and_no_terminal_that_looks_alive(tmp_path: Path) -> None:
    """`kill -9` with programs in the foreground, in the background and in a session of their own."""
    async with HostProcess(tmp_path / "home") as host:
        client = await opened(host, tmp_path)
        await client.dispatch(URI, {"type": "terminal/input", "data": PROGRAMS})
        await client.until(lambda: "started" in shown(client.states[URI]))
        await asyncio.sleep(0.2)  # what is printed is logged within 50 ms
        async with asyncio.timeout(30):
            while len(programs := sleeping(host.pid)) < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        pids = {child.pid for child in psutil.Process(host.pid).children(recursive=True)}
        assert programs <= pids
        await host.end(signal.SIGKILL)
        await client.close()
        assert not await survivors(pids)

        await host.start()
        later = await BareClient("later").open(host.url)
        await later.initialize(ROOT)
        (info,) = later.states[ROOT]["terminals"]
        assert info["lifecycle"] == {"status": "exited"}
        state = await later.subscribe(URI)
        assert state["lifecycle"] == {"status": "exited"}
        assert "started" in shown(state)
        await later.close()
        assert await host.end() == 0


async def test_programs_hear_the_signals_that_the_host_was_started_to_ignore(tmp_path: Path) -> None:
    """`nohup innkeeper serve &`: the host goes on when its own terminal is closed; a program in one of its terminals
    can be hung up, and Ctrl-C and Ctrl-\\ end it."""
    ignored = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
    async with contextlib.AsyncExitStack() as stack:
        host = HostProcess(tmp_path / "home")
        stack.push_async_exit(host)
        try:
            await host.start()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        client = await opened(host, tmp_path)
        os.kill(host.pid, signal.SIGHUP)
        await client.dispatch(URI, {"type": "terminal/input", "data": "grep SigIgn /proc/self/status; echo sho''wn\r"})
        await client.until(lambda: "shown" in shown(client.states[URI]))
        await client.close()
        (mask,) = re.findall(r"SigIgn:\s+([0-9a-f]+)", shown(client.states[URI]))
        assert not [number for number in ignored if int(mask, 16) >> (number - 1) & 1]
        assert await host.end() == 0


async def test_a_stopped_host_ends_its_terminals_in_time(tmp_path: Path) -> None:
    """Also with a program that ignores the hang-up."""
    async with HostProcess(tmp_path / "home") as host:
        client = await opened(host, tmp_path)
        ignoring = "trap '' HUP TERM; echo ignor''ing; sleep 310\r"
        await client.dispatch(URI, {"type": "terminal/input", "data": ignoring})
        await client.until(lambda: "ignoring" in shown(client.states[URI]))
        pids = {child.pid for child in psutil.Process(host.pid).children(recursive=True)}
        began = time.monotonic()
        assert await host.end() == 0
        assert time.monotonic() - began < 8
        assert not await survivors(pids)
        await client.close()


async def test_initialize_says_how_terminal_commands_begin(tmp_path: Path) -> None:
    async with HostProcess(tmp_path / "home") as host:
        client = await BareClient("c").open(host.url)
        result = (await client.initialize())["result"]
        assert result["terminalCommandPrefix"] == "!"
        assert result["completionTriggerCharacters"] == ["/", "@"]
        await client.close()
        assert await host.end() == 0
