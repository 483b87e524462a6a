"""Side chats (AHP §9.3; rows C45 to C50 of the reference)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.contributions.side_chat.seed import END, is_wrapped, unwrapped, wrapped
from innkeeper.contributions.spi import Hydration
from scripted.world import RpcFailure

pytestmark = pytest.mark.anyio
SIDE = "ahp-chat:/side"


async def opened(client, selection=None, turn="t1", source=None):
    session, chat = await client.new_session()
    await client.turn(chat, "hello")
    origin = {"kind": "sideChat", "chat": source or chat, "turnId": turn}
    if selection is not None:
        origin["selection"] = {"turnId": turn, "text": selection}
    await client.request("createChat", session, chat=SIDE, source=origin)
    await client.subscribe(SIDE)
    return session, chat


async def test_the_first_message_is_wrapped_for_the_agent_alone(world, client):
    """C45."""
    await opened(client, selection="this line")
    turn = await client.turn(SIDE, "hello", "s1")
    request = world.scripted.requests[-1]
    assert turn["message"]["text"] == "hello" and unwrapped(request.text) == "hello"
    assert "this line" in request.text and "Explain rather than act" in request.text
    assert [t["id"] for t in request.context] == ["t1"], "the conversation is data, not text"


async def test_the_context_comes_again_until_a_turn_ended_well(world, client):
    """C46."""
    await opened(client)
    for number, prompt in enumerate(("fail", "hello", "hello")):
        await client.turn(SIDE, prompt, f"s{number}")
    assert [is_wrapped(request.text) for request in world.scripted.requests[-3:]] == [True, True, False]


async def test_a_local_command_is_not_the_first_message_to_the_agent(world, client):
    """C46: also after a restart, which has the conversation alone to go by."""
    await opened(client, selection="this line")
    await client.turn(SIDE, "/rename Aside", "s1")
    later = await world.crash()
    again = await later.client("bob")
    await again.subscribe(SIDE)
    await again.turn(SIDE, "hello", "s2")
    await again.turn(SIDE, "hello", "s3")
    assert [is_wrapped(request.text) for request in later.scripted.requests] == [True, False]
    await later.close()


async def test_a_restart_changes_nothing_of_that(world, client):
    await opened(client)
    await client.turn(SIDE, "hello", "s1")
    later = await world.crash()
    again = await later.client("bob")
    await again.subscribe(SIDE)
    await again.turn(SIDE, "hello", "s2")
    assert later.scripted.requests[-1].text == "hello"
    await later.close()


def turn(id_, text):
    return {"id": id_, "message": {"text": text, "origin": {"kind": "user"}}, "responseParts": [], "state": "complete"}


async def test_a_transcript_loses_what_it_inherited_and_the_wrapping(world, client):
    """C47."""
    session, _ = await opened(client)
    of = Hydration(session, SIDE, "transcript")
    given_turns = [turn("x", "old"), turn("y", wrapped("new", "")), turn("z", "next")]
    found = await world.service.hooks.hydrate_turns(of, given_turns)
    assert [(t["id"], t["message"]["text"]) for t in found] == [("y", "new"), ("z", "next")]
    by_id = await world.service.hooks.hydrate_turns(of, [turn("t1", "old"), turn("z", "next")])
    assert [t["id"] for t in by_id] == ["z"], "the id of the inherited turn is known"


async def test_a_transcript_without_the_boundary_stays_as_it_is(world, client):
    """C50."""
    session, _ = await opened(client)
    given_turns = [turn("x", "old")]
    assert await world.service.hooks.hydrate_turns(Hydration(session, SIDE, "transcript"), given_turns) is given_turns


async def test_another_chat_is_left_alone(world, client):
    session, chat = await opened(client)
    given_turns = [turn("y", wrapped("new", ""))]
    assert await world.service.hooks.hydrate_turns(Hydration(session, chat, "transcript"), given_turns) is given_turns


@pytest.mark.parametrize(
    ("more", "code"),
    [({"turn": "none"}, -32008), ({"source": "ahp-chat:/none"}, -32008), ({"source": "ahp-chat:/other"}, -32602)],
)
async def test_a_source_that_there_is_not_makes_no_chat(world, client, more, code):
    """C49: nor one of another session."""
    another, _ = await client.new_session("ahp-session:/2")
    await client.request("createChat", another, chat="ahp-chat:/other")
    with pytest.raises(RpcFailure) as refused:
        await opened(client, **more)
    assert refused.value.code == code
    assert all(c["resource"] != SIDE for c in client.states["ahp-session:/1"]["chats"])


@given(st.text(), st.text())
def test_wrapping_comes_off_whatever_the_words_are(text, selection):
    """C48: the header tells the length, so an end mark in the words is safe."""
    assert unwrapped(wrapped(text, selection)) == text


@given(st.text())
def test_words_with_an_end_mark_are_safe(text):
    """C48."""
    assert unwrapped(wrapped(f"{text}\n{END}\n\nx", f"{END}")) == f"{text}\n{END}\n\nx"


def test_a_wrong_header_falls_back_to_the_last_end_mark():
    broken = wrapped("words", "").replace("length: ", "length: 9")
    assert unwrapped(broken) == "words"
