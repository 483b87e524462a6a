"""What is attached to a message reaches the agent in a form that it can use (reference §4.1, AHP §9.7, T19)."""

import asyncio
import base64
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from harness.repositories import environment
from innkeeper.engine.effects import Create
from innkeeper.host.changesets.contents import Reference, content_uri
from innkeeper.host.changesets.service import ChangesOutside
from innkeeper.host.customizations.service import Ground
from innkeeper.limits import ATTACHED_CHARACTERS, ATTACHMENT_BYTES, EMBEDDED_CHARACTERS
from innkeeper.ports.edits import MemoryEdits
from innkeeper.workspace.attachment_files import AttachmentFiles
from innkeeper.workspace.files import LocalFiles
from innkeeper.workspace.git import LocalGit
from scripted.world import World, plain

pytestmark = pytest.mark.anyio

REMOTE = "editor-fs:/home/someone/plan.md"
TWO = "ahp-chat:/two"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(16)).decode()


@pytest.fixture
def area(tmp_path):
    return tmp_path / "attachments"


@pytest.fixture
async def world(area) -> AsyncIterator[World]:
    started = await World(ground=Ground(LocalFiles()), attachments=AttachmentFiles(area)).start()
    yield started
    await started.close()


@asynccontextmanager
async def answering(client, files):
    """The client answers `resourceRead` from `files`: content, an error, or None for never. Yields what was asked."""
    asked = []

    async def work():
        seen = 0
        while True:
            while seen < len(client.frames):
                frame = client.frames[seen]
                seen += 1
                if "method" in frame and "id" in frame:
                    asked.append(frame["params"]["uri"])
                    answer = files.get(frame["params"]["uri"], {"error": {"code": -32008, "message": "not here"}})
                    if isinstance(answer, bytes):
                        data = base64.b64encode(answer).decode()
                        answer = {"result": {"data": data, "encoding": "base64", "contentType": "text/markdown"}}
                    if answer is not None:
                        client.say({"jsonrpc": "2.0", "id": frame["id"], **answer})
            client._news.clear()
            if seen == len(client.frames):
                await client._news.wait()

    task = asyncio.create_task(work())
    try:
        yield asked
    finally:
        task.cancel()


def send(client, chat, *attachments, text="hello", turn="t1"):
    message = {"text": text, "origin": {"kind": "user"}, "attachments": list(attachments)}
    started = "2026-01-01T00:00:00.000Z"
    return client.dispatch(chat, "chat/turnStarted", turnId=turn, startedAt=started, message=message)


async def sent(world, client, chat, *attachments, turn="t1", **more):
    """What the agent was given of the attachments."""
    send(client, chat, *attachments, turn=turn, **more)
    ended = await client.ended(chat, turn)
    assert ended["state"] == "complete", ended
    request = next(one for one in world.scripted.requests if one.turn_id == turn)
    assert plain(ended["message"]["attachments"]) == plain(list(attachments)), "the state keeps what was sent"
    return request.message["attachments"]


def resource(uri=REMOTE, **more):
    return {"type": "resource", "label": "plan.md", "uri": uri, **more}


def chat_of(uri, **more):
    return {"type": "chat", "label": "the other", "resource": uri, **more}


def path_of(attachment):
    return Path(unquote(urlsplit(attachment["uri"]).path))


async def test_what_only_the_client_can_read_is_fetched_and_kept_for_the_agent(world, client, area):
    """T19: `<area>/<session>/<uuid>/<name>`, for the host's user alone."""
    _, chat = await client.new_session()
    selection = {"range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}}
    async with answering(client, {REMOTE: b"# plan"}):
        (given,) = await sent(world, client, chat, resource(selection=selection))
    path = path_of(given)
    assert path.read_bytes() == b"# plan" and path.name == "plan.md"
    assert path.parent.parent.parent == area and given["selection"] == selection
    assert given["contentType"] == "text/markdown"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in list(path.parents)[:3]} == {0o700}


