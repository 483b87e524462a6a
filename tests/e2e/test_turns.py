"""One long conversation with everything that the life of a turn has (issue 5, point 3): a real host over WebSocket, two
clients, a repository, and two sudden deaths. The agent alone is scripted."""

import asyncio
import base64
import json
import signal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from harness import scripted_host
from harness.host_process import BareClient, HostProcess
from harness.repositories import RealRepository, environment

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

S = "ahp-session:/life"
PEER, FORK, SIDE = "ahp-chat:/peer", "ahp-chat:/fork", "ahp-chat:/side"
NOTES = "editor-fs:/home/alice/notes.md"
PROGRAM = (scripted_host.__file__,)


class Person(BareClient):
    """Types, and has one file that only this client can read."""

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message and "method" in message:
            self.read.append(message["params"]["uri"])
            data = base64.b64encode(b"# notes of alice\n").decode()
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"data": data, "encoding": "base64"}}
            assert self.socket is not None
            self.answering = asyncio.create_task(self.socket.send(json.dumps(answer)))
        super()._take(message)

    def __init__(self, client_id: str) -> None:
        super().__init__(client_id)
        self.read: list[str] = []

    async def do(self, channel: str, type: str, **fields: Any) -> None:
        await self.dispatch(channel, {"type": type, **fields})

    async def say(self, chat: str, words: str, turn: str, *attachments: Any) -> None:
        message = {"text": words, "origin": {"kind": "user"}, **({"attachments": attachments} if attachments else {})}
        await self.do(chat, "chat/turnStarted", turnId=turn, startedAt="2026-01-01T00:00:00.000Z", message=message)

    async def wait(self, chat: str, kind: str, words: str, id: str) -> None:
        message = {"text": words, "origin": {"kind": "user"}}
        await self.do(chat, "chat/pendingMessageSet", kind=kind, id=id, message=message)

    async def end_of(self, chat: str, turn: str) -> Any:
        return await self.until(lambda: next((t for t in self.states[chat]["turns"] if t["id"] == turn), None))

    async def turn(self, chat: str, words: str, turn: str, *attachments: Any) -> Any:
        await self.say(chat, words, turn, *attachments)
        return await self.end_of(chat, turn)

    async def begun(self, chat: str) -> Any:
        """The running turn, once its agent has said something."""

        def running() -> Any:
            turn = self.states[chat].get("activeTurn")
            return turn if turn and turn["responseParts"] else None

        return await self.until(running)

    async def needed(self) -> Any:
        return await self.until(lambda: next(iter(self.states[S].get("inputNeeded") or ()), None))

    async def new_chat(self, uri: str, **more: Any) -> None:
        answer = await self.ask("createChat", channel=S, chat=uri, **more)
        assert "error" not in answer, answer
        await self.subscribe(uri)


def text_of(turn: Any) -> str:
    return "".join(part["content"] for part in turn["responseParts"] if part["kind"] == "markdown")


def error_of(turn: Any) -> Any:
    return turn["responseParts"][-1]["error"]


async def people(host: HostProcess, repository: RealRepository) -> tuple[Person, Person, str]:
    alice, bob = Person("alice"), Person("bob")
    for one in (alice, bob):
        await one.open(host.url)
        await one.initialize("ahp-root://")
    config = {"isolation": "folder", "autoApprove": "autoApprove"}
    place = [repository.root.as_uri()]
    await alice.ask("createSession", channel=S, provider="scripted", workingDirectories=place, config=config)
    for one in (alice, bob):
        chat = (await one.subscribe(S))["defaultChat"]
        await one.subscribe(chat)
    return alice, bob, chat


async def test_a_long_conversation_survives_and_is_the_same_for_everybody(tmp_path: Path) -> None:
    repository = RealRepository.made(tmp_path / "repo", environment(tmp_path / "user"))
    async with HostProcess(tmp_path / "home", program=PROGRAM) as host:
        alice, bob, chat = await people(host, repository)
        await words_and_tools(alice, bob, chat)
        await attachments(alice, chat, repository, tmp_path / "home")
        await waiting_messages(alice, bob, chat)
        await endings(alice, bob, chat)
        await other_chats(alice, bob, chat)
        await sudden_death_amid_a_turn(host, alice, bob, chat)
        compared = await sudden_death_while_nothing_runs(host, alice, bob)
        assert {S, chat, PEER, FORK, SIDE} <= compared
        await the_end(host, alice, bob, tmp_path / "home")


