"""Snapshot and tail equal a fresh snapshot, for every client, through everything that can happen (AHP §2, §6)."""

import json
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from harness.engine_world import CHAT, NOW, ROOT, SESSION, Disk, Peer, World
from innkeeper.reduce import reduce

USER = {"text": "hi", "origin": {"kind": "user"}}
KINDS = {ROOT: "root", SESSION: "session", CHAT: "chat"}
names = st.sampled_from(["a", "b", "c"])
texts = st.text(min_size=1, max_size=4)


class Mirror:
    """What a client makes of what it is sent: confirmed states, nothing else."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.states: dict[str, Any] = {}
        self.seen = 0
        self.read = 0
        self.peer: Peer | None = None
        self.client_seq = 0

    def forget_peer(self) -> None:
        """The connection is gone; the client's own count goes on (AHP §2.4)."""
        if self.peer is not None:
            self.client_seq = self.peer.client_seq
        self.peer = None

    def take(self, message: dict[str, Any]) -> None:
        if message.get("method") == "action":
            envelope = message["params"]
            self.seen = max(self.seen, envelope["serverSeq"])
            if "rejectionReason" not in envelope and envelope["channel"] in self.states:
                self.apply(envelope)

    def apply(self, envelope: dict[str, Any]) -> None:
        channel = envelope["channel"]
        self.states[channel] = reduce(KINDS[channel], self.states[channel], envelope["action"])

    def snapshots(self, snapshots: list[dict[str, Any]]) -> None:
        for snapshot in snapshots:
            self.states[snapshot["resource"]] = snapshot["state"]
            self.seen = max(self.seen, snapshot["fromSeq"])

    def catch_up(self) -> None:
        if self.peer is not None:
            frames = self.peer.frames()
            for message in frames[self.read :]:
                self.take(message)
            self.read = len(frames)


class Convergence(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.world = World(Disk(), replay_envelopes=12, sequence_block=16, fold_envelopes=5).with_session()
        self.connection = 0
        self.mirrors: dict[str, Mirror] = {}
        self.turns = 0
        self.come("a")
        self.start("a")

    @rule(name=names)
    def come(self, name: str) -> None:
        mirror = self.mirrors.get(name)
        if mirror is not None and mirror.peer is not None:
            return
        self.connection += 1
        if mirror is None:
            mirror = self.mirrors[name] = Mirror(name)
            mirror.peer = self.world.client(name, self.connection, SESSION, CHAT)
            mirror.snapshots(mirror.peer.answer["result"]["snapshots"])
            mirror.read = 0
            return
        self.resume(mirror)

    def resume(self, mirror: Mirror) -> None:
        self.world.hub.connect(self.connection)
        mirror.peer = Peer(self.world, mirror.name, self.connection)
        mirror.peer.client_seq = mirror.client_seq
        wanted = list(mirror.states)
        answer = mirror.peer.request(
            "reconnect", clientId=mirror.name, lastSeenServerSeq=mirror.seen, subscriptions=wanted
        )
        if "error" in answer:
            assert answer["error"]["code"] == -32008
            again = mirror.peer.request(
                "initialize",
                channel=ROOT,
                protocolVersions=["1.0.0"],
                clientId=mirror.name,
                initialSubscriptions=wanted,
            )
            mirror.states = {}
            mirror.snapshots(again["result"]["snapshots"])
        elif answer["result"]["type"] == "replay":
            for envelope in answer["result"]["actions"]:
                mirror.apply(envelope)
                mirror.seen = max(mirror.seen, envelope["serverSeq"])
        else:
            mirror.states = {}
            mirror.snapshots(answer["result"]["snapshots"])
        mirror.read = 0

    @rule(name=names)
    def go(self, name: str) -> None:
        mirror = self.mirrors.get(name)
        if mirror is not None and mirror.peer is not None:
            mirror.catch_up()
            mirror.peer.leave()
            mirror.forget_peer()

    @rule(name=names, title=texts)
    def retitle(self, name: str, title: str) -> None:
        self.dispatch(name, SESSION, {"type": "session/titleChanged", "title": title})

    @rule(name=names, text=texts)
    def draft(self, name: str, text: str) -> None:
        self.dispatch(name, CHAT, {"type": "chat/draftChanged", "draft": {**USER, "text": text}})

    @rule(name=names)
    def start(self, name: str) -> None:
        self.turns += 1
        action = {"type": "chat/turnStarted", "turnId": f"t{self.turns}", "startedAt": NOW, "message": USER}
        self.dispatch(name, CHAT, action)

    @rule(name=names)
    def truncate(self, name: str) -> None:
        self.dispatch(name, CHAT, {"type": "chat/truncated"})

    def dispatch(self, name: str, channel: str, action: dict[str, Any]) -> None:
        mirror = self.mirrors.get(name)
        if mirror is not None and mirror.peer is not None:
            mirror.peer.dispatch(channel, action)

    @rule(text=texts)
    def stream(self, text: str) -> None:
        turn = (self.world.hub.head(CHAT) or {}).get("activeTurn")
        if turn is None:
            return
        if not turn["responseParts"]:
            part = {"kind": "markdown", "id": "p", "content": ""}
            self.world.post(CHAT, {"type": "chat/responsePart", "turnId": turn["id"], "part": part})
        self.world.post(CHAT, {"type": "chat/delta", "turnId": turn["id"], "partId": "p", "content": text})

    @rule()
    def finish(self) -> None:
        turn = (self.world.hub.head(CHAT) or {}).get("activeTurn")
        if turn is not None:
            self.world.post(CHAT, {"type": "chat/turnComplete", "turnId": turn["id"], "duration": 5})

    @rule()
    def slow_disk(self) -> None:
        self.world.held = True

    @rule()
    def disk_catches_up(self) -> None:
        self.world.pump()

    @rule(name=names, text=texts)
    def disk_is_full(self, name: str, text: str) -> None:
        self.world.held = True
        self.stream(text)
        self.draft(name, text)
        self.stream(text)
        self.retitle(name, text)
        self.world.fail()

    @rule(text=texts)
    def many_changes_while_somebody_is_away(self, text: str) -> None:
        self.go("b")
        for _ in range(8):
            self.stream(text)
            self.draft("a", text)
        self.come("b")

    @rule()
    def flush(self) -> None:
        self.world.run(self.world.hub.flush())

    @rule()
    def crash_while_a_client_is_ahead_of_the_log(self) -> None:
        self.stream("ahead")
        self.crash()
        self.come("a")

    @rule()
    def crash(self) -> None:
        for mirror in self.mirrors.values():
            mirror.catch_up()
        self.world = self.world.crash()
        self.world.hub.load(self.world.disk.stored(CHAT))
        for mirror in self.mirrors.values():
            mirror.forget_peer()

    @invariant()
    def every_connected_client_knows_what_was_released(self) -> None:
        for mirror in getattr(self, "mirrors", {}).values():
            if mirror.peer is None:
                continue
            mirror.catch_up()
            for channel, state in mirror.states.items():
                assert state == json.loads(json.dumps(self.world.hub.released(channel))), (mirror.name, channel)

    def teardown(self) -> None:
        """In the end the disk takes everything, and a fresh start finds exactly what was released."""
        if not hasattr(self, "world"):
            return
        self.world.pump()
        self.world.pump()
        self.every_connected_client_knows_what_was_released()
        after = self.world.crash()
        after.hub.load(after.disk.stored(CHAT))
        for channel in (SESSION, CHAT):
            assert after.hub.head(channel) == self.world.hub.released(channel) == self.world.hub.head(channel)


TestConvergence = Convergence.TestCase
TestConvergence.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
