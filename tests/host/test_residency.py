"""Sessions leave memory and come back equal (M5.8, K6; contributions reference §5.2, §5.4, S1-S10)."""

import asyncio

import pytest

from innkeeper.host.settings import HostSettings
from innkeeper.ports.log import StoreError, StoreFull
from innkeeper.store.memory import MemoryLog
from scripted.fakes import FakeMcp, FakeServer
from scripted.provider import ScriptedProvider
from scripted.world import Client, RpcFailure, World, plain, text_of

pytestmark = pytest.mark.anyio
USER = {"kind": "user"}
FIELDS = {"version": "1.2.3", "summary_delay": 0.001, "close_timeout": 0.2, "rest_seconds": 0.0}


class Counting(ScriptedProvider):
    """Counts the agents that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    async def open_session(self, opening):
        session = await super().open_session(opening)
        self.open.append(opening.session)
        close = session.close

        async def closed():
            self.open.remove(opening.session)
            await close()

        session.close = closed
        return session


class Slow(MemoryLog):
    """Counts what is read; `gate` holds a reading up."""

    gate: asyncio.Event | None = None
    read: list[str]

    async def channel(self, channel):
        self.__dict__.setdefault("read", []).append(channel)
        if self.gate is not None:
            await self.gate.wait()
        return await super().channel(channel)


async def a_world(limit: int = 0, **more) -> World:
    settings = HostSettings(**{**FIELDS, "resident_sessions": limit, **more.pop("settings", {})})
    more.setdefault("scripted", Counting())
    return await World(settings=settings, **more).start()


def resident(world: World) -> list[str]:
    return list(world.hub.channels("session"))


async def leave(client: Client, *channels: str) -> None:
    for channel in channels:
        client.unsubscribe(channel)
    await client.request("ping")


async def gone(world: World, *sessions: str) -> None:
    await world.until(lambda: not set(sessions) & set(resident(world)))


async def look(world: World, session: str, chat: str) -> tuple[object, object]:
    """What a fresh client sees."""
    other = await world.client()
    seen = plain(await other.subscribe(session)), plain(await other.subscribe(chat))
    other.lose()
    return seen


async def test_the_idle_session_least_recently_used_leaves_and_comes_back_equal():
    """S3."""
    world = await a_world(2)
    client = await world.client("alice")
    known = [await client.new_session(f"ahp-session:/{name}") for name in "abc"]
    for session, chat in known:
        await client.turn(chat, "tool", f"t{session}")
    before = {session: (plain(client.states[session]), plain(client.states[chat])) for session, chat in known}
    for session, chat in known:
        await leave(client, chat, session)
    await gone(world, "ahp-session:/a")
    assert resident(world) == ["ahp-session:/b", "ahp-session:/c"]
    assert world.scripted.open == ["ahp-session:/b", "ahp-session:/c"]
    assert await look(world, *known[0]) == before["ahp-session:/a"]
    await gone(world, "ahp-session:/b")
    await world.close()


async def test_a_message_to_a_session_that_left_goes_on_where_it_was():
    world = await a_world()
    client = await world.client("alice")
    session, chat = await client.new_session()
    await client.turn(chat, "hello")
    await leave(client, chat, session)
    await gone(world, session)
    assert world.scripted.open == [] and world.hub.channels("chat") == ()
    await client.subscribe(chat)
    assert text_of(await client.turn(chat, "hello", "t2")) == "Hello, world"
    assert [turn["id"] for turn in world.scripted.requests[-1].history] == ["t1"]
    assert world.scripted.open == [session]
    await client.subscribe(session)
    await client.state(session, lambda s: s["chats"][0]["status"] & 31 == 1)
    world.check_mirrors(client)
    await world.close()


async def test_a_session_that_leaves_ends_its_servers_and_forgets_nothing():
    """M5.8: they start by policy at the next request; what a person granted stays."""
    world = await a_world(mcp=FakeMcp(declared={"memo": FakeServer("memo")}))
    client = await world.client("alice")
    session, chat = await client.new_session()
    await client.state(session, lambda s: s.get("customizations"))
    await leave(client, chat, session)
    await gone(world, session)
    assert ("release", session) in world.mcp.log and ("close", session) not in world.mcp.log
    assert world.service._customizations.followed() == ()
    await client.subscribe(session)
    await world.until(lambda: world.service._customizations.followed() == (session,))
    await world.close()


async def test_what_is_remembered_beside_the_state_goes_with_it():
    """K6: mementos are evicted with their chat and session, once each."""
    world = await a_world()
    evicted = []
    world.service.residency._evicts = type(
        "Evicts", (), {"evict_chat": lambda _, c: evicted.append(c), "evict_session": lambda _, s: evicted.append(s)}
    )()
    client = await world.client("alice")
    session, chat = await client.new_session()
    await leave(client, chat, session)
    await gone(world, session)
    assert evicted == [chat, session]
    await world.close()


@pytest.mark.parametrize("by", ["session", "chat"])
async def test_a_subscriber_keeps_a_session_in_memory(by):
    world = await a_world()
    client = await world.client("alice")
    session, chat = await client.new_session()
    await leave(client, chat if by == "session" else session)
    await world.service.residency.sweep()
    assert resident(world) == [session]
    client.lose()
    await gone(world, session)
    await world.close()


async def test_a_running_turn_and_a_question_keep_a_session_in_memory():
    world = await a_world()
    client = await world.client("alice")
    session, chat = await client.new_session()
    client.start_turn(chat, "ask")
    state = await client.state(session, lambda s: s.get("inputNeeded"))
    call = state["inputNeeded"][0]["toolCall"]["toolCallId"]
    await leave(client, chat, session)
    await world.service.residency.sweep()
    assert resident(world) == [session]
    client.dispatch(chat, "chat/toolCallConfirmed", turnId="t1", toolCallId=call, approved=False, reason="denied")
    await gone(world, session)
    assert "activeTurn" not in await client.subscribe(chat)
    await world.close()


async def test_archived_sessions_leave_first_and_whatever_the_limit():
    world = await a_world(5)
    client = await world.client("alice")
    for name in "ab":
        session, chat = await client.new_session(f"ahp-session:/{name}")
        await leave(client, chat, session)
    client.dispatch("ahp-session:/b", "session/isArchivedChanged", isArchived=True)
    await gone(world, "ahp-session:/b")
    assert resident(world) == ["ahp-session:/a"]
    await world.close()


async def test_a_pending_write_holds_a_session_up():
    """S4."""
    world = await a_world()
    client = await world.client("alice")
    session, chat = await client.new_session()
    await world.driver.settle(5)
    world.log.hold()
    client.dispatch(chat, "chat/draftChanged", draft={"text": "half", "origin": USER})
    await leave(client, chat, session)
    await asyncio.sleep(0.02)
    assert resident(world) == [session]
    world.log.let_go()
    await gone(world, session)
    assert (await client.subscribe(chat))["draft"]["text"] == "half"
    await world.close()


async def test_a_full_disk_keeps_sessions_where_they_are_and_loses_nothing():
    """Nothing leaves memory that is not stored."""
    world = await a_world()
    client = await world.client("alice")
    session, chat = await client.new_session()
    await world.driver.settle(5)
    world.log.fail_next(StoreFull("no space"), 3)
    await leave(client, chat, session)
    await asyncio.sleep(0.02)
    assert resident(world) == [session]
    world.log._failures.clear()
    await world.service.residency.sweep()
    assert resident(world) == []
    assert (await client.subscribe(chat))["turns"] == []
    await world.close()


async def test_a_subscribe_that_comes_while_a_session_leaves_waits_and_restores_it():
    world = await a_world()
    client = await world.client("alice")
    session, chat = await client.new_session()
    before = plain(client.states[session])
    gate = asyncio.Event()
    backings, released = world.service._backings, []

    async def slowly(uri, seconds):
        await gate.wait()
        released.append(uri)

    close, backings.close = backings.close, slowly
    await leave(client, chat, session)
    await world.until(lambda: world.driver.loading._on_the_way)
    waiting = asyncio.create_task(client.subscribe(session))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    gate.set()
    assert plain(await waiting) == before and released == [session]
    backings.close = close
    await world.close()


async def test_two_who_want_a_stored_session_at_once_share_one_reading():
    """S7."""
    world = await a_world(log=Slow())
    client = await world.client("alice")
    session, chat = await client.new_session()
    await leave(client, chat, session)
    await gone(world, session)
    world.log.gate = asyncio.Event()
    world.log.read = []
    others = [await world.client() for _ in range(3)]
    waiting = [asyncio.create_task(other.subscribe(uri)) for other in others for uri in (session,)]
    chats = asyncio.create_task(client.subscribe(chat))
    await asyncio.sleep(0.01)
    world.log.gate.set()
    assert len({str(state) for state in await asyncio.gather(*waiting)}) == 1
    await chats
    assert sorted(world.log.read) == sorted([session, chat])
    await world.close()


async def test_flags_of_a_stored_session_change_without_its_agent_or_its_chats():
    """S10."""
    world = await a_world()
    client = await world.client("alice")
    session, chat = await client.new_session()
    await leave(client, chat, session)
    await gone(world, session)
    client.dispatch(session, "session/isArchivedChanged", isArchived=True)
    client.dispatch(session, "session/isReadChanged", isRead=True)
    (item,) = (await client.request("listSessions"))["items"]
    assert item["status"] == 1 | 32 | 64
    assert world.scripted.open == [] and world.hub.channels("chat") == ()
    await world.driver.settle(5)
    later = await world.crash()
    (item,) = (await (await later.client()).request("listSessions"))["items"]
    assert item["status"] == 1 | 32 | 64
    await later.close()


async def test_a_command_keeps_its_session_in_memory_until_it_is_answered():
    world = await a_world(mcp=FakeMcp(declared={"memo": FakeServer("memo")}))
    client = await world.client("alice")
    session, chat = await client.new_session()
    await leave(client, chat, session)
    await gone(world, session)
    gate = asyncio.Event()
    start = world.mcp.start

    async def slowly(uri, id):
        await gate.wait()
        await start(uri, id)

    world.mcp.start = slowly
    asking = asyncio.create_task(client.request("x-innkeeper/mcp/connect", session, server="memo"))
    await world.until(lambda: ("open", session, "file:///w") in world.mcp.log[-3:] or resident(world))
    await asyncio.sleep(0.01)
    await world.service.residency.sweep()
    assert resident(world) == [session]
    gate.set()
    assert (await asking)["items"][0]["status"] == "ready"
    await gone(world, session)
    await world.close()


async def test_an_idle_session_rests_before_it_leaves():
    """What follows the end of a turn finds the session in memory."""
    world = await a_world(settings={"rest_seconds": 0.2})
    client = await world.client("alice")
    session, chat = await client.new_session()
    await leave(client, chat, session)
    before = world.clock.monotonic()
    await gone(world, session)
    assert world.clock.monotonic() - before > 0.15
    await world.close()


async def test_a_title_that_is_being_made_keeps_its_session_in_memory():
    """K18: the agent's answer comes after the turn, and must find the session."""
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    scripted = Counting()
    scripted.complete = lambda completion: answer
    world = await a_world(scripted=scripted)
    client = await world.client("alice")
    session, chat = await client.new_session()
    await client.turn(chat, "hello")
    await leave(client, chat, session)
    await asyncio.sleep(0.02)
    assert resident(world) == [session]
    answer.set_result("A better title")
    await gone(world, session)
    (item,) = (await client.request("listSessions"))["items"]
    assert item["title"] == "A better title"
    await world.close()


