"""The call sites of the hooks around a turn (K2, K5, K8, K10); what hangs on them comes with the contributions."""

import asyncio

import pytest

from innkeeper.contributions.spi import Addition, Context, Contribution, Reject
from scripted.world import World, text_of

pytestmark = pytest.mark.anyio


class Stages:
    """What the contribution below is told to do, and what it was called for."""

    def __init__(self):
        self.calls = []
        self.refuse = None
        self.broken = set()
        self.wait = None
        self.adds = Addition(["be brief"], "think")

    def called(self, name, turn, *more):
        self.calls.append((name, turn.turn_id, *more))
        if name in self.broken:
            raise RuntimeError(name)


def contribution(stages):
    class Staged(Contribution):
        id = "staged"
        order = 10_000

        def on_incoming_request(self, request):
            stages.called("admit", request)
            return None if stages.refuse is None else Reject(stages.refuse)

        async def on_outgoing_turn(self, turn):
            stages.called("outgoing", turn)
            if stages.wait is not None:
                await stages.wait.wait()
            return stages.adds

        def on_turn_end(self, end):
            stages.called("ended", end, end.reason.kind)

        def __init__(self, context: Context) -> None:
            self.context = context

    return Staged


@pytest.fixture
async def stages():
    return Stages()


@pytest.fixture
async def world(stages):
    started = await World(contributions=[contribution(stages)]).start()
    yield started
    await started.close()


async def test_the_stages_come_in_order_and_the_end_once(world, client, stages):
    """C12, our decision (K10): once a turn, always with a turn id."""
    _, chat = await client.new_session()
    await client.turn(chat, "hello")
    await world.until(lambda: len(stages.calls) == 3)
    assert stages.calls == [("admit", "t1"), ("outgoing", "t1"), ("ended", "t1", "success")]


async def test_the_agent_reads_another_text_and_the_state_keeps_the_users(world, client):
    """K5."""
    _, chat = await client.new_session()
    turn = await client.turn(chat, "hello")
    assert turn["message"]["text"] == "hello" and text_of(turn) == "So."
    assert world.scripted.requests[-1].instructions == ("be brief",)


async def test_a_refused_turn_never_reaches_the_agent(world, client, stages):
    """K2, K10."""
    stages.refuse = {"errorType": "notNow", "message": "Not now"}
    _, chat = await client.new_session()
    turn = await client.turn(chat, "hello")
    assert turn["responseParts"] == [{"kind": "error", "error": {"errorType": "notNow", "message": "Not now"}}]
    assert not world.scripted.requests
    await world.until(lambda: stages.calls[-1] == ("ended", "t1", "rejected"))


async def test_admission_that_breaks_refuses(world, client, stages):
    """K5: fails closed."""
    stages.broken = {"admit"}
    _, chat = await client.new_session()
    assert (await client.turn(chat, "hello"))["state"] == "error" and not world.scripted.requests


async def test_an_outgoing_stage_that_breaks_adds_nothing(world, client, stages):
    """K5."""
    stages.broken = {"outgoing"}
    _, chat = await client.new_session()
    assert text_of(await client.turn(chat, "hello")) == "Hello, world"
    assert world.scripted.requests[-1].instructions == ()


async def test_an_end_that_breaks_harms_no_turn(world, client, stages):
    stages.broken = {"ended"}
    _, chat = await client.new_session()
    await client.turn(chat, "hello")
    assert (await client.turn(chat, "hello", "t2"))["state"] == "complete"


@pytest.mark.parametrize(
    ("prompt", "kind"), [("fail", "error"), ("crash", "error"), ("stuck", "cancelled"), ("deaf", "cancelled")]
)
async def test_every_kind_of_end_is_told_once(world, client, stages, prompt, kind):
    """K10."""
    stages.adds = Addition()
    _, chat = await client.new_session()
    client.start_turn(chat, prompt)
    await client.action(chat, "chat/responsePart")
    if kind == "cancelled":
        client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    await client.ended(chat)
    await client.turn(chat, "hello", "t2")
    await world.until(lambda: ("ended", "t2", "success") in stages.calls)
    assert [call for call in stages.calls if call[:2] == ("ended", "t1")] == [("ended", "t1", kind)]


async def test_a_cancelled_turn_stops_the_stages(world, client, stages):
    """K8."""
    stages.wait = asyncio.Event()
    _, chat = await client.new_session()
    client.start_turn(chat, "hello")
    await world.until(lambda: ("outgoing", "t1") in stages.calls)
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    assert (await client.ended(chat))["state"] == "cancelled" and not world.scripted.requests


async def test_declarations_are_prepared_after_admission_and_before_contributions_add_to_the_turn(
    world, client, stages
):
    """K19: so that what servers say of themselves can be in it."""
    world.mcp.prepare = lambda session, turn_id: stages.calls.append(("prepare", turn_id))
    _, chat = await client.new_session()
    await client.turn(chat, "hello")
    await world.until(lambda: len(stages.calls) == 4)
    assert stages.calls == [("admit", "t1"), ("prepare", "t1"), ("outgoing", "t1"), ("ended", "t1", "success")]


async def test_a_stage_that_hangs_holds_no_turn_up_and_leaves_no_task(world, client, stages, caplog):
    """K8: skipped after its time, told, and cancelled."""
    world.service.hooks._seconds = 0.05
    stages.wait = asyncio.Event()
    _, chat = await client.new_session()
    turn = await client.turn(chat, "hello")
    assert text_of(turn) == "Hello, world" and world.scripted.requests[-1].instructions == ()
    assert "staged took longer than 0.05 s in on_outgoing_turn" in caplog.text
    await world.until(lambda: not world.service.hooks._left_behind)


async def test_two_chats_of_one_session_wait_for_no_hook_of_each_other(world, client, stages):
    """K8: a hook that takes its time in one turn delays that one alone."""
    stages.wait = asyncio.Event()
    session, chat = await client.new_session()
    await client.request("createChat", session, chat="ahp-chat:/two")
    await client.subscribe("ahp-chat:/two")
    client.start_turn(chat, "hello", "slow")
    await world.until(lambda: ("outgoing", "slow") in stages.calls)
    waiting, stages.wait = stages.wait, None
    await client.turn("ahp-chat:/two", "hello", "fast")
    assert client.states[chat]["activeTurn"]["id"] == "slow" and not client.states[chat]["turns"]
    waiting.set()
    assert (await client.ended(chat, "slow"))["state"] == "complete"
