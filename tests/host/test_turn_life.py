"""The life of a turn where its parts meet (reference §4, AHP §9.3, §9.7): what no single module's tests look at."""

import asyncio

import pytest

from harness.repositories import RealRepository, environment
from innkeeper.contributions.spi import Addition, Context, Contribution
from innkeeper.host.changesets.service import ChangesOutside
from innkeeper.ports.edits import MemoryEdits
from innkeeper.providers.spi import ActivityChanged, ProviderError, TextDelta
from innkeeper.workspace.files import LocalFiles
from innkeeper.workspace.git import LocalGit
from scripted import provider
from scripted.provider import ScriptedProvider
from scripted.world import RpcFailure, World, text_of

pytestmark = pytest.mark.anyio

TWO = "ahp-chat:/two"
PAST = "2026-01-01T00:00:00.000Z"


def recorder(ends, waits=None, reached=None):
    class Recorder(Contribution):
        id = "recorder"
        order = 10_000

        def __init__(self, context: Context) -> None:
            self.context = context

        async def on_outgoing_turn(self, turn):
            if waits is not None:
                reached.set()
                await waits.wait()
            return Addition()

        def on_turn_end(self, end):
            ends.append((end.chat, end.turn_id, end.reason.kind))

    return Recorder


async def forked(client, session, chat, turn_id, uri=TWO, kind="fork"):
    await client.request("createChat", session, chat=uri, source={"kind": kind, "chat": chat, "turnId": turn_id})
    return await client.subscribe(uri)


# -- cancelling --------------------------------------------------------------------------------------------------------


async def test_a_turn_that_is_cancelled_twice_ends_once():
    """T5: the second is refused, whoever sends it."""
    ends = []
    world = await World(contributions=[recorder(ends)]).start()
    alice, bob = await world.client("alice"), await world.client("bob")
    _, chat = await alice.new_session()
    await bob.subscribe(chat)
    alice.start_turn(chat, "stuck")
    await bob.action(chat, "chat/responsePart")
    first = alice.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    second = bob.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    assert "rejectionReason" not in await alice.echo(first)
    assert "no turn is in progress" in await bob.rejection(second)
    await alice.turn(chat, "hello", "t2")
    await world.until(lambda: (chat, "t2", "success") in ends)
    assert ends == [(chat, "t1", "cancelled"), (chat, "t2", "success")]
    await world.close()


async def test_cancelling_while_contributions_run_reaches_no_agent_and_leaves_no_checkpoint(tmp_path):
    """T7, with a real repository: the next turn has the first number."""
    repository = RealRepository.made(tmp_path / "repo", environment(tmp_path / "home"))
    git, edits, ends = LocalGit(environment(tmp_path / "home")), MemoryEdits(), []
    waits, reached = asyncio.Event(), asyncio.Event()
    changes = ChangesOutside(git, edits, LocalFiles(), delay=0.05)
    world = await World(contributions=[recorder(ends, waits, reached)], changes=changes).start()
    client = await world.client("alice")
    session, chat = await client.new_session(workingDirectories=[repository.root.as_uri()])
    client.start_turn(chat, "hello")
    await asyncio.wait_for(reached.wait(), 10)
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    assert (await client.ended(chat))["state"] == "cancelled" and not world.scripted.requests
    waits.set()
    assert (await client.turn(chat, "hello", "t2"))["state"] == "complete"
    await world.until(lambda: ends[-1:] == [(chat, "t2", "success")])
    checkpoints = world.service._changes._checkpoints
    await checkpoints.settled(session)
    states = {turn: record.state for turn, record in (await world.service._changes._books.of(session)).turns.items()}
    assert states.get("t1") in (None, "discarded") and states["t2"] == "ended"
    await world.close()
    await git.close()