async def test_whoever_holds_a_session_keeps_it():
    world = await a_world()
    busy = {"ahp-session:/1"}
    world.service.residency.hold_while(busy.__contains__)
    client = await world.client("alice")
    session, chat = await client.new_session()
    await leave(client, chat, session)
    await world.service.residency.sweep()
    assert resident(world) == [session]
    busy.clear()
    await world.service.residency.sweep()
    assert resident(world) == []
    await world.close()


# -- what cannot be read -----------------------------------------------------------------------------------------------


def damage(log: MemoryLog, channel: str, state: bytes = b'{"half') -> None:
    (row,) = [row for row in log._contents.channels.values() if row.channel == channel]
    log._contents.states[row.id] = state


@pytest.mark.parametrize("state", [b'{"half', b"[]", b"7", b'{"chats": 3, "turns": 7}'])
async def test_one_damaged_session_keeps_no_other_from_its_place(state):
    """S9, S6: what is there and cannot be read is never told to be gone."""
    world = await a_world()
    client = await world.client("alice")
    bad, bad_chat = await client.new_session("ahp-session:/bad")
    good, chat = await client.new_session("ahp-session:/good")
    await world.driver.settle(5)
    await leave(client, bad_chat, bad, chat, good)
    await gone(world, bad, good)
    survivor = world.log.crash()
    damage(survivor, bad, state)
    (row,) = [row for row in survivor._contents.channels.values() if row.channel == bad]
    row.snapshot_seq = row.version
    later = await a_world(log=survivor)
    again = await later.client("alice")
    listed = (await again.request("listSessions"))["items"]
    assert {item["resource"] for item in listed} == {bad, good}
    if state in (b'{"half', b"[]", b"7"):
        for uri in (bad, bad_chat):
            with pytest.raises(RpcFailure) as refused:
                await again.subscribe(uri)
            assert refused.value.code == -32603
        why = await again.rejection(again.dispatch(bad, "session/titleChanged", title="x"))
        assert "cannot be read" in why
    assert (await again.subscribe(good))["lifecycle"] == "ready"
    await again.request("disposeSession", bad)
    assert [item["resource"] for item in (await again.request("listSessions"))["items"]] == [good]
    await later.close()


