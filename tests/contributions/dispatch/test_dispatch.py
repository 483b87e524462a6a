"""Order, isolation, combination, cancellation of the hooks (K3-K5, K8-K11; the D rows of the reference)."""

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.contributions.builtin import activate, builtin_kinds
from innkeeper.contributions.dispatch import Dispatcher, Registry, Services
from innkeeper.contributions.dispatch.mementos import Mementos
from innkeeper.contributions.side_chat.seed import wrapped
from innkeeper.contributions.spi import (
    HOOKS,
    Addition,
    Context,
    Contribution,
    DispatchedAction,
    Handled,
    HydratedChat,
    Hydration,
    IncomingRequest,
    OutgoingTurn,
    Reject,
    TurnEnd,
    TurnEndReason,
    Watch,
    services,
)
from innkeeper.errors import HostError

pytestmark = pytest.mark.anyio
MESSAGE = {"text": "hi", "origin": {"kind": "user"}}
END = TurnEnd("s", "c", "t", MESSAGE, TurnEndReason("success"))
OUTGOING = OutgoingTurn("s", "c", "t", MESSAGE, "hi")
INCOMING = IncomingRequest("s", "c", "t", MESSAGE, "direct", None)
HYDRATION = Hydration("s", "c", "transcript")


def kind(id_, order_=1, **members):
    """A contribution class; `members` are its hooks and class variables."""

    def init(self, context: Context) -> None:
        self.context = context

    fixed = {"id": id_, "__init__": init}
    if order_ is not None:
        fixed["order"] = order_
    return type(id_, (Contribution,), {**fixed, **members})


@pytest.fixture
def registry():
    return Registry(Services(), Mementos({"c": "s", "c2": "s"}.get))


@pytest.fixture
def hooks(registry):
    return Dispatcher(registry, seconds=0.05)


def turn(id_):
    return {"id": id_, "message": MESSAGE, "state": "complete", "responseParts": []}


def noting(calls, name):
    return {"on_turn_end": lambda self, end: calls.append(name)}


# -- order and registration -------------------------------------------------------------------------------------------


def test_lower_orders_come_first_and_ties_as_registered(registry, hooks):
    """D1, K4."""
    calls = []
    for name, order in (("20", 20), ("10a", 10), ("10b", 10)):
        registry.register(kind(name, order, **noting(calls, name)))
    hooks.turn_end(END)
    assert calls == ["10a", "10b", "20"]


@given(st.lists(st.integers(-3, 3), max_size=8))
def test_the_sequence_is_a_stable_sort_whatever_the_orders(orders):
    """K4."""
    registry = Registry(Services(), Mementos(lambda chat: None))
    for place, order in enumerate(orders):
        registry.register(kind(f"{place}", order, on_turn_end=lambda self, end: None))
    ranked = sorted(range(len(orders)), key=lambda place: orders[place])
    assert [bound.id for bound in registry.sequence("on_turn_end")] == [str(place) for place in ranked]


def test_a_missing_order_is_an_error_before_construction(registry):
    """D2, our decision (K3): the reference takes it for 0."""
    built = []
    with pytest.raises(HostError) as refused:
        registry.register(kind("x", None, __init__=lambda self, context: built.append(1)))
    assert refused.value.code == "CONTRIBUTION_ORDER" and "x" in str(refused.value) and not built


def test_an_id_that_is_there_is_refused_before_construction(registry, hooks):
    """D3."""
    calls, built = [], []
    registry.register(kind("a", **noting(calls, "first")))
    with pytest.raises(HostError) as refused:
        registry.register(kind("a", __init__=lambda self, context: built.append(1)))
    hooks.turn_end(END)
    assert refused.value.code == "CONTRIBUTION_DUPLICATE" and "a" in str(refused.value)
    assert calls == ["first"] and not built


def test_what_is_unregistered_is_disposed_once_and_not_called(registry, hooks):
    """D4."""
    calls = []
    registration = registry.register(kind("a", **noting(calls, "a"), dispose=lambda self: calls.append("disposed")))
    registration.dispose()
    registration.dispose()
    hooks.turn_end(END)
    assert calls == ["disposed"]


