"""A chat's own configuration (K15)."""

import pytest

from innkeeper.contributions.spi import Addition, Context, Contribution, HydratedChat, Hydration, services
from innkeeper.ports.contributed import CHAT_CONFIG
from scripted.world import RpcFailure

pytestmark = pytest.mark.anyio
PEER = "ahp-chat:/peer"


async def with_peer(client):
    session, chat = await client.new_session()
    await client.request("createChat", session, chat=PEER)
    await client.subscribe(PEER)
    return session, chat


async def test_a_chats_value_wins_there_and_nowhere_else(world, client):
    _, chat = await with_peer(client)
    answer = await client.request("x-innkeeper/chat/configure", PEER, values={"mode": "plan"})
    assert answer["values"]["mode"] == "plan"
    for one, mode in ((PEER, "plan"), (chat, "interactive")):
        await client.turn(one, "hello", mode)
        assert world.scripted.requests[-1].config["mode"] == mode


async def test_it_survives_a_kill_and_null_takes_it_away(world, client):
    """K15."""
    await with_peer(client)
    await client.request("x-innkeeper/chat/configure", PEER, values={"mode": "plan"})
    later = await world.crash()
    again = await later.client("bob")
    await again.subscribe(PEER)
    await again.turn(PEER, "hello")
    assert later.scripted.requests[-1].config["mode"] == "plan"
    answer = await again.request("x-innkeeper/chat/configure", PEER, values={"mode": None})
    assert answer["values"]["mode"] == "interactive"
    await later.close()


async def test_a_chat_that_is_gone_leaves_nothing(world, client):
    session, _ = await with_peer(client)
    await client.request("x-innkeeper/chat/configure", PEER, values={"mode": "plan"})
    await client.request("disposeChat", PEER)
    state = await client.state(session, lambda s: not s["_meta"].get(CHAT_CONFIG))
    assert all(c["resource"] != PEER for c in state["chats"])


@pytest.mark.parametrize(
    ("channel", "values", "code"),
    [
        (PEER, {"none": 1}, -32602),
        (PEER, {"mode": "odd"}, -32602),
        (PEER, {"none": None}, -32602),
        (PEER, {"permissions": {"allow": [1]}}, -32602),
        (PEER, {"branchMode": "direct"}, -32602),
        (PEER, {"mode": "plan", "branch": "main"}, -32602),
        (PEER, "mode", -32602),
        ("ahp-chat:/none", {"mode": "plan"}, -32008),
        ("ahp-session:/1", {"mode": "plan"}, -32008),
    ],
)
async def test_what_cannot_be_meant_is_refused(world, client, channel, values, code):
    await with_peer(client)
    with pytest.raises(RpcFailure) as refused:
        await client.request("x-innkeeper/chat/configure", channel, values=values)
    assert refused.value.code == code and CHAT_CONFIG not in client.states["ahp-session:/1"]["_meta"]


async def test_a_chat_that_enters_overrides_nothing_and_brings_nothing_transient(world, client):
    """K15."""
    session, _ = await with_peer(client)
    await client.request("x-innkeeper/chat/configure", PEER, values={"mode": "plan"})
    brought = HydratedChat(config={"mode": "autopilot", "autoApprove": "assisted", "shellInitScript": "x"})
    found = await world.service.hooks.hydrate_chat(Hydration(session, PEER, "transcript"), brought)
    assert found.config == {"mode": "plan", "autoApprove": "assisted"}


async def test_a_fork_is_configured_as_its_source_and_goes_its_own_way(world, client):
    """K15, K17: a fork enters by way of the hydration hooks, with what its source has."""
    session, _ = await with_peer(client)
    await client.request("x-innkeeper/chat/configure", PEER, values={"mode": "plan"})
    await client.turn(PEER, "hello", "a")
    fork = "ahp-chat:/fork"
    await client.request("createChat", session, chat=fork, source={"kind": "fork", "chat": PEER, "turnId": "a"})
    await client.subscribe(fork)
    await client.turn(fork, "hello", "b")
    assert world.scripted.requests[-1].config["mode"] == "plan"
    await client.request("x-innkeeper/chat/configure", PEER, values={"mode": "interactive"})
    await client.turn(fork, "hello", "c")
    assert world.scripted.requests[-1].config["mode"] == "plan"


async def test_contributions_are_told_what_holds_in_a_chat(world, client):
    """K7, K15: the chat's own value before its session's."""

    class Asking(Contribution):
        id = "asking"
        order = 10_000

        def __init__(self, context: Context, configuration: services.Configuration) -> None:
            self.value = configuration.value

        def on_outgoing_turn(self, turn):
            return Addition([f"{self.value(where, 'mode')}" for where in (turn.chat, turn.session, "ahp-chat:/none")])

    world.service.contributions.register(Asking)
    _, chat = await with_peer(client)
    await client.request("x-innkeeper/chat/configure", PEER, values={"mode": "plan"})
    for one, mode in ((PEER, "plan"), (chat, "interactive")):
        await client.turn(one, "hello", mode)
        assert world.scripted.requests[-1].instructions == (mode, "interactive", "None")
