"""The queue (K12, K14; rows of the reference from C13 on)."""

import pytest

from innkeeper.contributions.dispatch import Registry, Services
from innkeeper.contributions.dispatch.mementos import Mementos
from innkeeper.contributions.queue_drain import PAUSED, QueueDrain
from innkeeper.errors import HostError
from innkeeper.ports.contributed import Channels, Declarations, Providers
from innkeeper.ports.declarations import RequiredServerUnavailable
from scripted.world import Client

pytestmark = pytest.mark.anyio


def message(text):
    return {"text": text, "origin": {"kind": "user"}}


def queue(client, chat, id_, text="hello"):
    return client.dispatch(chat, "chat/pendingMessageSet", kind="queued", id=id_, message=message(text))


def steer(client, chat, id_="s", text="left"):
    return client.dispatch(chat, "chat/pendingMessageSet", kind="steering", id=id_, message=message(text))


async def rests(client, chat):
    """The chat as it stays: whatever follows from what has been seen has been seen too."""
    await client.echo(client.dispatch(chat, "chat/draftChanged"))
    return client.states[chat]


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
    state = await rests(client, chat)
    assert len(state["queuedMessages"]) == 1 and "activeTurn" not in state
    queue(client, chat, "q2", "hello 2")
    if prompt == "fail":
        await client.state(chat, lambda s: len(s["turns"]) == 2)
        state = await rests(client, chat)
        assert [m["id"] for m in state["queuedMessages"]] == ["q2"], "C15: not after an error"
        assert "activeTurn" not in state
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
    state = await rests(client, chat)
    assert len(state["queuedMessages"]) == 1 and "activeTurn" not in state
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
    assert state["_meta"][PAUSED][chat]["errorType"] == "archived" and state["_meta"][PAUSED][chat]["message"]
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
    assert "db (START_TIMEOUT)" in state["_meta"][PAUSED][chat]["message"]
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


def test_without_a_way_back_into_the_host_it_is_not_there():
    """C23, our decision (K7): a service that is missing is an error at the start, so there is always a way back."""
    services = Services({Channels: object(), Providers: object(), Declarations: object()})
    with pytest.raises(HostError) as refused:
        Registry(services, Mementos(lambda chat: None)).register(QueueDrain)
    assert refused.value.code == "CONTRIBUTION_SERVICE"
    assert all(word in str(refused.value) for word in ("queueDrain", "host", "HostBridge"))


async def paused(client, session, chat, *ids, archive="session/isArchivedChanged", channel=None):
    """A queue that waits because the conversation is archived."""
    client.start_turn(chat, "slow 0.02")
    for id_ in ids:
        await client.echo(queue(client, chat, id_, f"hello {id_}"))
    client.dispatch(channel or session, archive, isArchived=True)
    await client.ended(chat)
    await client.state(session, lambda s: chat in (s["_meta"].get(PAUSED) or {}))


async def test_a_queue_that_is_emptied_is_not_paused_any_more(world, client):
    """K12: there is nothing left that waits, so no reason is shown."""
    session, chat = await client.new_session()
    await paused(client, session, chat, "q1", "q2")
    await client.echo(client.dispatch(chat, "chat/pendingMessageRemoved", kind="queued", id="q1"))
    assert PAUSED in client.states[session]["_meta"], "one waits still"
    client.dispatch(chat, "chat/pendingMessageRemoved", kind="queued", id="q2")
    assert await client.state(session, lambda s: PAUSED not in s["_meta"])


async def test_a_paused_queue_goes_on_also_when_nobody_has_opened_its_chat_since_the_restart(world, client):
    """K12, K14, S10: only the session is in memory when it comes out of the archive."""
    session, chat = await client.new_session()
    await paused(client, session, chat, "q1", "q2")
    later = await world.crash()
    again = await later.client("bob")
    await again.subscribe(session)
    assert later.hub.head(chat) is None
    again.dispatch(session, "session/isArchivedChanged", isArchived=False)
    await again.state(session, lambda s: PAUSED not in s["_meta"])
    await again.subscribe(chat)
    state = await again.state(chat, lambda s: len(s["turns"]) == 3)
    assert texts(state)[1:] == ["hello q1", "hello q2"] and "queuedMessages" not in state
    await later.close()


async def test_a_chat_that_comes_out_of_the_archive_alone_goes_on_too(world, client):
    """K12."""
    session, _ = await client.new_session()
    peer = "ahp-chat:/peer"
    await client.request("createChat", session, chat=peer)
    await client.subscribe(peer)
    await paused(client, session, peer, "q1", archive="chat/isArchivedChanged", channel=peer)
    client.dispatch(peer, "chat/isArchivedChanged", isArchived=False)
    state = await client.state(peer, lambda s: len(s["turns"]) == 2)
    assert texts(state)[1:] == ["hello q1"]
    await client.state(session, lambda s: PAUSED not in s["_meta"])