@pytest.mark.parametrize(
    ("members", "part"),
    [
        ({"on_turn_ended": lambda self, end: None}, "not a hook"),
        ({"on_turn_end": lambda self: None}, "1 argument"),
        ({"on_did_dispatch_action": lambda self, action: None}, "watch"),
        ({"on_did_dispatch_action": lambda self, action: None, "watch": ("chat/usage",)}, "watch"),
        ({"on_did_dispatch_action": lambda self, action: None, "watch": Watch("chat/usage")}, "watch"),
        ({"on_did_dispatch_action": lambda self, action: None, "watch": Watch(None, ["chat"])}, "watch"),
    ],
)
def test_a_hook_that_could_never_be_called_is_refused(registry, members, part):
    """K3: a misspelt hook would stay silent for ever."""
    with pytest.raises(HostError) as refused:
        registry.register(kind("x", **members))
    assert refused.value.code == "CONTRIBUTION_HOOK" and part in str(refused.value)


def test_an_asynchronous_admission_is_refused(registry):
    """K5: synchronous on purpose."""

    async def on_incoming_request(self, request):
        return None

    with pytest.raises(HostError) as refused:
        registry.register(kind("x", on_incoming_request=on_incoming_request))
    assert "asynchronous" in str(refused.value)


def test_a_constructor_asks_for_services_by_type():
    """K7."""

    class Port:
        pass

    class Wanting(Contribution):
        id, order = "wanting", 1

        def __init__(self, context: Context, port: Port) -> None:
            self.got = (context.id, port)

    Wanting.__init__.__annotations__["port"] = Port
    port = Port()
    services = Services({Port: port})
    assert services.construct(Wanting, _context("wanting")).got == ("wanting", port)
    with pytest.raises(HostError) as refused:
        Registry(Services(), Mementos(lambda chat: None)).register(Wanting)
    assert refused.value.code == "CONTRIBUTION_SERVICE"
    assert all(word in str(refused.value) for word in ("wanting", "port", "Port"))


def test_services_may_be_keywords_alone():
    """K7."""

    class Asking(Contribution):
        id, order = "asking", 1

        def __init__(self, context: Context, *, number: int, word: str) -> None:
            self.got = (number, word)

    assert Services({str: "w", int: 7}).construct(Asking, _context("asking")).got == (7, "w")


@pytest.mark.parametrize("wanted", [int | None, "int", list[int], None])
def test_what_is_no_type_of_a_service_is_named(wanted):
    """K7: before anything of the contribution runs, with contribution, parameter and type."""

    class Asking(Contribution):
        id, order = "asking", 1

        def __init__(self, context: Context, number) -> None:
            raise AssertionError("built")

    if wanted is not None:
        Asking.__init__.__annotations__["number"] = wanted
    with pytest.raises(HostError) as refused:
        Services({str: "w"}).construct(Asking, _context("asking"))
    assert refused.value.code == "CONTRIBUTION_SERVICE"
    assert "asking" in str(refused.value) and "number" in str(refused.value)


def _context(id_):
    from innkeeper.contributions.dispatch.mementos import OwnContext

    return OwnContext(id_, Mementos(lambda chat: None))


def test_a_name_that_only_the_type_checker_imports_is_an_error_at_the_start(registry):
    """architecture §3.9."""

    class Hidden(Contribution):
        id, order = "hidden", 1

        def __init__(self, context: Context, port: "NotImported") -> None:  # type: ignore[name-defined]  # noqa: F821
            pass

    with pytest.raises(HostError) as refused:
        registry.register(Hidden)
    assert "NotImported" in str(refused.value)


# -- observers -------------------------------------------------------------------------------------------------------


def failing(self, value):
    raise RuntimeError("broken")


def test_an_observer_that_raises_is_logged_and_the_rest_run(registry, hooks, caplog):
    """D6, D7, D8."""
    calls = []
    watch = Watch(None)
    broken = dict.fromkeys(("on_turn_end", "on_did_apply_client_action", "on_did_dispatch_action"), failing)
    told = {name: lambda self, value, name=name: calls.append(name) for name in broken}
    registry.register(kind("broken", 1, watch=watch, **broken))
    registry.register(kind("sound", 2, watch=watch, **told))
    hooks.turn_end(END)
    hooks.client_action(DispatchedAction("s", "c", "chat", {"type": "chat/delta"}))
    hooks.dispatched(DispatchedAction("s", "c", "chat", {"type": "chat/delta"}))
    assert calls == ["on_turn_end", "on_did_apply_client_action", "on_did_dispatch_action"]
    assert all(f"broken failed in {name}" in caplog.text for name in broken)


