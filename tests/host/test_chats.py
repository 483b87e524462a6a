import asyncio

import pytest

from innkeeper.contributions.spi import Context, Contribution
from scripted.provider import ScriptedProvider
from scripted.world import RpcFailure, World, text_of

pytestmark = pytest.mark.anyio

TWO = "ahp-chat:/two"


async def refused(request):
    with pytest.raises(RpcFailure) as caught:
        await request
    return caught.value


async def test_a_chat_is_added_before_the_answer(world, client):
    """AHP §9.3."""
    session, _ = await client.new_session()
    await client.request("createChat", session, chat=TWO)
    assert [c["resource"] for c in client.states[session]["chats"]][1] == TWO
    assert (await client.subscribe(TWO))["origin"] == {"kind": "user"}
    assert text_of(await client.turn(TWO, "hello")) == "Hello, world"
    world.check_mirrors(client)


async def test_an_initial_message_starts_the_first_turn(world, client):
    session, _ = await client.new_session()
    await client.request("createChat", session, chat=TWO, initialMessage={"text": "hello", "origin": {"kind": "user"}})
    await client.subscribe(TWO)
    state = await client.state(TWO, lambda s: s["turns"])
    assert text_of(state["turns"][0]) == "Hello, world"
    await client.state(session, lambda s: s["chats"][1]["title"] == "hello")


async def test_an_agent_without_the_capability_keeps_one_chat():
    """AHP §13.9."""
    world = await World(scripted=ScriptedProvider(chats=False)).start()
    client = await world.client()
    session, _ = await client.new_session()
    assert (await refused(client.request("createChat", session, chat=TWO))).code == -32009
    await world.close()


async def test_a_fork_copies_the_visible_turns_up_to_its_source_turn(world, client):
    """AHP §9.3."""
    session, chat = await client.new_session()
    for turn_id in ("a", "b", "c"):
        await client.turn(chat, f"hello {turn_id}", turn_id)
    await client.request("createChat", session, chat=TWO, source={"kind": "fork", "chat": chat, "turnId": "b"})
    state = await client.subscribe(TWO)
    assert [t["message"]["text"] for t in state["turns"]] == ["hello a", "hello b"]
    assert not {"a", "b"} & {t["id"] for t in state["turns"]}
    assert state["origin"] == {"kind": "fork", "chat": chat, "turnId": "b"}
    await client.turn(TWO, "hello again", "d")
    assert len(world.scripted.requests[-1].history) == 2 and world.scripted.requests[-1].context == ()


async def test_a_side_chat_has_its_source_as_context_only(world, client):
    """AHP §9.3."""
    session, chat = await client.new_session()
    await client.turn(chat, "hello a", "a")
    await client.turn(chat, "hello b", "b")
    source = {"kind": "sideChat", "chat": chat, "turnId": "a", "selection": {"text": "Hello"}}
    await client.request("createChat", session, chat=TWO, source=source)
    state = await client.subscribe(TWO)
    assert state["turns"] == [] and state["origin"]["selection"] == {"text": "Hello"}
    await client.turn(TWO, "hello aside")
    request = world.scripted.requests[-1]
    assert [t["id"] for t in request.context] == ["a"] and request.history == ()


async def test_a_side_chat_of_a_running_turn_sees_its_message_and_partial_answer(world, client):
    """AHP §9.3."""
    session, chat = await client.new_session()
    client.start_turn(chat, "stuck", "a")
    await client.action(chat, "chat/responsePart")
    await client.request("createChat", session, chat=TWO, source={"kind": "sideChat", "chat": chat, "turnId": "a"})
    await client.subscribe(TWO)
    await client.turn(TWO, "hello")
    (turn,) = world.scripted.requests[-1].context
    assert turn["message"]["text"] == "stuck" and text_of(turn) == "working"
    assert "activeTurn" in client.states[chat]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"chat": "no uri"}, -32602),
        ({"source": {"kind": "fork", "chat": "CHAT", "turnId": "nope"}}, -32008),
        ({"source": {"kind": "fork", "chat": "ahp-chat:/none", "turnId": "a"}}, -32008),
        ({"source": {"kind": "fork", "chat": TWO, "turnId": "a"}}, -32008),
        ({"source": {"kind": "fork", "chat": "OTHER", "turnId": "a"}}, -32602),
        ({"source": {"kind": "import", "chat": "CHAT", "turnId": "a"}}, -32602),
        ({"source": {"kind": "sideChat", "chat": "CHAT", "turnId": "nope"}}, -32008),
        ({"source": {"kind": "sideChat", "chat": "CHAT", "turnId": "a", "selection": {"text": ""}}}, -32602),
        ({"workingDirectories": ["file:///elsewhere"]}, -32602),
        ({"initialMessage": {"text": "hello", "origin": {"kind": "agent"}}}, -32602),
    ],
)
async def test_a_chat_that_cannot_be_created_is_refused_and_nothing_changes(world, client, params, code):
    """AHP §9.3."""
    _, foreign = await client.new_session("ahp-session:/other")
    session, chat = await client.new_session()
    await client.turn(chat, "hello", "a")
    source = dict(params.get("source") or {})
    if source:
        source["chat"] = {"CHAT": chat, "OTHER": foreign}.get(source["chat"], source["chat"])
        params = {**params, "source": source}
    assert (await refused(client.request("createChat", session, **{"chat": TWO, **params}))).code == code
    assert len(client.states[session]["chats"]) == 1


