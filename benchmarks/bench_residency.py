"""Stored sessions: start with 10,000, the first page of the list, a chat of 1,000 turns coming back, memory.

    python benchmarks/bench_residency.py                   each figure beside its goal
    python benchmarks/bench_residency.py --sessions 50000

The store is written by the log itself, as a host leaves it: each session with a chat of two turns, folded, its row in
the list, and the newest envelopes within the replay window. The host is a process of its own.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from websockets.asyncio.client import ClientConnection, connect

from innkeeper.host import listing
from innkeeper.host.states import NewSession, session_state
from innkeeper.ports.log import Batch, LogOp, PutChannel, PutEnvelope, Reserve, StoreError
from innkeeper.store.sqlite import SqliteLog
from innkeeper.wire.json import encode

ROOT = "ahp-root://"
LONG = "ahp-session:/long"
BASE = 1_790_000_000


def moment(number: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(BASE + number))


def turn(number: int, words: int) -> dict[str, Any]:
    """A turn as a reducer leaves it: a message, text, a tool call, text."""
    text = f"What the agent said in turn {number}. " * words
    call = {
        "toolCallId": f"call-{number}",
        "toolName": "bash",
        "displayName": "Run a command",
        "status": "completed",
        "confirmed": "not-needed",
        "invocationMessage": "Running the tests",
        "success": True,
        "pastTenseMessage": "Ran the tests",
        "content": [{"type": "text", "text": f"{number} passed\n" * words}],
    }
    return {
        "id": f"turn-{number}",
        "startedAt": moment(number),
        "message": {"text": f"Please look at part {number}", "origin": {"kind": "user"}},
        "responseParts": [
            {"kind": "markdown", "id": "1", "content": text},
            {"kind": "toolCall", "toolCall": call},
            {"kind": "markdown", "id": "2", "content": text},
        ],
        "state": "complete",
        "duration": 1234,
    }


def session(uri: str, number: int, turns: int) -> tuple[list[LogOp], str]:
    chat_uri = f"{uri.replace('session', 'chat')}-c"
    new = NewSession("console", chat_uri, moment(number), [f"file:///home/me/projects/project-{number % 50}"], config())
    state, chat = session_state(new)
    state.update(lifecycle="ready", title=f"What was asked first in session {number}")
    chat["turns"] = [turn(index, 8) for index in range(turns)]
    ops = [
        PutChannel(uri, "session", None, 0, encode(state), created=True),
        PutChannel(chat_uri, "chat", uri, 0, encode(chat), created=True),
        listing.row(uri, state),
    ]
    return ops, chat_uri


def config() -> dict[str, Any]:
    return {"schema": {"type": "object", "properties": {}}, "values": {"autoApprove": "default"}}


async def store(log: SqliteLog, *ops: LogOp) -> None:
    answer: asyncio.Future[StoreError | None] = asyncio.get_running_loop().create_future()
    log.submit(Batch(0, ops), answer.set_result)
    if (error := await answer) is not None:
        raise error


async def write(path: Path, sessions: int) -> str:
    """The chat of 1,000 turns."""
    log = SqliteLog(path)
    await log.open()
    await store(log, Reserve(10_000_000))
    uris = []
    for start in range(0, sessions, 100):
        ops: list[LogOp] = []
        for number in range(start, min(start + 100, sessions)):
            uris.append(f"ahp-session:/{number:032x}")
            ops.extend(session(uris[-1], number, 2)[0])
        await store(log, *ops)
    ops, chat = session(LONG, sessions, 1_000)
    await store(log, *ops)
    await envelopes(log, uris)
    await log.settle()
    await log.close(last_seq=30_000)
    return chat


async def envelopes(log: SqliteLog, uris: list[str]) -> None:
    """25,000 of the newest sessions; the older ones are below the replay window."""
    versions: dict[str, int] = {}
    for start in range(1, 25_001, 500):
        ops: list[LogOp] = []
        for seq in range(start, start + 500):
            uri = uris[-1 - seq % min(len(uris), 500)]
            action = {"type": "session/activityChanged", "activity": f"Working on step {seq}"}
            body = json.dumps({"channel": uri, "serverSeq": seq, "action": action}).encode()
            ops.append(PutEnvelope(seq, uri, body, versions.get(uri, 0)))
            versions[uri] = seq
        await store(log, *ops)


class Host:
    """A host on the folder, and one client that is counted in milliseconds."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.next_id = 0

    async def start(self) -> float:
        """Seconds from the start of the process to the answer to the first `initialize`."""
        environment = {**os.environ, "INNKEEPER_HOME": str(self.home)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = (sys.executable, "-m", "innkeeper", "serve", "--quiet", "--no-token", "--port", "0")
        began = time.perf_counter()
        self.process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        assert self.process.stdout is not None
        port = int((await self.process.stdout.readline()).decode().removeprefix("READY:"))
        self.socket: ClientConnection = await connect(f"ws://127.0.0.1:{port}/", max_size=None, compression=None)
        await self.ask("initialize", protocolVersions=["1.0.0"], clientId="bench", initialSubscriptions=[ROOT])
        return time.perf_counter() - began

    async def ask(self, method: str, channel: str = ROOT, **params: Any) -> tuple[float, Any]:
        """Seconds to the answer's last byte, and the result."""
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": {"channel": channel, **params}}
        began = time.perf_counter()
        await self.socket.send(json.dumps(message))
        async for data in self.socket:
            took = time.perf_counter() - began
            answer = json.loads(data)
            if answer.get("id") == self.next_id:
                return took, answer["result"]
        raise ConnectionError("the host is gone")

    def processor(self) -> float:
        """Seconds of processor time so far; a busy machine does not change it as it changes wall-clock time."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def memory(self) -> float:
        """MiB of resident memory."""
        return psutil.Process(self.process.pid).memory_info().rss / 2**20

    async def end(self) -> float:
        """Seconds."""
        await self.socket.close()
        began = time.perf_counter()
        self.process.terminate()
        await self.process.wait()
        return time.perf_counter() - began


def show(name: str, value: float, unit: str, goal: float | None = None) -> None:
    mark = "" if goal is None else f"   goal {goal:,g} {unit}{'' if value <= goal else ': missed'}"
    print(f"{name:52} {value:10,.1f} {unit}{mark}")


async def measure(folder: Path, sessions: int) -> None:
    empty, full = Host(folder / "empty"), Host(folder / "full")
    lives = [await life(empty) for _ in range(5)]
    show("start to first initialize, no sessions, best of 5", min(lives)[0] * 1000, "ms")
    show("  processor time of it", min(used for _, used in lives) * 1000, "ms")
    await empty.start()
    nothing = empty.memory()
    await empty.end()
    database = full.home / "data" / "innkeeper.db"
    database.parent.mkdir(parents=True)
    chat = await write(database, sessions)
    show(f"database of {sessions:,} sessions", database.stat().st_size / 2**20, "MiB")
    lives = [await life(full) for _ in range(5)]
    show("start to first initialize, best of 5", min(lives)[0] * 1000, "ms", 1_000)
    show("  processor time of it", min(used for _, used in lives) * 1000, "ms")
    await full.start()
    show("memory beside that of an empty host", full.memory() - nothing, "MiB")
    took, page = await full.ask("listSessions")
    show(f"listSessions, first page ({len(page['items'])} of them)", took * 1000, "ms", 20)
    pages = []
    while (cursor := page.get("nextCursor")) is not None:
        took, page = await full.ask("listSessions", cursor=cursor)
        pages.append(took)
    show(f"listSessions, the slowest of {len(pages)} further pages", max(pages) * 1000, "ms", 20)
    took, answer = await full.ask("subscribe", chat)
    show(f"restore of {len(answer['snapshot']['state']['turns']):,} turns", took * 1000, "ms", 300)
    took, _ = await full.ask("subscribe", f"ahp-session:/{7:032x}")
    show("restore of a session", took * 1000, "ms")
    show("end", await full.end() * 1000, "ms", 3_000)


async def life(host: Host) -> tuple[float, float]:
    """Seconds to the first `initialize`, and of processor time until then."""
    took, used = await host.start(), host.processor()
    await host.end()
    return took, used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), options.sessions))


if __name__ == "__main__":
    main()
