"""Own process spawning (architecture §5, M2.8, M5.6) with real processes."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import psutil
import pytest

from innkeeper.limits import SERVER_STDERR_BYTES
from innkeeper.ports.processes import Command
from innkeeper.workspace import processes as module
from innkeeper.workspace.guarding import Guard
from innkeeper.workspace.processes import LocalProcesses

pytestmark = pytest.mark.anyio

STUBBORN = "import os, signal, time; signal.signal(15, signal.SIG_IGN); print(os.getpid(), flush=True); time.sleep(600)"


def python(code: str, *arguments: str, environment: dict[str, str] | None = None) -> Command:
    return Command(sys.executable, ["-c", code, *arguments], environment or {"PATH": os.defpath}, "/")


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until_dead(pids: Iterable[int], limit: float = 5.0) -> set[int]:
    """The pids that still live after `limit` seconds."""
    deadline = time.monotonic() + limit
    left = set(pids)
    while left and time.monotonic() < deadline:
        left = {pid for pid in left if lives(pid)}
        time.sleep(0.01)
    return left


@pytest.fixture
async def processes() -> AsyncIterator[LocalProcesses]:
    adapter = LocalProcesses()
    yield adapter
    await asyncio.wait_for(adapter.close(), 10)


async def lines(process: module.LocalProcess, count: int) -> list[bytes]:
    found: list[bytes] = []
    async with asyncio.timeout(5):
        async for line in process.output():
            found.append(line)
            if len(found) == count:
                break
    return found


async def test_child_echoes_what_it_is_sent(processes: LocalProcesses) -> None:
    child = await processes.spawn(python("import sys\nfor l in sys.stdin: sys.stdout.write(l); sys.stdout.flush()"))
    await child.write(b"one\ntwo\n")
    assert await lines(child, 2) == [b"one", b"two"]
    outcome = await child.close()
    assert outcome.exit_code == 0
    assert outcome.confirmed


async def test_child_has_exactly_the_given_environment(
    processes: LocalProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M2.8: nothing of the host's own environment is added."""
    monkeypatch.setenv("CANARY", "must not be seen")
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    child = await processes.spawn(python(code, environment={"ONLY": "this", "EMPTY": ""}))
    environment = json.loads((await lines(child, 1))[0])
    environment.pop("LC_CTYPE", None)  # set by the child's own Python
    assert environment == {"ONLY": "this", "EMPTY": ""}


async def test_bare_name_is_looked_up_on_the_given_path_only(processes: LocalProcesses, tmp_path: Path) -> None:
    script = tmp_path / "greeter"
    script.write_text("#!/bin/sh\necho hello\n")
    script.chmod(0o755)
    child = await processes.spawn(Command("greeter", [], {"PATH": f"{tmp_path}"}, "/"))
    assert await lines(child, 1) == [b"hello"]
    with pytest.raises(OSError):
        await processes.spawn(Command("greeter", [], {"PATH": "/usr/bin:/bin"}, str(tmp_path)))


async def test_relative_program_resolves_against_the_directory(processes: LocalProcesses, tmp_path: Path) -> None:
    script = tmp_path / "here"
    script.write_text("#!/bin/sh\npwd\n")
    script.chmod(0o755)
    child = await processes.spawn(Command("./here", [], {"PATH": "/usr/bin:/bin"}, str(tmp_path)))
    assert await lines(child, 1) == [os.fsencode(tmp_path)]


async def test_missing_program_and_directory_raise_before_anything_runs(processes: LocalProcesses) -> None:
    for command in (Command("/no/such/program", [], {}, "/"), Command(sys.executable, [], {}, "/no/such/place")):
        with pytest.raises(OSError):
            await processes.spawn(command)


async def test_last_line_without_an_end_and_long_lines_are_given(processes: LocalProcesses) -> None:
    child = await processes.spawn(python("import sys; sys.stdout.write('x' * 300000 + '\\n' + 'tail')"))
    first, second = await lines(child, 2)
    assert (len(first), second) == (300000, b"tail")