async def test_a_reading_that_failed_is_tried_again_by_the_next_who_wants_it():
    """S6: retryable."""
    world = await a_world()
    client = await world.client("alice")
    session, chat = await client.new_session()
    await leave(client, chat, session)
    await gone(world, session)
    read = world.log.channel

    async def broken(channel):
        raise StoreError("the disk is away")

    world.log.channel = broken
    with pytest.raises(RpcFailure):
        await client.subscribe(session)
    world.log.channel = read
    assert (await client.subscribe(session))["lifecycle"] == "ready"
    await world.close()


async def test_a_damaged_row_of_the_list_is_made_anew_from_its_session():
    """S9."""
    world = await a_world()
    client = await world.client("alice")
    session, chat = await client.new_session()
    await leave(client, chat, session)
    await gone(world, session)
    (before,) = (await client.request("listSessions"))["items"]
    survivor = world.log.crash()
    for id, row in survivor._contents.listings.items():
        survivor._contents.listings[id] = row._replace(summary=b"\xff")
    later = await a_world(log=survivor)
    again = await later.client()
    assert (await again.request("listSessions"))["items"] == [before]
    await later.driver.settle(5)
    await later.close()
    last = await a_world(log=later.log.crash())
    assert (await (await last.client()).request("listSessions"))["items"] == [before]
    assert resident(last) == []
    await last.close()


