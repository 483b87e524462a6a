"""The client on a connection that lives, breaks and comes back (AHP §2, §15)."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from innkeeper.client import (
    ActionApplied,
    ActionRejected,
    Applied,
    ChannelGone,
    Client,
    Connected,
    ConnectFailed,
    ConnectionLost,
    Disconnected,
    EventStream,
    Lagged,
    NotificationReceived,
    Rejected,
    RequestTimeout,
    RpcFailure,
    StateReplaced,
    Unconfirmed,
    VersionRefused,
    connect,
)
from innkeeper.client.backoff import delays
from innkeeper.client.channel import ChannelLost

pytestmark = pytest.mark.anyio

ROOT = "ahp-root://"
SESSION = "ahp-session:/s"


class Sleeps:
    """Remembers for how long the client wanted to sleep, and wakes it at once or when told."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.held: asyncio.Event | None = None

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if self.held is not None:
            await self.held.wait()
        else:
            await asyncio.sleep(0)


@asynccontextmanager
async def client_of(host: Any, sleeps: Sleeps | None = None, **more: Any) -> AsyncIterator[Client]:
    options = {"client_id": "me", "sleep": sleeps or Sleeps(), "random": lambda: 0.0, **more}
    async with asyncio.timeout(5), connect(host.transport(), **options) as client:
        yield client


def title(text: str) -> dict[str, Any]:
    return {"type": "session/titleChanged", "title": text}


async def until(stream: EventStream[Any], kind: type) -> Any:
    async for event in stream:
        if isinstance(event, kind):
            return event
    raise AssertionError(f"the stream ended without {kind.__name__}")


async def test_connect_initialises_with_the_offered_versions_and_subscriptions(host: Any) -> None:
    """AHP §2.1"""
    async with client_of(host, versions=("1.0.0",), locale="zh-CN", client_info={"name": "t"}) as client:
        assert host.params("initialize") == [
            {
                "channel": ROOT,
                "protocolVersions": ["1.0.0"],
                "clientId": "me",
                "clientInfo": {"name": "t"},
                "initialSubscriptions": [ROOT],
                "locale": "zh-CN",
            }
        ]
        assert (client.protocol_version, client.client_id, client.last_seen) == ("1.0.0", "me", 100)
        assert client.root.state == {"agents": []}
        await client.ping()


async def test_a_dispatch_shows_at_once_and_is_answered(host: Any) -> None:
    """AHP §6"""
    async with client_of(host) as client:
        channel = await client.subscribe_session(SESSION)
        dispatch = channel.dispatch(title("second"))
        assert (channel.state["title"], channel.confirmed["title"], channel.unanswered) == ("second", "first", 1)
        assert await dispatch == Applied(101)
        assert (channel.confirmed["title"], channel.unanswered, dispatch.outcome) == ("second", 0, Applied(101))


async def test_a_rejected_dispatch_gives_the_reason_and_is_taken_back(host: Any) -> None:
    """AHP §6, step 2"""
    async with client_of(host) as client:
        channel = await client.subscribe_session(SESSION)
        events, own = channel.events(), client.events()
        assert await channel.dispatch(title("forbidden")) == Rejected("that title is taken")
        assert channel.state["title"] == "first"
        rejection = ActionRejected(SESSION, 1, "that title is taken")
        assert (await anext(events), await anext(own)) == (rejection, rejection)


async def test_an_action_that_is_not_json_is_refused_before_it_shows(host: Any) -> None:
    async with client_of(host) as client:
        channel = await client.subscribe_session(SESSION)
        with pytest.raises(ValueError, match="JSON"):
            channel.dispatch({"type": "session/titleChanged", "title": object()})
        assert channel.state["title"] == "first"


async def test_foreign_actions_arrive_as_events_and_as_state(host: Any) -> None:
    async with client_of(host) as client:
        channel = await client.subscribe_session(SESSION)
        events = channel.events()
        await host.foreign(SESSION, title("theirs"))
        assert await anext(events) == ActionApplied(SESSION, title("theirs"), 101, own=False)
        assert channel.state["title"] == "theirs"


