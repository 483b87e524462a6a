"""A small AHP host in this process, for the client to talk to."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from innkeeper.client.memory import MemoryEnd, MemoryTransport
from innkeeper.client.transport import TransportClosed
from innkeeper.reduce import reduce

ROOT = "ahp-root://"
SESSION = "ahp-session:/s"


def session_state(**more: Any) -> dict[str, Any]:
    return {
        "provider": "console",
        "title": "first",
        "status": 1,
        "lifecycle": "ready",
        "activeClients": [],
        "chats": [],
        **more,
    }


class FakeHost:
    """Serves two channels to any number of clients; what it must do wrong is set by its attributes."""

    def __init__(self) -> None:
        self.states: dict[str, Mapping[str, Any]] = {ROOT: {"agents": []}, SESSION: session_state()}
        self.kinds = {ROOT: "root", SESSION: "session"}
        self.log: list[dict[str, Any]] = []
        self.seq = 100
        self.received: list[tuple[str, dict[str, Any]]] = []
        self.answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.resume = "replay"
        self.refuse_connections = 0
        self.supported: list[str] | None = None
        self.silent: set[str] = set()
        self.deaf = False
        self._arrived = asyncio.Event()
        self._ends: list[MemoryEnd] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._seen: set[int] = set()

    def transport(self) -> MemoryTransport:
        return MemoryTransport(self._accept)

    def act(self, channel: str, action: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        self.seq += 1
        envelope = {"channel": channel, "action": action, "serverSeq": self.seq, **more}
        if "rejectionReason" not in more:
            self.states[channel] = reduce(self.kinds[channel], self.states[channel], action)  # type: ignore[arg-type]
            self.log.append(envelope)
        return envelope

    async def foreign(self, channel: str, action: Mapping[str, Any]) -> None:
        await self.tell("action", self.act(channel, action))

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        for end in self._ends:
            await self.send(end, {"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, id: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        await self.send(self._ends[-1], {"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        async with asyncio.timeout(5):
            return await self.answers.get()

    async def send(self, end: MemoryEnd, message: object) -> None:
        await end.send(message if isinstance(message, str) else json.dumps(message))

    async def raw(self, text: str) -> None:
        await self._ends[-1].send(text)

    async def drop(self, code: int = 1006, reason: str = "") -> None:
        ends, self._ends = self._ends, []
        for end in ends:
            await end.close(code, reason)

    async def heard(self, method: str) -> None:
        """Waits until a client has sent `method`."""
        async with asyncio.timeout(5):
            while method not in self.methods():
                self._arrived.clear()
                await self._arrived.wait()

    def methods(self) -> list[str]:
        return [method for method, _ in self.received]

    def params(self, method: str) -> list[dict[str, Any]]:
        return [params for name, params in self.received if name == method]

    async def close(self) -> None:
        await self.drop()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _accept(self, end: MemoryEnd) -> None:
        if self.refuse_connections:
            self.refuse_connections -= 1
            raise ConnectionRefusedError("nobody listens")
        self._ends.append(end)
        task = asyncio.create_task(self._serve(end))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, end: MemoryEnd) -> None:
        try:
            while True:
                message = json.loads(await end.receive())
                if "method" not in message:
                    await self.answers.put(message)
                    continue
                self.received.append((message["method"], message["params"]))
                self._arrived.set()
                if self.deaf or message["method"] in self.silent:
                    continue
                if "id" in message:
                    answer = self._answer(message["method"], message["params"])
                    await self.send(end, {"jsonrpc": "2.0", "id": message["id"], **answer})
                elif message["method"] == "dispatchAction":
                    await self._dispatched(message["params"])
        except TransportClosed:
            pass

    async def _dispatched(self, params: dict[str, Any]) -> None:
        if params["clientSeq"] in self._seen:
            return
        self._seen.add(params["clientSeq"])
        origin = {"origin": {"clientId": "me", "clientSeq": params["clientSeq"]}}
        if params["action"].get("title") == "forbidden":
            origin["rejectionReason"] = "that title is taken"
        await self.tell("action", self.act(params["channel"], params["action"], **origin))

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize" if self.supported is not None:
                data = {"supportedVersions": self.supported}
                return {"error": {"code": -32005, "message": "no common version", "data": data}}
            case "initialize":
                snapshots = self._snapshots(params["initialSubscriptions"])
                return {"result": {"protocolVersion": "1.0.0", "serverSeq": self.seq, "snapshots": snapshots}}
            case "reconnect" if self.resume == "unknown":
                return {"error": {"code": -32008, "message": "unknown client"}}
            case "reconnect" if self.resume == "replay":
                after = params["lastSeenServerSeq"]
                missed = [envelope for envelope in self.log if envelope["serverSeq"] > after]
                missing = [uri for uri in params["subscriptions"] if uri not in self.states]
                return {"result": {"type": "replay", "actions": missed, "missing": missing}}
            case "reconnect":
                return {"result": {"type": "snapshot", "snapshots": self._snapshots(params["subscriptions"])}}
            case "subscribe" if params["channel"] in self.states:
                return {"result": {"snapshot": self._snapshots([params["channel"]])[0]}}
            case "ping":
                return {"result": None}
            case "listSessions":
                page = int(params.get("cursor", "0"))
                more = {} if page == 1 else {"nextCursor": str(page + 1)}
                return {"result": {"items": [{"resource": f"ahp-session:/{page}"}], **more}}
            case "createSession" | "createChat" | "fetchTurns" | "disposeSession":
                return {"result": None}
        return {"error": {"code": -32008, "message": "not found", "data": {"what": method}}}

    def _snapshots(self, uris: list[str]) -> list[dict[str, Any]]:
        return [{"resource": uri, "state": self.states[uri], "fromSeq": self.seq} for uri in uris if uri in self.states]


@pytest.fixture
async def host() -> AsyncIterator[FakeHost]:
    fake = FakeHost()
    yield fake
    await fake.close()