async def test_a_disposed_session_stays_disposed_also_one_that_was_not_in_memory():
    """S5."""
    world = await a_world()
    client = await world.client("alice")
    session, chat = await client.new_session()
    await leave(client, chat, session)
    await gone(world, session)
    await client.request("disposeSession", session)
    later = await world.crash()
    again = await later.client()
    assert (await again.request("listSessions"))["items"] == []
    for uri in (session, chat):
        with pytest.raises(RpcFailure) as refused:
            await again.subscribe(uri)
        assert refused.value.code == -32008
    assert again.states["ahp-root://"]["activeSessions"] == 0
    await later.close()


async def test_a_store_from_before_the_list_is_listed_by_the_first_start():
    """S12."""
    world = await a_world()
    client = await world.client("alice")
    for name in "ab":
        _, chat = await client.new_session(f"ahp-session:/{name}")
        await client.turn(chat, "hello", f"t{name}")
    await client.echo(client.dispatch(chat, "chat/draftChanged", draft={"text": "x", "origin": USER}))
    listed = (await client.request("listSessions"))["items"]
    survivor = world.log.crash()
    survivor._contents.listings.clear()
    later = await a_world(log=survivor)
    assert (await (await later.client()).request("listSessions"))["items"] == listed
    await gone(later, "ahp-session:/a", "ahp-session:/b")
    await later.driver.settle(5)
    assert len(later.log._contents.listings) == 2
    await later.close()


async def test_a_start_reads_only_sessions_that_were_at_work():
    """Architecture §7."""
    world = await a_world(5)
    client = await world.client("alice")
    for name in "abc":
        session, chat = await client.new_session(f"ahp-session:/{name}")
    client.start_turn(chat, "stuck")
    await client.state(session, lambda s: s["chats"][0]["status"] & 8)
    later = await world.crash()
    assert resident(later) == ["ahp-session:/c"]
    items = {item["resource"]: item for item in (await (await later.client()).request("listSessions"))["items"]}
    assert items["ahp-session:/c"]["status"] & 31 == 2 and items["ahp-session:/a"]["status"] & 31 == 1
    await later.close()


async def test_a_session_that_heard_of_the_turn_but_not_of_its_end_is_put_right():
    """The session's entry may lag behind the chat in either direction when the process dies."""
    world = await a_world(5)
    client = await world.client("alice")
    session, chat = await client.new_session()
    client.start_turn(chat, "steered")
    await client.state(session, lambda s: s["chats"][0]["status"] & 8)
    world.service._mirror.chat_changed = lambda released: None
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    await client.state(chat, lambda s: "activeTurn" not in s)
    later = await world.crash()
    (item,) = (await (await later.client()).request("listSessions"))["items"]
    assert item["status"] & 31 == 1
    await later.close()


async def test_an_active_client_whose_time_is_up_is_no_more_when_its_session_comes_back():
    """AHP §9.5."""
    world = await a_world(settings={"grace": 0.03})
    client = await world.client("alice")
    session, chat = await client.new_session(activeClient={"clientId": "alice", "tools": []})
    await client.turn(chat, "hello")
    client.lose()
    await gone(world, session)
    await asyncio.sleep(0.06)
    assert (await (await world.client("bob")).subscribe(session))["activeClients"] == []
    await world.close()


