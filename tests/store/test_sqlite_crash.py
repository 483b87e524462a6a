"""SIGKILL at any moment: what was acknowledged is there, once; no number is used again (architecture §3.13, §7)."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from innkeeper.ports.log import LogImage, StoredChannel
from innkeeper.store.sqlite import SqliteLog

pytestmark = pytest.mark.anyio

ROUNDS = 200 if os.environ.get("INNKEEPER_SOAK") == "1" else 20
PROGRAM = Path(__file__).parent / "kill_me.py"


def run_and_kill(path: Path, seed: int, after_lines: int) -> list[str]:
    """What the program said before it was killed, in the midst of writing, after so many acknowledgements."""
    with subprocess.Popen([sys.executable, str(PROGRAM), str(path), str(seed)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        guard = threading.Timer(20, process.kill)
        guard.start()
        lines = [process.stdout.readline() for _ in range(after_lines)]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.readlines()
        guard.cancel()
    assert process.returncode == -signal.SIGKILL
    return [line.decode().rstrip("\n") for line in lines if line.endswith(b"\n")]


class Witness:
    """What the programs said, over all rounds."""

    def __init__(self) -> None:
        self.acknowledged: dict[int, str] = {}
        """Channel by number."""
        self.dropping: set[str] = set()
        self.dropped: set[str] = set()

    def hear(self, lines: list[str]) -> None:
        word, reserved = lines[0].split(" ")
        assert word == "start" and int(reserved) >= max(self.acknowledged, default=0)
        for line in lines[1:]:
            word, _, rest = line.partition(" ")
            if word == "dropping":
                self.dropping.add(rest)
            elif word == "dropped":
                self.dropped.add(rest)
            else:
                self._hear_numbers(dict(item.split(":") for item in rest.split()), int(reserved))

    def _hear_numbers(self, channels: dict[str, str], reserved: int) -> None:
        for number, channel in channels.items():
            assert int(number) > reserved and int(number) not in self.acknowledged
            self.acknowledged[int(number)] = channel

    def check(self, image: LogImage, stored_channels: Sequence[StoredChannel]) -> None:
        channels = {row.channel: row for row in stored_channels}
        assert not channels.keys() & self.dropped
        assert set(self.acknowledged.values()) - channels.keys() <= self.dropping
        stored = {envelope.seq: envelope.channel for envelope in image.window}
        assert len(stored) == len(image.window) and set(stored.values()) <= channels.keys()
        for seq, channel in self.acknowledged.items():
            if channel in channels:
                assert seq <= channels[channel].version
                assert seq <= image.window_start or stored[seq] == channel
        assert all(
            envelope.body.startswith(f"{envelope.channel} {envelope.seq} ".encode()) for envelope in image.window
        )
        for row in stored_channels:
            tail = [int(body.split(b" ")[1]) for body in row.tail]
            assert tail == sorted(set(tail)) and row.version == max([row.snapshot_seq, *tail])
            assert all(stored[seq] == row.channel for seq in tail if seq > image.window_start)
        assert image.reserved >= image.last_seq >= max(self.acknowledged, default=0)
        if image.reserved > image.last_seq:
            assert image.gaps[-1] == (image.last_seq + 1, image.reserved)


async def look(path: Path) -> tuple[LogImage, list[StoredChannel]]:
    """The image as the next start reads it, and every channel."""
    log = SqliteLog(path, replay_envelopes=2000)
    image = await log.open()
    read = [await log.channel(channel) for channel, _, _ in image.dormant]
    await log.close(last_seq=0)
    return image, [row for row in read if row is not None]


async def test_nothing_acknowledged_is_lost_and_no_number_is_used_twice_over_many_kills(tmp_path: Path) -> None:
    path = tmp_path / "innkeeper.db"
    chance = random.Random(4711)
    witness = Witness()
    lost = 0
    for round_ in range(ROUNDS):
        witness.hear(run_and_kill(path, round_, chance.randint(1, 250)))
        if chance.random() < 0.7:
            image, channels = await look(path)
            witness.check(image, channels)
            lost += image.reserved > image.last_seq
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert lost > ROUNDS // 3 and len(witness.acknowledged) > 20 * ROUNDS and witness.dropped