@pytest.mark.parametrize("where", ["chat", "session"])
async def test_a_turn_whose_chat_goes_works_in_its_folder_no_longer(tmp_path, where):
    """Else every later turn there would share its changes with one that nobody can see."""
    repository = RealRepository.made(tmp_path / "repo", environment(tmp_path / "home"))
    git = LocalGit(environment(tmp_path / "home"))
    world = await World(changes=ChangesOutside(git, MemoryEdits(), LocalFiles(), delay=0.05)).start()
    client = await world.client("alice")
    session, _ = await client.new_session(workingDirectories=[repository.root.as_uri()])
    await client.request("createChat", session, chat=TWO)
    await client.subscribe(TWO)
    client.start_turn(TWO, "stuck")
    await client.action(TWO, "chat/responsePart")
    checkpoints = world.service._changes._checkpoints
    assert checkpoints.working_in(repository.path)
    gone = {"chat": ("disposeChat", TWO), "session": ("disposeSession", session)}[where]
    await client.request(*gone)
    await world.until(lambda: not checkpoints.working_in(repository.path))
    assert not checkpoints.working_in(repository.path) and len(world.conversation.running) == 0
    await world.close()
    await git.close()


async def test_subagents_end_with_the_chat_that_spawned_them(world, client):
    """Nothing looks alive that nobody can stop any more."""
    session, _ = await client.new_session()
    await client.request("createChat", session, chat=TWO)
    await client.subscribe(TWO)
    client.start_turn(TWO, "subagent-wait")
    state = await client.state(session, lambda s: len(s["chats"]) == 3)
    worker = state["chats"][2]["resource"]
    await client.subscribe(worker)
    await client.state(worker, lambda s: s.get("activeTurn"))
    await client.request("disposeChat", TWO)
    ended = await client.state(worker, lambda s: s["turns"])
    assert ended["turns"][0]["state"] == "cancelled" and len(world.conversation.running) == 0


# -- truncating --------------------------------------------------------------------------------------------------------


async def test_truncating_ends_running_subagents_too(world, client):
    """Reference §4.6: their chats stay, and nothing in them looks alive."""
    session, chat = await client.new_session()
    await client.turn(chat, "hello", "a")
    client.start_turn(chat, "subagent-wait", "b")
    state = await client.state(session, lambda s: len(s["chats"]) == 2)
    worker = state["chats"][1]["resource"]
    await client.subscribe(worker)
    await client.state(worker, lambda s: s.get("activeTurn"))
    client.dispatch(chat, "chat/truncated", turnId="a")
    ended = await client.state(worker, lambda s: s["turns"])
    assert ended["turns"][0]["state"] == "cancelled" and "activeTurn" not in client.states[chat]
    await client.state(session, lambda s: all(not c["status"] & 8 for c in s["chats"]))
    assert len(world.conversation.running) == 0
    assert (await client.turn(chat, "hello", "c"))["state"] == "complete"
    assert [turn["id"] for turn in world.scripted.requests[-1].history] == ["a"]


async def test_truncating_withdraws_what_waits_for_a_person(world, client):
    """Reference §4.6."""
    session, chat = await client.new_session()
    client.start_turn(chat, "ask")
    await client.state(session, lambda s: s.get("inputNeeded"))
    client.dispatch(chat, "chat/truncated")
    await client.state(session, lambda s: "inputNeeded" not in s)
    assert client.states[chat]["turns"] == [] and "activeTurn" not in client.states[chat]


async def test_a_turn_that_there_is_not_is_no_place_to_truncate_at(world, client):
    _, chat = await client.new_session()
    await client.turn(chat, "hello", "a")
    seq = client.dispatch(chat, "chat/truncated", turnId="nope")
    assert "not a completed turn" in await client.rejection(seq)
    assert len(client.states[chat]["turns"]) == 1


# -- forks and side chats ----------------------------------------------------------------------------------------------


async def test_a_fork_copies_local_turns_and_its_agent_counts_without_them(world, client):
    """Reference §4.8: copied under ids of their own; a fork at one is a fork after the turn before it."""
    session, chat = await client.new_session()
    await client.turn(chat, "keep word", "a")
    await client.turn(chat, "/rename New", "local")
    await client.turn(chat, "hello", "c")
    state = await forked(client, session, chat, "local")
    assert [turn["message"]["text"] for turn in state["turns"]] == ["keep word", "/rename New"]
    assert not {"a", "local"} & {turn["id"] for turn in state["turns"]}
    said = text_of(await client.turn(TWO, "keep other", "d"))
    request = world.scripted.requests[-1]
    assert len(request.history) == 1 and (request.branch.turns, request.branch.turn_id) == (1, "a")
    assert said.endswith('branch [{"word": "word"}, 1]')