async def test_what_follows_a_subscribe_answer_in_the_same_breath_is_not_lost(host: Any) -> None:
    """AHP §2.5: no envelope may be missing between the snapshot and the stream."""
    host.silent.add("subscribe")
    async with client_of(host) as client:
        waiting = asyncio.create_task(client.subscribe(SESSION))
        await host.heard("subscribe")
        early = host.act(SESSION, title("early"))
        await host.tell("action", early)
        snapshot = {"resource": SESSION, "state": host.states[SESSION], "fromSeq": host.seq}
        await host.raw('{"jsonrpc":"2.0","id":2,"result":' + _json({"snapshot": snapshot}) + "}")
        await host.foreign(SESSION, title("late"))
        channel = await waiting
        await channel.wait_for(lambda state: state["title"] == "late")
        assert channel.seq == host.seq


async def test_two_callers_share_one_channel(host: Any) -> None:
    async with client_of(host) as client:
        first = await client.subscribe(SESSION)
        assert await client.subscribe(SESSION) is first
        assert host.methods().count("subscribe") == 1


async def test_an_unknown_channel_is_an_error_and_leaves_nothing_behind(host: Any) -> None:
    async with client_of(host) as client:
        with pytest.raises(RpcFailure) as caught:
            await client.subscribe("ahp-session:/none")
        assert (caught.value.code, caught.value.method, caught.value.data) == (
            -32008,
            "subscribe",
            {"what": "subscribe"},
        )
        with pytest.raises(KeyError):
            client.channel("ahp-session:/none")


async def test_unsubscribe_tells_the_host_and_ends_the_events(host: Any) -> None:
    async with client_of(host) as client:
        channel = await client.subscribe(SESSION)
        events = channel.events()
        await channel.close()
        assert [event async for event in events] == []
        await client.ping()
        assert host.params("unsubscribe") == [{"channel": SESSION}]
        await channel.close()
        await client.ping()
        assert host.methods().count("unsubscribe") == 1


async def test_a_request_that_is_not_answered_in_time_fails(host: Any) -> None:
    host.silent |= {"slow", "subscribe"}
    async with client_of(host) as client:
        with pytest.raises(RequestTimeout, match="slow"):
            await client.request("slow", {"channel": ROOT}, 0.01)
        with pytest.raises(RequestTimeout, match="subscribe"):
            await client.subscribe(SESSION, timeout=0.01)


async def test_after_a_lost_connection_reconnect_comes_first_and_replays(host: Any) -> None:
    """AHP §2.4, §15: on a new socket, without `initialize`."""
    sleeps = Sleeps()
    async with client_of(host, sleeps) as client:
        channel = await client.subscribe_session(SESSION)
        events = client.events()
        await host.drop(1012, "restart")
        host.act(SESSION, title("missed"))
        assert await until(events, Disconnected) == Disconnected(1012, "restart", 1.0)
        assert await until(events, Connected) == Connected(resumed=True)
        assert host.methods().count("initialize") == 1
        assert host.params("reconnect") == [
            {"channel": ROOT, "clientId": "me", "lastSeenServerSeq": 100, "subscriptions": [ROOT, SESSION]}
        ]
        assert channel.state["title"] == "missed"
        assert client.channel(SESSION) is channel


async def test_a_snapshot_answer_replaces_the_states_and_says_so(host: Any) -> None:
    host.resume = "snapshot"
    async with client_of(host) as client:
        channel = await client.subscribe_session(SESSION)
        events = channel.events()
        await host.drop()
        host.act(SESSION, title("missed"))
        assert await until(events, StateReplaced) == StateReplaced(SESSION, 101)
        assert channel.state["title"] == "missed"


async def test_a_host_that_does_not_know_the_client_is_initialised_anew(host: Any) -> None:
    """AHP §2.4: -32008, or any error, leads to `initialize` with the same subscriptions."""
    host.resume = "unknown"
    async with client_of(host) as client:
        channel = await client.subscribe_session(SESSION)
        events = client.events()
        host.states[SESSION] = {**host.states[SESSION], "title": "other host"}
        await host.drop()
        assert await until(events, Connected) == Connected(resumed=False)
        assert host.methods()[-2:] == ["reconnect", "initialize"]
        assert host.params("initialize")[1]["initialSubscriptions"] == [ROOT, SESSION]
        assert channel.state["title"] == "other host"