async def words_and_tools(alice: Person, bob: Person, chat: str) -> None:
    """Title, usage, tools, a subagent in its own chat, a question that the other client answers, unread."""
    assert text_of(await alice.turn(chat, "hello", "a1")) == "Hello, world"
    await bob.until(lambda: bob.states[S]["title"] == "hello")
    await bob.do(S, "session/isReadChanged", isRead=True)
    assert (await alice.turn(chat, "usage", "a2"))["usage"]["inputTokens"] == 100
    await bob.until(lambda: not bob.states[S]["status"] & 32)
    await alice.turn(chat, "subagent", "a3")
    worker = (await bob.until(lambda: bob.states[S]["chats"][1:]))[0]["resource"]
    shown = await bob.subscribe(worker)
    assert shown["interactivity"] == "read-only" and text_of(shown["turns"][0]) == "looking"
    assert error_of(await bob.turn(worker, "hello", "w1"))["errorType"] == "readOnly"
    await alice.say(chat, "question", "a4")
    asked = await bob.needed()
    value = {"state": "submitted", "value": {"kind": "text", "value": "Ada"}}
    answers = {"name": value}
    await bob.do(chat, "chat/inputCompleted", requestId=asked["request"]["id"], response="accept", answers=answers)
    assert text_of(await alice.end_of(chat, "a4")) == "accept Ada"
    await alice.until(lambda: "inputNeeded" not in alice.states[S])
    await alice.turn(chat, "/rename A long talk", "local")
    await bob.until(lambda: bob.states[S]["title"] == "A long talk")
    shell = await alice.turn(chat, "!echo from-the-shell", "shell")
    call = next(part["toolCall"] for part in shell["responseParts"] if part["kind"] == "toolCall")
    assert call["status"] == "completed" and "from-the-shell" in json.dumps(call["content"])


async def attachments(alice: Person, chat: str, repository: RealRepository, home: Path) -> None:
    """T19: a snapshot for the agent, which no tool writes, whatever is allowed; the state has what was sent."""
    notes = {"type": "resource", "label": "notes.md", "uri": NOTES}
    turn = await alice.turn(chat, "attached", "b1", notes, {"type": "chat", "label": "this", "resource": chat})
    given, talk = json.loads(text_of(turn))
    assert turn["message"]["attachments"][0] == notes and alice.read == [NOTES]
    path = Path(unquote(urlsplit(given["uri"]).path))
    assert content(path) == "# notes of alice\n" and home in path.parents and "attachments" in path.parts
    assert "accept Ada" in talk["modelRepresentation"] and "from-the-shell" not in talk["modelRepresentation"]
    approved, why = json.loads(text_of(await alice.turn(chat, f"write {path}", "b2")))
    assert not approved and why and content(path) == "# notes of alice\n"
    place = repository.root / "made.txt"
    assert json.loads(text_of(await alice.turn(chat, f"write {place}", "b3")))[0] and place.exists()
    failed = await alice.turn(chat, "hello", "b4", {"type": "chat", "label": "x", "resource": chat, "endTurn": "b4"})
    assert error_of(failed)["errorType"] == "sendFailed"


async def waiting_messages(alice: Person, bob: Person, chat: str) -> None:
    """The queue goes in order and keeps who queued; steering reaches the running turn."""
    await alice.say(chat, "steered", "c1")
    await alice.begun(chat)
    await bob.wait(chat, "queued", "who", "q1")
    await bob.wait(chat, "queued", "hello again", "q2")
    await bob.until(lambda: len(bob.states[chat].get("queuedMessages") or ()) == 2)
    await bob.wait(chat, "steering", "left", "s1")
    assert text_of(await alice.end_of(chat, "c1")) == "waiting steered: left"
    await alice.until(lambda: alice.states[chat]["turns"][-1]["message"]["text"] == "hello again")
    assert text_of(alice.states[chat]["turns"][-2]).startswith("bob")
    assert not alice.states[chat].get("queuedMessages") and not alice.states[chat].get("steeringMessage")


async def endings(alice: Person, bob: Person, chat: str) -> None:
    """An error that is resumed, a stop that comes twice, a model that is not there, a refusal in the archive."""
    failed = await alice.turn(chat, "fail resumable", "d1")
    assert error_of(failed)["errorType"] == "testError"
    await bob.do(chat, "chat/turnResume", turnId="d1")
    done = await alice.until(
        lambda: next((t for t in alice.states[chat]["turns"] if t["state"] == "complete" and t["id"] == "d1"), None)
    )
    assert text_of(done).endswith("resumed") and done["usage"]["inputTokens"] == 20
    await alice.say(chat, "stuck", "d2")
    await bob.begun(chat)
    for one in (alice, bob):
        await one.do(chat, "chat/turnCancelled", turnId="d2", duration=0)
    assert (await alice.end_of(chat, "d2"))["state"] == "cancelled"
    await alice.until(lambda: len(alice.rejections) + len(bob.rejections) == 1)
    message = {"text": "hello", "origin": {"kind": "user"}, "model": {"id": "gone"}}
    await alice.do(chat, "chat/turnStarted", turnId="d3", startedAt="2999-01-01T00:00:00.000Z", message=message)
    refused = await alice.end_of(chat, "d3")
    assert error_of(refused)["errorType"] == "modelSelectionFailed" and refused["startedAt"] < "2999"
    await bob.do(S, "session/isArchivedChanged", isArchived=True)
    assert error_of(await bob.turn(chat, "hello", "d4"))["errorType"] == "archived"
    await bob.do(S, "session/isArchivedChanged", isArchived=False)
    await alice.do(chat, "chat/truncated", turnId="d2")
    await bob.until(lambda: bob.states[chat]["turns"][-1]["id"] == "d2")