@pytest.mark.parametrize(("at", "branch"), [("b", (2, "b")), ("a", (1, "a")), (None, None)])
async def test_a_fork_that_was_taken_back_shares_what_it_still_has(world, client, at, branch):
    """Else an agent that goes on from the source's history knows turns that nobody sees any more (K14, AHP §9.3)."""
    session, chat = await client.new_session()
    for turn_id in "abc":
        await client.turn(chat, f"keep {turn_id}", turn_id)
    copies = (await forked(client, session, chat, "c"))["turns"]
    kept = {} if at is None else {"turnId": copies["abc".index(at)]["id"]}
    client.dispatch(TWO, "chat/truncated", **kept)
    await client.state(TWO, lambda s: len(s["turns"]) == (0 if branch is None else branch[0]))
    await client.turn(TWO, "hello", "d")
    found = world.scripted.requests[-1].branch
    assert (None if found is None else (found.turns, found.turn_id)) == branch


async def test_a_fork_stays_a_branch_when_its_source_is_taken_back_or_its_last_turn_is_its_own(world, client):
    session, chat = await client.new_session()
    await client.turn(chat, "keep a", "a")
    await client.turn(chat, "keep b", "b")
    await forked(client, session, chat, "b")
    await client.turn(TWO, "hello", "own")
    assert world.scripted.requests[-1].branch[1:] == ("b", 2)
    await client.turn(TWO, "hello", "own-2")
    assert world.scripted.requests[-1].branch[1:] == ("b", 2)
    client.dispatch(chat, "chat/truncated", turnId="a")
    await client.state(chat, lambda s: len(s["turns"]) == 1)
    await client.turn(TWO, "hello", "own-3")
    assert world.scripted.requests[-1].branch[1:] == ("b", 0), "0: not known any more"


async def test_the_chat_of_a_subagent_cannot_be_forked_and_can_be_asked_about(world, client):
    """Reference §4.10."""
    session, chat = await client.new_session()
    await client.turn(chat, "subagent")
    state = await client.state(session, lambda s: len(s["chats"]) == 2)
    worker = state["chats"][1]["resource"]
    turn = (await client.subscribe(worker))["turns"][0]
    with pytest.raises(RpcFailure) as refused:
        await forked(client, session, worker, turn["id"])
    assert refused.value.code == -32009 and len(client.states[session]["chats"]) == 2
    await forked(client, session, worker, turn["id"], kind="sideChat")
    await client.turn(TWO, "hello", "d")
    assert [one["id"] for one in world.scripted.requests[-1].context] == [turn["id"]]


@pytest.mark.parametrize("meanwhile", ["ended", "truncated", "disposed"])
async def test_a_side_chat_has_its_source_as_it_is_when_it_is_sent(world, client, meanwhile):
    """Reference §3.14: the race between opening it and sending is none."""
    session, _ = await client.new_session()
    await client.request("createChat", session, chat="ahp-chat:/source")
    source = "ahp-chat:/source"
    await client.subscribe(source)
    client.start_turn(source, "steered", "a")
    await client.action(source, "chat/responsePart")
    await forked(client, session, source, "a", kind="sideChat")
    if meanwhile == "ended":
        message = {"text": "left", "origin": {"kind": "user"}}
        client.dispatch(source, "chat/pendingMessageSet", kind="steering", id="s", message=message)
        await client.ended(source, "a")
    elif meanwhile == "truncated":
        client.dispatch(source, "chat/truncated")
        await client.state(source, lambda s: "activeTurn" not in s)
    else:
        await client.request("disposeChat", source)
    await client.turn(TWO, "hello", "b")
    context = world.scripted.requests[-1].context
    assert [text_of(turn) for turn in context] == (["waiting steered: left"] if meanwhile == "ended" else [])


