"""A turn that nobody ended does not look complete (K14; row C11, S11 of the reference)."""

import pytest

from innkeeper.contributions.spi import Hydration

pytestmark = pytest.mark.anyio


def turn(id_, state, *parts):
    made = {"id": id_, "message": {"text": "x", "origin": {"kind": "user"}}, "responseParts": list(parts)}
    return made if state is None else {**made, "state": state}


def call(status):
    return {"kind": "toolCall", "toolCall": {"toolCallId": "x", "toolName": "t", "status": status}}


async def hydrated(world, *turns):
    return await world.service.hooks.hydrate_turns(Hydration("s", "c", "transcript"), list(turns))


@pytest.mark.parametrize(
    "last", [turn("b", None), turn("b", "running"), turn("b", "complete", call("running")), turn("b", "odd")]
)
async def test_the_last_turn_without_an_end_is_shown_as_interrupted(world, last):
    """S11."""
    first, found = await hydrated(world, turn("a", None), last)
    assert "state" not in first, "only the last one can have been running"
    assert found["state"] == "error" and found["responseParts"][-1]["error"]["errorType"] == "executionInterrupted"
    assert list(await hydrated(world, first, found)) == [first, found], "once is enough"


@pytest.mark.parametrize("state", ["complete", "cancelled", "error"])
async def test_a_turn_that_ended_stays_as_it_ended(world, state):
    given = turn("a", state, call("completed"))
    assert await hydrated(world, given) == [given]


async def test_a_turn_of_this_host_that_was_running_comes_back_interrupted(world, client):
    """S11: the log says which one ran."""
    _, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    await client.action(chat, "chat/responsePart")
    later = await world.crash()
    again = await later.client("bob")
    await again.subscribe(chat)
    (found,) = (await again.state(chat, lambda s: s["turns"]))["turns"]
    assert found["responseParts"][-1]["error"]["errorType"] == "executionInterrupted"
    await later.close()
