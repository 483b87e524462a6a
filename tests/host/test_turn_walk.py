"""Whatever two people do to one chat, each turn ends once, no queued message is lost or sent twice (K10, K12)."""

import os
import random
from collections import Counter

import pytest

from innkeeper.contributions.queue_drain import PAUSED
from innkeeper.contributions.spi import Context, Contribution
from innkeeper.ports.declarations import RequiredServerUnavailable
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


# -- what stands in the way ------------------------------------------------------------------------------------------

OBSTACLES = (None, None, None, RequiredServerUnavailable("db", "START_TIMEOUT"), OSError("disk"))


class Obstacles:
    """A host in which turns are refused, fail before they reach their agent, and which dies now and then. `sent` are
    the words that reached agents, `taken` the words of the messages that the queue took."""

    def __init__(self, dice):
        self.dice = dice
        self.sent: list[str] = []
        self.taken: set[str] = set()
        self.names = 0

    async def begin(self, world):
        self.world = world
        world.mcp.prepare = self.prepare
        self.client = await world.client("alice")
        self.other = await world.client("bob")
        self.standing = None

    def prepare(self, session, turn_id):
        if self.standing is not None:
            raise self.standing

    async def opened(self, session, chat):
        self.session, self.chat = session, chat
        for client in (self.client, self.other):
            await client.subscribe(session)
            await client.subscribe(chat)

    async def step(self):
        client = self.dice.choice([self.client, self.other])
        turn = client.states[self.chat].get("activeTurn")
        match self.dice.randrange(12):
            case 0 | 1 | 2 | 3:
                await self.queue(client)
            case 4:
                archived = bool(client.states[self.session]["status"] & 64)
                client.dispatch(self.session, "session/isArchivedChanged", isArchived=not archived)
            case 5 | 6:
                self.standing = self.dice.choice(OBSTACLES)
            case 7 if turn is not None:
                client.dispatch(self.chat, "chat/turnCancelled", turnId=turn["id"], duration=1)
            case 8 if self.dice.random() < 0.3:
                await self.die()
            case 9:
                self.names += 1
                client.start_turn(self.chat, f"direct {self.names}", f"t{self.names}")
            case _:
                self.touch(client)

    async def queue(self, client):
        self.names += 1
        words = f"hello {self.names}"
        message = {"text": words, "origin": {"kind": "user"}}
        waiting = {"kind": "queued", "id": f"q{self.names}", "message": message}
        echo = await client.echo(client.dispatch(self.chat, "chat/pendingMessageSet", **waiting))
        if "rejectionReason" not in echo:
            self.taken.add(words)

    def touch(self, client):
        ids = [one["id"] for one in client.states[self.chat].get("queuedMessages") or ()]
        client.dispatch(self.chat, "chat/queuedMessagesReordered", order=ids)

    async def die(self):
        later = await self.world.crash()
        self.sent += [request.text for request in self.world.scripted.requests]
        await self.begin(later)
        await self.opened(self.session, self.chat)

    async def clear(self):
        """Nothing stands in the way any more, and the queue is touched until it is empty."""
        self.standing = None
        for one in (self.other, self.client):
            await one.echo(one.dispatch(self.chat, "chat/draftChanged"))
        if self.client.states[self.session]["status"] & 64:
            await self.client.echo(self.client.dispatch(self.session, "session/isArchivedChanged", isArchived=False))
        for _ in range(200):
            await self.client.echo(self.client.dispatch(self.chat, "chat/draftChanged"))
            state = self.client.states[self.chat]
            if "activeTurn" not in state and not self.world.conversation.running:
                if not state.get("queuedMessages"):
                    break
                self.touch(self.client)
        self.sent += [request.text for request in self.world.scripted.requests]


def was_stopped(turn):
    error = turn["responseParts"][-1].get("error") if turn["responseParts"] else None
    return turn["state"] == "cancelled" or (error is not None and error["errorType"] == "executionInterrupted")


@pytest.mark.parametrize("seed", SEEDS)
async def test_whatever_stands_in_the_way_no_queued_message_is_lost_or_reaches_an_agent_twice(seed):
    """K12, K14, K19: refused, failed before its agent had it, or cut off by the death of the host."""
    walk = Obstacles(random.Random(seed))
    await walk.begin(await World().start())
    await walk.opened(*await walk.client.new_session())
    for _ in range(60):
        await walk.step()
    await walk.clear()
    state = walk.client.states[walk.chat]
    assert not state.get("queuedMessages"), "it came to its end"
    stopped = {turn["message"]["text"] for turn in state["turns"] if was_stopped(turn)}
    assert walk.taken <= stopped | set(walk.sent), "each reached its agent, unless somebody, or a death, stopped it"
    assert all(times == 1 for times in Counter(walk.sent).values())
    paused = await walk.client.state(walk.session, lambda s: PAUSED not in s["_meta"])
    assert not paused["status"] & 64
    walk.world.check_mirrors(walk.client)
    await walk.world.close()