def test_an_action_goes_to_those_that_watch_for_it(registry, hooks):
    """K9."""
    calls = []

    def noted(name):
        return lambda self, action: calls.append((name, action.action["type"]))

    deltas, sessions = Watch(frozenset({"chat/delta"})), Watch(None, frozenset({"session"}))
    registry.register(kind("deltas", 1, watch=deltas, on_did_dispatch_action=noted("deltas")))
    registry.register(kind("sessions", 2, watch=sessions, on_did_dispatch_action=noted("sessions")))
    for channel_kind, type_ in (("chat", "chat/delta"), ("session", "session/ready"), ("chat", "chat/usage")):
        hooks.dispatched(DispatchedAction("s", "x", channel_kind, {"type": type_}))
    assert calls == [("deltas", "chat/delta"), ("sessions", "session/ready")]
    assert not hooks.watched("chat/usage", "chat") and hooks.watched("chat/delta", "chat")


# -- outgoing --------------------------------------------------------------------------------------------------------


async def test_instructions_are_appended_and_the_text_is_threaded(registry, hooks):
    """D9."""
    seen = []

    async def third(self, turn):
        seen.append(turn.text)
        return Addition(["c"])

    registry.register(kind("a", 1, on_outgoing_turn=lambda self, turn: Addition(["a"])))
    registry.register(kind("b", 2, on_outgoing_turn=lambda self, turn: Addition(text="X")))
    registry.register(kind("c", 3, on_outgoing_turn=third))
    assert await hooks.outgoing(OUTGOING) == Addition(("a", "c"), "X")
    assert seen == ["X"]


async def test_nobody_adds_nothing(registry, hooks):
    """D10."""
    registry.register(kind("a", on_outgoing_turn=lambda self, turn: None))
    assert await hooks.outgoing(OUTGOING) == Addition((), None)


async def later(self, turn):
    await asyncio.sleep(0)
    raise RuntimeError("later")


NO_ADDITIONS = ["a text", Addition("a text"), Addition(None), Addition([1]), Addition(text=7), ["a list"], 0]


@pytest.mark.parametrize("broken", [failing, later, *(lambda self, turn, given=given: given for given in NO_ADDITIONS)])
async def test_one_that_fails_adds_nothing_and_the_others_do(registry, hooks, broken):
    """D11; an answer that is none is a failure too, also where only its inside is wrong."""
    registry.register(kind("a", 1, on_outgoing_turn=lambda self, turn: Addition(["a"])))
    registry.register(kind("b", 2, on_outgoing_turn=broken))
    registry.register(kind("c", 3, on_outgoing_turn=lambda self, turn: Addition(["c"])))
    assert await hooks.outgoing(OUTGOING) == Addition(("a", "c"), None)


async def test_an_empty_text_replaces_the_text(registry, hooks):
    """D12."""
    registry.register(kind("a", on_outgoing_turn=lambda self, turn: Addition(text="")))
    assert (await hooks.outgoing(OUTGOING)).text == ""


async def test_a_slow_one_is_awaited_before_the_next(registry, hooks):
    """D13."""
    calls = []

    async def slow(self, turn):
        await asyncio.sleep(0.01)
        calls.append("slow")
        return None

    registry.register(kind("slow", 1, on_outgoing_turn=slow))
    registry.register(kind("next", 2, on_outgoing_turn=lambda self, turn: calls.append("next")))
    await hooks.outgoing(OUTGOING)
    assert calls == ["slow", "next"]


async def test_one_that_takes_too_long_is_skipped_and_its_task_ends(registry, hooks, caplog):
    """K8."""
    ended = asyncio.Event()

    async def hanging(self, turn):
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    registry.register(kind("hanging", 1, on_outgoing_turn=hanging))
    registry.register(kind("next", 2, on_outgoing_turn=lambda self, turn: Addition(["next"])))
    assert (await hooks.outgoing(OUTGOING)).instructions == ("next",)
    async with asyncio.timeout(1):
        await ended.wait()
    assert "hanging took longer than 0.05 s in on_outgoing_turn" in caplog.text


