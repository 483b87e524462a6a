"""A hub, its log and its clients as a list in a test: no sockets, no loop, no clock (architecture §3.1)."""

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from innkeeper.engine.effects import (
    Act,
    Admit,
    Append,
    Broadcast,
    Close,
    Create,
    Effect,
    FlushLater,
    Released,
    Send,
)
from innkeeper.engine.hub import Hub
from innkeeper.engine.settings import HubSettings
from innkeeper.ports.log import (
    DropChannel,
    LogImage,
    PutChannel,
    PutClient,
    PutEnvelope,
    Reserve,
    StoredChannel,
    StoredEnvelope,
)
from innkeeper.wire.jsonrpc import read

ROOT = "ahp-root://"
SESSION = "ahp-session:/s"
CHAT = "ahp-chat:/c"
NOW = "2026-11-30T12:00:00.000Z"


def agent(**capabilities: Any) -> dict[str, Any]:
    return {"provider": "test", "displayName": "T", "description": "", "models": [], "capabilities": capabilities}


def session_state(**more: Any) -> dict[str, Any]:
    state = {"provider": "test", "title": "", "status": 1, "lifecycle": "ready", "activeClients": [], "chats": []}
    return {**state, "workingDirectories": ["file:///w"], **more}


def chat_state(**more: Any) -> dict[str, Any]:
    return {"resource": CHAT, "title": "", "status": 1, "modifiedAt": NOW, "turns": [], **more}


class AllowAll:
    """A policy that takes everything that the protocol allows."""

    def admit(self, view: Hub, channel: str, kind: str, action: Any, client_id: str, now: str) -> Admit:
        return Admit(action)


class Disk:
    """What a log keeps: applied batch by batch, in order, like the real ones (ports.log)."""

    def __init__(self) -> None:
        self.channels: dict[str, StoredChannel] = {}
        self.envelopes: list[StoredEnvelope] = []
        self.clients: dict[str, PutClient] = {}
        self.reserved = 0
        self.gaps: list[tuple[int, int]] = []

    def apply(self, batch: Append) -> None:
        for op in batch.ops:
            match op:
                case Reserve(mark):
                    self.reserved = mark
                case PutClient(client_id):
                    self.clients[client_id] = op
                case PutChannel(channel, kind, owner, seq, state, created):
                    assert created != (channel in self.channels), f"{channel} created twice or not at all"
                    version = seq if created else self.channels[channel].version
                    self.channels[channel] = StoredChannel(channel, kind, owner, seq, version, state)
                case PutEnvelope(seq, channel, body, expected):
                    row = self.channels[channel]
                    assert row.version == expected, f"stale writer on {channel}: {row.version} != {expected}"
                    assert not self.envelopes or seq > self.envelopes[-1].seq, "a number was used twice"
                    assert seq <= self.reserved, "a number was stored without having been reserved"
                    self.channels[channel] = StoredChannel(
                        channel, row.kind, row.owner, row.snapshot_seq, seq, row.state
                    )
                    self.envelopes.append(StoredEnvelope(seq, channel, body))
                case DropChannel(channel):
                    gone = {channel} | {c.channel for c in self.channels.values() if c.owner == channel}
                    self.channels = {k: v for k, v in self.channels.items() if k not in gone}
                    self.envelopes = [e for e in self.envelopes if e.channel not in gone]

    def stored(self, channel: str) -> StoredChannel:
        row = self.channels[channel]
        tail = tuple(e.body for e in self.envelopes if e.channel == channel and e.seq > row.snapshot_seq)
        return StoredChannel(row.channel, row.kind, row.owner, row.snapshot_seq, row.version, row.state, tail)

    def image(self) -> LogImage:
        """What a host finds after a crash: numbers up to the reserved mark may have left."""
        last = self.envelopes[-1].seq if self.envelopes else 0
        if self.reserved > last:
            self.gaps.append((last + 1, self.reserved))
        resident = [c for c in self.channels.values() if c.kind == "root"]
        return LogImage(
            last_seq=last,
            reserved=self.reserved,
            channels=tuple(self.stored(c.channel) for c in resident),
            dormant=tuple((c.channel, c.kind, c.owner) for c in self.channels.values() if c not in resident),
            window=tuple(self.envelopes),
            window_start=0,
            gaps=tuple(self.gaps),
            clients=tuple(self.clients.values()),
        )