async def other_chats(alice: Person, bob: Person, chat: str) -> None:
    """A peer with a draft, a fork at a local turn, a side chat of a running turn."""
    await alice.new_chat(PEER)
    await bob.subscribe(PEER)
    await alice.turn(PEER, "hello", "p1")
    draft = {"text": "half a thought", "origin": {"kind": "user"}}
    await alice.do(PEER, "chat/draftChanged", draft=draft)
    await bob.until(lambda: bob.states[PEER].get("draft"))
    await bob.turn(PEER, "hello", "p2")
    assert bob.states[PEER]["draft"]["_meta"]["x-innkeeper/sender"] == "alice"
    await alice.new_chat(FORK, source={"kind": "fork", "chat": chat, "turnId": "local"})
    assert [t["message"]["text"] for t in alice.states[FORK]["turns"]][-1] == "/rename A long talk"
    await alice.say(PEER, "stuck", "p3")
    await alice.begun(PEER)
    await alice.new_chat(SIDE, source={"kind": "sideChat", "chat": PEER, "turnId": "p3"})
    assert text_of(await alice.turn(SIDE, "hello", "s1")) == "Hello, world"
    assert alice.states[PEER]["activeTurn"]["id"] == "p3"


async def sudden_death_amid_a_turn(host: HostProcess, alice: Person, bob: Person, chat: str) -> None:
    """Two turns run, one of them can be resumed; a message waits behind each."""
    await alice.say(chat, "keep-going", "e1")
    await alice.begun(chat)
    await bob.wait(chat, "queued", "who", "q3")
    await bob.wait(PEER, "queued", "hello", "q4")
    await bob.until(lambda: bob.states[PEER].get("queuedMessages") and bob.states[chat].get("queuedMessages"))
    await again(host, alice, bob)
    interrupted = await alice.end_of(chat, "e1")
    assert error_of(interrupted)["errorType"] == "executionInterrupted"
    assert interrupted["responseParts"][-1]["resumable"] is True
    lost = await alice.end_of(PEER, "p3")
    assert error_of(lost)["errorType"] == "executionInterrupted"
    assert alice.states[PEER]["draft"]["text"] == "half a thought"
    assert [one["id"] for one in alice.states[chat]["queuedMessages"]] == ["q3"]
    await alice.do(chat, "chat/turnResume", turnId="e1")
    await alice.until(lambda: alice.states[chat]["turns"][-1]["message"]["text"] == "who")
    assert text_of(alice.states[chat]["turns"][-1]).startswith("bob")
    assert "resumed" in text_of(await alice.end_of(chat, "e1"))
    await bob.do(PEER, "chat/queuedMessagesReordered", order=["q4"])
    await alice.until(lambda: len(alice.states[PEER]["turns"]) == 4)


async def sudden_death_while_nothing_runs(host: HostProcess, alice: Person, bob: Person) -> set[str]:
    """What everybody saw is what there is afterwards, in each of these channels."""
    await quiet(alice, bob)
    before = {uri: alice.states[uri] for uri in alice.states if uri != "ahp-root://"}
    await again(host, alice, bob)
    fresh = Person("carol")
    await fresh.open(host.url)
    await fresh.initialize("ahp-root://")
    for uri, state in before.items():
        assert await fresh.subscribe(uri) == state, uri
        await alice.until(lambda uri=uri: alice.states[uri] == fresh.states[uri])
    for uri in [uri for uri in bob.states if uri in before]:
        await bob.until(lambda uri=uri: bob.states[uri] == fresh.states[uri])
    await fresh.close()
    return set(before)


async def the_end(host: HostProcess, alice: Person, bob: Person, home: Path) -> None:
    """Nothing of a session stays: no snapshot of what was attached to it."""
    assert snapshots(home)
    await alice.ask("disposeSession", channel=S)
    async with asyncio.timeout(10):
        while snapshots(home):  # noqa: ASYNC110  # nothing tells when they are gone
            await asyncio.sleep(0.01)
    assert await host.end() == 0 and not snapshots(home)
    for one in (alice, bob):
        await one.close()


def snapshots(home: Path) -> list[Path]:
    return list(home.rglob("attachments/*/*/*"))


def content(path: Path) -> str:
    return path.read_text()


async def quiet(*people: Person) -> None:
    """Nothing runs, and everybody has seen the same."""
    await people[0].until(lambda: all(not one["status"] & 8 for one in people[0].states[S]["chats"]))
    for other in people[1:]:
        await other.until(lambda other=other: other.states[S] == people[0].states[S])


async def again(host: HostProcess, *people: Person) -> None:
    """SIGKILL, another process, and everybody comes back."""
    await host.end(signal.SIGKILL)
    for one in people:
        await one.close()
    await host.start()
    for one in people:
        await one.open(host.url)
        await one.reconnect()