async def test_one_that_ignores_its_cancellation_holds_up_nobody(registry, hooks):
    """K8."""
    let_go = asyncio.Event()

    async def deaf(self, turn):
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    registry.register(kind("deaf", on_outgoing_turn=deaf))
    assert (await hooks.outgoing(OUTGOING)).instructions == ()
    let_go.set()


async def test_the_cancellation_of_a_turn_ends_the_hook_and_the_sequence(registry):
    """K8."""
    calls, began, ended = [], asyncio.Event(), asyncio.Event()

    async def waiting(self, turn):
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    registry.register(kind("waiting", 1, on_outgoing_turn=waiting))
    registry.register(kind("next", 2, on_outgoing_turn=lambda self, turn: calls.append("next")))
    turn = asyncio.ensure_future(Dispatcher(registry).outgoing(OUTGOING))
    await began.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    async with asyncio.timeout(1):
        await ended.wait()
    assert not calls


# -- incoming --------------------------------------------------------------------------------------------------------

NO = Reject({"errorType": "no", "message": "No"})


def test_the_first_answer_wins_and_the_rest_is_not_asked(registry, hooks):
    """D14, D16."""
    asked = []

    def answering(name, answer):
        def on_incoming_request(self, request):
            asked.append(name)
            return answer

        return {"on_incoming_request": on_incoming_request}

    registry.register(kind("a", 1, **answering("a", None)))
    assert hooks.incoming(INCOMING) is None
    registry.register(kind("b", 2, **answering("b", NO)))
    registry.register(kind("c", 3, **answering("c", Handled("x"))))
    assert hooks.incoming(INCOMING) == NO and asked == ["a", "a", "b"]


NO_DECISIONS = [True, Handled(None), Reject("no"), Reject({"message": "No"}), Reject({"errorType": "no", "message": 1})]


@pytest.mark.parametrize(
    "broken", [failing, later, *(lambda self, request, given=given: given for given in NO_DECISIONS)]
)
def test_admission_that_fails_rejects(registry, hooks, broken):
    """D15: an exception, an answer that is none, and a coroutine alike."""
    asked = []
    registry.register(kind("broken", 1, on_incoming_request=lambda self, request: broken(self, request)))
    registry.register(kind("next", 2, on_incoming_request=lambda self, request: asked.append(1)))
    answer = hooks.incoming(INCOMING)
    assert isinstance(answer, Reject) and answer.error["errorType"] == "internalError"
    assert "broken" in answer.error["message"] and answer.stage == "validation" and not asked


# -- hydration -------------------------------------------------------------------------------------------------------


async def test_turns_are_threaded_and_a_failure_keeps_the_ones_before(registry, hooks):
    """D17."""
    registry.register(kind("a", 1, on_hydrate_turns=lambda self, of, turns: [*turns, turn("a")]))
    registry.register(kind("b", 2, on_hydrate_turns=lambda self, of, turns: failing(self, turns)))
    registry.register(kind("c", 3, on_hydrate_turns=lambda self, of, turns: [*turns, turn("c")]))
    assert await hooks.hydrate_turns(HYDRATION, []) == [turn("a"), turn("c")]


async def test_a_chat_is_threaded(registry, hooks):
    """D18."""

    async def draft(self, of, restored):
        assert restored.title == "T"
        return restored._replace(draft=MESSAGE)

    registry.register(kind("a", 1, on_hydrate_chat=lambda self, of, restored: restored._replace(title="T")))
    registry.register(kind("b", 2, on_hydrate_chat=draft))
    registry.register(kind("c", 3, on_hydrate_chat=lambda self, of, restored: None))
    assert await hooks.hydrate_chat(HYDRATION, HydratedChat()) == HydratedChat("T", MESSAGE)


@pytest.mark.parametrize("given", [None, "turns", [7], [{"id": "t"}], [{"message": MESSAGE}], [turn("a"), {"id": 1}]])
async def test_what_are_no_turns_leave_the_ones_before(registry, hooks, given):
    """K5: they would be in the state, for every client."""
    registry.register(kind("a", on_hydrate_turns=lambda self, of, turns: given))
    assert await hooks.hydrate_turns(HYDRATION, [turn("t")]) == [turn("t")]