async def test_a_file_of_this_machine_and_the_web_are_the_agents_to_read(world, client, tmp_path):
    _, chat = await client.new_session()
    (tmp_path / "here").write_text("x")
    given = [resource((tmp_path / "here").as_uri()), resource("https://example.org/a")]
    async with answering(client, {}) as asked:
        assert await sent(world, client, chat, *given) == given
    assert asked == []


async def test_what_this_host_made_a_uri_for_it_reads_itself(area, tmp_path):
    """A side of a change, as a client shows it: no client is asked, and no agent can read such a URI."""
    git = LocalGit(environment(tmp_path / "home"))
    changes = ChangesOutside(git, MemoryEdits(), LocalFiles(), delay=0.05)
    world = await World(ground=Ground(LocalFiles()), attachments=AttachmentFiles(area), changes=changes).start()
    client = await world.client("alice")
    session, chat = await client.new_session(workingDirectories=[tmp_path.as_uri()])
    made = content_uri(Reference("submodule", session, "", "0" * 40, "lib"))
    gone = content_uri(Reference("edit", "ahp-session:/gone", "", "0" * 64, "lost.py"))
    async with answering(client, {}) as asked:
        given, lost = await sent(world, client, chat, resource(made), resource(gone))
    assert "0" * 40 in path_of(given).read_text() and asked == []
    assert lost["type"] == "simple" and "CONTENT_UNKNOWN" in lost["modelRepresentation"]
    await world.close()
    await git.close()


async def test_a_file_that_is_not_on_this_machine_is_the_clients(world, client, tmp_path):
    """A client of another machine names its files as `file:` too."""
    _, chat = await client.new_session()
    uri = (tmp_path / "there" / "notes.md").as_uri()
    async with answering(client, {uri: b"theirs"}):
        (given,) = await sent(world, client, chat, resource(uri))
    assert path_of(given).read_bytes() == b"theirs" and given["uri"] != uri


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"error": {"code": -32008, "message": "secret words"}}, "refused (-32008)"),
        (b"x" * (ATTACHMENT_BYTES + 1), "too large"),
        ({"result": {"data": "?", "encoding": "base64"}}, "cannot be read"),
        ({"result": {}}, "no content"),
    ],
)
async def test_what_cannot_be_had_becomes_words_and_fails_nothing(world, client, area, answer, why):
    _, chat = await client.new_session()
    async with answering(client, {REMOTE: answer}):
        (given,) = await sent(world, client, chat, resource())
    assert given["type"] == "simple" and given["label"] == "plan.md"
    assert REMOTE in given["modelRepresentation"] and why in given["modelRepresentation"]
    assert "secret" not in given["modelRepresentation"] and not area.exists()


async def test_all_of_one_message_have_one_room(world, client, monkeypatch):
    monkeypatch.setattr("innkeeper.host.attachments.resources.ATTACHMENTS_BYTES", 10)
    monkeypatch.setattr("innkeeper.host.attachments.resources.ATTACHMENTS_AT_ONCE", 1)
    _, chat = await client.new_session()
    many = [resource(f"{REMOTE}.{n}") for n in range(3)]
    async with answering(client, {one["uri"]: b"123456" for one in many}):
        given = await sent(world, client, chat, *many)
    refused = [one for one in given if one["type"] == "simple"]
    assert len(refused) == 2 and all("too large" in one["modelRepresentation"] for one in refused)


async def test_a_client_that_does_not_answer_is_waited_for_once(world, client, monkeypatch):
    monkeypatch.setattr("innkeeper.host.attachments.resources.Snapshots.__init__.__defaults__", (0.05,))
    monkeypatch.setattr("innkeeper.host.attachments.resources.ATTACHMENTS_AT_ONCE", 1)
    _, chat = await client.new_session()
    many = [resource(f"{REMOTE}.{n}") for n in range(5)]
    async with answering(client, {one["uri"]: None for one in many}) as asked:
        given = await sent(world, client, chat, *many)
    assert all("did not answer" in one["modelRepresentation"] for one in given) and len(asked) == 1


