"""Whatever two people do to one chat, each turn ends once, no queued message is lost or sent twice (K10, K12)."""

import os
import random
from collections import Counter

import pytest

from innkeeper.contributions.spi import Context, Contribution
from scripted.world import World

pytestmark = pytest.mark.anyio

SEEDS = range(200 if os.environ.get("INNKEEPER_SOAK") else 8)
STEPS = 120
PROMPTS = (
    "hello",
    "fail",
    "fail resumable",
    "fail resumable",
    "fail resumable",
    "stuck",
    "subagent",
    "subagent-wait",
    "/rename x",
    "tool",
    "deaf",
    "usage",
)
ACTS = ("start", "start", "queue", "queue", "cancel", "truncate", "resume", "resume", "reorder", "steer")


def counting(ends):
    class Counting(Contribution):
        id = "counting"
        order = 10_000

        def __init__(self, context: Context) -> None:
            self.context = context

        def on_turn_end(self, end):
            ends.append((end.chat, end.turn_id, end.queued))

    return Counting


class Walk:
    """Two clients with one die; `queued` are ids of messages that the host took into the queue."""

    def __init__(self, clients, chat, dice):
        self.clients, self.chat, self.dice = clients, chat, dice
        self.names = 0

    def step(self):
        client = self.dice.choice(self.clients)
        state, turn = client.states[self.chat], client.states[self.chat].get("activeTurn")
        self.names += 1
        message = {"text": self.dice.choice(PROMPTS), "origin": {"kind": "user"}}
        match self.dice.choice(ACTS):
            case "start":
                client.start_turn(self.chat, message["text"], f"t{self.names}")
            case "queue":
                self.do(client, "pendingMessageSet", kind="queued", id=f"q{self.names}", message=message)
            case "steer":
                self.do(client, "pendingMessageSet", kind="steering", id="s", message=message)
                self.do(client, "pendingMessageRemoved", kind="steering", id="s")
            case "cancel" if turn:
                self.do(client, "turnCancelled", turnId=turn["id"], duration=1)
            case "truncate" if state["turns"] and self.dice.random() < 0.3:
                self.do(client, "truncated", turnId=self.dice.choice(state["turns"])["id"])
            case "resume" if state["turns"]:
                self.do(client, "turnResume", turnId=state["turns"][-1]["id"])
            case "reorder":
                ids = [one["id"] for one in state.get("queuedMessages") or ()]
                self.dice.shuffle(ids)
                self.do(client, "queuedMessagesReordered", order=ids)

    def do(self, client, name, **fields):
        client.dispatch(self.chat, f"chat/{name}", **fields)


def kept(client, chat, type):
    """What took effect, in order."""
    return [one["action"] for one in client.actions(chat, type) if "rejectionReason" not in one]


@pytest.mark.parametrize("seed", SEEDS)
async def test_each_turn_ends_once_and_each_message_is_sent_once(seed):
    dice, ends = random.Random(seed), []
    world = await World(contributions=[counting(ends)]).start()
    alice, bob = await world.client("alice"), await world.client("bob")
    session, chat = await alice.new_session()
    await bob.subscribe(session)
    await bob.subscribe(chat)
    walk = Walk([alice, bob], chat, dice)
    for _ in range(STEPS):
        walk.step()
        await alice.echo(alice.dispatch(chat, "chat/draftChanged")) if dice.random() < 0.7 else None
    await rest(world, alice, chat)
    await bob.until(lambda: bob.states[chat] == alice.states[chat])
    begun = [one["turnId"] for one in kept(alice, chat, "chat/turnStarted")]
    begun += [one["turnId"] for one in kept(alice, chat, "chat/turnResume")]
    told = Counter(turn for where, turn, _ in ends if where == chat)
    assert told == Counter(begun), "once each, and once more for each time that it was resumed"
    sent = Counter(one["queuedMessageId"] for one in kept(alice, chat, "chat/turnStarted") if "queuedMessageId" in one)
    waiting = {one["id"] for one in alice.states[chat].get("queuedMessages") or ()}
    taken = {one["id"] for one in kept(alice, chat, "chat/pendingMessageSet") if one["kind"] == "queued"}
    assert set(sent) | waiting == taken and not set(sent) & waiting and set(sent.values()) <= {1}
    assert len(world.conversation.running) == 0
    world.check_mirrors(alice, bob)
    await world.close()


async def rest(world, client, chat):
    """Nothing runs, and nothing starts by itself."""
    for _ in range(100):
        await client.echo(client.dispatch(chat, "chat/draftChanged"))
        await world.until(lambda: not world.conversation.running or "activeTurn" in client.states[chat])
        turn = client.states[chat].get("activeTurn")
        if turn is None and not world.conversation.running:
            return
        if turn is not None and turn["responseParts"]:
            client.dispatch(chat, "chat/turnCancelled", turnId=turn["id"], duration=1)
    raise AssertionError(f"it does not come to rest: {client.states[chat].get('activeTurn')}")
