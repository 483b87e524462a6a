import asyncio

import pytest

from innkeeper.host.questions import within
from innkeeper.host.settings import HostSettings
from innkeeper.ports.questions import Caller, Confirmation
from scripted.fakes import FakeMcp, FakeServer
from scripted.world import World, call_of, text_of

pytestmark = pytest.mark.anyio


async def pending(client, chat, call_id="call-1"):
    await client.action(chat, "chat/toolCallReady")
    return call_of(client.states[chat]["activeTurn"], call_id)


def confirm(client, chat, approved, call_id="call-1", **more):
    if approved:
        more.setdefault("confirmed", "user-action")
    else:
        more.setdefault("reason", "denied")
    return client.dispatch(chat, "chat/toolCallConfirmed", turnId="t1", toolCallId=call_id, approved=approved, **more)


async def test_a_question_shows_its_options_and_any_client_may_answer(world, client):
    """AHP §9.2, M6.2."""
    _session, chat = await client.new_session()
    other = await world.client("bob")
    client.start_turn(chat, "ask")
    call = await pending(client, chat)
    assert call["status"] == "pending-confirmation" and call["confirmationTitle"] == "Run a command?"
    assert [option["kind"] for option in call["options"]] == ["approve", "approve", "deny"]
    assert call["_meta"]["x-innkeeper/rule"] == "shell"
    confirm(other, chat, True, selectedOptionId="always")
    turn = await client.ended(chat)
    assert text_of(turn) == "approved: always"
    assert call_of(turn)["selectedOption"]["id"] == "always"
    world.check_mirrors(client)


async def test_a_denial_reaches_the_agent_and_the_turn_goes_on(world, client):
    """AHP §9.2."""
    _, chat = await client.new_session()
    client.start_turn(chat, "ask")
    await pending(client, chat)
    confirm(client, chat, False, selectedOptionId="deny", reasonMessage="not today")
    turn = await client.ended(chat)
    assert turn["state"] == "complete" and text_of(turn) == "denied: user deny not today"
    assert call_of(turn)["status"] == "cancelled"


async def test_an_edited_input_reaches_the_agent(world, client):
    _, chat = await client.new_session()
    client.start_turn(chat, "ask")
    await pending(client, chat)
    confirm(client, chat, True, editedToolInput='{"command": "ls"}')
    assert call_of(await client.ended(chat))["content"][0]["text"] == '{"command": "ls"}'


async def test_an_answer_that_contradicts_its_option_is_refused(world, client):
    """M6.4: nothing is guessed."""
    _, chat = await client.new_session()
    client.start_turn(chat, "ask")
    await pending(client, chat)
    assert "does not approve" in await client.rejection(confirm(client, chat, True, selectedOptionId="deny"))
    assert "does not deny" in await client.rejection(confirm(client, chat, False, selectedOptionId="once"))


async def test_only_the_first_answer_counts(world, client):
    """AHP §9.9."""
    _, chat = await client.new_session()
    other = await world.client("bob")
    client.start_turn(chat, "ask")
    await pending(client, chat)
    confirm(client, chat, False)
    assert await other.rejection(confirm(other, chat, True))
    assert text_of(await client.ended(chat)).startswith("denied")


async def test_cancelling_the_turn_denies_what_it_asked(world, client):
    """M6.4."""
    session, chat = await client.new_session()
    client.start_turn(chat, "ask")
    await pending(client, chat)
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    turn = await client.ended(chat)
    assert call_of(turn)["status"] == "cancelled" and call_of(turn)["reason"] == "skipped"
    await client.state(session, lambda s: "inputNeeded" not in s)
    assert world.conversation.waits.count() == 0


async def test_nobody_answers_means_deny():
    """M6.4, M6.4b: no call may hang."""
    world = await World(settings=HostSettings(question_timeout=0.02, summary_delay=0.001)).start()
    client = await world.client()
    session, chat = await client.new_session()
    turn = await client.turn(chat, "ask")
    assert text_of(turn).startswith("denied: timeout") and call_of(turn)["status"] == "cancelled"
    turn = await client.turn(chat, "question", "t2")
    assert text_of(turn) == "cancel None" and turn["responseParts"][0]["response"] == "cancel"
    await client.state(session, lambda s: "inputNeeded" not in s)
    await world.close()


