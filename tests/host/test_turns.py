import asyncio

import pytest

from scripted.world import call_of, text_of

pytestmark = pytest.mark.anyio


def kinds(turn):
    return [part["kind"] for part in turn["responseParts"]]


async def test_reasoning_and_text_become_parts_in_order(world, client):
    """AHP §7: a part first, then its deltas."""
    _, chat = await client.new_session()
    turn = await client.turn(chat, "think")
    assert kinds(turn) == ["reasoning", "markdown"]
    assert turn["responseParts"][0]["content"] == "First this. Then that."
    world.check_mirrors(client)


async def test_deltas_of_one_loop_tick_are_one_envelope(world, client):
    """architecture §4: not every token is an envelope."""
    _, chat = await client.new_session()
    turn = await client.turn(chat, "many 500")
    assert text_of(turn).split() == [str(n) for n in range(500)]
    assert len(client.actions(chat)) <= 5


async def test_a_tool_call_goes_through_its_states(world, client):
    """AHP §9.2."""
    _, chat = await client.new_session()
    turn = await client.turn(chat, "tool")
    call = call_of(turn)
    assert call["status"] == "completed" and call["confirmed"] == "not-needed"
    assert call["toolInput"] == '{"word": "hi"}' and call["intention"] == "to show it"
    seen = [e["action"]["type"] for e in client.actions(chat) if "toolCall" in e["action"]["type"]]
    assert seen[0] == "chat/toolCallStart" and seen[-1] == "chat/toolCallComplete"
    assert "chat/toolCallContentChanged" in seen
    world.check_mirrors(client)


async def test_a_result_without_a_start_still_completes_the_call(world, client):
    """AHP §9.2: a streaming call cannot complete, so it runs first."""
    _, chat = await client.new_session()
    call = call_of(await client.turn(chat, "tool-lazy"))
    assert call["status"] == "completed" and call["success"]


async def test_the_duration_is_measured_by_the_host_and_is_an_integer(world, client):
    """AHP §15: typed clients read 64-bit integers."""
    _, chat = await client.new_session()
    turn = await client.turn(chat, "slow 0.02")
    assert isinstance(turn["duration"], int) and turn["duration"] >= 20


async def test_usage_title_activity_and_notices_reach_the_client(world, client):
    session, chat = await client.new_session()
    turn = await client.turn(chat, "usage", "u")
    assert turn["usage"] == {"inputTokens": 100, "outputTokens": 50, "model": "script-1"}
    turn = await client.turn(chat, "activity", "a")
    assert kinds(turn) == ["systemNotification"]
    assert [e["action"].get("activity") for e in client.actions(chat, "chat/activityChanged")] == ["Reading", None]
    await client.turn(chat, "title A better name", "b")
    await client.state(session, lambda s: s["title"] == "A better name")
    await client.state(session, lambda s: s["chats"][0]["title"] == "A better name")


async def test_a_title_that_a_person_gave_stays(world, client):
    session, chat = await client.new_session()
    await client.echo(client.dispatch(session, "session/titleChanged", title="Mine"))
    await client.turn(chat, "title Something else")
    assert client.states[session]["title"] == "Mine"


async def test_the_first_words_are_the_title_until_there_is_a_better_one(world, client):
    """K18."""
    session, chat = await client.new_session()
    await client.turn(chat, "hello   " + "word " * 40)
    state = await client.state(session, lambda s: s["title"])
    assert state["title"].startswith("hello word word") and len(state["title"]) <= 60


async def test_an_agent_that_fails_ends_its_turn_with_an_error_part(world, client):
    """AHP §9.7."""
    _, chat = await client.new_session()
    turn = await client.turn(chat, "fail")
    assert turn["state"] == "error" and text_of(turn) == "so far"
    part = turn["responseParts"][-1]
    assert part == {"kind": "error", "error": {"errorType": "testError", "message": "It went wrong"}}
    assert client.states[chat]["status"] & 31 == 2