async def test_drafts_of_every_chat_are_back_after_sudden_death():
    """C42: also in a peer chat, and one that was not in memory."""
    world = await a_world()
    client = await world.client("alice")
    session, chat = await client.new_session()
    await client.request("createChat", session, chat="ahp-chat:/peer")
    await client.subscribe("ahp-chat:/peer")
    for uri in (chat, "ahp-chat:/peer"):
        await client.echo(client.dispatch(uri, "chat/draftChanged", draft={"text": uri, "origin": USER}))
    await leave(client, chat, "ahp-chat:/peer", session)
    await gone(world, session)
    later = await world.crash()
    again = await later.client("alice")
    for uri in (chat, "ahp-chat:/peer"):
        assert (await again.subscribe(uri))["draft"]["text"] == uri
    await later.close()


# -- drafts ------------------------------------------------------------------------------------------------------------


async def a_draft(world: World, **more) -> tuple[Client, str, str]:
    client = await world.client("alice")
    session, chat = await client.new_session(activeClient={"clientId": "alice", "tools": []}, **more)
    return client, session, chat


async def test_a_session_that_a_window_opened_and_nobody_used_goes_after_its_last_subscriber():
    """S1."""
    world = await a_world(5, settings={"draft_seconds": 0.05})
    client, session, chat = await a_draft(world)
    await leave(client, chat, session)
    await client.until(lambda: client.notices("root/sessionRemoved"))
    assert world.hub.known("session") == () and world.hub.known("chat") == ()
    await world.close()


@pytest.mark.parametrize("again", ["session", "chat"])
async def test_whoever_comes_back_in_time_keeps_it(again):
    """S1: resubscribe at 20 s keeps it."""
    world = await a_world(5, settings={"draft_seconds": 0.06})
    client, session, chat = await a_draft(world)
    await leave(client, chat, session)
    await asyncio.sleep(0.03)
    await client.subscribe(session if again == "session" else chat)
    await asyncio.sleep(0.08)
    assert world.hub.known("session") == (session,)
    await leave(client, session, chat)
    await client.until(lambda: client.notices("root/sessionRemoved"))
    await world.close()


async def use_nothing(client, session, chat):
    """Created by a command line: nobody took part."""


async def use_title(client, session, chat):
    await client.echo(client.dispatch(session, "session/titleChanged", title="mine"))


async def use_draft(client, session, chat):
    await client.echo(client.dispatch(chat, "chat/draftChanged", draft={"text": "h", "origin": USER}))


async def use_turn(client, session, chat):
    await client.turn(chat, "hello")


async def use_config(client, session, chat):
    await client.echo(client.dispatch(session, "session/isReadChanged", isRead=True))


async def use_command(client, session, chat):
    await client.request("x-innkeeper/mcp/list", session)


async def use_chat(client, session, chat):
    await client.request("createChat", session, chat="ahp-chat:/more")


@pytest.mark.parametrize("use", [use_nothing, use_title, use_draft, use_turn, use_config, use_command, use_chat])
async def test_a_session_in_which_anything_was_done_stays(use):
    """S1, and our rule in decision record 22."""
    world = await a_world(5, settings={"draft_seconds": 0.02})
    client = await world.client("alice")
    taken = {} if use is use_nothing else {"activeClient": {"clientId": "alice", "tools": []}}
    session, chat = await client.new_session(**taken)
    await use(client, session, chat)
    await leave(client, chat, session)
    client.lose()
    await asyncio.sleep(0.06)
    assert world.hub.known("session") == (session,)
    await world.close()


async def test_a_draft_of_an_earlier_process_stays():
    world = await a_world(5, settings={"draft_seconds": 0.02})
    await a_draft(world)
    later = await world.crash()
    client = await later.client("bob")
    await client.subscribe("ahp-session:/1")
    await leave(client, "ahp-session:/1")
    await asyncio.sleep(0.05)
    assert later.hub.known("session") == ("ahp-session:/1",)
    await later.close()


async def test_a_new_session_is_listed_at_once():
    """S2 is decided by AHP §4 and §9.1: `createSession` is broadcast and listed, also before the first message."""
    world = await a_world(5)
    other = await world.client("bob")
    _, session, _ = await a_draft(world)
    await other.until(lambda: other.notices("root/sessionAdded"))
    assert [item["resource"] for item in (await other.request("listSessions"))["items"]] == [session]
    await world.close()