@pytest.mark.parametrize("given", [HydratedChat(7), HydratedChat(draft="text"), HydratedChat(config=[]), "chat"])
async def test_what_is_no_chat_leaves_the_one_before(registry, hooks, given):
    """K5."""
    registry.register(kind("a", on_hydrate_chat=lambda self, of, restored: given))
    assert await hooks.hydrate_chat(HYDRATION, HydratedChat("T")) == HydratedChat("T")


# -- what is easily got wrong ------------------------------------------------------------------------------------------


def looking_at_a_cancelled_future(self, *_values):
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    return future.result()


async def test_a_cancelled_error_out_of_a_hook_cancels_nobody(registry, hooks, caplog):
    """K5: asking a cancelled future raises one, and no `except Exception` catches it."""
    calls = []
    names = [*HOOKS]
    watch = Watch(None)
    registry.register(kind("broken", 1, watch=watch, **dict.fromkeys(names, looking_at_a_cancelled_future)))
    registry.register(
        kind(
            "sound",
            2,
            watch=watch,
            on_turn_end=lambda self, end: calls.append("end"),
            on_did_apply_client_action=lambda self, one: calls.append("client"),
            on_did_dispatch_action=lambda self, one: calls.append("any"),
            on_outgoing_turn=lambda self, turn: Addition(["kept"]),
        )
    )
    hooks.turn_end(END)
    hooks.client_action(DispatchedAction("s", "c", "chat", {"type": "chat/delta"}))
    hooks.dispatched(DispatchedAction("s", "c", "chat", {"type": "chat/delta"}))
    assert calls == ["end", "client", "any"]
    assert isinstance(hooks.incoming(INCOMING), Reject), "fails closed"
    assert (await hooks.outgoing(OUTGOING)).instructions == ("kept",)
    assert await hooks.hydrate_turns(HYDRATION, [turn("t")]) == [turn("t")]
    assert await hooks.hydrate_chat(HYDRATION, HydratedChat("T")) == HydratedChat("T")
    assert all(f"broken failed in {name}" in caplog.text for name in names)


async def test_an_asynchronous_observer_is_told_of_in_the_log(registry, hooks, caplog):
    """K2: nobody awaits it, so it never ran; one that hides behind a wrapper is found only when it is called."""
    ran = []

    async def on_turn_end(self, end):
        ran.append(1)

    registry.register(kind("late", on_turn_end=lambda self, end: on_turn_end(self, end)))
    hooks.turn_end(END)
    assert not ran and "late failed in on_turn_end" in caplog.text and "coroutine" in caplog.text


def test_made_up_types_of_actions_are_not_remembered(registry, hooks):
    """K9: rejected actions are seen too, and their types are anything that a client sends."""
    calls = []
    registry.register(
        kind("all", 1, watch=Watch(None), on_did_dispatch_action=lambda self, one: calls.append(one.action["type"]))
    )
    registry.register(
        kind("some", 2, watch=Watch(frozenset({"chat/usage"})), on_did_dispatch_action=lambda self, one: None)
    )
    for number in range(1_000):
        hooks.dispatched(DispatchedAction("s", "c", "chat", {"type": f"made/up{number}"}))
    assert len(calls) == 1_000 and len(hooks._watching) == 1
    hooks.dispatched(DispatchedAction("s", "c", "chat", {"type": "chat/usage"}))
    assert calls[-1] == "chat/usage" and len(hooks._watching) == 2


def test_a_contribution_may_come_and_go_while_others_are_told(registry, hooks):
    """K3, K4: what a hook registers or unregisters counts from the next time on, and disturbs no sequence."""
    calls, registrations = [], {}

    def first(self, end):
        calls.append("first")
        registrations.pop("first").dispose()
        registry.register(kind("third", 3, **noting(calls, "third")))

    registrations["first"] = registry.register(kind("first", 1, on_turn_end=first))
    registry.register(kind("second", 2, **noting(calls, "second")))
    hooks.turn_end(END)
    hooks.turn_end(END)
    assert calls == ["first", "second", "second", "third"]


