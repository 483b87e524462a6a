"""Writes batches until it is killed, and says on stdout which are durable; a program of `test_sqlite_crash.py`.

Arguments: the database, then the seed of what is written. `start <reserved>` is the first line; numbers go on above
that mark. Each acknowledged batch is a line `ack <number>:<channel>...`. A drop is announced with `dropping <channel>`
before it is submitted, and `dropped <channel>` follows when it is durable.
"""

import asyncio
import os
import random
import sys
from pathlib import Path

from innkeeper.ports.log import Batch, DropChannel, LogImage, LogOp, PutChannel, PutEnvelope, Reserve, StoreError
from innkeeper.store.sqlite import SqliteLog

BLOCK = 200


class Load:
    """What a host would submit: envelopes of a few channels, snapshots, drops, reserved blocks."""

    def __init__(self, log: SqliteLog, image: LogImage, seed: int) -> None:
        self.log = log
        self.random = random.Random(seed)
        self.seq = image.reserved
        self.mark = image.reserved
        self.versions: dict[str, int] = {}
        self.created = image.reserved
        self.open = 0

    def next(self) -> None:
        ops: list[LogOp] = []
        numbers: list[str] = []
        dropped = ""
        if self.seq + 10 > self.mark:
            self.mark += BLOCK
            ops.append(Reserve(self.mark))
        if len(self.versions) < 3:
            self.created += 1
            channel = f"s{self.created}-{os.getpid()}"
            self.versions[channel] = self.seq
            ops.append(PutChannel(channel, "session", None, self.seq, b"{}", created=True))
        elif self.random.random() < 0.02:
            dropped = self.random.choice(sorted(self.versions))
            os.write(1, f"dropping {dropped}\n".encode())
            del self.versions[dropped]
            ops.append(DropChannel(dropped))
        for _ in range(self.random.randint(1, 4) if self.versions else 0):
            channel = self.random.choice(sorted(self.versions))
            self.seq += 1
            numbers.append(f"{self.seq}:{channel}")
            body = f"{channel} {self.seq} ".encode() + b"x" * self.random.randint(0, 3000)
            ops.append(PutEnvelope(self.seq, channel, body, self.versions[channel]))
            self.versions[channel] = self.seq
            if self.random.random() < 0.1:
                ops.append(PutChannel(channel, "session", None, self.seq, f"{self.seq}".encode(), created=False))
        self.open += 1
        self.log.submit(Batch(0, tuple(ops)), lambda error: self.done(error, numbers, dropped))

    def done(self, error: StoreError | None, numbers: list[str], dropped: str) -> None:
        assert error is None, error
        self.open -= 1
        line = f"ack {' '.join(numbers)}\n" + (f"dropped {dropped}\n" if dropped else "")
        os.write(1, line.encode())


async def main() -> None:
    log = SqliteLog(Path(sys.argv[1]), replay_envelopes=2000)
    image = await log.open()
    os.write(1, f"start {image.reserved}\n".encode())
    load = Load(log, image, int(sys.argv[2]))
    for channel, _, _ in image.dormant:
        stored = await log.channel(channel)
        assert stored is not None
        load.versions[channel] = stored.version
    while True:
        while load.open < 20:
            load.next()
        await asyncio.sleep(0)


if __name__ == "__main__":
    sys.setswitchinterval(1e-4)
    asyncio.run(main())