@pytest.mark.parametrize("resume", ["replay", "snapshot", "unknown"])
async def test_what_the_host_never_saw_is_sent_again_under_its_number(host: Any, resume: str) -> None:
    """AHP §2.4: dispatch is idempotent per client and `clientSeq`."""
    host.resume = resume
    sleeps = Sleeps()
    sleeps.held = asyncio.Event()
    async with client_of(host, sleeps) as client:
        channel = await client.subscribe_session(SESSION)
        events = client.events()
        await host.drop()
        await until(events, Disconnected)
        dispatch = channel.dispatch(title("offline"))
        assert channel.state["title"] == "offline"
        sleeps.held.set()
        assert await dispatch == Applied(101)
        assert host.params("dispatchAction") == [{"channel": SESSION, "clientSeq": 1, "action": title("offline")}]
        assert (channel.confirmed["title"], channel.unanswered) == ("offline", 0)


async def test_an_action_that_was_taken_before_the_loss_is_confirmed_by_the_replay(host: Any) -> None:
    async with client_of(host) as client:
        channel = await client.subscribe_session(SESSION)
        host.deaf = True
        dispatch = channel.dispatch(title("taken"))
        await host.heard("dispatchAction")
        host.act(SESSION, title("taken"), origin={"clientId": "me", "clientSeq": 1})
        host.deaf = False
        await host.drop()
        assert await dispatch == Applied(101)
        assert len(host.params("dispatchAction")) == 1


async def test_an_action_inside_the_snapshot_ends_unconfirmed_and_is_not_applied_twice(host: Any) -> None:
    """The host answers nothing to a repeated action that it has taken; a `ping` sent after it ends the wait."""
    host.resume = "snapshot"
    async with client_of(host) as client:
        channel = await client.subscribe_session(SESSION)
        host.deaf = True
        dispatch = channel.dispatch(title("taken"))
        await host.heard("dispatchAction")
        host.act(SESSION, title("taken"), origin={"clientId": "me", "clientSeq": 1})
        host._seen.add(1)
        host.deaf = False
        await host.drop()
        assert isinstance(await dispatch, Unconfirmed)
        assert (channel.state["title"], channel.unanswered, host.seq) == ("taken", 0, 101)


async def test_a_channel_that_is_missing_after_a_reconnect_is_gone(host: Any) -> None:
    async with client_of(host) as client:
        channel = await client.subscribe_session(SESSION)
        events = channel.events()
        waiting = asyncio.create_task(channel.wait_for(lambda state: state["title"] == "never"))
        await asyncio.sleep(0)
        del host.states[SESSION]
        await host.drop()
        assert [event async for event in events] == [ChannelGone(SESSION)]
        assert (channel.gone, channel.state["title"]) == (True, "first")
        with pytest.raises(ChannelLost):
            await waiting
        with pytest.raises(RpcFailure):
            await client.subscribe(SESSION)


async def test_requests_wait_for_the_next_connection_and_those_under_way_fail(host: Any) -> None:
    host.silent.add("slow")
    async with client_of(host) as client:
        under_way = asyncio.create_task(client.request("slow", {"channel": ROOT}))
        await host.heard("slow")
        await host.drop()
        with pytest.raises(ConnectionLost, match="before the answer"):
            await under_way
        await client.ping()


async def test_a_subscription_that_the_loss_interrupts_is_asked_for_again(host: Any) -> None:
    host.silent.add("subscribe")
    async with client_of(host) as client:
        waiting = asyncio.create_task(client.subscribe_session(SESSION))
        await host.heard("subscribe")
        host.silent.clear()
        await host.drop()
        assert (await waiting).state["title"] == "first"
        assert host.params("reconnect")[0]["subscriptions"] == [ROOT]


