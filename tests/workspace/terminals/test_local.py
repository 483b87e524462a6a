"""Real shells on real pseudo-terminals: what only those have (§5.10, M5.6)."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from innkeeper.ports.terminals import Opening
from innkeeper.workspace.guarding import Guard
from innkeeper.workspace.terminals import LocalTerminals
from innkeeper.workspace.terminals.pty import WAITING_BYTES
from innkeeper.workspace.terminals.shells import FOLDER_PREFIX, find_shell, typed_command, typed_with_marks
from scripted.terminals import LIMIT, Reader

pytestmark = pytest.mark.anyio
ZSH = os.environ.get("INNKEEPER_TEST_ZSH") or shutil.which("zsh")


class Rig:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.guard = Guard()
        self.made: list[LocalTerminals] = []

    async def open(self, shell: str = "/bin/bash", *, agent: bool = True, **environment: str) -> Reader:
        given = {"PATH": os.environ["PATH"], "HOME": os.fspath(self.home), "SHELL": shell, **environment}
        if "LD_LIBRARY_PATH" in os.environ:
            given["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        adapter = LocalTerminals(self.guard, given, withheld=["SERVICE_PASSWORD"])
        self.made.append(adapter)
        reader = Reader(await adapter.open(Opening(os.fspath(self.home), agent=agent)))
        await reader.prompt()
        return reader


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    async with asyncio.timeout(LIMIT):
        for adapter in rig.made:
            await adapter.close()
        await rig.guard.close()


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until_dead(pids: set[int], limit: float = 8.0) -> set[int]:
    deadline = time.monotonic() + limit
    while (left := {pid for pid in pids if lives(pid)}) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


SHELLS = pytest.mark.parametrize("shell", ["/bin/bash", "/bin/sh", "zsh"])


def real(shell: str) -> str:
    if shell != "zsh":
        return shell
    if ZSH is None:
        pytest.skip("zsh is not installed")
    return ZSH


@SHELLS
async def test_commands_of_any_shape_are_one_command(rig: Rig, shell: str) -> None:
    """Several lines, quotes, tabs, dollars, an exclamation mark and other alphabets."""
    reader = await rig.open(real(shell))
    command = "for i in 1 2; do\n\tprintf '%s,' \"$i\"\ndone\nprintf '%s\\n' 'it'\"'\"'s! ä'"
    said = await reader.run(command)
    assert said.count(reader.mark("C")) == 1
    assert "1,2,it's! ä\r\n" in said.partition(reader.mark("C"))[2]
    assert "hey!you" in (await reader.run('echo "hey!you"')).partition(reader.mark("C"))[2]


@SHELLS
async def test_an_error_of_syntax_ends_the_command(rig: Rig, shell: str) -> None:
    reader = await rig.open(real(shell))
    said = await reader.run("echo )")
    assert "]633;D;" in said
    assert reader.mark("D;0") not in said
    assert "fine" in await reader.run("echo fine")


@pytest.mark.parametrize("shell", ["/bin/bash", "zsh"])
async def test_the_shell_tells_the_command_line(rig: Rig, shell: str) -> None:
    reader = await rig.open(real(shell))
    assert reader.mark("E;echo a\\x3b echo '\\\\'") in await reader.run("echo a; echo '\\'")
    assert reader.mark("E;echo twice") in await reader.run("echo twice")
    assert reader.mark("E;echo twice") in await reader.run("echo twice")


@pytest.mark.parametrize("shell", ["/bin/bash", "zsh"])
async def test_an_incomplete_command_is_told(rig: Rig, shell: str) -> None:
    reader = await rig.open(real(shell))
    typed = reader.terminal.command_input("echo 'open")
    assert typed is not None
    reader.terminal.write(typed)
    assert await reader.until(lambda text: reader.mark("F") in text)


@SHELLS
async def test_no_program_finds_the_nonce(rig: Rig, shell: str) -> None:
    """S27: it is in no environment and in no file that is left."""
    reader = await rig.open(real(shell))
    said = await reader.run(
        f"env; cat /proc/$$/environ | tr '\\0' '\\n'; cat ${{TMPDIR:-/tmp}}/{FOLDER_PREFIX}*/* 2>&1"
    )
    output = said.partition(reader.mark("C"))[2].partition("\x1b]633;D")[0]
    assert "HOME=" in output
    assert reader.terminal.nonce not in output


@SHELLS
async def test_an_agents_shell_is_quiet_and_says_so(rig: Rig, shell: str) -> None:
    reader = await rig.open(real(shell))
    said = await reader.run('echo "$AI_AGENT,$PAGER,$GIT_PAGER,$GIT_TERMINAL_PROMPT,$TERM,$LC_CTYPE"')
    assert "innkeeper,cat,cat,0,xterm-256color,C.UTF-8" in said


async def test_a_persons_shell_has_no_mark_of_an_agent(rig: Rig) -> None:
    reader = await rig.open(agent=False, PAGER="less", LANG="en_US.UTF-8")
    assert "[,less,en_US.UTF-8,]" in await reader.run('echo "[$AI_AGENT,$PAGER,$LANG,$LC_CTYPE]"')


async def test_secrets_of_the_host_are_not_in_the_environment(rig: Rig) -> None:
    reader = await rig.open(INNKEEPER_TOKEN="t0ken", SERVICE_PASSWORD="pa55", VSCODE_NONCE="n0nce", KEPT="kept")
    said = await reader.run("env")
    assert "KEPT=kept" in said
    assert not any(secret in said for secret in ("t0ken", "pa55", "n0nce", "INNKEEPER_"))


@SHELLS
async def test_what_is_typed_is_not_in_the_persons_history(rig: Rig, shell: str) -> None:
    history = rig.home / ".history"
    history.write_text("ls\n")
    for name in (".bashrc", ".zshrc"):
        (rig.home / name).write_text(f"HISTFILE={history}\nHISTSIZE=100\nSAVEHIST=100\n")
    reader = await rig.open(real(shell), HISTFILE=os.fspath(history))
    await reader.run("echo not-to-be-kept")
    reader.terminal.write(b"exit\r")
    async with asyncio.timeout(LIMIT):
        await reader.terminal.wait()
    assert history.read_text() == "ls\n"


@SHELLS
async def test_the_persons_own_start_up_files_are_read(rig: Rig, shell: str) -> None:
    path = real(shell)
    if shell == "/bin/bash":
        (rig.home / ".bashrc").write_text(
            "PROMPT_COMMAND='echo before; false'\nPS1='mine> '\ngreet() { echo hi there; }\n"
        )
    elif shell == "zsh":
        (rig.home / ".zshrc").write_text("precmd() { echo before; false }\nPS1='mine> '\ngreet() { echo hi there; }\n")
    else:
        (rig.home / ".shrc").write_text("echo before\nPS1='mine> '\ngreet() { echo hi there; }\n")
    reader = await rig.open(path, ENV=os.fspath(rig.home / ".shrc"))
    assert "before" in reader.text
    assert "mine> " in reader.text
    said = await reader.run("greet")
    assert "hi there" in said
    assert reader.mark("D;0") in said


async def test_a_shell_without_marks_prints_them_with_the_line(rig: Rig) -> None:
    """§5.10: shell integration, else a sentinel."""
    reader = await rig.open("/bin/sh")
    typed = reader.terminal.plain_input("echo 'one\ntwo'; false", "0ne5hot")
    assert typed is not None
    reader.terminal.write(typed)
    said = await reader.until(lambda text: "\x1b]633;D;1;0ne5hot\x07" in text)
    assert "one\r\ntwo\r\n" in said.partition("\x1b]633;C;0ne5hot\x07")[2]


async def test_where_an_agent_works_an_unknown_shell_is_replaced(tmp_path: Path) -> None:
    fish = tmp_path / "fish"
    fish.write_text("#!/bin/sh\n")
    fish.chmod(0o755)
    environment = {"SHELL": os.fspath(fish)}
    assert find_shell(environment, agent=False).kind == "other"
    assert find_shell(environment, agent=True).kind in ("bash", "zsh", "posix")
    assert find_shell({"SHELL": "bash"}, agent=False).path.startswith("/")


def test_a_line_that_no_terminal_takes_is_not_typed() -> None:
    assert typed_command("posix", "echo " + "x" * 4100) is None
    assert typed_with_marks("echo " + "x" * 4100, "n") is None
    assert typed_command("bash", "echo " + "x" * 4100) is not None
    assert typed_command("bash", "  \n") is None


async def test_programs_get_a_hang_up_and_nothing_is_left(rig: Rig) -> None:
    """Also what ignores the hang-up, has a session of its own, or runs in the background."""
    reader = await rig.open()
    await reader.run("trap '' HUP; (trap '' HUP TERM; exec sleep 301) & setsid -w sleep 302 & sleep 303 & true")
    shell = psutil.Process(reader.terminal.pid)
    pids = {shell.pid, *(child.pid for child in shell.children(recursive=True))}
    assert len(pids) >= 4
    async with asyncio.timeout(LIMIT):
        await reader.terminal.close()
    assert not wait_until_dead(pids, 1)


async def test_a_hang_up_loses_no_program_in_a_session_of_its_own(rig: Rig) -> None:
    """M5.6: the shell obeys the hang-up at once, and with it goes what leads to the program it detached."""
    reader = await rig.open()
    await reader.run("setsid -w sleep 302 & true")
    shell = psutil.Process(reader.terminal.pid)
    async with asyncio.timeout(LIMIT):
        while not (sleeping := {one.pid for one in shell.children(recursive=True) if one.name() == "sleep"}):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await reader.terminal.close()
    assert not wait_until_dead(sleeping, 1)


async def test_what_is_never_read_does_not_grow(rig: Rig) -> None:
    """A program that takes no input: a little waits, the rest is refused."""
    reader = await rig.open()
    typed = reader.terminal.command_input("stty raw -echo; sleep 300")
    assert typed is not None
    reader.terminal.write(typed)
    await reader.until(lambda text: reader.mark("C") in text)
    assert reader.terminal.write(b"x" * WAITING_BYTES)
    assert not reader.terminal.write(b"x" * WAITING_BYTES)


async def test_a_reader_that_waits_slows_the_program(rig: Rig) -> None:
    """Nothing is read ahead: `yes` stops when nobody takes its output."""
    adapter = LocalTerminals(rig.guard, {"PATH": os.environ["PATH"], "SHELL": "/bin/bash", "HOME": os.fspath(rig.home)})
    rig.made.append(adapter)
    terminal = await adapter.open(Opening(os.fspath(rig.home), agent=True))
    output = terminal.output()
    async with asyncio.timeout(LIMIT):
        await anext(output)
        terminal.write(b"yes\r")
        await asyncio.sleep(0.5)
        (yes,) = [child for child in psutil.Process(terminal.pid).children() if child.name() == "yes"]
        before = yes.cpu_times().user + yes.cpu_times().system
        await asyncio.sleep(0.3)
        assert yes.cpu_times().user + yes.cpu_times().system - before < 0.05


HOST = textwrap.dedent(
    """
    import asyncio, os, sys
    from innkeeper.ports.terminals import Opening
    from innkeeper.workspace.guarding import Guard
    from innkeeper.workspace.terminals import LocalTerminals

    async def main():
        terminals = LocalTerminals(Guard(), {"PATH": os.environ["PATH"], "HOME": "/", "SHELL": "/bin/bash"})
        terminal = await terminals.open(Opening("/", agent=True))
        terminal.write(b"trap '' HUP; setsid -w sleep 304 & sleep 305 & sleep 306\\r")
        async for piece in terminal.output():
            if b"633;C;" in piece:
                await asyncio.sleep(0.3)
                print(terminal.pid, flush=True)

    asyncio.run(main())
    """
)


@pytest.mark.parametrize("shell_obeys", [False, True], ids=["a shell that stays", "a shell that obeys the hang-up"])
def test_killing_the_host_leaves_no_orphan(shell_obeys: bool) -> None:
    """M5.6, issue 5 point 9: `kill -9` of the process that opened it, with programs in front and behind. The guardian
    is late, so whatever the death of the host sets off has happened when it looks."""
    host = subprocess.Popen(
        [sys.executable, "-c", HOST.replace("trap '' HUP; ", "" if shell_obeys else "trap '' HUP; ")],
        stdout=subprocess.PIPE,
    )
    try:
        assert host.stdout is not None
        shell = psutil.Process(int(host.stdout.readline()))
        pids = {shell.pid, *(child.pid for child in shell.children(recursive=True))}
        assert len(pids) >= 4
        (guardian,) = (one for one in psutil.Process(host.pid).children() if "guardian.py" in " ".join(one.cmdline()))
        guardian.suspend()
    finally:
        host.send_signal(signal.SIGKILL)
        host.wait()
        host.stdout.close()
    assert wait_until_dead([shell.pid], 0.5), "nothing is hung up before the guardian has looked"
    guardian.resume()
    assert not wait_until_dead(pids)