async def test_line_over_the_limit_ends_the_stream(processes: LocalProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_LIMIT", 1000)
    child = await processes.spawn(python("import sys; sys.stdout.write('ok\\n' + 'x' * 100000); sys.stdin.read()"))
    assert await lines(child, 5) == [b"ok"]


async def test_stderr_is_drained_and_only_its_end_is_kept(processes: LocalProcesses) -> None:
    """M7.7: a chatty child never blocks; 64 KiB stay."""
    code = "import sys; sys.stderr.write('a' * 1_000_000 + 'END'); print('done', flush=True); sys.stdin.read()"
    child = await processes.spawn(python(code))
    assert await lines(child, 1) == [b"done"]
    await child.close()
    assert child.stderr_tail().endswith(b"END")
    assert len(child.stderr_tail()) == SERVER_STDERR_BYTES


async def test_write_to_a_child_that_closed_its_input_raises(processes: LocalProcesses) -> None:
    child = await processes.spawn(python("import os, time; os.close(0); print('closed', flush=True); time.sleep(60)"))
    await lines(child, 1)
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        async with asyncio.timeout(5):
            while True:
                await child.write(b"x" * 70000)


async def test_exit_code_is_known_and_negative_for_a_signal(processes: LocalProcesses) -> None:
    child = await processes.spawn(python("raise SystemExit(7)"))
    assert await asyncio.wait_for(child.wait(), 5) == 7
    assert child.exit_code == 7
    killed = await processes.spawn(python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
    assert await asyncio.wait_for(killed.wait(), 5) == -signal.SIGKILL


async def test_close_asks_by_end_of_input_first(processes: LocalProcesses, tmp_path: Path) -> None:
    mark = tmp_path / "left politely"
    child = await processes.spawn(python("import sys; sys.stdin.read(); open(sys.argv[1], 'w').close()", str(mark)))
    outcome = await child.close()
    assert (outcome.exit_code, outcome.confirmed) == (0, True)
    assert mark.exists()


async def test_close_kills_a_child_that_ignores_end_of_input_and_term(processes: LocalProcesses) -> None:
    child = await processes.spawn(python(STUBBORN))
    await lines(child, 1)
    outcome = await asyncio.wait_for(child.close(), 5)
    assert (outcome.exit_code, outcome.confirmed) == (-signal.SIGKILL, True)
    assert await child.close() == outcome


GRANDCHILDREN = """
import os, signal, subprocess, sys, time
stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
same = subprocess.Popen([sys.executable, "-c", stubborn])
grouped = subprocess.Popen([sys.executable, "-c", stubborn], process_group=0)
session = subprocess.Popen([sys.executable, "-c", stubborn], start_new_session=True)
print(same.pid, grouped.pid, session.pid, flush=True)
sys.stdin.read()
if sys.argv[1] == "stays": time.sleep(600)
"""


@pytest.mark.parametrize("leader", ["leaves", "stays"])
async def test_close_kills_descendants_that_changed_group_or_session(processes: LocalProcesses, leader: str) -> None:
    """M5.6: the whole tree dies, also what hides behind a wrapper."""
    child = await processes.spawn(python(GRANDCHILDREN, leader))
    pids = [int(word) for word in (await lines(child, 1))[0].split()]
    assert all(lives(pid) for pid in pids)
    outcome = await asyncio.wait_for(child.close(), 8)
    assert outcome.confirmed
    assert not wait_until_dead(pids)


async def test_grandchildren_of_a_crashed_child_die_at_close(processes: LocalProcesses) -> None:
    code = (
        "import os, subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        "print(p.pid, flush=True); os._exit(3)"
    )
    child = await processes.spawn(python(code))
    pid = int((await lines(child, 1))[0])
    assert await asyncio.wait_for(child.wait(), 5) == 3
    assert lives(pid)
    assert (await asyncio.wait_for(child.close(), 5)).confirmed
    assert not wait_until_dead([pid])


async def test_cancelled_close_goes_on(processes: LocalProcesses) -> None:
    child = await processes.spawn(python(STUBBORN))
    await lines(child, 1)
    closing = asyncio.create_task(child.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait([closing])
    assert (await asyncio.wait_for(child.close(), 5)).confirmed
    assert not lives(child.pid)


async def test_one_guardian_serves_all_children_and_ends_with_the_adapter() -> None:
    adapter = LocalProcesses()
    assert adapter.guardian_pid is None
    children = [await adapter.spawn(python("import sys; sys.stdin.read()")) for _ in range(3)]
    guardian = adapter.guardian_pid
    assert guardian is not None and lives(guardian)
    await asyncio.wait_for(adapter.close(), 10)
    assert not wait_until_dead([guardian, *(child.pid for child in children)])


async def test_killed_guardian_is_replaced_and_knows_the_living_children(tmp_path: Path) -> None:
    adapter = LocalProcesses()
    child = await adapter.spawn(python(STUBBORN))
    await lines(child, 1)
    first = adapter.guardian_pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert not wait_until_dead([first])
    await adapter.spawn(python("import sys; sys.stdin.read()"))
    second = adapter.guardian_pid
    assert second is not None and second != first
    await adapter.close()
    assert not wait_until_dead([child.pid, second])


HOST = """
import asyncio, sys
from innkeeper.limits import SERVER_STDERR_BYTES
from innkeeper.ports.processes import Command
from innkeeper.workspace.processes import LocalProcesses

async def main():
    adapter = LocalProcesses()
    path = {"PATH": "/usr/bin:/bin"}
    wrapper = await adapter.spawn(Command("/bin/sh", ["-c", sys.argv[1]], path, "/"))
    grandchildren = []
    async for line in wrapper.output():
        grandchildren = [int(word) for word in line.split()]
        break
    polite = await adapter.spawn(Command(sys.executable, ["-c", "import sys; sys.stdin.read()"], path, "/"))
    print(adapter.guardian_pid, wrapper.pid, polite.pid, *grandchildren, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_killed_host(number: signal.Signals) -> None:
    """Architecture §5: the guardian ends every group, a wrapper's grandchildren too, and then itself."""
    wrapper = textwrap.dedent(f"""
        trap '' TERM
        one=$(mktemp -u); mkfifo $one
        {sys.executable} -c "{STUBBORN}" > $one &
        read pid < $one; rm $one
        echo $pid $$
        wait
    """)
    host = subprocess.Popen([sys.executable, "-c", HOST, wrapper], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    pids = [int(word) for word in host.stdout.readline().split()]
    try:
        assert len(pids) == 5
        assert all(lives(pid) for pid in pids)
        host.send_signal(number)
        host.wait(5)
        assert not wait_until_dead(pids)
    finally:
        host.kill()
        host.wait(5)
        host.stdout.close()


def test_a_child_that_ends_with_its_input_leaves_nothing_behind_a_killed_host() -> None:
    """M5.6: the server obeys the end of its input; what it started has a session of its own. The guardian is late, so
    whatever the death of the host sets off has happened when it looks."""
    server = "import subprocess, sys; print(subprocess.Popen(['setsid', '-w', 'sleep', '311']).pid); sys.stdin.read()"
    script = f'exec {sys.executable} -u -c "{server}"'
    host = subprocess.Popen([sys.executable, "-c", HOST, script], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    guardian, wrapper, *_ = (int(word) for word in host.stdout.readline().split())
    try:
        pids = [wrapper, *(child.pid for child in psutil.Process(wrapper).children(recursive=True))]
        assert len(pids) >= 2
        psutil.Process(guardian).suspend()
        host.kill()
        host.wait(5)
        assert wait_until_dead([wrapper], 0.5), "the end of the input is not told before the guardian has looked"
        os.kill(guardian, signal.SIGCONT)
        assert not wait_until_dead(pids)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(guardian, signal.SIGCONT)
        host.kill()
        host.wait(5)
        host.stdout.close()


def test_guardian_is_small() -> None:
    """Architecture §5: one a host, so it may not weigh."""
    guard = Guard()
    guard.ensure()
    assert guard.pid is not None
    process = psutil.Process(guard.pid)
    try:
        # Ready once it sleeps in its read; bounded by the poll's limit.
        for _ in range(500):
            if process.status() == psutil.STATUS_SLEEPING:
                break
            process.cpu_percent(0.01)
        assert process.memory_info().rss <= 12 * 1024 * 1024
        assert os.getsid(guard.pid) == guard.pid
    finally:
        asyncio.run(guard.close())