class World:
    """One host. `pump` acknowledges what the log was given; `hold` makes it wait, `fail` makes it refuse."""

    def __init__(self, disk: Disk | None = None, policy: Any = None, **settings: Any) -> None:
        self.disk = disk or Disk()
        self.settings = HubSettings(**{"sequence_block": 64, "fold_envelopes": 8, **settings})
        self.policy = policy or AllowAll()
        self.hub = Hub(
            self.disk.image(), settings=self.settings, policy=self.policy, methods=frozenset({"createSession"})
        )
        self.held = False
        self.batches: deque[Append] = deque()
        self.inbox: dict[int, list[dict[str, Any]]] = {}
        self.closed: dict[int, tuple[int, str]] = {}
        self.released: list[Released] = []
        self.others: list[Effect] = []
        self.seqs: dict[int, int] = {}
        self.run(self.hub.start())

    def run(self, effects: list[Effect]) -> None:
        todo = deque(effects)
        while todo:
            match effect := todo.popleft():
                case Append():
                    self.batches.append(effect)
                    if not self.held:
                        todo.extend(self.take(1))
                case Broadcast(connections, frame):
                    for connection in connections:
                        self.deliver(connection, frame.body)
                case Send(connection, frame, _):
                    self.deliver(connection, frame.body)
                case Close(connection, code, reason):
                    self.closed[connection] = (code, reason)
                case Released():
                    self.released.append(effect)
                case FlushLater():
                    pass
                case _:
                    self.others.append(effect)

    def take(self, count: int) -> list[Effect]:
        effects: list[Effect] = []
        for _ in range(min(count, len(self.batches))):
            batch = self.batches.popleft()
            self.disk.apply(batch)
            effects.extend(self.hub.appended(batch.batch))
        return effects

    def pump(self) -> None:
        """The log takes everything."""
        self.held = False
        while self.batches:
            self.run(self.take(len(self.batches)))
        self.run(self.hub.flush())

    def fail(self, code: str = "STORE_FULL") -> None:
        """The log refuses everything that waits."""
        failing, self.batches = list(self.batches), deque()
        for batch in failing:
            self.run(self.hub.append_failed(batch.batch, code))

    def crash(self) -> "World":
        """A new process on what was durable, its sessions in memory."""
        world = World(self.disk, self.policy)
        for uri in world.hub.known("session"):
            world.run(world.hub.load(self.disk.stored(uri)))
        return world

    def deliver(self, connection: int, body: bytes) -> None:
        message = json.loads(body)
        if message.get("method") == "action":
            seq = message["params"]["serverSeq"]
            if "rejectionReason" not in message["params"] and message not in self.inbox.get(connection, []):
                assert seq > self.seqs.get(connection, 0), "numbers went back on one connection"
            self.seqs[connection] = max(seq, self.seqs.get(connection, 0))
        self.inbox.setdefault(connection, []).append(message)

    def commit(self, *changes: Any, **options: Any) -> None:
        self.run(self.hub.commit(changes, **options))

    def post(self, channel: str, action: Mapping[str, Any]) -> None:
        self.commit(Act(channel, action))

    def with_session(self, chat: dict[str, Any] | None = None, session: dict[str, Any] | None = None) -> "World":
        if self.hub.head(ROOT) is None:
            self.commit(Create(ROOT, "root", None, {"agents": [agent()]}))
        self.commit(Create(SESSION, "session", None, session or session_state()))
        self.commit(Create(CHAT, "chat", SESSION, chat or chat_state()))
        return self

    def client(self, name: str, connection: int, *subscriptions: str, version: str = "1.0.0", **more: Any) -> "Peer":
        self.hub.connect(connection)
        peer = Peer(self, name, connection)
        peer.answer = peer.request(
            "initialize",
            channel=ROOT,
            protocolVersions=[version],
            clientId=name,
            initialSubscriptions=list(subscriptions),
            **more,
        )
        return peer


class Peer:
    def __init__(self, world: World, name: str, connection: int) -> None:
        self.world, self.name, self.connection = world, name, connection
        self.client_seq = 0
        self.next_id = 0
        self.answer: dict[str, Any] = {}

    def send(self, message: Any) -> None:
        data = message if isinstance(message, (str, bytes)) else json.dumps(message)
        parsed = read(data)
        for channel in self.world.hub.missing(parsed):
            self.world.hub.load(self.world.disk.stored(channel))
        self.world.run(self.world.hub.receive(self.connection, parsed, NOW))

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer, or {} when it is still to come."""
        self.next_id += 1
        self.send({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        return next((m for m in self.frames() if m.get("id") == self.next_id), {})

    def dispatch(self, channel: str, action: dict[str, Any], seq: int | None = None) -> int:
        self.client_seq = self.client_seq + 1 if seq is None else seq
        params = {"channel": channel, "clientSeq": self.client_seq, "action": action}
        self.send({"jsonrpc": "2.0", "method": "dispatchAction", "params": params})
        return self.client_seq

    def frames(self) -> list[dict[str, Any]]:
        return self.world.inbox.setdefault(self.connection, [])

    def envelopes(self) -> list[dict[str, Any]]:
        return [m["params"] for m in self.frames() if m.get("method") == "action"]

    def rejections(self) -> list[str]:
        return [e["rejectionReason"] for e in self.envelopes() if "rejectionReason" in e]

    def leave(self) -> None:
        self.world.run(self.world.hub.disconnect(self.connection))
