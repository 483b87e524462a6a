"""Usage is kept with the turns and counted for the session (K17; rows C5 to C8 of the reference)."""

import pytest

from innkeeper.contributions.persisted_usage import TOTAL
from innkeeper.contributions.spi import Hydration

pytestmark = pytest.mark.anyio


def turn(id_, **more):
    return {"id": id_, "message": {"text": "x", "origin": {"kind": "user"}}, "responseParts": [], **more}


async def hydrated(world, turns, logged):
    of = Hydration("s", "c", "transcript", logged)
    return await world.service.hooks.hydrate_turns(of, turns)


async def test_the_last_report_of_a_turn_survives_a_restart(world, client):
    """C5."""
    _, chat = await client.new_session()
    await client.turn(chat, "usage 10 5")
    used = client.states[chat]["turns"][0]["usage"]
    later = await world.crash()
    again = await later.client("bob")
    assert (await again.subscribe(chat))["turns"][0]["usage"] == used
    await later.close()


async def test_the_session_counts_the_last_report_of_each_turn(world, client):
    session, chat = await client.new_session()
    for number in (1, 2):
        await client.turn(chat, "usage 10 5", f"t{number}")
    last = client.states[chat]["turns"][0]["usage"]
    state = await client.state(session, lambda s: (s["_meta"].get(TOTAL) or {}).get("inputTokens", 0) > 10)
    assert state["_meta"][TOTAL]["inputTokens"] == 2 * last["inputTokens"]
    client.dispatch(chat, "chat/truncated")
    await client.state(chat, lambda s: not s["turns"])
    assert client.states[session]["_meta"][TOTAL]["inputTokens"] == 2 * last["inputTokens"], "it was paid for"


async def test_what_was_logged_wins_over_a_transcript_member_by_member(world):
    """C8."""
    logged = [turn("a", usage={"inputTokens": 1, "_meta": {"y": 1}})]
    given = [turn("a", usage={"inputTokens": 9, "outputTokens": 2, "_meta": {"x": 1, "y": 9}}, state="complete")]
    (found,) = await hydrated(world, given, logged)
    assert found["usage"] == {"inputTokens": 1, "outputTokens": 2, "_meta": {"x": 1, "y": 1}}


@pytest.mark.parametrize("broken", ["text", [1], 7])
async def test_what_is_no_usage_is_ignored(world, broken):
    """C6."""
    given = [turn("a", state="complete"), turn("b", state="complete")]
    found = await hydrated(world, given, [turn("a", usage=broken), turn("b", usage={"inputTokens": 3})])
    assert "usage" not in found[0] and found[1]["usage"] == {"inputTokens": 3}


async def test_nothing_logged_leaves_the_turns_as_they_are(world):
    given = [turn("a", state="complete")]
    assert await hydrated(world, given, []) is given


async def test_what_a_subagent_used_is_shown_with_its_turn_and_counted(world, client):
    """C7, our decision (K17): its turn is in the log as every other, so nothing has to be left out."""
    session, chat = await client.new_session()
    await client.turn(chat, "subagent-early")
    state = await client.state(session, lambda s: len(s["chats"]) == 2 and TOTAL in s["_meta"])
    assert state["_meta"][TOTAL]["inputTokens"] == 1
    worker = state["chats"][1]["resource"]
    later = await world.crash()
    again = await later.client("bob")
    assert (await again.subscribe(worker))["turns"][0]["usage"] == {"inputTokens": 1}
    assert (await again.subscribe(session))["_meta"][TOTAL]["inputTokens"] == 1
    await later.close()