async def test_an_unexpected_failure_tells_a_reference_and_keeps_its_text_in_the_log(world, client, caplog):
    """T8, issue 2 §2: never a stack trace to a client; bad agents harm nobody else."""
    _, chat = await client.new_session()
    turn = await client.turn(chat, "crash")
    error = turn["responseParts"][-1]["error"]
    assert error["errorType"] == "sendFailed" and "secret-token" not in str(turn)
    reference = error["message"].split()[-1]
    assert reference in caplog.text and "secret-token" in caplog.text
    assert text_of(await client.turn(chat, "hello", "t2")) == "Hello, world"


async def test_an_agent_that_cancels_itself_ends_in_an_error(world, client):
    _, chat = await client.new_session()
    turn = await client.turn(chat, "crash-cancelled")
    assert turn["state"] == "error"


async def test_a_resumable_error_can_be_resumed_in_the_same_turn(world, client):
    """T10, AHP §9.7: same id, message, parts; duration and usage add up."""
    _, chat = await client.new_session()
    failed = await client.turn(chat, "fail resumable")
    assert failed["responseParts"][-1]["resumable"] is True
    client.dispatch(chat, "chat/turnResume", turnId="t1")
    await client.action(chat, "chat/turnComplete")
    turn = client.states[chat]["turns"][-1]
    assert len(client.states[chat]["turns"]) == 1
    assert turn["usage"]["inputTokens"] == 20, "of both attempts"
    assert kinds(turn) == ["markdown", "error", "markdown"] and turn["duration"] >= failed["duration"]
    assert world.scripted.requests[-1].resumed and world.scripted.requests[-1].history == ()
    world.check_mirrors(client)


async def test_what_cannot_be_resumed_is_refused(world, client):
    """T11: an error that is final, a turn that is not the latest, while another runs, in an archived conversation."""
    session, chat = await client.new_session()

    async def refusal(turn):
        return await client.rejection(client.dispatch(chat, "chat/turnResume", turnId=turn))

    await client.turn(chat, "fail")
    assert "resumable" in await refusal("t1")
    await client.turn(chat, "fail resumable", "t2")
    await client.echo(client.dispatch(session, "session/isArchivedChanged", isArchived=True))
    assert "archived" in await refusal("t2")
    await client.echo(client.dispatch(session, "session/isArchivedChanged", isArchived=False))
    client.start_turn(chat, "stuck", "t3")
    assert "in progress" in await refusal("t2")
    client.dispatch(chat, "chat/turnCancelled", turnId="t3", duration=1)
    await client.ended(chat, "t3")
    assert await refusal("t2")


async def test_a_stuck_turn_can_be_cancelled(world, client):
    """AHP §9.9; the agent's task ends with it."""
    _, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    await client.action(chat, "chat/responsePart")
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=5)
    turn = await client.ended(chat)
    assert turn["state"] == "cancelled"
    assert text_of(await client.turn(chat, "hello", "t2")) == "Hello, world"
    assert len(world.conversation.running) == 0


async def test_an_agent_that_ignores_the_cancellation_changes_nothing_any_more(world, client):
    """T6."""
    _, chat = await client.new_session()
    client.start_turn(chat, "deaf")
    await client.action(chat, "chat/responsePart")
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=5)
    await client.ended(chat)
    await client.turn(chat, "hello", "t2")
    first = client.states[chat]["turns"][0]
    assert first["state"] == "cancelled" and text_of(first) == "working"
    assert not client.actions(chat, "chat/turnComplete")[:-1]


async def test_the_time_a_cancelled_turn_took_is_filled_in_where_the_client_leaves_it_out(world, client):
    _, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    await client.action(chat, "chat/responsePart")
    client.dispatch(chat, "chat/turnCancelled", turnId="t1")
    assert (await client.ended(chat))["duration"] > 0


