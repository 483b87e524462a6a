"""What makes a session unread (row C41 of the reference, AHP §9.1)."""

import pytest

from innkeeper.contributions.spi import Context, Contribution

pytestmark = pytest.mark.anyio
IS_READ = 32


async def read_session(client):
    session, chat = await client.new_session()
    await client.echo(client.dispatch(session, "session/isReadChanged", isRead=True))
    assert client.states[session]["status"] & IS_READ
    return session, chat


@pytest.mark.parametrize("prompt", ["hello", "fail", "fail resumable"])
async def test_a_turn_that_ended_makes_it_unread(world, client, prompt):
    """C41, C11: errors count, resumable ones too."""
    session, chat = await read_session(client)
    await client.turn(chat, prompt)
    assert await client.state(session, lambda s: not s["status"] & IS_READ)


async def test_a_cancelled_turn_makes_it_unread(world, client):
    session, chat = await read_session(client)
    client.start_turn(chat, "stuck")
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    await client.ended(chat)
    assert await client.state(session, lambda s: not s["status"] & IS_READ)


async def test_a_subagents_turn_leaves_it_read_until_its_parent_has_ended(world, client):
    """K10: a subagent's end is told with a flag; its parent goes on."""
    session, chat = await read_session(client)
    ends = []

    class Ends(Contribution):
        id = "ends"
        order = 9_000

        def __init__(self, context: Context) -> None:
            self.context = context

        def on_turn_end(self, end):
            ends.append((end.subagent, world.hub.head(session)["status"] & IS_READ))

    world.service.contributions.register(Ends)
    await client.turn(chat, "subagent")
    await client.state(session, lambda s: not s["status"] & IS_READ)
    assert ends == [(True, IS_READ), (False, 0)]


async def test_a_local_command_leaves_it_read(world, client):
    """C41."""
    session, chat = await read_session(client)
    await client.turn(chat, "/rename New")
    await client.echo(client.dispatch(chat, "chat/draftChanged"))
    assert client.states[session]["title"] == "New" and client.states[session]["status"] & IS_READ


async def test_a_refused_turn_leaves_it_read(world, client):
    """C41."""
    session, chat = await read_session(client)
    await client.echo(client.dispatch(session, "session/isArchivedChanged", isArchived=True))
    await client.turn(chat, "hello")
    await client.echo(client.dispatch(chat, "chat/draftChanged"))
    assert client.states[session]["status"] & IS_READ
