"""Mementos: identity, eviction, disposal (K6; rows of the reference from D19 on)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.contributions.dispatch.mementos import Mementos, OwnContext
from innkeeper.contributions.spi import ChatKey, Context, Contribution, SessionKey

CHATS = {"c": "s", "c2": "s", "other": "s2"}


@pytest.fixture
def mementos():
    return Mementos(CHATS.get)


@pytest.fixture
def context(mementos):
    return OwnContext("one", mementos)


class Disposable:
    def __init__(self):
        self.disposed = 0

    def dispose(self):
        self.disposed += 1


NUMBERS = ChatKey("numbers", list)
OF_SESSION = SessionKey("ofSession", list)


def test_a_context_is_an_identity_and_its_mementos_and_nothing_else():
    """K6: never a way around the services."""
    for one in (Context, OwnContext):
        assert [name for name in vars(one) if not name.startswith("_")] == ["id", "memento", "delete_memento"]


def test_contributions_share_nothing_by_a_key(mementos, context):
    """D19."""
    context.memento(NUMBERS, "c").value = [1]
    assert OwnContext("two", mementos).memento(NUMBERS, "c").value == []


def test_extra_segments_are_compared_by_value_and_type(context):
    """D20, our decision for the second pair."""
    segments = ["a", "b", "1", 1, True]
    for place, segment in enumerate(segments):
        context.memento(NUMBERS, "c", segment).value = [place]
    assert [context.memento(NUMBERS, "c", segment).value for segment in segments] == [[i] for i in range(5)]


def test_the_factory_runs_once_and_the_entry_is_the_same_object(context):
    """D21."""
    made = []
    key = ChatKey("made", lambda: made.append(1) or len(made))
    assert context.memento(key, "c") is context.memento(key, "c") and made == [1]


def test_none_is_a_value_and_deleting_is_not(context):
    """D22."""
    cell = context.memento(NUMBERS, "c")
    cell.value = None
    assert context.memento(NUMBERS, "c") is cell and cell.value is None
    context.delete_memento(NUMBERS, "c")
    assert context.memento(NUMBERS, "c").value == []
    context.delete_memento(NUMBERS, "nowhere")


def test_a_chat_is_evicted_from_all_contributions_and_nothing_else_is(mementos, context):
    """D23."""
    two = OwnContext("two", mementos)
    for one in (context, two):
        one.memento(NUMBERS, "c").value = [1]
    context.memento(NUMBERS, "c2").value = [2]
    context.memento(OF_SESSION, "s").value = [3]
    mementos.evict_chat("c")
    assert context.memento(NUMBERS, "c").value == [] == two.memento(NUMBERS, "c").value
    assert context.memento(NUMBERS, "c2").value == [2] and context.memento(OF_SESSION, "s").value == [3]


def test_a_session_is_evicted_with_its_chats(mementos, context):
    """D24."""
    for chat in CHATS:
        context.memento(NUMBERS, chat).value = [chat]
    context.memento(OF_SESSION, "s").value = [1]
    mementos.evict_session("s")
    assert len(mementos) == 1 and context.memento(NUMBERS, "other").value == ["other"]


def test_whoever_holds_a_cell_over_its_eviction_keeps_the_value_apart_from_the_host(mementos, context):
    """D25."""
    held = context.memento(NUMBERS, "c")
    held.value = [1]
    mementos.evict_chat("c")
    assert held.value == [1] and context.memento(NUMBERS, "c") is not held
    held.value = [2]
    assert context.memento(NUMBERS, "c").value == []


def test_a_value_is_disposed_when_it_is_replaced_deleted_or_evicted(mementos, context):
    """K6: the reference drops it."""
    key = ChatKey("disposable", Disposable)
    first = context.memento(key, "c").value
    context.memento(key, "c").value = second = Disposable()
    context.delete_memento(key, "c")
    third = context.memento(key, "c").value
    mementos.evict_session("s")
    assert [one.disposed for one in (first, second, third)] == [1, 1, 1]


def test_a_value_that_fails_to_go_harms_nobody(mementos, context, caplog):
    class Stubborn:
        def dispose(self):
            raise RuntimeError("no")

    context.memento(ChatKey("stubborn", Stubborn), "c")
    context.memento(NUMBERS, "c").value = [1]
    mementos.evict_chat("c")
    assert len(mementos) == 0 and "Stubborn" in caplog.text


def test_listeners_hear_of_new_values_until_they_stop(context):
    heard = []
    cell = context.memento(NUMBERS, "c")
    stop = cell.watch(heard.append)
    cell.value = [1]
    stop()
    stop()
    cell.value = [2]
    assert heard == [[1]]


@given(st.lists(st.tuples(st.sampled_from(["set", "chat", "session"]), st.sampled_from(sorted(CHATS)))))
def test_evictions_leave_exactly_what_a_dictionary_would(steps):
    """K6."""
    mementos, expected = Mementos(CHATS.get), {}
    context = OwnContext("one", mementos)
    for number, (step, chat) in enumerate(steps):
        if step == "set":
            context.memento(NUMBERS, chat).value = [number]
            expected[chat] = [number]
        elif step == "chat":
            mementos.evict_chat(chat)
            expected.pop(chat, None)
        else:
            mementos.evict_session(CHATS[chat])
            expected = {c: v for c, v in expected.items() if CHATS[c] != CHATS[chat]}
    assert len(mementos) == len(expected)
    assert {chat: context.memento(NUMBERS, chat).value for chat in expected} == expected


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["chat", "session"])
async def test_what_was_remembered_of_a_chat_goes_with_it(world, client, where):
    """K6: evicted centrally with the chat or session, and disposed."""
    kept = {"chat": ChatKey("ofChat", Disposable), "session": SessionKey("ofSession", Disposable)}
    made = []

    class Remembering(Contribution):
        id = "remembering"
        order = 10_000

        def __init__(self, context: Context) -> None:
            self.context = context

        def on_turn_end(self, end):
            made.append(self.context.memento(kept["chat"], end.chat).value)
            made.append(self.context.memento(kept["session"], end.session).value)

    world.service.contributions.register(Remembering)
    session, _ = await client.new_session()
    peer = "ahp-chat:/peer"
    await client.request("createChat", session, chat=peer)
    await client.subscribe(peer)
    await client.turn(peer, "hello")
    await world.until(lambda: len(made) == 2)
    await client.request("disposeChat", peer)
    await world.until(lambda: made[0].disposed)
    assert [one.disposed for one in made] == [1, 0]
    if where == "session":
        await client.request("disposeSession", session)
        await world.until(lambda: made[1].disposed)
        assert [one.disposed for one in made] == [1, 1] and len(world.service.contributions.mementos) == 0