async def test_truncating_stops_the_running_turn(world, client):
    _, chat = await client.new_session()
    await client.turn(chat, "hello", "a")
    client.start_turn(chat, "stuck", "b")
    await client.state(chat, lambda s: s.get("activeTurn", {}).get("responseParts"))
    client.dispatch(chat, "chat/truncated", turnId="a")
    state = await client.state(chat, lambda s: "activeTurn" not in s)
    assert [t["id"] for t in state["turns"]] == ["a"] and state["status"] & 31 == 1
    await client.turn(chat, "hello", "c")
    assert [t["id"] for t in world.scripted.requests[-1].history] == ["a"]


async def test_signals_that_fit_no_state_mean_nothing(world, client):
    _, chat = await client.new_session()
    turn = await client.turn(chat, "nonsense")
    assert kinds(turn) == ["markdown", "systemNotification"] and text_of(turn) == "still fine"


@pytest.mark.parametrize(
    ("approvals", "answer"), [("default", (False, "no-conversation")), ("autoApprove", (True, "user"))]
)
async def test_what_an_agent_reports_after_its_end_means_nothing_and_nobody_is_asked(world, client, approvals, answer):
    """T1, providers.spi: nothing is taken after the end. T14: what it asks is answered at once, by the rules."""
    _, chat = await client.new_session(config={"autoApprove": approvals})
    turn = await client.turn(chat, "late")
    session = world.service._backings.peek("ahp-session:/1")
    await asyncio.wait(session.late, timeout=5)
    await client.turn(chat, "hello", "t2")
    assert client.states[chat]["turns"][0] == turn
    assert [(a.approved, a.reason) for a in session.late_answers] == [answer]


async def test_the_agent_gets_history_config_and_message(world, client):
    _, chat = await client.new_session(config={"mode": "plan"})
    await client.turn(chat, "hello", "a")
    await client.turn(chat, "think", "b")
    request = world.scripted.requests[-1]
    assert [t["id"] for t in request.history] == ["a"] and request.text == "think"
    assert request.config["mode"] == "plan" and request.config["autoApprove"] == "default"
    assert world.scripted.opened[0].directories == ["/w"]


async def test_declarations_are_prepared_before_every_request(world, client):
    """K19, M5.3."""
    session, chat = await client.new_session()
    await client.turn(chat, "hello", "a")
    await client.turn(chat, "hello", "b")
    assert world.mcp.log.count(("prepare", session)) == 2


async def test_a_required_server_that_is_not_there_fails_the_turn(world, client):
    """M5.5, K19."""
    from innkeeper.ports.declarations import RequiredServerUnavailable

    def refuse(session, turn_id):
        raise RequiredServerUnavailable("db", "START_TIMEOUT")

    world.mcp.prepare = refuse
    _, chat = await client.new_session()
    turn = await client.turn(chat, "hello")
    error = turn["responseParts"][-1]["error"]
    assert error["errorType"] == "requiredServerUnavailable" and "db (START_TIMEOUT)" in error["message"]
    assert not world.scripted.requests


async def test_a_resumed_turn_that_does_not_reach_its_agent_can_be_resumed_again(world, client):
    """Reference §4.6: what stood in the way is not the turn's, also an exception or an agent that cannot be opened."""
    _, chat = await client.new_session()
    await client.turn(chat, "fail resumable")
    prepare = world.mcp.prepare

    def crash(session, turn_id):
        raise OSError("disk")

    for times in (2, 3):
        world.mcp.prepare = crash
        client.dispatch(chat, "chat/turnResume", turnId="t1")
        await client.action(chat, "chat/error", times)
        part = client.states[chat]["turns"][-1]["responseParts"][-1]
        assert part["error"]["errorType"] == "declarationsFailed" and part["resumable"] is True
    world.mcp.prepare = prepare
    client.dispatch(chat, "chat/turnResume", turnId="t1")
    await client.action(chat, "chat/turnComplete")
    assert client.states[chat]["turns"][-1]["state"] == "complete" and len(client.states[chat]["turns"]) == 1
    assert [request.resumed for request in world.scripted.requests] == [False, True]