async def test_a_hook_may_act_on_what_it_is_told(world, client):
    """K2, re-entrant: what observers dispatch is seen after what they were told of, once, in order, by all."""
    seen = []

    def init(self, context: Context, channels: services.Channels) -> None:
        self.channels = channels

    def on_did_dispatch_action(self, one):
        seen.append(one.action["type"])
        if one.action["type"] == "chat/turnComplete":
            self.channels.dispatch(one.session, {"type": "session/titleChanged", "title": "a"})
            self.channels.dispatch(one.session, {"type": "session/titleChanged", "title": "b"})

    types = frozenset({"chat/turnComplete", "session/titleChanged", "session/activityChanged"})
    acting = kind("acting", 9_999, watch=Watch(types), on_did_dispatch_action=on_did_dispatch_action, __init__=init)
    session, chat = await client.new_session()
    await client.turn(chat, "hello", "t0")
    world.service.contributions.register(acting)
    await client.turn(chat, "hello")
    await client.state(session, lambda s: s["title"] == "b")
    assert seen == ["chat/turnComplete", "session/titleChanged", "session/titleChanged"]
    world.check_mirrors(client)


@pytest.mark.parametrize("type_", [None, 7, ["chat/delta"], {"a": 1}, "made/up", "session/chatRemoved"])
async def test_what_is_no_action_is_rejected_and_disturbs_nobody(world, client, caplog, type_):
    """K11: observers are told of rejected actions as clients sent them, whatever they are."""
    session, _ = await client.new_session()
    calls = []
    world.service.contributions.register(
        kind("all", 9_999, watch=Watch(None), on_did_dispatch_action=lambda self, one: calls.append(one.rejection))
    )
    action = {} if type_ is None else {"type": type_}
    params = {"channel": session, "clientSeq": 50, "action": action}
    client.say({"jsonrpc": "2.0", "method": "dispatchAction", "params": params})
    reason = await client.rejection(50)
    assert "failed" not in caplog.text
    assert calls == ([reason] if isinstance(type_, str) else [])


# -- the built-ins ---------------------------------------------------------------------------------------------------

SEQUENCES = {
    "on_incoming_request": ["localCommand", "turnAdmission", "mcpDeclarations"],
    "on_outgoing_turn": ["markdownPlanRichLinks", "mcpDeclarations", "chatSurface", "sessionTitle", "sideChat"],
    "on_turn_end": [
        *["checkpointAndChangeset", "queueDrain", "githubReferences", "sessionTitle", "markUnread", "sideChat"],
    ],
    "on_did_apply_client_action": ["queueDrain", "sessionTitle", "chatDraft"],
    "on_did_dispatch_action": ["persistedTurnUsage", "sessionInputNeeded", "chatConfig", "sessionFlags"],
    "on_hydrate_turns": ["persistedTurnUsage", "interruptedTurn", "worktreeAnnouncement", "sideChat"],
    "on_hydrate_chat": ["sessionTitle", "chatDraft", "chatConfig"],
}


async def test_the_sequences_of_the_built_ins(world):
    """D26, K4: side chat is at 510 here; a silent reordering is a regression."""
    found = {hook: [bound.id for bound in world.service.contributions.sequence(hook)] for hook in HOOKS}
    assert found == SEQUENCES


@pytest.mark.parametrize("which", ["default", "side"])
async def test_hydrating_twice_is_hydrating_once(world, client, which):
    """K17: hydration hooks are idempotent, and what is logged wins each time."""
    session, chat = await client.new_session()
    await client.turn(chat, "hello", "t")
    side = "ahp-chat:/side"
    await client.request("createChat", session, chat=side, source={"kind": "sideChat", "chat": chat, "turnId": "t"})
    call = {"kind": "toolCall", "toolCall": {"toolCallId": "x", "toolName": "y", "status": "running"}}
    given = [
        turn("before"),
        {**turn("first"), "message": {**MESSAGE, "text": wrapped("words", "chosen")}, "usage": {"outputTokens": 2}},
        {**turn("last"), "responseParts": [call]},
    ]
    logged = [{**turn("first"), "usage": {"inputTokens": 1, "outputTokens": 9}}]
    of = Hydration(session, chat if which == "default" else side, "transcript", logged)
    once = await world.service.hooks.hydrate_turns(of, given)
    assert list(await world.service.hooks.hydrate_turns(of, once)) == list(once) != given
    assert next(one for one in once if one["id"] == "first")["usage"] == {"inputTokens": 1, "outputTokens": 9}
    assert once[-1]["state"] == "error" and len(once) == (3 if which == "default" else 2)
    entered = await world.service.hooks.hydrate_chat(of, HydratedChat())
    assert await world.service.hooks.hydrate_chat(of, entered) == entered