async def test_a_running_turn_cannot_be_forked(world, client):
    """AHP §9.3: completed turns only."""
    session, chat = await client.new_session()
    client.start_turn(chat, "stuck", "a")
    await client.action(chat, "chat/responsePart")
    source = {"kind": "fork", "chat": chat, "turnId": "a"}
    assert (await refused(client.request("createChat", session, chat=TWO, source=source))).code == -32008


async def test_chat_uris_are_taken_once(world, client):
    session, chat = await client.new_session()
    assert (await refused(client.request("createChat", session, chat=chat))).code == -32010
    assert (await refused(client.request("createChat", "ahp-session:/none", chat=TWO))).code == -32001


async def test_a_chat_can_be_disposed_while_it_works(world, client):
    """AHP §4."""
    session, _ = await client.new_session()
    await client.request("createChat", session, chat=TWO)
    await client.subscribe(TWO)
    client.start_turn(TWO, "ask")
    await client.state(session, lambda s: s.get("inputNeeded"))
    await client.request("disposeChat", TWO)
    state = await client.state(session, lambda s: len(s["chats"]) == 1)
    assert "inputNeeded" not in state
    assert (await refused(client.request("subscribe", TWO))).code == -32008
    assert len(world.conversation.running) == 0


async def test_the_default_chat_stays_and_no_chat_moves(world, client):
    """AHP §9.4."""
    _session, chat = await client.new_session()
    assert (await refused(client.request("disposeChat", chat))).code == -32011
    assert (await refused(client.request("disposeChat", "ahp-chat:/none"))).code == -32008
    error = await refused(client.request("moveChat", chat, destination={"kind": "newSession"}))
    assert error.code == -32009 and "moved" in error.message


async def test_the_sessions_entry_of_a_chat_follows_the_chat(world, client):
    """AHP §9.3: ChatSummary and ChatState stay equal."""
    session, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    await client.state(session, lambda s: s["chats"][0]["status"] == 8)
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=7)
    state = await client.state(session, lambda s: s["chats"][0]["status"] == 1)
    assert state["chats"][0]["modifiedAt"] == client.states[chat]["modifiedAt"]
    await client.turn(chat, "activity", "t2")
    await client.state(session, lambda s: "activity" not in s["chats"][0] and "activity" not in s)
    assert next(e["action"].get("activity") for e in client.actions(session, "session/activityChanged")) == "Reading"


@pytest.mark.parametrize(("meanwhile", "code"), [("disposed", -32001), ("taken", -32010)])
async def test_a_fork_that_is_on_its_way_is_told_when_its_place_is_gone(world, client, meanwhile, code):
    """AHP §9.3: everything is checked before anything changes, also after the hydration hooks (K17)."""
    held, go = asyncio.Event(), asyncio.Event()

    class Slow(Contribution):
        id = "slow"
        order = 10_000

        def __init__(self, context: Context) -> None:
            self.context = context

        async def on_hydrate_turns(self, of, turns):
            held.set()
            await go.wait()
            return turns

    world.service.contributions.register(Slow)
    other = await world.client("bob")
    session, chat = await client.new_session()
    await client.turn(chat, "hello")
    source = {"kind": "fork", "chat": chat, "turnId": "t1"}
    forking = asyncio.create_task(client.request("createChat", session, chat=TWO, source=source))
    async with asyncio.timeout(5):
        await held.wait()
    if meanwhile == "disposed":
        await other.request("disposeSession", session)
    else:
        await other.request("createChat", session, chat=TWO)
    go.set()
    assert (await refused(forking)).code == code


async def test_contributions_see_a_fork_as_a_snapshot_of_logged_turns_before_it_is_in_the_catalogue(world, client):
    """K17: what is logged is known to them, so that they override none of it; each hook is called once."""
    seen = []

    class Seeing(Contribution):
        id = "seeing"
        order = 10_000

        def __init__(self, context: Context) -> None:
            self.context = context

        def on_hydrate_turns(self, of, turns):
            seen.append((of.source, list(of.logged) == list(turns), world.hub.kind(of.chat)))
            return turns

        def on_hydrate_chat(self, of, restored):
            seen.append((of.source, restored.title, world.hub.kind(of.chat)))
            return restored._replace(title="Named")

    world.service.contributions.register(Seeing)
    session, chat = await client.new_session()
    await client.turn(chat, "hello")
    source = {"kind": "fork", "chat": chat, "turnId": "t1"}
    await client.request("createChat", session, chat=TWO, source=source)
    assert seen == [("snapshot", True, None), ("snapshot", "Forked: hello", None)]
    assert {c["resource"]: c["title"] for c in client.states[session]["chats"]}[TWO] == "Named"
