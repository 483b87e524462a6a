import asyncio

import pytest

from innkeeper.contributions.spi import Context, Contribution, services
from innkeeper.limits import QUEUED_MESSAGES
from innkeeper.providers.spi import SteeringConsumed, TextDelta
from scripted import provider
from scripted.world import text_of

pytestmark = pytest.mark.anyio


def message(text):
    return {"text": text, "origin": {"kind": "user"}}


def queue(client, chat, id, text):
    return client.dispatch(chat, "chat/pendingMessageSet", kind="queued", id=id, message=message(text))


async def test_queued_messages_become_turns_one_after_the_other(world, client):
    """AHP §9.7: pendingMessageRemoved, then turnStarted with queuedMessageId."""
    _, chat = await client.new_session()
    client.start_turn(chat, "slow 0.02")
    queue(client, chat, "q1", "hello 1")
    queue(client, chat, "q2", "hello 2")
    state = await client.state(chat, lambda s: len(s["turns"]) == 3)
    assert [t["message"]["text"] for t in state["turns"]] == ["slow 0.02", "hello 1", "hello 2"]
    assert "queuedMessages" not in state
    removed, started = (client.actions(chat, f"chat/{n}") for n in ("pendingMessageRemoved", "turnStarted"))
    assert [e["action"]["id"] for e in removed] == ["q1", "q2"]
    assert [e["action"].get("queuedMessageId") for e in started] == [None, "q1", "q2"]
    assert all(r["serverSeq"] < s["serverSeq"] for r, s in zip(removed, started[1:], strict=True))


async def test_a_message_queued_while_nothing_runs_starts_at_once(world, client):
    """AHP §9.7."""
    _, chat = await client.new_session()
    queue(client, chat, "q1", "hello")
    state = await client.state(chat, lambda s: s["turns"])
    assert text_of(state["turns"][0]) == "Hello, world"


async def test_the_queue_waits_after_a_cancelled_turn_until_somebody_touches_it(world, client):
    """contributions §4.6 in own words: a stop is a stop."""
    _, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    queue(client, chat, "q1", "hello 1")
    await client.echo(queue(client, chat, "q2", "hello 2"))
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=0)
    await client.ended(chat)
    assert len(client.states[chat]["queuedMessages"]) == 2
    client.dispatch(chat, "chat/queuedMessagesReordered", order=["q2", "q1"])
    state = await client.state(chat, lambda s: len(s["turns"]) == 3)
    assert [t["message"]["text"] for t in state["turns"][1:]] == ["hello 2", "hello 1"]


async def test_the_queue_does_not_bury_a_turn_that_can_be_resumed(world, client):
    _, chat = await client.new_session()
    client.start_turn(chat, "fail resumable")
    await client.ended(chat)
    await client.echo(queue(client, chat, "q1", "hello"))
    client.dispatch(chat, "chat/turnResume", turnId="t1")
    state = await client.state(chat, lambda s: len(s["turns"]) == 2)
    assert [t["state"] for t in state["turns"]] == ["complete", "complete"]


async def test_the_queue_has_an_end(world, client):
    _, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    for number in range(QUEUED_MESSAGES):
        last = queue(client, chat, f"q{number}", "hello")
    await client.echo(last)
    assert "wait already" in await client.rejection(queue(client, chat, "one-more", "hello"))
    await client.echo(queue(client, chat, "q0", "changed"))
    assert client.states[chat]["queuedMessages"][0]["message"]["text"] == "changed"


async def test_a_steering_message_reaches_the_running_turn_and_is_removed_when_the_model_has_it(world, client):
    """AHP §9.7."""
    session, chat = await client.new_session()
    client.start_turn(chat, "steered")
    await client.action(chat, "chat/responsePart")
    client.dispatch(chat, "chat/pendingMessageSet", kind="steering", id="s1", message=message("left"))
    turn = await client.ended(chat)
    assert text_of(turn) == "waiting steered: left"
    assert "steeringMessage" not in client.states[chat]
    assert world.mcp.log.count(("prepare", session)) == 2, "a steering message is a request too (M5.3)"


async def test_a_steering_message_is_kept_while_idle_and_given_to_the_next_turn(world, client):
    """AHP §9.7: kept while idle."""
    _, chat = await client.new_session()
    await client.echo(
        client.dispatch(chat, "chat/pendingMessageSet", kind="steering", id="s1", message=message("right"))
    )
    assert client.states[chat]["steeringMessage"]["id"] == "s1"
    client.start_turn(chat, "steered")
    assert text_of(await client.ended(chat)) == "waiting steered: right"


