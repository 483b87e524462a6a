"""One JSON message a line on pipes and files (AHP §1; issue 2, section 5)."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.edge.stdio import Lines, StdioConnection
from innkeeper.engine.effects import Frame

pytestmark = pytest.mark.anyio


class Pipes:
    """Both ways to a host; an end is closed once, whoever does it."""

    def __init__(self) -> None:
        (theirs, to_host), (from_host, ours) = os.pipe(), os.pipe()
        self.theirs, self.to_host = FileIO(theirs), FileIO(to_host, "w")
        self.from_host, self.ours = FileIO(from_host), FileIO(ours, "w")

    def connection(self, host: Any, **more: Any) -> StdioConnection:
        return StdioConnection(host.attach, read_from=self.theirs.fileno(), write_to=self.ours.fileno(), **more)


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    """The host's ends outlive its threads: a number that is closed under one is the next test's file."""
    made = Pipes()
    yield made
    made.to_host.close()
    made.from_host.close()
    for thread in threading.enumerate():
        if thread.name.startswith("edge.stdio."):
            thread.join(5)
            assert not thread.is_alive()
    made.theirs.close()
    made.ours.close()


async def within(waiting: Awaitable[Any]) -> Any:
    async with asyncio.timeout(5):
        return await waiting


async def test_lines_are_messages_and_the_end_of_input_ends_the_host(pipes: Pipes, recording: Any) -> None:
    host = recording()
    serving = asyncio.create_task(pipes.connection(host).serve())
    pipes.to_host.write(b'{"a":1}\n\n  \r\n{"b"')
    pipes.to_host.write(b":2}\nlast without newline")
    pipes.to_host.close()
    await within(serving)
    assert host.links[0].heard == [b'{"a":1}', b'{"b":2}', b"last without newline"]
    assert host.links[0].gone.is_set()
    assert pipes.from_host.read(1000) == b'echo {"a":1}\necho {"b":2}\necho last without newline\n'


async def test_files_work_as_well_as_pipes(tmp_path: Path, recording: Any) -> None:
    (tmp_path / "in").write_bytes(b"one\ntwo\n")
    host = recording()
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as target:
        await within(StdioConnection(host.attach, read_from=source.fileno(), write_to=target.fileno()).serve())
    assert (tmp_path / "out").read_bytes() == b"echo one\necho two\n"


async def test_a_line_that_is_too_long_is_handed_on_cut_off_and_the_next_one_is_fine(
    pipes: Pipes, recording: Any
) -> None:
    """The wire layer answers it as too large."""
    host = recording()
    connection = pipes.connection(host, message_bytes=1000)
    serving = asyncio.create_task(connection.serve())
    await asyncio.to_thread(pipes.to_host.write, b"x" * 300_000 + b"\nnext\n")
    pipes.to_host.close()
    await within(serving)
    assert host.links[0].heard == [b"x" * 1001, b"next"]


async def test_a_reader_that_went_away_ends_the_host(pipes: Pipes, recording: Any) -> None:
    host = recording()
    serving = asyncio.create_task(pipes.connection(host).serve())
    pipes.from_host.close()
    pipes.to_host.write(b"anyone?\n")
    await within(serving)
    assert host.links[0].gone.is_set()


async def test_a_reader_that_does_not_read_bounds_the_memory_and_does_not_delay_the_end(
    pipes: Pipes, recording: Any
) -> None:
    host = recording()
    connection = pipes.connection(host)
    serving = asyncio.create_task(connection.serve())
    await asyncio.sleep(0)
    peer = host.links[0].peer
    sent = 0
    while not peer.closing:
        peer.send(Frame(b"x" * 100_000))
        await asyncio.sleep(0)
        sent += 1
        assert sent < 1000
    connection.stop()
    await within(serving)
    assert host.links[0].gone.is_set()


lines = st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=8)


@given(lines, st.booleans(), st.integers(1, 20))
def test_every_line_comes_out_once_cut_off_at_the_limit(given: list[bytes], ended: bool, longest: int) -> None:
    data = b"\n".join(given) + (b"\n" if ended else b"")
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, data)
        os.close(write_end)
        found = list(Lines(read_end, longest))
    finally:
        os.close(read_end)
    cut = [line[: longest + 1] for line in given]
    assert [line for line in found if line.strip()] == [line for line in cut if line.strip()]
