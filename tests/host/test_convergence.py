"""Many clients do whatever they like; all of them, the host and a restart agree (issue 2 §4, §6)."""

import asyncio
import os
import random

import pytest

from innkeeper.ports.log import StoreFull
from scripted.world import Client, World, plain

pytestmark = pytest.mark.anyio

ROUNDS = 200 if os.environ.get("INNKEEPER_SOAK") else 6
STEPS = 60
PROMPTS = (
    "hello",
    "think",
    "tool",
    "tool-lazy",
    "ask",
    "client-tool client-1",
    "client-tool client-2",
    "question",
    "subagent",
    "subagent-early",
    "subagent-nested",
    "subagent-ask",
    "subagent-wait",
    "steered",
    "stuck",
    "deaf",
    "fail",
    "fail resumable",
    "crash",
    "late",
    "nonsense",
    "many 50",
)


class Actor:
    """One client with a die."""

    def __init__(self, client: Client, dice: random.Random, sessions: list[str]) -> None:
        self.client = client
        self.dice = dice
        self.sessions = sessions
        self.turns = 0

    def step(self) -> None:
        chats = [uri for uri in self.client.states if "turns" in self.client.states[uri]]
        if chats:
            self.dice.choice(
                [self.start, self.start, self.cancel, self.answer, self.answer, self.answer, self.queue, self.other]
            )(self.dice.choice(chats))

    def start(self, chat: str) -> None:
        self.turns += 1
        self.client.start_turn(chat, self.dice.choice(PROMPTS), f"{self.client.client_id}-{self.turns}")

    def cancel(self, chat: str) -> None:
        turn = self.client.states[chat].get("activeTurn")
        if turn is not None:
            self.client.dispatch(chat, "chat/turnCancelled", turnId=turn["id"], duration=1)

    def answer(self, chat: str) -> None:
        turn = self.client.states[chat].get("activeTurn") or {}
        for part in turn.get("responseParts", []):
            if part["kind"] == "inputRequest":
                self.client.dispatch(chat, "chat/inputCompleted", requestId=part["request"]["id"], response="decline")
            elif part["kind"] == "toolCall":
                self.call(chat, turn["id"], part["toolCall"])

    def call(self, chat: str, turn_id: str, call: dict) -> None:
        base = {"turnId": turn_id, "toolCallId": call["toolCallId"]}
        approved = self.dice.random() < 0.5
        more = {"confirmed": "user-action"} if approved else {"reason": "denied"}
        self.client.dispatch(chat, "chat/toolCallConfirmed", **base, approved=approved, **more)
        result = {"success": True, "pastTenseMessage": "Picked"}
        self.client.dispatch(chat, "chat/toolCallComplete", **base, result=result)

    def queue(self, chat: str) -> None:
        self.turns += 1
        kind = self.dice.choice(["queued", "queued", "steering"])
        message = {"text": self.dice.choice(PROMPTS), "origin": {"kind": "user"}}
        self.client.dispatch(
            chat, "chat/pendingMessageSet", kind=kind, id=f"{self.client.client_id}-q{self.turns}", message=message
        )

    def other(self, chat: str) -> None:
        turns = self.client.states[chat]["turns"]
        match self.dice.randrange(5):
            case 0:
                last = self.dice.choice(turns)["id"] if turns else None
                self.client.dispatch(chat, "chat/truncated", **({"turnId": last} if last else {}))
            case 1:
                if turns:
                    self.client.dispatch(chat, "chat/turnResume", turnId=turns[-1]["id"])
            case 2:
                self.client.dispatch(chat, "chat/draftChanged", draft={"text": "x", "origin": {"kind": "user"}})
            case 3:
                client = {"clientId": self.client.client_id, "tools": []}
                self.client.dispatch(self.dice.choice(self.sessions), "session/activeClientSet", activeClient=client)
            case 4:
                title = str(self.dice.random())
                self.client.dispatch(self.dice.choice(self.sessions), "session/titleChanged", title=title)


async def quiet(world: World) -> None:
    """Everything that can end by itself has ended, and everybody has been told."""
    for _ in range(3):
        await world.until(lambda: world.hub._ledger.released_seq == world.hub.last_seq)
        await asyncio.sleep(0.005)


def settled(world: World) -> None:
    for uri in world.hub.channels("session"):
        session = world.hub.head(uri)
        for summary in session["chats"]:
            chat = world.hub.head(summary["resource"])
            names = ("status", "modifiedAt", "activity", "origin", "interactivity")
            assert {n: summary.get(n) for n in names} == {n: chat.get(n) for n in names}
        waiting = {entry["chat"] for entry in session.get("inputNeeded", [])}
        assert waiting <= {c["resource"] for c in session["chats"] if c["status"] & 8}
    for uri in world.hub.channels("chat"):
        if "activeTurn" in world.hub.head(uri):
            assert world.conversation.running.behind(uri) is not None, "a turn that nobody runs"
    for turn in world.conversation.running:
        assert world.hub.head(turn.chat)["activeTurn"]["id"] == turn.turn_id


@pytest.mark.parametrize("failing", [False, True], ids=["sound", "full now and then"])
@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_clients_host_and_restart_agree_whatever_happens(seed, failing, caplog):
    dice = random.Random(seed)
    world = await World().start()
    clients = [await world.client() for _ in range(3)]
    sessions = []
    for number in range(2):
        uri, chat = await clients[0].new_session(f"ahp-session:/{number}")
        sessions.append(uri)
        for other in clients[1:]:
            await other.subscribe(uri)
            await other.subscribe(chat)
    actors = [Actor(client, dice, sessions) for client in clients]
    for _ in range(STEPS):
        actor = dice.choice(actors)
        actor.step()
        for client in clients:
            for uri in sessions:
                for chat in client.states[uri]["chats"]:
                    if chat["resource"] not in client.states:
                        await client.subscribe(chat["resource"])
        if failing and dice.random() < 0.1:
            world.log.fail_next(StoreFull("no space"), dice.randrange(1, 4))
        for _ in range(dice.randrange(4)):
            await asyncio.sleep(0)
    await quiet(world)
    settled(world)
    world.check_mirrors(*clients)
    busy = {turn.chat for turn in world.conversation.running}
    assert {uri for uri in world.hub.channels("chat") if "activeTurn" in world.hub.head(uri)} >= busy
    world.log._failures.clear()
    assert await world.driver.settle(5), "with space again everything is stored"
    states = {uri: world.hub.head(uri) for uri in world.hub.channels("chat")}
    later = await world.crash()
    again = await later.client("later")
    for uri, before in states.items():
        after = await again.subscribe(uri)
        await again.state(uri, lambda s: "activeTurn" not in s)
        assert plain(after["turns"][: len(before["turns"])]) == plain(before["turns"])
    assert not [r for r in caplog.records if r.levelname == "ERROR" and "ValueError" not in str(r.exc_info)]
    await later.close()