async def test_the_operators_full_access_asks_for_nothing():
    """M6.3b."""
    world = await World(settings=HostSettings(full_access=True, summary_delay=0.001)).start()
    client = await world.client()
    _, chat = await client.new_session()
    assert text_of(await client.turn(chat, "ask")) == "approved: once"
    await world.close()


async def test_a_client_that_never_finishes_a_call_fails_it():
    """AHP §9.2: the host may time out."""
    world = await World(settings=HostSettings(question_timeout=0.02, summary_delay=0.001)).start()
    client = await world.client("alice")
    _, chat = await client.new_session(activeClient=joined(client))
    turn = await client.turn(chat, "client-tool alice")
    assert "did not finish" in text_of(turn) and call_of(turn)["success"] is False
    await world.close()


async def test_an_input_request_ends_with_its_turn(world, client):
    """AHP §9.8."""
    session, chat = await client.new_session()
    client.start_turn(chat, "question")
    await client.state(session, lambda s: s.get("inputNeeded"))
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=0)
    turn = await client.ended(chat)
    assert "response" not in turn["responseParts"][0]
    await client.state(session, lambda s: "inputNeeded" not in s)


@pytest.mark.parametrize(
    ("config", "words", "status"),
    [
        ({"autoApprove": "autoApprove"}, "approved: once", "completed"),
        ({"permissions": {"allow": ["shell"]}}, "approved: once", "completed"),
        ({"autoApprove": "autoApprove", "permissions": {"deny": ["shell"]}}, "denied: user", "cancelled"),
    ],
)
async def test_the_sessions_configuration_may_answer(world, client, config, words, status):
    """M6.3b; a deny of any wins."""
    _, chat = await client.new_session(config=config)
    turn = await client.turn(chat, "ask")
    assert text_of(turn).startswith(words)
    assert call_of(turn)["status"] == status
    assert call_of(turn).get("reason") == ("denied" if status == "cancelled" else None)


async def test_an_input_request_is_answered_by_a_client_that_is_not_subscribed(world, client):
    """AHP §9.8: answered by ordinary dispatch, without subscribing."""
    session, chat = await client.new_session()
    other = await world.client("bob")
    await other.subscribe(session)
    client.start_turn(chat, "question")
    state = await other.state(session, lambda s: s.get("inputNeeded"))
    entry = state["inputNeeded"][0]
    assert entry["kind"] == "chatInput" and entry["chat"] == chat and state["status"] & 31 == 24
    answer = {"state": "submitted", "value": {"kind": "text", "value": "Ada"}}
    other.dispatch(
        chat, "chat/inputCompleted", requestId=entry["request"]["id"], response="accept", answers={"name": answer}
    )
    assert text_of(await client.ended(chat)) == "accept Ada"
    await other.state(session, lambda s: "inputNeeded" not in s)


@pytest.mark.parametrize("response", ["decline", "cancel"])
async def test_an_input_request_can_be_turned_down(world, client, response):
    _, chat = await client.new_session()
    client.start_turn(chat, "question")
    await client.action(chat, "chat/inputRequested")
    client.dispatch(chat, "chat/inputCompleted", requestId="ask-1", response=response)
    assert text_of(await client.ended(chat)) == f"{response} None"


async def test_what_waits_for_a_person_is_mirrored_and_cleared(world, client):
    """AHP §9.8, §13.8."""
    session, chat = await client.new_session()
    client.start_turn(chat, "ask")
    state = await client.state(session, lambda s: s.get("inputNeeded"))
    (entry,) = state["inputNeeded"]
    assert entry["kind"] == "toolConfirmation" and entry["turnId"] == "t1"
    assert entry["toolCall"] == call_of(client.states[chat]["activeTurn"])
    confirm(client, chat, True)
    await client.ended(chat)
    await client.state(session, lambda s: "inputNeeded" not in s)
    world.check_mirrors(client)


