"""What every adapter of `ports.terminals` does: bash and sh on real pseudo-terminals, and the twin that tests use."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from innkeeper.ports.terminals import Opening, Size, Terminals
from innkeeper.workspace.guarding import Guard
from innkeeper.workspace.terminals import LocalTerminals
from scripted.terminals import LIMIT, FakeTerminals, Reader

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["bash", "sh", "twin"])
async def terminals(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Terminals]:
    guard = Guard()
    adapter: Terminals
    if request.param == "twin":
        adapter = FakeTerminals(missing=(os.fspath(tmp_path / "missing"),))
    else:
        environment = {"PATH": os.environ["PATH"], "SHELL": f"/bin/{request.param}", "HOME": os.fspath(tmp_path)}
        adapter = LocalTerminals(guard, environment)
    yield adapter
    async with asyncio.timeout(LIMIT):
        await adapter.close()
        await guard.close()


async def opened(terminals: Terminals, tmp_path: Path, **more: object) -> Reader:
    reader = Reader(await terminals.open(Opening(os.fspath(tmp_path), **more)))  # type: ignore[arg-type] # a test's
    await reader.prompt()
    return reader


async def test_a_command_is_marked_with_its_output_and_code(terminals: Terminals, tmp_path: Path) -> None:
    reader = await opened(terminals, tmp_path)
    said = await reader.run("echo hello")
    assert "hello\r\n" in said.partition(reader.mark("C"))[2].partition(reader.mark("D;0"))[0]
    assert reader.mark("D;1") in await reader.run("false")


async def test_the_directory_is_told(terminals: Terminals, tmp_path: Path) -> None:
    reader = await opened(terminals, tmp_path)
    assert reader.mark(f"P;Cwd={tmp_path}") in reader.text


async def test_the_size_is_the_given_one_and_follows(terminals: Terminals, tmp_path: Path) -> None:
    """§5.10: 80 x 24 at first."""
    reader = await opened(terminals, tmp_path)
    assert "24 80" in await reader.run("stty size")
    reader.terminal.resize(Size(100, 30))
    assert "30 100" in await reader.run("stty size")


async def test_the_exit_code_stays(terminals: Terminals, tmp_path: Path) -> None:
    reader = await opened(terminals, tmp_path)
    assert reader.terminal.exit_code is None
    reader.terminal.write(b"exit 7\r")
    async with asyncio.timeout(LIMIT):
        assert await reader.terminal.wait() == 7
        await reader.task
    assert reader.terminal.exit_code == 7
    assert not reader.terminal.write(b"more\r")


async def test_closing_ends_what_runs_and_the_output(terminals: Terminals, tmp_path: Path) -> None:
    reader = await opened(terminals, tmp_path)
    typed = reader.terminal.command_input("sleep 300")
    assert typed is not None
    reader.terminal.write(typed)
    await reader.until(lambda text: reader.mark("C") in text)
    async with asyncio.timeout(LIMIT):
        await reader.terminal.close()
        await reader.terminal.close()
        await reader.task
    assert reader.terminal.exit_code is not None


async def test_an_interrupt_gives_the_prompt_back(terminals: Terminals, tmp_path: Path) -> None:
    reader = await opened(terminals, tmp_path)
    typed = reader.terminal.command_input("sleep 300")
    assert typed is not None
    reader.terminal.write(typed)
    await reader.until(lambda text: reader.mark("C") in text)
    await asyncio.sleep(0.1)  # the program is in the foreground a moment after the mark
    reader.terminal.write(b"\x03")
    assert reader.mark("D;130") in await reader.prompt(2)


async def test_a_folder_that_is_not_there_is_an_error(terminals: Terminals, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        await terminals.open(Opening(os.fspath(tmp_path / "missing")))


async def test_control_characters_are_not_typed(terminals: Terminals, tmp_path: Path) -> None:
    reader = await opened(terminals, tmp_path)
    assert reader.terminal.command_input("echo \x03") is None
    assert reader.terminal.command_input("echo \x1b[A") is None


async def test_each_terminal_has_a_nonce_of_its_own(terminals: Terminals, tmp_path: Path) -> None:
    first, second = await opened(terminals, tmp_path), await opened(terminals, tmp_path)
    assert first.terminal.nonce != second.terminal.nonce