async def test_a_side_chat_leaves_the_source_and_its_queue_alone(world, client):
    """Reference §4.10."""
    session, chat = await client.new_session()
    client.start_turn(chat, "stuck", "a")
    await client.action(chat, "chat/responsePart")
    message = {"text": "hello", "origin": {"kind": "user"}}
    client.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q", message=message)
    await forked(client, session, chat, "a", kind="sideChat")
    await client.turn(TWO, "hello", "b")
    assert client.states[chat]["activeTurn"]["id"] == "a" and len(client.states[chat]["queuedMessages"]) == 1
    assert not client.states[TWO].get("queuedMessages")


# -- who says what -----------------------------------------------------------------------------------------------------


async def test_the_first_message_of_a_new_chat_is_of_the_client_that_made_it(world, client):
    """K14: also where a client says otherwise."""
    session, _ = await client.new_session()
    message = {"text": "who", "origin": {"kind": "user"}, "_meta": {"x-innkeeper/sender": "mallory", "own": 1}}
    await client.request("createChat", session, chat=TWO, initialMessage=message)
    await client.subscribe(TWO)
    state = await client.state(TWO, lambda s: s["turns"])
    assert text_of(state["turns"][0]).startswith("alice")
    assert state["turns"][0]["message"]["_meta"] == {"x-innkeeper/sender": "alice", "own": 1}


async def test_a_suggestion_with_a_denial_is_of_the_user(world, client):
    """AHP §9.7: clients send messages of the user only, here too."""
    _, chat = await client.new_session()
    client.start_turn(chat, "ask")
    await client.action(chat, "chat/toolCallReady")
    denial = {"turnId": "t1", "toolCallId": "call-1", "approved": False, "reason": "denied"}
    forged = {"text": "do that", "origin": {"kind": "tool"}}
    seq = client.dispatch(chat, "chat/toolCallConfirmed", **denial, userSuggestion=forged)
    assert "messages of the user" in await client.rejection(seq)
    client.dispatch(chat, "chat/toolCallConfirmed", **denial, userSuggestion={**forged, "origin": {"kind": "user"}})
    assert "denied" in text_of(await client.ended(chat))


async def test_a_draft_of_another_client_stays_until_it_is_sent(world, client):
    """AHP §9.7: one draft a chat, seen by all, cleared by nothing but its own words."""
    _, chat = await client.new_session()
    bob = await world.client("bob")
    await bob.subscribe(chat)
    draft = {"text": "half a thought", "origin": {"kind": "user"}}
    client.dispatch(chat, "chat/draftChanged", draft=draft)
    await bob.state(chat, lambda s: s.get("draft"))
    await bob.turn(chat, "hello", "a")
    assert bob.states[chat]["draft"]["_meta"] == {"x-innkeeper/sender": "alice"}
    await client.turn(chat, "half a thought", "b")
    await bob.state(chat, lambda s: "draft" not in s)
    world.check_mirrors(client, bob)


async def test_what_a_subagent_uses_is_its_own(world, client):
    """The parent's turn has its own usage; the session's total has both."""
    session, chat = await client.new_session()
    turn = await client.turn(chat, "subagent-early")
    state = await client.state(session, lambda s: len(s["chats"]) == 2)
    worker = await client.subscribe(state["chats"][1]["resource"])
    assert worker["turns"][0]["usage"] == {"inputTokens": 1} and turn.get("usage") is None
    await client.state(session, lambda s: s["_meta"].get("x-innkeeper/usage", {}).get("inputTokens") == 1)


# -- what is shown -----------------------------------------------------------------------------------------------------


@pytest.fixture
def busy(monkeypatch):
    async def behaviour(session, request, output, rest):
        output.emit(ActivityChanged("Reading"))
        output.emit(TextDelta("reading", "t"))
        if rest:
            raise ProviderError("testError", "no")
        await asyncio.Event().wait()

    monkeypatch.setitem(provider.PROMPTS, "busy", behaviour)