@pytest.mark.parametrize("code", [1000, 1005])
async def test_a_clean_close_ends_the_client(host: Any, code: int) -> None:
    """AHP §15: everything else is a failure that leads to a reconnect."""
    async with client_of(host) as client:
        channel = await client.subscribe(SESSION)
        events = client.events()
        host.silent.add("dispatchAction")
        unanswered = channel.dispatch(title("unanswered"))
        await host.heard("dispatchAction")
        await host.drop(code, "bye")
        assert await until(events, Disconnected) == Disconnected(code, "bye", None)
        await client.closed()
        assert isinstance(unanswered.outcome, Unconfirmed)
        with pytest.raises(ConnectionLost, match="bye"):
            await client.ping()
        with pytest.raises(ConnectionLost):
            await client.subscribe("ahp-session:/other")
        assert client.notify("unsubscribe", {"channel": ROOT}) is False
        assert isinstance(channel.dispatch(title("late")).outcome, Unconfirmed)
        assert channel.state["title"] == "first"
    assert "reconnect" not in host.methods()


async def test_without_reconnect_the_first_loss_is_the_last(host: Any) -> None:
    async with client_of(host, reconnect=False) as client:
        await host.drop()
        await client.closed()
        with pytest.raises(ConnectionLost):
            await client.ping()


async def test_attempts_are_spaced_by_the_back_off_and_start_over_after_a_success(host: Any) -> None:
    sleeps = Sleeps()
    async with client_of(host, sleeps) as client:
        events = client.events()
        for _ in range(2):
            host.refuse_connections = 3
            await host.drop()
            await until(events, Connected)
        assert sleeps.seconds == [1.0, 2.0, 4.0, 8.0] * 2


def test_delays_double_up_to_thirty_seconds_and_chance_shortens_them() -> None:
    assert list(itertools.islice(delays(lambda: 0.0), 7)) == [1, 2, 4, 8, 16, 30, 30]
    assert list(itertools.islice(delays(lambda: 1.0), 3)) == [0.75, 1.5, 3]


async def test_a_first_connection_that_fails_is_raised(host: Any) -> None:
    host.refuse_connections = 1
    with pytest.raises(ConnectFailed, match="nobody listens"):
        async with client_of(host):
            raise AssertionError("not connected")


async def test_a_host_that_closes_during_the_handshake_is_no_connection(host: Any) -> None:
    host.silent.add("initialize")

    async def close_soon() -> None:
        await host.heard("initialize")
        await host.drop(1008, "policy")

    closing = asyncio.create_task(close_soon())
    with pytest.raises(ConnectFailed, match="policy"):
        async with client_of(host):
            raise AssertionError("not connected")
    await closing


async def test_a_refused_version_says_what_the_host_speaks(host: Any) -> None:
    """AHP §2.2: -32005 with `data.supportedVersions`."""
    host.supported = ["2.0.0"]
    with pytest.raises(VersionRefused) as caught:
        async with client_of(host):
            raise AssertionError("not connected")
    assert caught.value.supported == ("2.0.0",)


async def test_a_version_refused_later_ends_the_client(host: Any) -> None:
    async with client_of(host) as client:
        host.resume, host.supported = "unknown", ["2.0.0"]
        await host.drop()
        await client.closed()
        with pytest.raises(ConnectionLost):
            await client.ping()


async def test_messages_that_make_no_sense_are_passed_over(host: Any, caplog: pytest.LogCaptureFixture) -> None:
    """AHP §15: malformed single frames are skipped, not fatal."""
    async with client_of(host) as client:
        channel = await client.subscribe_session(SESSION)
        with caplog.at_level(logging.WARNING):
            for text in ("{", "[]", '{"jsonrpc":"2.0","id":77,"result":1}', '{"jsonrpc":"2.0","method":"action"}'):
                await host.raw(text)
            await host.foreign(SESSION, {"type": "session/ofTomorrow", "x": 1})
            await host.foreign(SESSION, title("still here"))
            await channel.wait_for(lambda state: state["title"] == "still here")
        assert len(caplog.records) == 3


async def test_a_result_of_the_wrong_form_fails_its_request_only(host: Any) -> None:
    host.silent.add("subscribe")
    async with client_of(host) as client:
        waiting = asyncio.create_task(client.subscribe(SESSION))
        await host.heard("subscribe")
        await host.raw('{"jsonrpc":"2.0","id":2,"result":{"snapshot":{"state":3}}}')
        with pytest.raises(RpcFailure, match="not valid"):
            await waiting
        await client.ping()