# -- tools of clients ------------------------------------------------------------------------------------------------


def joined(client):
    return {"clientId": client.client_id, "tools": [{"name": "pick"}]}


async def test_a_clients_tool_is_executed_by_its_owner(world, client):
    """AHP §9.2: Ready with not-needed, the owner executes on running and completes."""
    session, chat = await client.new_session(activeClient=joined(client))
    client.start_turn(chat, "client-tool alice")
    state = await client.state(session, lambda s: s.get("inputNeeded"))
    assert state["inputNeeded"][0]["kind"] == "toolClientExecution"
    assert state["inputNeeded"][0]["clientId"] == "alice" and state["status"] & 31 != 24
    assert call_of(client.states[chat]["activeTurn"])["confirmed"] == "not-needed"
    result = {"success": True, "pastTenseMessage": "Picked", "structuredContent": {"picked": 2}}
    client.dispatch(chat, "chat/toolCallComplete", turnId="t1", toolCallId="call-1", result=result)
    assert text_of(await client.ended(chat)) == '{"picked": 2}'


async def test_another_client_cannot_complete_it(world, client):
    """AHP §9.9."""
    _, chat = await client.new_session(activeClient=joined(client))
    other = await world.client("bob")
    client.start_turn(chat, "client-tool alice")
    await client.action(chat, "chat/toolCallReady")
    result = {"success": True, "pastTenseMessage": "Picked"}
    seq = other.dispatch(chat, "chat/toolCallComplete", turnId="t1", toolCallId="call-1", result=result)
    assert "not executed by this client" in await other.rejection(seq)


async def test_a_result_under_review_is_given_to_the_agent_once_approved(world, client):
    """AHP §9.2: pending-result-confirmation."""
    _, chat = await client.new_session(activeClient=joined(client))
    client.start_turn(chat, "client-tool alice")
    await client.action(chat, "chat/toolCallReady")
    result = {"success": True, "pastTenseMessage": "Picked", "structuredContent": {"picked": 2}}
    call = {"turnId": "t1", "toolCallId": "call-1"}
    client.dispatch(chat, "chat/toolCallComplete", **call, result=result, requiresResultConfirmation=True)
    await client.action(chat, "chat/toolCallComplete")
    client.dispatch(chat, "chat/toolCallResultConfirmed", **call, approved=False)
    assert "withheld" in text_of(await client.ended(chat))


async def test_a_client_that_is_not_there_fails_the_call(world, client):
    """AHP §9.2."""
    _, chat = await client.new_session()
    turn = await client.turn(chat, "client-tool nobody")
    assert "gone away" in text_of(turn) and call_of(turn)["success"] is False


async def test_a_clients_tool_may_ask_first(world, client):
    _, chat = await client.new_session(activeClient=joined(client))
    client.start_turn(chat, "client-tool-ask alice")
    await client.action(chat, "chat/toolCallReady")
    confirm(client, chat, True)
    await client.action(chat, "chat/toolCallReady", 2)
    result = {"success": True, "pastTenseMessage": "Picked"}
    client.dispatch(chat, "chat/toolCallComplete", turnId="t1", toolCallId="call-1", result=result)
    assert text_of(await client.ended(chat)) == "success True"


# -- the gate's questions ----------------------------------------------------------------------------------------------


async def gated_world():
    mcp = FakeMcp(declared={"memo": FakeServer("memo", gated=True)})
    world = await World(mcp=mcp).start()
    client = await world.client("alice")
    session, chat = await client.new_session(provider="console")
    await client.state(session, lambda s: s.get("customizations"))
    await client.request("x-innkeeper/mcp/connect", session, server="memo")
    return world, client, session, chat