async def test_a_steering_message_that_the_agent_cannot_take_stays(world, client):
    _, chat = await client.new_session()
    client.start_turn(chat, "slow 0.01")
    client.dispatch(chat, "chat/pendingMessageSet", kind="steering", id="s1", message=message("up"))
    await client.ended(chat)
    assert client.states[chat]["steeringMessage"]["id"] == "s1"


async def test_a_steering_message_stays_when_a_required_server_is_not_there(world, client):
    """M5.3, M5.5: a steering message is a request."""
    from innkeeper.ports.declarations import RequiredServerUnavailable

    _, chat = await client.new_session()
    client.start_turn(chat, "steered")
    await client.action(chat, "chat/responsePart")

    def refuse(session, turn_id):
        raise RequiredServerUnavailable("db", "START_TIMEOUT")

    world.mcp.prepare = refuse
    steer = {"kind": "steering", "id": "s1", "message": message("left")}
    await client.echo(client.dispatch(chat, "chat/pendingMessageSet", **steer))
    await world.until(lambda: [entry[0] for entry in world.mcp.log].count("prepare") == 2)
    assert client.states[chat]["steeringMessage"]["id"] == "s1" and "activeTurn" in client.states[chat]


@pytest.fixture
def taking(monkeypatch):
    """An agent that takes steering messages until one says stop; what it was given."""
    given = []

    async def behaviour(session, request, output, rest):
        queue = session.steered[request.chat] = asyncio.Queue()
        output.emit(TextDelta("waiting", "t"))
        while not given or given[-1][1]["text"] != "stop":
            given.append(await queue.get())
        for id_ in dict.fromkeys(id_ for id_, _ in given):
            output.emit(SteeringConsumed(id_))

    monkeypatch.setitem(provider.PROMPTS, "taking", behaviour)
    return given


def steer(client, chat, id_, text):
    return client.dispatch(chat, "chat/pendingMessageSet", kind="steering", id=id_, message=message(text))


async def test_each_steering_message_is_handed_over_once(world, client, taking):
    """AHP §9.7: set again, it is not brought again; changed, it is another."""
    _, chat = await client.new_session()
    client.start_turn(chat, "taking")
    await client.action(chat, "chat/responsePart")
    for id_, text in (("a", "left"), ("a", "left"), ("a", "right"), ("a", "right"), ("b", "stop")):
        await client.echo(steer(client, chat, id_, text))
        await world.until(lambda text=text: text in [given["text"] for _, given in taking])
    await client.ended(chat)
    assert [(id_, given["text"]) for id_, given in taking] == [("a", "left"), ("a", "right"), ("b", "stop")]
    assert "steeringMessage" not in client.states[chat]


async def test_a_steering_message_that_is_taken_back_meanwhile_is_not_handed_over(world, client, taking):
    """M5.3: preparing what it needs may take a while."""
    _, chat = await client.new_session()
    client.start_turn(chat, "taking")
    await client.action(chat, "chat/responsePart")
    began, go = asyncio.Event(), asyncio.Event()

    async def wait(session, turn_id):
        began.set()
        await go.wait()

    world.mcp.prepare = wait
    await client.echo(steer(client, chat, "a", "left"))
    async with asyncio.timeout(5):
        await began.wait()
    await client.echo(client.dispatch(chat, "chat/pendingMessageRemoved", kind="steering", id="a"))
    go.set()
    await client.echo(steer(client, chat, "b", "stop"))
    await client.ended(chat)
    assert [id_ for id_, _ in taking] == ["b"]


class Stopping(Contribution):
    """Cancels each turn as it begins, before anything of it has run."""

    id = "stopping"
    order = 10_000

    def __init__(self, context: Context, channels: services.Channels) -> None:
        self.channels = channels

    def on_did_apply_client_action(self, one):
        if one.action["type"] == "chat/turnStarted":
            cancelled = {"type": "chat/turnCancelled", "turnId": one.action["turnId"], "duration": 0}
            self.channels.dispatch(one.channel, cancelled)


async def test_a_turn_that_is_cancelled_before_it_began_leaves_no_steering_waiting(world, client):
    """Nothing waits for ever for a turn that nobody sends."""
    world.service.contributions.register(Stopping)
    _, chat = await client.new_session()
    await client.echo(
        client.dispatch(chat, "chat/pendingMessageSet", kind="steering", id="s1", message=message("right"))
    )
    assert (await client.turn(chat, "hello"))["state"] == "cancelled" and not world.scripted.requests
    await world.until(lambda: not any(task.get_name().startswith("steering") for task in asyncio.all_tasks()))
    assert client.states[chat]["steeringMessage"]["id"] == "s1"