@pytest.mark.parametrize("type_", ["chat/delta", "chat/reasoning", "chat/toolCallDelta", "chat/activityChanged"])
async def test_no_built_in_is_called_for_what_streams(world, type_):
    """K9: the cost of a delta is one look-up; benchmarks/bench_contributions.py measures it."""
    assert not world.service.hooks.watched(type_, type_.split("/")[0])
    assert world.service.hooks.watched("chat/toolCallReady", "chat")


def test_no_two_built_ins_of_a_hook_have_one_order():
    """K4."""
    for hook in HOOKS:
        orders = [one.order for one in builtin_kinds() if hasattr(one, hook)]
        assert len(orders) == len(set(orders)), hook


def test_an_activation_that_raises_midway_disposes_what_was_registered(monkeypatch):
    """D27."""
    calls = []

    def broken(self, context: Context) -> None:
        raise OSError("midway")

    kinds = [
        kind("a", 1, dispose=lambda self: calls.append("a")),
        kind("b", 2, dispose=lambda self: calls.append("b")),
        kind("c", 3, __init__=broken),
    ]
    monkeypatch.setattr("innkeeper.contributions.builtin.builtin_kinds", lambda: kinds)
    registry = Registry(Services(), Mementos(lambda chat: None))
    with pytest.raises(OSError, match="midway"):
        activate(registry)
    assert calls == ["b", "a"] and registry.ids == ()


class EntryPoint:
    def __init__(self, loaded):
        self.loaded = loaded

    def load(self):
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


SPI = ((1, 0), (2, 0))


@pytest.mark.parametrize(
    ("installed", "code"),
    [
        ([], "CONTRIBUTION_UNKNOWN"),
        ([kind("x", 3, spi=SPI), kind("x", 3, spi=SPI)], "CONTRIBUTION_DUPLICATE"),
        ([ImportError("no")], "CONTRIBUTION_FAILED"),
        ([object], "CONTRIBUTION_FAILED"),
        ([kind("x", 3)], "CONTRIBUTION_SPI"),
        ([kind("x", 3, spi=((2, 0), (3, 0)))], "CONTRIBUTION_SPI"),
        ([kind("x", 3, spi="1.0")], "CONTRIBUTION_SPI"),
        ([kind("x", None, spi=SPI)], "CONTRIBUTION_ORDER"),
        ([kind("x", 1, spi=SPI, on_turn_end=lambda self, end: None)], "CONTRIBUTION_TIED"),
        ([kind("built", 9, spi=SPI)], "CONTRIBUTION_DUPLICATE"),
        ([kind("x", 9, spi=SPI, __init__=failing)], "CONTRIBUTION_SERVICE"),
    ],
)
def test_what_the_operator_named_and_does_not_fit_is_refused_and_nothing_stays(monkeypatch, installed, code):
    """K3b: a host does not start with half of what it was told to run."""
    built = kind("built", 1, on_turn_end=lambda self, end: None)
    monkeypatch.setattr("innkeeper.contributions.builtin.builtin_kinds", lambda: [built])
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [EntryPoint(one) for one in installed])
    registry = Registry(Services(), Mementos(lambda chat: None))
    with pytest.raises(HostError) as refused:
        activate(registry, ["x"])
    assert refused.value.code == code and registry.ids == ()


def test_nothing_is_loaded_that_the_operator_did_not_name(monkeypatch):
    """K3b: none by default."""
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: pytest.fail("looked"))
    monkeypatch.setattr("innkeeper.contributions.builtin.builtin_kinds", list)
    registry = Registry(Services(), Mementos(lambda chat: None))
    activate(registry)
    assert registry.ids == ()


def test_what_the_operator_named_comes_after_the_built_ins(monkeypatch):
    """K3b."""
    mine = kind("mine", 9, spi=SPI)
    monkeypatch.setattr("innkeeper.contributions.builtin.builtin_kinds", lambda: [kind("built")])
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [EntryPoint(mine)])
    registry = Registry(Services(), Mementos(lambda chat: None))
    activate(registry, ["mine"])
    assert registry.ids == ("built", "mine")


