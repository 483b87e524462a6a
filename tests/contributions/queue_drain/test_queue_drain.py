"""The queue (K12, K14; rows C13 to C23 of the reference)."""

import pytest

from innkeeper.contributions.queue_drain import PAUSED
from innkeeper.ports.declarations import RequiredServerUnavailable

pytestmark = pytest.mark.anyio


def message(text):
    return {"text": text, "origin": {"kind": "user"}}


def queue(client, chat, id_, text="hello"):
    return client.dispatch(chat, "chat/pendingMessageSet", kind="queued", id=id_, message=message(text))


def steer(client, chat, id_="s", text="left"):
    return client.dispatch(chat, "chat/pendingMessageSet", kind="steering", id=id_, message=message(text))


def texts(state):
    return [turn["message"]["text"] for turn in state["turns"]]


async def test_after_a_good_turn_the_first_starts_and_the_next_after_it(world, client):
    """C13."""
    _, chat = await client.new_session()
    client.start_turn(chat, "slow 0.02")
    queue(client, chat, "q1", "hello 1")
    queue(client, chat, "q2", "hello 2")
    state = await client.state(chat, lambda s: len(s["turns"]) == 3)
    assert texts(state) == ["slow 0.02", "hello 1", "hello 2"]


@pytest.mark.parametrize("prompt", ["fail", "stuck"])
async def test_after_an_error_or_a_stop_nothing_starts_until_somebody_touches_the_queue(world, client, prompt):
    """C14, C15."""
    _, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    await client.echo(queue(client, chat, "q1", prompt if prompt == "fail" else "hello 1"))
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    await client.ended(chat)
    assert len(client.states[chat]["queuedMessages"]) == 1
    queue(client, chat, "q2", "hello 2")
    if prompt == "fail":
        state = await client.state(chat, lambda s: len(s["turns"]) == 2)
        assert [m["id"] for m in state["queuedMessages"]] == ["q2"], "C15: not after an error"
    else:
        state = await client.state(chat, lambda s: len(s["turns"]) == 3)
        assert texts(state)[1:] == ["hello 1", "hello 2"]


async def test_a_steering_message_that_waits_holds_the_queue(world, client):
    """C16."""
    _, chat = await client.new_session()
    client.start_turn(chat, "slow 0.01")
    await client.echo(steer(client, chat))
    await client.echo(queue(client, chat, "q1"))
    await client.ended(chat)
    assert len(client.states[chat]["queuedMessages"]) == 1
    client.dispatch(chat, "chat/pendingMessageRemoved", kind="steering", id="s")
    state = await client.state(chat, lambda s: len(s["turns"]) == 2)
    assert texts(state)[1] == "hello"


async def test_whoever_queued_a_message_is_its_sender_also_after_a_restart(world, client):
    """C17, K14."""
    _, chat = await client.new_session()
    other = await world.client("bob")
    await other.subscribe(chat)
    client.start_turn(chat, "stuck")
    await other.echo(queue(other, chat, "q1"))
    later = await world.crash()
    again = await later.client("carol")
    await again.subscribe(chat)
    await again.state(chat, lambda s: s["turns"])
    again.dispatch(chat, "chat/queuedMessagesReordered", order=["q1"])
    await again.state(chat, lambda s: len(s["turns"]) == 2)
    assert later.scripted.requests[-1].client == "bob"
    await later.close()


async def test_a_message_that_is_taken_back_is_never_sent(world, client):
    """C18."""
    _, chat = await client.new_session()
    client.start_turn(chat, "slow 0.02")
    queue(client, chat, "q1", "hello 1")
    client.dispatch(chat, "chat/pendingMessageRemoved", kind="queued", id="q1")
    queue(client, chat, "q2", "hello 2")
    state = await client.state(chat, lambda s: len(s["turns"]) == 2)
    assert texts(state) == ["slow 0.02", "hello 2"]


async def test_the_new_first_is_sent(world, client):
    """C19."""
    _, chat = await client.new_session()
    client.start_turn(chat, "slow 0.02")
    queue(client, chat, "q1", "hello 1")
    queue(client, chat, "q2", "hello 2")
    client.dispatch(chat, "chat/queuedMessagesReordered", order=["q2", "q1"])
    state = await client.state(chat, lambda s: len(s["turns"]) == 3)
    assert texts(state)[1:] == ["hello 2", "hello 1"]


async def test_a_refused_message_stays_at_the_head_and_goes_when_the_reason_ends(world, client):
    """C20, K12: nothing is lost, and the reason is seen."""
    session, chat = await client.new_session()
    client.start_turn(chat, "slow 0.05")
    queue(client, chat, "q1", "hello 1")
    await client.echo(queue(client, chat, "q2", "hello 2"))
    client.dispatch(session, "session/isArchivedChanged", isArchived=True)
    await client.ended(chat)
    state = await client.state(session, lambda s: PAUSED in s["_meta"])
    assert "archived" in state["_meta"][PAUSED][chat]
    assert [m["id"] for m in client.states[chat]["queuedMessages"]] == ["q1", "q2"]
    assert len(client.states[chat]["turns"]) == 1, "no turn was made of what was refused"
    client.dispatch(session, "session/isArchivedChanged", isArchived=False)
    state = await client.state(chat, lambda s: len(s["turns"]) == 3)
    assert texts(state)[1:] == ["hello 1", "hello 2"]
    await client.state(session, lambda s: PAUSED not in s["_meta"])


async def test_a_message_whose_turn_fails_for_a_required_server_goes_back_to_the_head(world, client):
    """K12, K19."""
    session, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    await client.action(chat, "chat/responsePart")
    queue(client, chat, "q1", "hello 1")
    await client.echo(queue(client, chat, "q2", "hello 2"))
    prepare = world.mcp.prepare

    def refuse(session, turn_id):
        raise RequiredServerUnavailable("db", "START_TIMEOUT")

    world.mcp.prepare = refuse
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    client.dispatch(chat, "chat/queuedMessagesReordered", order=["q1", "q2"])
    state = await client.state(session, lambda s: PAUSED in s["_meta"])
    assert "db (START_TIMEOUT)" in state["_meta"][PAUSED][chat]
    assert [m["id"] for m in client.states[chat]["queuedMessages"]] == ["q1", "q2"]
    world.mcp.prepare = prepare
    client.dispatch(chat, "chat/queuedMessagesReordered", order=["q1", "q2"])
    state = await client.state(chat, lambda s: "queuedMessages" not in s and len(s["turns"]) == 4)
    assert texts(state)[2:] == ["hello 1", "hello 2"]


async def test_a_local_command_lets_the_queue_go_on(world, client):
    """C21."""
    _, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    queue(client, chat, "q1", "/rename New")
    await client.echo(queue(client, chat, "q2", "hello"))
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    await client.ended(chat)
    client.dispatch(chat, "chat/queuedMessagesReordered", order=["q1", "q2"])
    state = await client.state(chat, lambda s: len(s["turns"]) == 3)
    assert texts(state)[1:] == ["/rename New", "hello"]


async def test_a_message_queued_while_nothing_runs_starts_at_once(world, client):
    """C22."""
    _, chat = await client.new_session()
    queue(client, chat, "q1")
    assert await client.state(chat, lambda s: s["turns"])