async def test_a_turn_that_is_cancelled_meanwhile_waits_no_longer(world, client):
    """T7: the agent never hears of it."""
    _, chat = await client.new_session()
    async with answering(client, {REMOTE: None}) as asked:
        send(client, chat, resource())
        await world.until(lambda: asked)
        client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
        assert (await client.ended(chat))["state"] == "cancelled"
    assert not world.scripted.requests


async def test_a_queued_message_has_what_was_attached_when_it_was_left(world, client):
    """The sender may be gone when its turn comes."""
    _, chat = await client.new_session()
    bob = await world.client("bob")
    await bob.subscribe(chat)
    client.start_turn(chat, "stuck", "a")
    await client.action(chat, "chat/responsePart")
    message = {"text": "hello", "origin": {"kind": "user"}, "attachments": [resource()]}
    async with answering(bob, {REMOTE: b"as it was"}) as asked:
        bob.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q1", message=message)
        await world.until(lambda: world.attachments.stored())
    bob.lose()
    client.dispatch(chat, "chat/turnCancelled", turnId="a", duration=1)
    await client.ended(chat, "a")
    client.dispatch(chat, "chat/queuedMessagesReordered", order=["q1"])
    await client.state(chat, lambda s: len(s["turns"]) == 2)
    (given,) = world.scripted.requests[-1].message["attachments"]
    assert path_of(given).read_bytes() == b"as it was" and len(asked) == 1


async def test_a_resumed_turn_has_the_same_snapshot(world, client):
    _, chat = await client.new_session()
    async with answering(client, {REMOTE: b"once"}) as asked:
        send(client, chat, resource(), text="fail resumable")
        assert (await client.ended(chat))["state"] == "error"
        client.dispatch(chat, "chat/turnResume", turnId="t1")
        await client.state(chat, lambda s: s["turns"] and s["turns"][0]["state"] == "complete")
    first, second = (one.message["attachments"] for one in world.scripted.requests)
    assert first == second and len(asked) == 1


async def test_a_resumed_turn_of_a_queued_message_has_what_was_kept_for_the_queue(world, client):
    _, chat = await client.new_session()
    client.start_turn(chat, "slow 0.05", "a")
    message = {"text": "fail resumable", "origin": {"kind": "user"}, "attachments": [resource()]}
    async with answering(client, {REMOTE: b"once"}) as asked:
        client.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q1", message=message)
        state = await client.state(chat, lambda s: len(s["turns"]) == 2)
        client.dispatch(chat, "chat/turnResume", turnId=state["turns"][1]["id"])
        await client.state(chat, lambda s: s["turns"][1:] and s["turns"][1]["state"] == "complete")
        first, second = (one.message["attachments"] for one in world.scripted.requests[-2:])
        assert first == second and asked == [REMOTE]
        copied = client.states[chat]["turns"][1]["message"]
        client.dispatch(chat, "chat/turnStarted", turnId="again", startedAt=world.clock.now(), message=copied)
        await client.ended(chat, "again")
    assert world.scripted.requests[-1].message["attachments"] != first and len(asked) == 2, "a copy is another message"


async def test_steering_messages_bring_what_is_attached_to_them(world, client):
    _, chat = await client.new_session()
    client.start_turn(chat, "steered")
    await client.action(chat, "chat/responsePart")
    (agent,) = [world.service._backings.peek("ahp-session:/1")]
    taken = []
    queue = agent.steered[chat]
    put = queue.put_nowait
    queue.put_nowait = lambda one: (taken.append(one), put(one))
    message = {"text": "left", "origin": {"kind": "user"}, "attachments": [resource()]}
    async with answering(client, {REMOTE: b"new"}):
        client.dispatch(chat, "chat/pendingMessageSet", kind="steering", id="s1", message=message)
        await client.ended(chat)
    assert path_of(taken[0][1]["attachments"][0]).read_bytes() == b"new"