async def test_requests_of_the_host_are_answered(host: Any) -> None:
    """AHP §4, §15: -32601 at once without a handler."""

    async def read(params: Any) -> Any:
        if params["uri"] == "virtual://me/boom":
            raise OSError("disk")
        if params["uri"] == "virtual://me/none":
            raise RpcFailure("resourceRead", -32008, "no such file")
        return {"data": params["uri"], "encoding": "utf-8"}

    async with client_of(host) as client:
        refused = await host.ask(1, "resourceRead", {"channel": ROOT, "uri": "virtual://me/a"})
        assert refused["error"]["code"] == -32601
        client.on_request("resourceRead", read)
        given = await host.ask(2, "resourceRead", {"channel": ROOT, "uri": "virtual://me/a"})
        assert (given["id"], given["result"]["data"]) == (2, "virtual://me/a")
        absent = await host.ask(3, "resourceRead", {"channel": ROOT, "uri": "virtual://me/none"})
        assert absent["error"] == {"code": -32008, "message": "no such file"}
        broken = await host.ask(4, "resourceRead", {"channel": ROOT, "uri": "virtual://me/boom"})
        assert broken["error"] == {"code": -32603, "message": "the handler failed"}
        assert (await host.ask(5, "ping", {"channel": ROOT}))["result"] is None


async def test_notifications_reach_the_client_s_events(host: Any) -> None:
    async with client_of(host) as client:
        events = client.events()
        await host.tell("root/sessionRemoved", {"channel": ROOT, "session": SESSION})
        expected = NotificationReceived("root/sessionRemoved", {"channel": ROOT, "session": SESSION})
        assert await anext(events) == expected


async def test_a_slow_reader_is_told_how_much_it_missed_and_the_state_is_complete(host: Any) -> None:
    """AHP §15: bounded buffers that never lose state."""
    async with client_of(host) as client:
        channel = await client.subscribe_session(SESSION)
        events = channel.events(capacity=2)
        for number in range(5):
            await host.foreign(SESSION, title(str(number)))
        await channel.wait_for(lambda state: state["title"] == "4")
        assert await anext(events) == Lagged(3)
        assert [(await anext(events)).action["title"] for _ in range(2)] == ["3", "4"]
        events.close()
        assert [event async for event in events] == []


async def test_what_was_dispatched_is_written_before_the_client_ends(host: Any) -> None:
    async with client_of(host) as client:
        channel = await client.subscribe(SESSION)
        dispatch = channel.dispatch(title("last words"))
    await host.heard("dispatchAction")
    assert dispatch.outcome in (Applied(101), Unconfirmed("the client is closed"))


async def test_a_dispatch_elsewhere_reports_a_rejection_and_is_not_sent_without_a_connection(host: Any) -> None:
    """AHP §2.5, §9.8: answers to `inputNeeded` go to chats that are not subscribed."""
    sleeps = Sleeps()
    sleeps.held = asyncio.Event()
    async with client_of(host, sleeps) as client:
        assert await client.dispatch(SESSION, title("forbidden")) == Rejected("that title is taken")
        events = client.events()
        await host.drop()
        await until(events, Disconnected)
        assert client.dispatch(SESSION, title("x")).outcome == Unconfirmed("there is no connection")
        sleeps.held.set()


async def test_the_commands_carry_what_was_given_and_nothing_else(host: Any) -> None:
    async with client_of(host) as client:
        uri = await client.create_session(provider="console", working_directories=["file:///w"])
        assert uri.startswith("ahp-session:/")
        assert host.params("createSession") == [
            {"channel": uri, "provider": "console", "workingDirectories": ["file:///w"]}
        ]
        assert [summary["resource"] async for summary in client.list_sessions(limit=1)] == [
            "ahp-session:/0",
            "ahp-session:/1",
        ]
        assert host.params("listSessions") == [
            {"channel": ROOT, "limit": 1},
            {"channel": ROOT, "limit": 1, "cursor": "1"},
        ]
        chat = await client.create_chat(uri, source={"kind": "fork", "chat": "c", "turnId": "t"})
        assert host.params("createChat")[0] == {
            "channel": uri,
            "chat": chat,
            "source": {"kind": "fork", "chat": "c", "turnId": "t"},
        }
        await client.dispose_session(uri)
        with pytest.raises(RpcFailure):
            await client.dispose_chat(chat)


def _json(value: object) -> str:
    import json

    return json.dumps(value)
