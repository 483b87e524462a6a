"""Titles (K18; rows C36 to C40 of the reference)."""

import asyncio

import pytest

from innkeeper.host.titles import first_words, source
from innkeeper.providers.spi import ProviderError
from scripted.provider import ScriptedProvider
from scripted.world import World

pytestmark = pytest.mark.anyio


class Naming(ScriptedProvider):
    """An agent that answers outside conversations."""

    def __init__(self):
        super().__init__()
        self.asked = []
        self.answer = '"Baking bread"'
        self.gate = None

    async def complete(self, completion):
        self.asked.append(completion)
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
async def naming():
    return Naming()


@pytest.fixture
async def world(naming):
    started = await World(scripted=naming).start()
    yield started
    await started.close()


def shown(client, session, chat):
    return next(c["title"] for c in client.states[session]["chats"] if c["resource"] == chat)


async def test_the_first_words_come_at_once_and_a_better_title_after_the_first_good_turn(world, client, naming):
    session, chat = await client.new_session()
    client.start_turn(chat, "hello there\nfriend")
    await client.state(session, lambda s: s["title"] == "hello there friend")
    await client.state(session, lambda s: s["title"] == "Baking bread")
    await client.turn(chat, "hello", "t2")
    assert len(naming.asked) == 1 and "User: hello there" in naming.asked[0].text


async def test_a_person_who_names_it_while_a_title_is_made_wins(world, client, naming):
    """C38."""
    naming.gate = asyncio.Event()
    session, chat = await client.new_session()
    await client.turn(chat, "hello")
    await world.until(lambda: naming.asked)
    await client.echo(client.dispatch(session, "session/titleChanged", title="Mine"))
    naming.gate.set()
    await client.turn(chat, "hello", "t2")
    assert client.states[session]["title"] == "Mine" and shown(client, session, chat) == "Mine"


@pytest.mark.parametrize("answer", [ProviderError("x", "no"), "", "   "])
async def test_without_an_answer_the_first_words_stay(world, client, naming, answer):
    """K18."""
    naming.answer = answer
    session, chat = await client.new_session()
    await client.turn(chat, "hello")
    await world.until(lambda: naming.asked)
    await client.turn(chat, "hello", "t2")
    assert client.states[session]["title"] == "hello"


async def test_the_setting_leaves_it_out(naming):
    """K18."""
    world = await World(scripted=naming, options={"generate_titles": False}).start()
    client = await world.client()
    _, chat = await client.new_session()
    await client.turn(chat, "hello")
    assert not naming.asked
    await world.close()


async def test_a_renamed_session_names_its_default_chat_and_tells_the_agent_once(world, client):
    """C36."""
    session, chat = await client.new_session()
    client.dispatch(session, "session/titleChanged", title="Mine")
    await client.state(session, lambda s: s["chats"][0]["title"] == "Mine")
    for number, told in (("a", ("The user named this conversation: Mine",)), ("b", ())):
        await client.turn(chat, "hello", number)
        assert world.scripted.requests[-1].instructions == told
    later = await world.crash()
    again = await later.client("bob")
    state = await again.subscribe(session)
    assert state["title"] == "Mine" and state["chats"][0]["title"] == "Mine"
    await later.close()


async def test_a_peer_chat_is_renamed_alone_and_keeps_it_unopened(world, client):
    """C37."""
    session, _ = await client.new_session()
    peer = "ahp-chat:/peer"
    await client.request("createChat", session, chat=peer)
    await client.subscribe(peer)
    await client.turn(peer, "/rename Peer")
    later = await world.crash()
    again = await later.client("bob")
    state = await again.subscribe(session)
    assert {c["resource"]: c["title"] for c in state["chats"]}[peer] == "Peer" and state["title"] != "Peer"
    await later.close()


async def test_a_fork_says_so_once(world, client):
    """C40."""
    session, chat = await client.new_session()
    await client.turn(chat, "hello")
    await client.state(session, lambda s: s["title"] == "Baking bread")
    names = ["ahp-chat:/f1", "ahp-chat:/f2"]
    for fork, of in zip(names, [chat, names[0]], strict=True):
        await client.subscribe(of)
        turn = client.states[of]["turns"][0]["id"]
        await client.request("createChat", session, chat=fork, source={"kind": "fork", "chat": of, "turnId": turn})
    titles = {c["resource"]: c["title"] for c in client.states[session]["chats"]}
    assert [titles[name] for name in names] == ["Forked: Baking bread"] * 2


def test_a_provisional_title_is_one_short_line():
    """C39, our length (K18)."""
    title = first_words("word\n" * 100)
    assert "\n" not in title and title.endswith("…") and 50 < len(title) <= 60


def test_a_title_is_made_of_the_beginning_of_both_sides():
    turn = {"message": {"text": "x" * 30_000}, "responseParts": [{"kind": "markdown", "content": "y"}]}
    assert len(source(turn)) == 20_000 and source({"message": {"text": "a"}}).startswith("User: a")


async def test_a_person_who_gives_the_name_that_it_has_keeps_it(world, client, naming):
    """K18: the same words are a person's from then on; the agent is told them once."""
    naming.gate = asyncio.Event()
    session, chat = await client.new_session()
    await client.turn(chat, "hello")
    await world.until(lambda: naming.asked)
    await client.turn(chat, "/rename hello", "t2")
    naming.gate.set()
    for number, told in (("t3", ("The user named this conversation: hello",)), ("t4", ())):
        await client.turn(chat, "hello", number)
        assert naming.requests[-1].instructions == told
    assert client.states[session]["title"] == "hello" and shown(client, session, chat) == "hello"


async def test_an_agent_is_not_asked_for_a_title_that_would_not_be_used(world, client, naming):
    """K18."""
    session, chat = await client.new_session()
    await client.echo(client.dispatch(session, "session/titleChanged", title="Mine"))
    await client.turn(chat, "hello")
    await client.turn(chat, "hello", "t2")
    assert not naming.asked and client.states[session]["title"] == "Mine"


async def test_a_title_is_made_of_the_first_turn_that_the_agent_had(world, client, naming):
    """K18: a local command before it is none of the agent's."""
    _, chat = await client.new_session()
    await client.turn(chat, "/rename", "t1")
    await client.turn(chat, "hello there", "t2")
    await world.until(lambda: naming.asked)
    assert naming.asked[0].text.startswith("User: hello there")