async def test_a_message_of_the_queue_that_a_client_starts_itself_and_is_refused_is_not_lost(world, client):
    """K12, AHP §9.7: `queuedMessageId` takes it out of the queue before admission is asked."""
    session, chat = await client.new_session()
    await paused(client, session, chat, "q1", "q2")
    client.start_turn(chat, "hello q2", "mine", queuedMessageId="q2")
    refused = await client.ended(chat, "mine")
    assert refused["responseParts"][-1]["error"]["errorType"] == "archived"
    state = await client.state(chat, lambda s: len(s["queuedMessages"]) == 2)
    assert [m["id"] for m in state["queuedMessages"]] == ["q2", "q1"]


async def lacking(world, client):
    """Two queued messages that wait for a server; nothing else does."""
    world.declarations.down, world.declarations.whole = (("db", "SPAWN_FAILED"),), False
    session, chat = await client.new_session()
    queue(client, chat, "q1", "hello 1")
    queue(client, chat, "q2", "hello 2")
    state = await client.state(session, lambda s: PAUSED in s["_meta"])
    assert state["_meta"][PAUSED][chat]["errorType"] == "requiredServerUnavailable"
    return session, chat


def tell(world, session):
    for changed in tuple(world.declarations.watching):
        changed(session)


async def test_a_queue_that_waits_for_a_server_goes_on_when_it_is_there_and_is_not_tried_before(world, client):
    """K12, K19: each try that fails would be one more turn that failed."""
    session, chat = await lacking(world, client)
    world.declarations.down = ()
    tell(world, session)
    state = await rests(client, chat)
    assert not state["turns"] and "activeTurn" not in state, "it is starting, not there"
    world.declarations.whole = True
    tell(world, session)
    state = await client.state(chat, lambda s: len(s["turns"]) == 2)
    assert texts(state) == ["hello 1", "hello 2"]
    await client.state(session, lambda s: PAUSED not in s["_meta"])


async def test_news_of_servers_try_no_queue_that_waits_for_something_else(world, client):
    """K12."""
    session, chat = await client.new_session()
    await paused(client, session, chat, "q1")
    before = client.states[session]["_meta"][PAUSED]
    tell(world, session)
    tell(world, "ahp-session:/none")
    assert len((await rests(client, chat))["turns"]) == 1 and client.states[session]["_meta"][PAUSED] == before


async def test_nobody_is_told_of_servers_any_more_when_it_is_unregistered(world):
    """K3: unregistering disposes."""
    assert len(world.declarations.watching) == 1
    world.service.contributions.close()
    assert not world.declarations.watching


async def test_a_message_whose_declarations_could_not_be_prepared_goes_back_to_the_head(world, client, caplog):
    """K19: an exception in the stage fails the turn, and K12 holds for it."""
    session, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    queue(client, chat, "q1", "hello 1")
    await client.echo(queue(client, chat, "q2", "hello 2"))
    prepare = world.mcp.prepare

    def crash(session, turn_id):
        raise OSError("disk")

    world.mcp.prepare = crash
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    client.dispatch(chat, "chat/queuedMessagesReordered", order=["q1", "q2"])
    state = await client.state(session, lambda s: PAUSED in s["_meta"])
    assert state["_meta"][PAUSED][chat]["errorType"] == "declarationsFailed" and "disk" in caplog.text
    assert [m["id"] for m in client.states[chat]["queuedMessages"]] == ["q1", "q2"]
    world.mcp.prepare = prepare
    client.dispatch(chat, "chat/queuedMessagesReordered", order=["q1", "q2"])
    assert await client.state(chat, lambda s: "queuedMessages" not in s and len(s["turns"]) == 4)


async def test_a_queue_whose_host_dies_between_two_messages_goes_on_with_the_second(world, client):
    """K12, K14: the first is a turn that was interrupted, and is not sent again."""
    _, chat = await client.new_session()
    queue(client, chat, "q1", "stuck")
    await client.action(chat, "chat/responsePart")
    await client.echo(queue(client, chat, "q2", "hello 2"))
    later = await world.crash()
    again: Client = await later.client("bob")
    state = await again.subscribe(chat)
    assert [m["id"] for m in state["queuedMessages"]] == ["q2"] and state["turns"][-1]["state"] == "error"
    again.dispatch(chat, "chat/queuedMessagesReordered", order=["q2"])
    state = await again.state(chat, lambda s: len(s["turns"]) == 2)
    assert texts(state) == ["stuck", "hello 2"] and [r.text for r in later.scripted.requests] == ["hello 2"]
    await later.close()