async def test_a_gated_call_asks_in_the_conversation_and_runs_when_allowed():
    """M6.1, M6.2: the question is the call itself, with its options, and an input-needed entry."""
    world, client, session, chat = await gated_world()
    client.start_turn(chat, '/call memo echo {"a": 1}')
    state = await client.state(session, lambda s: s.get("inputNeeded"))
    call = state["inputNeeded"][0]["toolCall"]
    assert call["contributor"] == {"kind": "mcp", "customizationId": "memo"}
    assert call["_meta"]["x-innkeeper/tool"] == "echo"
    assert call["_meta"]["x-innkeeper/expiresAt"].endswith("Z"), "a client can count down (M6.4)"
    assert world.mcp.callers[0].chat == chat and world.mcp.callers[0].turn_id == "t1"
    confirm(client, chat, True, call["toolCallId"], selectedOptionId="once")
    turn = await client.ended(chat)
    assert text_of(turn) == "echo {'a': 1}" and call_of(turn, call["toolCallId"])["status"] == "completed"
    await world.close()


async def test_a_gated_call_that_is_denied_returns_an_error_result_and_the_turn_goes_on():
    """M6.1."""
    world, client, session, chat = await gated_world()
    client.start_turn(chat, "/call memo echo {}")
    state = await client.state(session, lambda s: s.get("inputNeeded"))
    confirm(client, chat, False, state["inputNeeded"][0]["toolCall"]["toolCallId"], selectedOptionId="deny")
    turn = await client.ended(chat)
    assert turn["state"] == "complete" and "denied: user" in text_of(turn)
    await world.close()


async def test_two_questions_about_one_call_are_asked_one_after_the_other():
    """The person is asked once a question, and each answer counts for the question that was shown."""
    world, client, session, chat = await gated_world()
    client.start_turn(chat, "/call memo echo {}")
    state = await client.state(session, lambda s: s.get("inputNeeded"))
    call_id = state["inputNeeded"][0]["toolCall"]["toolCallId"]
    caller = Caller(session, chat, "t1", call_id)
    again = Confirmation("Really?", "Really", None, ())
    asking = [asyncio.create_task(world.conversation.questions.confirm(caller, again)) for _ in range(2)]
    confirm(client, chat, False, call_id)
    assert text_of(await client.ended(chat)).startswith("The call failed")
    async with asyncio.timeout(5):
        answers = await asyncio.gather(*asking)
    assert [answer.approved for answer in answers] == [False, False]
    assert world.conversation.questions._asking == {}
    await world.close()


async def test_a_question_of_the_gate_ends_with_the_turn():
    """M6.4b: no call may hang, also when it came from outside the turn's task."""
    world, client, session, chat = await gated_world()
    client.start_turn(chat, "/call memo echo {}")
    await client.state(session, lambda s: s.get("inputNeeded"))
    caller = Caller(session, chat, "t1", "from-outside")
    asking = asyncio.create_task(
        world.conversation.questions.confirm(caller, Confirmation("Tool?", "Calling", None, ()))
    )
    await client.state(chat, lambda s: len(s["activeTurn"]["responseParts"]) == 2)
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    async with asyncio.timeout(5):
        answer = await asking
        late = await world.conversation.questions.confirm(caller, Confirmation("Tool?", "Calling", None, ()))
    assert (answer.approved, answer.reason) == (False, "cancelled")
    assert (late.approved, late.reason) == (False, "no-conversation")
    await world.close()


async def open_question(client, chat, caller, conversation, withdrawn=None, lang="en"):
    """A question of the gate about a call that its agent has not told of yet, and the task that waits for it."""
    question = Confirmation("Tool?", "Calling", None, (), lang=lang)
    asking = asyncio.create_task(conversation.questions.confirm(caller, question, withdrawn))
    await client.state(chat, lambda s: len(s["activeTurn"]["responseParts"]) == 2)
    return asking