async def test_an_exception_while_declarations_are_prepared_fails_the_turn(world, client):
    """K19: with a reference, and what it said in the log alone."""

    def crash(session, turn_id):
        raise OSError("disk")

    world.mcp.prepare = crash
    _, chat = await client.new_session()
    turn = await client.turn(chat, "hello")
    error = turn["responseParts"][-1]["error"]
    assert error["errorType"] == "declarationsFailed" and "disk" not in str(turn) and not world.scripted.requests


async def test_cancelling_ends_the_preparation_at_once(world, client):
    """K19."""
    began, ended = asyncio.Event(), asyncio.Event()

    async def wait(session, turn_id):
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    world.mcp.prepare = wait
    _, chat = await client.new_session()
    client.start_turn(chat, "hello")
    async with asyncio.timeout(5):
        await began.wait()
        client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=0)
        await ended.wait()
    assert (await client.ended(chat))["state"] == "cancelled"


async def test_two_chats_of_a_session_work_at_the_same_time(world, client):
    session, chat = await client.new_session()
    await client.request("createChat", session, chat="ahp-chat:/two")
    await client.subscribe("ahp-chat:/two")
    client.start_turn(chat, "stuck")
    await client.action(chat, "chat/responsePart")
    assert text_of(await client.turn("ahp-chat:/two", "hello", "t2")) == "Hello, world"
    assert "activeTurn" in client.states[chat]


async def test_every_client_sees_the_same_turn(world, client):
    """issue 2 §1: two clients, one transcript."""
    _, chat = await client.new_session()
    other = await world.client("bob")
    await other.subscribe(chat)
    await client.turn(chat, "tool")
    await other.ended(chat)
    assert other.states[chat]["turns"] == client.states[chat]["turns"]
    world.check_mirrors(client, other)


@pytest.mark.parametrize("kind", ["agent", "tool", "automation", "systemNotification", "x-mine"])
async def test_a_client_sends_messages_of_the_user_only(world, client, kind):
    """AHP §9.7."""
    _, chat = await client.new_session()
    message = {"text": "hello", "origin": {"kind": kind}}
    seq = client.dispatch(chat, "chat/turnStarted", turnId="t1", startedAt="2026-01-01T00:00:00Z", message=message)
    assert "user" in await client.rejection(seq)
    seq = client.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q", message=message)
    assert "user" in await client.rejection(seq)


async def test_a_second_turn_is_refused_while_one_runs(world, client):
    _, chat = await client.new_session()
    client.start_turn(chat, "stuck", "a")
    assert "in progress" in await client.rejection(client.start_turn(chat, "hello", "b"))


async def test_an_archived_conversation_takes_no_turns(world, client):
    """C2, C4 of the reference: the refused turn is in the history, the agent never saw it."""
    session, chat = await client.new_session()
    await client.echo(client.dispatch(session, "session/isArchivedChanged", isArchived=True))
    refused = await client.turn(chat, "hello")
    assert refused["state"] == "error" and refused["responseParts"][-1]["error"]["errorType"] == "archived"
    assert not world.scripted.requests
    await client.echo(client.dispatch(session, "session/isArchivedChanged", isArchived=False))
    assert (await client.turn(chat, "hello", "t2"))["state"] == "complete"


async def test_a_turn_may_start_before_the_session_is_ready(world, client):
    """AHP §9.1: `ready` must not reset the status."""
    gate = asyncio.Event()

    async def opening(_):
        await gate.wait()

    world.scripted.opening = opening
    await client.request("createSession", "ahp-session:/1", provider="scripted")
    state = await client.subscribe("ahp-session:/1")
    chat = state["defaultChat"]
    await client.subscribe(chat)
    await client.echo(client.start_turn(chat, "hello"))
    assert client.states["ahp-session:/1"]["lifecycle"] == "creating"
    gate.set()
    assert text_of(await client.ended(chat)) == "Hello, world"
    await client.state("ahp-session:/1", lambda s: s["lifecycle"] == "ready")