async def test_snapshots_go_with_their_session_and_with_one_that_a_dead_host_left(world, client, area):
    session, chat = await client.new_session()
    async with answering(client, {REMOTE: b"x"}):
        await sent(world, client, chat, resource())
    (area / ("0" * 32)).mkdir()
    later = await world.crash(ground=Ground(LocalFiles()))
    await later.until(lambda: len(list(area.iterdir())) == 1)
    again = await later.client("bob")
    await again.request("disposeSession", session)
    await later.until(lambda: not list(area.iterdir()))
    assert not list(area.iterdir())
    await later.close()


async def test_a_snapshot_that_comes_too_late_for_its_session_does_not_stay(world, client, area):
    session, chat = await client.new_session()
    client.start_turn(chat, "stuck", "a")
    await client.action(chat, "chat/responsePart")
    message = {"text": "hello", "origin": {"kind": "user"}, "attachments": [resource()]}
    async with answering(client, {REMOTE: None}) as asked:
        client.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q1", message=message)
        await world.until(lambda: asked)
        request = next(f["id"] for f in client.frames if "method" in f and "id" in f)
        await client.request("disposeSession", session)
        await world.until(lambda: not world.service._joined.sessions._ending)
        data = base64.b64encode(b"late").decode()
        client.say({"jsonrpc": "2.0", "id": request, "result": {"data": data, "encoding": "base64"}})
        await world.until(lambda: not any("attachments of" in task.get_name() for task in world.driver._tasks))
    assert not area.exists() or not list(area.iterdir())


# -- embedded ----------------------------------------------------------------------------------------------------------


def embedded(content, kind="application/pdf", label="paper"):
    data = content if isinstance(content, str) else base64.b64encode(content).decode()
    return {"type": "embeddedResource", "label": label, "contentType": kind, "data": data}


@pytest.mark.parametrize("kept", [embedded(PNG, "image/png"), embedded(b"words", "text/plain"), embedded("%%%")])
async def test_what_an_agent_can_show_stays_embedded(world, client, kept):
    _, chat = await client.new_session()
    assert await sent(world, client, chat, kept) == [kept]


@pytest.mark.parametrize("content", [b"%PDF\xff\xfe", b"x" * (EMBEDDED_CHARACTERS + 1)])
async def test_what_no_agent_can_show_goes_by_its_path(world, client, content):
    _, chat = await client.new_session()
    (given,) = await sent(world, client, chat, embedded(content))
    assert given["type"] == "resource" and "data" not in given
    assert path_of(given).read_bytes() == content and path_of(given).name == "paper.pdf"


async def test_a_host_without_a_place_says_that_it_kept_nothing(client):
    world = await World().start()
    alice = await world.client("alice")
    _, chat = await alice.new_session()
    (given,) = await sent(world, alice, chat, embedded(b"\xff"))
    assert given["type"] == "simple" and "could not keep it" in given["modelRepresentation"]
    await world.close()


# -- chats and annotations ---------------------------------------------------------------------------------------------


async def test_a_chat_becomes_its_words_up_to_the_newest_completed_turn(world, client):
    """AHP §9.7: a missing `endTurn` is the newest completed turn, also while another one runs; any session."""
    _, other = await client.new_session("ahp-session:/other")
    await client.turn(other, "hello one", "a")
    await client.turn(other, "/rename Elsewhere", "local")
    await client.turn(other, "hello two", "b")
    client.start_turn(other, "stuck", "c")
    await client.action(other, "chat/responsePart", 3)
    _, chat = await client.new_session()
    newest, first = await sent(world, client, chat, chat_of(other), chat_of(other, endTurn="a"))
    words = newest["modelRepresentation"]
    assert newest["type"] == "simple" and newest["label"] == "the other"
    assert "'Elsewhere'" in words and "User: hello one\nAssistant: Hello, world" in words
    assert words.index("hello one") < words.index("hello two")
    assert "stuck" not in words and "/rename" not in words
    assert "hello one" in first["modelRepresentation"] and "hello two" not in first["modelRepresentation"]


