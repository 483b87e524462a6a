"""A real host in a process of its own, and a bare client that keeps every frame it got."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from innkeeper.reduce import reduce

ROOT = "ahp-root://"
WAIT = 30.0


class HostProcess:
    """`innkeeper serve --quiet` on a home folder; `start` returns when it listens. Use it in `async with`. `program` is
    what Python runs."""

    def __init__(
        self, home: Path, *arguments: str, port: int = 0, program: tuple[str, ...] = ("-m", "innkeeper")
    ) -> None:
        self.home = home
        self._program = program
        self.port = port
        self._arguments = arguments
        self.process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    async def start(self) -> "HostProcess":
        command = (sys.executable, *self._program, "serve", "--quiet", "--no-token", "--port", str(self.port))
        self.process = await asyncio.create_subprocess_exec(
            *command,
            *self._arguments,
            env={**os.environ, "INNKEEPER_HOME": str(self.home)},
            stdout=asyncio.subprocess.PIPE,
        )
        assert self.process.stdout is not None
        async with asyncio.timeout(WAIT):
            line = (await self.process.stdout.readline()).decode()
        assert line.startswith("READY:"), f"the host said {line!r}"
        self.port = int(line.removeprefix("READY:"))
        return self

    async def __aenter__(self) -> "HostProcess":
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        """No host outlives its test, also one that failed."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    async def end(self, number: int = signal.SIGTERM) -> int:
        """The exit code."""
        if self.process is None or self.process.returncode is not None:
            return 0 if self.process is None else int(self.process.returncode or 0)
        self.process.send_signal(number)
        async with asyncio.timeout(WAIT):
            return await self.process.wait()


class BareClient:
    """JSON-RPC over one socket; `states` is what it makes of what it was sent, `seen` the greatest number."""

    def __init__(self, client_id: str) -> None:
        self.client_id = client_id
        self.socket: ClientConnection | None = None
        self.states: dict[str, Any] = {}
        self.kinds: dict[str, str] = {}
        self.seen = 0
        self.envelopes: dict[int, dict[str, Any]] = {}
        self.rejections: list[str] = []
        self.client_seq = 0
        self._next_id = 0
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self.ended = False

    async def open(self, url: str, *, token: str | None = None) -> "BareClient":
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.ended = False
        self.socket = await connect(url, max_size=None, compression=None, additional_headers=headers)
        self._reader = asyncio.create_task(self._read())
        return self

    async def close(self) -> None:
        if self.socket is not None:
            await self.socket.close()
        if self._reader is not None:
            await self._reader

    async def _read(self) -> None:
        assert self.socket is not None
        try:
            with contextlib.suppress(ConnectionClosed):  # a host that was killed says no good-bye
                async for data in self.socket:
                    self._take(json.loads(data))
        finally:
            self.ended = True
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(ConnectionError("the host is gone"))
            self._news.set()

    def _take(self, message: dict[str, Any]) -> None:
        if message.get("method") == "action":
            self.apply(message["params"])
        elif "id" in message and "method" not in message:
            answer = self._answers.pop(message["id"], None)
            if answer is not None and not answer.done():
                answer.set_result(message)
        self._news.set()

    def apply(self, envelope: dict[str, Any]) -> None:
        seq, channel = envelope["serverSeq"], envelope["channel"]
        self.seen = max(self.seen, seq)
        if "rejectionReason" in envelope:
            self.rejections.append(envelope["rejectionReason"])
            return
        known = self.envelopes.setdefault(seq, envelope)
        assert known == envelope, f"number {seq} was used for two different envelopes"
        if channel in self.states:
            self.states[channel] = reduce(self.kinds[channel], self.states[channel], envelope["action"])  # type: ignore[arg-type]

    def snapshot(self, snapshot: dict[str, Any]) -> None:
        channel, state = snapshot["resource"], snapshot["state"]
        self.states[channel] = state
        kinds = {"content": "terminal", "lifecycle": "session", "turns": "chat", "files": "changeset"}
        self.kinds[channel] = next((kind for field, kind in kinds.items() if field in state), "root")
        self.seen = max(self.seen, snapshot["fromSeq"])

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The whole answer; ConnectionError when the host goes away."""
        return await self.ask_raw(method, params)

    async def ask_raw(self, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        assert self.socket is not None
        self._next_id += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[self._next_id] = answer
        message = {"jsonrpc": "2.0", "id": self._next_id, "method": method}
        await self.socket.send(json.dumps(message if params is None else {**message, "params": params}))
        async with asyncio.timeout(WAIT):
            result: dict[str, Any] = await answer
        return result

    async def initialize(self, *subscriptions: str, versions: tuple[str, ...] = ("1.0.0",)) -> dict[str, Any]:
        answer = await self.ask(
            "initialize",
            channel=ROOT,
            protocolVersions=list(versions),
            clientId=self.client_id,
            initialSubscriptions=list(subscriptions),
        )
        for snapshot in answer.get("result", {}).get("snapshots", ()):
            self.snapshot(snapshot)
        return answer

    async def reconnect(self) -> str:
        """Resume with what is subscribed; `replay`, `snapshot` or `unknown`."""
        wanted = list(self.states)
        answer = await self.ask(
            "reconnect", channel=ROOT, clientId=self.client_id, lastSeenServerSeq=self.seen, subscriptions=wanted
        )
        if "error" in answer:
            assert answer["error"]["code"] == -32008, answer
            self.states.clear()
            await self.initialize(*wanted)
            return "unknown"
        result = answer["result"]
        if result["type"] == "replay":
            for envelope in result["actions"]:
                self.apply(envelope)
            for gone in result["missing"]:
                self.states.pop(gone, None)
        else:
            self.states.clear()
            for snapshot in result["snapshots"]:
                self.snapshot(snapshot)
        kind: str = result["type"]
        return kind

    async def subscribe(self, channel: str) -> Any:
        answer = await self.ask("subscribe", channel=channel)
        self.snapshot(answer["result"]["snapshot"])
        return answer["result"]["snapshot"]["state"]

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        assert self.socket is not None
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}))

    async def dispatch(self, channel: str, action: dict[str, Any]) -> int:
        assert self.socket is not None
        self.client_seq += 1
        params = {"channel": channel, "clientSeq": self.client_seq, "action": action}
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "method": "dispatchAction", "params": params}))
        return self.client_seq

    async def until(self, found: Any) -> Any:
        """What `found()` gives once it gives something."""
        async with asyncio.timeout(WAIT):
            while not (result := found()):
                self._news.clear()
                await self._news.wait()
        return result