@pytest.mark.parametrize("end", ["cancelled", "truncated", "failed", "killed"])
async def test_what_an_agent_does_is_over_with_its_turn(world, client, busy, end):
    """Else a conversation that rests says for ever that its agent reads."""
    session, chat = await client.new_session()
    client.start_turn(chat, "busy now" if end == "failed" else "busy")
    await client.action(chat, "chat/activityChanged")
    await client.action(session, "session/activityChanged")
    if end == "killed":
        later = await world.crash()
        again = await later.client("alice")
        assert "activity" not in await again.subscribe(chat)
        await again.subscribe(session)
        await again.state(session, lambda s: "activity" not in s)
        await later.close()
        return
    if end == "cancelled":
        client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    elif end == "truncated":
        client.dispatch(chat, "chat/truncated")
    await client.state(chat, lambda s: "activity" not in s and "activeTurn" not in s)
    await client.state(session, lambda s: "activity" not in s)
    world.check_mirrors(client)


async def test_a_turn_that_a_sudden_death_interrupted_is_new_to_everybody(world, client):
    """K14: unread, and not at work."""
    session, chat = await client.new_session()
    client.dispatch(session, "session/isReadChanged", isRead=True)
    await client.state(session, lambda s: s["status"] & 32)
    client.start_turn(chat, "stuck")
    await client.action(chat, "chat/responsePart")
    later = await world.crash()
    again = await later.client("alice")
    await again.subscribe(session)
    state = await again.state(session, lambda s: not s["status"] & 32)
    assert not state["status"] & 8 and state["chats"][0]["status"] & 2
    await later.close()


async def test_a_session_whose_agent_this_host_does_not_have_refuses_and_burns_no_queue(world, client):
    """T9, K12: the turn is refused; a queued message is the first again, and the queue says why."""
    ends = []
    _, chat = await client.new_session()
    await client.turn(chat, "hello")
    later = await world.crash(scripted=ScriptedProvider("another"), contributions=[recorder(ends)])
    again = await later.client("bob")
    await again.subscribe("ahp-session:/1")
    await again.subscribe(chat)
    turn = await again.turn(chat, "hello", "t2")
    assert turn["responseParts"][-1]["error"]["errorType"] == "PROVIDER_UNKNOWN"
    message = {"text": "later", "origin": {"kind": "user"}}
    again.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q", message=message)
    state = await again.state(chat, lambda s: len(s["turns"]) == 3 and s.get("queuedMessages"))
    assert [one["id"] for one in state["queuedMessages"]] == ["q"]
    paused = "x-innkeeper/queuePaused"
    meta = (await again.state("ahp-session:/1", lambda s: paused in (s.get("_meta") or {})))["_meta"]
    assert "scripted" in meta[paused][chat]["message"]
    assert [kind for _, _, kind in ends] == ["rejected", "rejected"]
    await later.close()


# -- times -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["2999-01-01T00:00:00.000Z", "yesterday", "1969-01-01T00:00:00.000Z"])
async def test_a_turn_begins_now_at_the_latest(world, client, given):
    """A clock that is wrong does not order the list of sessions."""
    session, chat = await client.new_session()
    message = {"text": "hello", "origin": {"kind": "user"}}
    client.dispatch(chat, "chat/turnStarted", turnId="t1", startedAt=given, message=message)
    turn = await client.ended(chat)
    assert "2026" <= turn["startedAt"] <= world.clock.now()
    (listed,) = (await client.request("listSessions"))["items"]
    assert listed["resource"] == session and "2026" <= listed["modifiedAt"] <= world.clock.now()
    world.check_mirrors(client)


async def test_a_time_that_has_been_is_believed(world, client):
    _, chat = await client.new_session()
    assert (await client.turn(chat, "hello"))["startedAt"] == PAST


async def test_the_time_of_a_cancelled_turn_is_the_hosts(world, client):
    """AHP §6: by the host's clock, not from what a client says it began; a resumed turn adds to its attempts."""
    _, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    await client.action(chat, "chat/responsePart")
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=0)
    assert 0 <= (await client.ended(chat))["duration"] < 60_000, "it began in January, by its client"