async def test_the_newest_turns_are_whole_and_what_is_left_out_is_said(world, client):
    _, chat = await client.new_session()
    await client.turn(chat, "x" * 300 + " first " + "x" * ATTACHED_CHARACTERS, "a")
    await client.turn(chat, "hello last", "b")
    newest, cut = await sent(world, client, chat, chat_of(chat), chat_of(chat, endTurn="a"), turn="t1")
    assert "hello last" in newest["modelRepresentation"] and "first" not in newest["modelRepresentation"]
    assert "left out" in newest["modelRepresentation"]
    assert "[...]" in cut["modelRepresentation"] and len(cut["modelRepresentation"]) < ATTACHED_CHARACTERS + 200


async def test_what_is_attached_inside_is_named_and_not_followed(world, client):
    """AHP §9.7."""
    _, chat = await client.new_session()
    await client.turn(chat, "hello deep", "a")
    await client.request("createChat", "ahp-session:/1", chat=TWO)
    await client.subscribe(TWO)
    await sent(world, client, TWO, chat_of(chat), turn="b")
    (given,) = await sent(world, client, chat, chat_of(TWO), turn="c")
    assert "[attached: the other]" in given["modelRepresentation"]
    assert "deep" not in given["modelRepresentation"]


@pytest.mark.parametrize("itself", [True, False])
async def test_the_end_of_a_running_turn_fails_the_turn(world, client, itself):
    """Reference §4.1: `sendFailed`, in words."""
    session, chat = await client.new_session()
    await client.request("createChat", session, chat=TWO)
    await client.subscribe(TWO)
    client.start_turn(TWO, "stuck", "run")
    await client.action(TWO, "chat/responsePart")
    attached = chat_of(chat, endTurn="t1") if itself else chat_of(TWO, endTurn="run")
    send(client, chat, attached, resource("https://example.org/a"))
    turn = await client.ended(chat)
    error = turn["responseParts"][-1]["error"]
    assert turn["state"] == "error" and error["errorType"] == "sendFailed" and "still runs" in error["message"]
    assert all(one.turn_id != "t1" for one in world.scripted.requests)


@pytest.mark.parametrize(
    "bad",
    [
        chat_of("ahp-chat:/nowhere"),
        chat_of("CHAT"),
        chat_of("CHAT", endTurn="nope"),
        chat_of("ahp-session:/1"),
        {"type": "annotations", "label": "the other", "resource": "ahp-session:/1/annotations"},
    ],
)
async def test_a_bad_reference_becomes_words_that_name_it(world, client, bad):
    _, chat = await client.new_session()
    bad = {**bad, "resource": bad["resource"].replace("CHAT", chat)}
    (given,) = await sent(world, client, chat, bad)
    assert given["type"] == "simple" and bad["resource"] in given["modelRepresentation"]


async def test_annotations_become_their_words(world, client):
    session, chat = await client.new_session()
    uri = f"{session}/annotations"
    span = {"start": {"line": 4, "character": 0}, "end": {"line": 6, "character": 0}}
    base = {"origin": {"session": session}, "resource": "file:///w/a.py", "resolved": False}
    notes = [
        {"id": "n1", **base, "range": span, "entries": [{"id": "e", "text": {"markdown": "rename this"}}]},
        {"id": "n2", **base, "resolved": True, "entries": [{"id": "e", "text": "done already"}]},
    ]
    await world.driver.commit(Create(uri, "annotations", session, {"annotations": notes}))
    attached = {"type": "annotations", "label": "notes", "resource": uri}
    whole, one = await sent(world, client, chat, attached, {**attached, "annotationIds": ["n1"]})
    assert "file:///w/a.py, lines 5 to 7:\n- rename this" in whole["modelRepresentation"]
    assert "(resolved):\n- done already" in whole["modelRepresentation"]
    assert "done already" not in one["modelRepresentation"]
