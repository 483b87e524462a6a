"""One JSON message a line on pipes and files (AHP §1; issue 2, section 5)."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.edge.stdio import Lines, StdioConnection
from innkeeper.engine.effects import Frame

pytestmark = pytest.mark.anyio


@pytest.fixture
def pipes() -> Iterator[Callable[[], tuple[int, int]]]:
    opened: list[int] = []

    def make() -> tuple[int, int]:
        ends = os.pipe()
        opened.extend(ends)
        return ends

    yield make
    for descriptor in opened:
        try:
            os.close(descriptor)
        except OSError:
            continue


async def within(waiting: Awaitable[Any]) -> Any:
    async with asyncio.timeout(5):
        return await waiting


async def test_lines_are_messages_and_the_end_of_input_ends_the_host(pipes: Any, recording: Any) -> None:
    (theirs, to_host), (from_host, ours) = pipes(), pipes()
    host = recording()
    serving = asyncio.create_task(StdioConnection(host.attach, read_from=theirs, write_to=ours).serve())
    os.write(to_host, b'{"a":1}\n\n  \r\n{"b"')
    os.write(to_host, b":2}\nlast without newline")
    os.close(to_host)
    await within(serving)
    assert host.links[0].heard == [b'{"a":1}', b'{"b":2}', b"last without newline"]
    assert host.links[0].gone.is_set()
    assert os.read(from_host, 1000) == b'echo {"a":1}\necho {"b":2}\necho last without newline\n'


async def test_files_work_as_well_as_pipes(tmp_path: Path, recording: Any) -> None:
    (tmp_path / "in").write_bytes(b"one\ntwo\n")
    host = recording()
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as target:
        await within(StdioConnection(host.attach, read_from=source.fileno(), write_to=target.fileno()).serve())
    assert (tmp_path / "out").read_bytes() == b"echo one\necho two\n"


async def test_a_line_that_is_too_long_is_handed_on_cut_off_and_the_next_one_is_fine(
    pipes: Any, recording: Any
) -> None:
    """The wire layer answers it as too large."""
    (theirs, to_host), (_, ours) = pipes(), pipes()
    host = recording()
    connection = StdioConnection(host.attach, read_from=theirs, write_to=ours, message_bytes=1000)
    serving = asyncio.create_task(connection.serve())
    await asyncio.to_thread(os.write, to_host, b"x" * 300_000 + b"\nnext\n")
    os.close(to_host)
    await within(serving)
    assert host.links[0].heard == [b"x" * 1001, b"next"]


async def test_a_reader_that_went_away_ends_the_host(pipes: Any, recording: Any) -> None:
    (theirs, to_host), (from_host, ours) = pipes(), pipes()
    host = recording()
    serving = asyncio.create_task(StdioConnection(host.attach, read_from=theirs, write_to=ours).serve())
    os.close(from_host)
    os.write(to_host, b"anyone?\n")
    await within(serving)
    assert host.links[0].gone.is_set()


async def test_a_reader_that_does_not_read_bounds_the_memory_and_does_not_delay_the_end(
    pipes: Any, recording: Any
) -> None:
    (theirs, _), (_, ours) = pipes(), pipes()
    host = recording()
    connection = StdioConnection(host.attach, read_from=theirs, write_to=ours)
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
