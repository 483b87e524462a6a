"""Whatever is submitted, in whatever order, the SQLite log and its memory twin give the same answers and images."""

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.ports.decisions import Decision, DropDecision, PutDecision
from innkeeper.ports.log import Batch, DropChannel, LogImage, LogOp, PutChannel, PutClient, PutEnvelope, Reserve
from innkeeper.store.memory import MemoryLog
from innkeeper.store.sqlite import SqliteLog

CHANNELS = ("r", "s1", "s2", "c1", "c2", "t1")
OWNERS = {"c1": "s1", "c2": "s2", "t1": "c1"}
LIMITS: dict[str, Any] = {"replay_envelopes": 6, "replay_bytes": 60}

channels = st.sampled_from(CHANNELS)
kinds = st.sampled_from(["envelope"] * 6 + ["stale", "create", "create", "fold", "drop", "reserve", "client", "decide"])
batches = st.lists(st.tuples(st.lists(st.tuples(kinds, channels), max_size=5), st.booleans()), max_size=12)
runs = st.lists(st.tuples(batches, st.sampled_from(["close", "settle"])), min_size=1, max_size=4)


class Author:
    """Turns drawn steps into operations; mostly valid ones, as it knows the stored versions before each batch."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.seq = 0

    def op(self, kind: str, channel: str) -> LogOp:
        version = self.versions.get(channel, 0)
        match kind:
            case "envelope" | "stale":
                self.seq += 1
                expected = version + (kind == "stale")
                self.versions[channel] = self.seq
                return PutEnvelope(self.seq, channel, b"%d" % self.seq * (self.seq % 7 + 1), expected)
            case "create" | "fold":
                if kind == "create":
                    self.versions[channel] = self.seq
                seq = self.versions.get(channel, 0)
                return PutChannel(channel, "k", OWNERS.get(channel), seq, b"%d" % seq, created=kind == "create")
            case "drop":
                return DropChannel(channel)
            case "reserve":
                return Reserve(self.seq + 5)
            case "client":
                return PutClient(channel, "1.0.0", b"%d" % self.seq)
            case _:
                decision = Decision(channel, "global", "", self.seq % 2 == 0, "now")
                return DropDecision(decision.slot) if self.seq % 5 == 0 else PutDecision(decision)


def comparable(image: LogImage) -> LogImage:
    """When something below the window is pruned is each adapter's own matter; all else is equal."""
    return replace(image, window_start=0)


async def agree(drawn: list[tuple[list[tuple[list[tuple[str, str]], bool]], str]], folder: Path) -> None:
    memory, path, author, epoch = MemoryLog(immediate=True, **LIMITS), folder / "innkeeper.db", Author(), 0
    for submitted, end in drawn:
        memory, sqlite = memory.crash(), SqliteLog(path, **LIMITS)
        images = await memory.open(), await sqlite.open()
        assert comparable(images[0]) == comparable(images[1])
        author.seq = max(author.seq, images[0].reserved)
        answers: tuple[list[str], list[str]] = ([], [])
        for steps, newer in submitted:
            epoch += newer
            author.versions = {row.channel: row.version for row in memory._contents.channels.values()}
            batch = Batch(epoch, tuple(author.op(kind, channel) for kind, channel in steps))
            for log, heard in zip((memory, sqlite), answers, strict=True):
                log.submit(batch, lambda error, heard=heard: heard.append(repr(error)))  # type: ignore[misc]
        for channel in CHANNELS:
            assert await memory.channel(channel) == await sqlite.channel(channel)
        if end == "settle":
            await sqlite.settle()
        await asyncio.gather(memory.close(last_seq=author.seq), sqlite.close(last_seq=author.seq))
        assert answers[0] == answers[1] and len(answers[0]) == len(submitted)


@settings(max_examples=100, deadline=None)
@given(runs)
def test_the_sqlite_log_and_its_memory_twin_agree(
    drawn: list[tuple[list[tuple[list[tuple[str, str]], bool]], str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert asyncio.run(agree(drawn, Path(folder))) is None