# -- in a host -------------------------------------------------------------------------------------------------------


def watching(calls):
    return kind(
        "watching",
        9_999,
        watch=Watch(frozenset({"chat/turnStarted", "session/configChanged"})),
        on_did_dispatch_action=lambda self, one: calls.append(("any", one.action["type"], one.client, one.rejection)),
        on_did_apply_client_action=lambda self, one: calls.append(("client", one.action["type"], one.client, None)),
    )


async def test_an_accepted_action_is_seen_by_the_any_action_hook_first_then_by_the_clients(world, client):
    """D28."""
    calls = []
    _, chat = await client.new_session()
    world.service.contributions.register(watching(calls))
    await client.turn(chat, "hello")
    assert calls == [("any", "chat/turnStarted", "alice", None), ("client", "chat/turnStarted", "alice", None)]


async def test_a_rejected_action_is_seen_with_its_reason_by_the_any_action_hook_alone(world, client):
    """D29, K11."""
    calls = []
    session, _ = await client.new_session()
    world.service.contributions.register(watching(calls))
    reason = await client.rejection(client.dispatch(session, "session/configChanged", config={"none": 1}))
    assert calls == [("any", "session/configChanged", "alice", reason)]


async def test_a_queued_turn_is_no_clients_action(world, client):
    """D30."""
    calls = []
    _, chat = await client.new_session()
    world.service.contributions.register(watching(calls))
    client.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q", message=MESSAGE | {"text": "hello"})
    await client.state(chat, lambda s: s["turns"])
    started = [call for call in calls if call[1] == "chat/turnStarted"]
    assert [call[0] for call in started] == ["any"] and started[0][2] is None


def test_the_hosts_way_back_has_two_members():
    """K7: everything else is a service."""
    from innkeeper.host.admission import Bridge
    from innkeeper.ports.contributed import HostBridge

    for one in (HostBridge, Bridge):
        assert [name for name in vars(one) if not name.startswith("_")] == ["launch_kind", "send_turn_message"]


async def test_services_tell_of_sessions_their_agents_and_what_may_reach_them(world, client):
    """K7: everything that is no member of the context or the bridge."""

    def init(
        self,
        context: Context,
        channels: services.Channels,
        providers: services.Providers,
        customizations: services.Customizations,
        worktrees: services.WorktreeIsolation,
    ) -> None:
        self.asked = (channels, providers, customizations, worktrees)

    found = []

    async def on_outgoing_turn(self, turn):
        channels, providers, customizations, worktrees = self.asked
        session = channels.session_of(turn.chat)
        state = await channels.load(turn.chat)
        eligible = customizations.eligible(turn.session)
        found.append((session, state["resource"], providers.info(session)["provider"], worktrees.branch(session)))
        found.append((eligible is not None, customizations.eligible("ahp-session:/none"), providers.info("none")))

    world.service.contributions.register(kind("asking", 9_999, __init__=init, on_outgoing_turn=on_outgoing_turn))
    session, chat = await client.new_session()
    await client.turn(chat, "hello")
    assert found == [(session, chat, "scripted", None), (True, None, None)]


async def test_the_hosts_way_back_begins_no_turn_over_another(world, client):
    """K7: the one that runs would be gone, and nobody would be told of its end."""

    def init(self, context: Context, host: services.HostBridge) -> None:
        self.host = host

    refused = []
    sending = kind(
        "sending",
        9_999,
        __init__=init,
        watch=Watch(frozenset({"chat/responsePart"})),
        on_did_dispatch_action=lambda self, one: refused.append(self.host.send_turn_message(one.channel, MESSAGE)),
    )
    world.service.contributions.register(sending)
    _, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    await world.until(lambda: refused)
    assert refused == [{"errorType": "internalError", "message": "A turn is in progress in this conversation."}]
    assert client.states[chat]["activeTurn"]["id"] == "t1"


def test_a_service_is_registered_once():
    """D5: in our host the bridge is a service like the others."""
    services = Services({int: 1})
    with pytest.raises(ValueError, match="int"):
        services.add(int, 2)
    assert int in services and not itertools.chain([services.parameters(kind("x"))]).__next__()