async def test_a_question_that_nobody_needs_any_more_ends_as_a_denial_with_its_reason():
    """M6.4: a tool removed or a server disabled while its question is open ends the question with deny."""
    world, client, session, chat = await gated_world()
    client.start_turn(chat, "/call memo echo {}")
    await client.state(session, lambda s: s.get("inputNeeded"))
    withdrawn = asyncio.get_running_loop().create_future()
    caller = Caller(session, chat, "t1", "other")
    asking = await open_question(client, chat, caller, world.conversation, withdrawn)
    withdrawn.set_result("The server was switched off.")
    async with asyncio.timeout(5):
        answer = await asking
        late = await world.conversation.questions.confirm(caller, Confirmation("Again?", "x", None, ()), withdrawn)
    assert answer == late
    assert (answer.approved, answer.reason, answer.message) == (False, "withdrawn", "The server was switched off.")
    call = call_of(client.states[chat]["activeTurn"], "other")
    assert (call["status"], call["reasonMessage"]) == ("cancelled", "The server was switched off.")
    assert world.conversation.waits.count() == 1
    await world.close()


@pytest.mark.parametrize(
    ("timeout", "patience", "seconds"), [(600, None, 600), (600, 60, 55), (600, 10, 8), (10, 60, 10), (600, 0, 0)]
)
def test_a_question_ends_before_the_calling_agent_gives_up(timeout, patience, seconds):
    """M6.4b: below the calling agent's own tool time-out where that is known."""
    assert within(timeout, patience) == seconds


async def test_a_question_of_an_impatient_agent_is_denied_in_time_and_in_the_askers_language():
    """M6.4b; M9.4."""
    world, client, session, chat = await gated_world()
    client.start_turn(chat, "/call memo echo {}")
    await client.state(session, lambda s: s.get("inputNeeded"))
    caller = Caller(session, chat, "t1", "other", patience=0.01)
    asking = await open_question(client, chat, caller, world.conversation, lang="zh_Hans")
    async with asyncio.timeout(5):
        answer = await asking
    assert (answer.reason, answer.message) == ("timeout", "0.008 秒内无人应答，视为拒绝。")
    await world.close()


async def test_a_question_stays_open_while_no_client_is_connected():
    """M6.4b: no client connected is not the case "no question service"."""
    world, client, session, chat = await gated_world()
    client.start_turn(chat, "/call memo echo {}")
    await client.state(session, lambda s: s.get("inputNeeded"))
    client.lose()
    other = await world.client("bob")
    await other.subscribe(chat)
    state = await other.subscribe(session)
    call = state["inputNeeded"][0]["toolCall"]
    confirm(other, chat, True, call["toolCallId"], selectedOptionId="once")
    turn = await other.ended(chat)
    assert call_of(turn, call["toolCallId"])["status"] == "completed"
    await world.close()


@pytest.mark.parametrize(
    ("locale", "operator", "lang"),
    [
        ("zh-Hans", None, "zh_Hans"),
        (None, "zh", "zh_Hans"),
        ("en", "zh", "en"),
        ("fr", "zh", "zh_Hans"),
        (None, None, "en"),
    ],
)
async def test_a_question_is_in_the_language_of_the_client_whose_turn_it_is(locale, operator, lang):
    """M9.4: client's locale, then the operator's language, then English; a queued message counts as its sender's."""
    world = await World(settings=HostSettings(language=operator)).start()
    client = await world.client("alice", **({} if locale is None else {"locale": locale}))
    session, chat = await client.new_session()
    other = await world.client("bob", locale="en" if lang == "zh_Hans" else "zh")
    await other.subscribe(chat)
    client.start_turn(chat, "ask")
    await client.action(chat, "chat/toolCallReady")
    spoken = world.conversation.language
    assert spoken(Caller(session, chat, "t1", "c")) == lang
    assert spoken(Caller(session, "ahp-chat:/none", "t1", "c")) == ("zh_Hans" if operator else "en")
    assert world.conversation.client_language("bob") != lang
    message = {"text": "ask", "origin": {"kind": "user"}}
    other.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q1", message=message)
    await client.action(chat, "chat/pendingMessageSet")
    assert spoken(Caller(session, chat, "t1", "c")) == lang
    confirm(client, chat, True)
    await client.action(chat, "chat/toolCallReady", 2)
    assert spoken(Caller(session, chat, "t1", "c")) != lang
    await world.close()
