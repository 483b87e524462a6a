"""A conversation without a host: what happens is fed into the mirror of a chat."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from innkeeper.cli import exit_codes
from innkeeper.cli.chat.conversation import Conversation
from innkeeper.cli.chat.transcript import Piece
from innkeeper.cli.failures import CliError
from innkeeper.client import Channel, Dispatch
from innkeeper.client.events import Settled
from innkeeper.client.mirror import Mirror

pytestmark = pytest.mark.anyio

CHAT = "ahp-chat:/1"
T0 = "2026-11-30T10:00:00.000Z"
OPTIONS = [{"id": "once", "label": "Allow once", "kind": "approve"}, {"id": "deny", "label": "Deny", "kind": "deny"}]


class Table:
    """A client with one chat whose host is the test: `host(action)` says what comes back for each dispatch."""

    def __init__(self) -> None:
        self.mirror = Mirror("me")
        state = {"resource": CHAT, "title": "", "status": 1, "modifiedAt": T0, "turns": []}
        mirror = self.mirror.follow(CHAT)
        self.mirror.subscribed(CHAT, {"snapshot": {"state": state, "fromSeq": 1}})
        self.channel: Channel[Any] = Channel(self, mirror)
        self.dispatched: list[Mapping[str, Any]] = []
        self.refuse: Callable[[Mapping[str, Any]], str | None] = lambda action: None
        self.shown: list[Piece] = []
        self.answers: asyncio.Queue[str | None] = asyncio.Queue()
        self.interactive = True
        self._seq = 1
        self._more = asyncio.Event()
        self._futures: dict[int, asyncio.Future[Any]] = {}

    @property
    def client_id(self) -> str:
        return "me"

    def dispatch(self, uri: str, action: Mapping[str, Any]) -> Dispatch:
        entry = self.mirror.dispatch(uri, action)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._futures[entry.client_seq] = future
        self.dispatched.append(action)
        origin = {"clientId": "me", "clientSeq": entry.client_seq}
        reason = self.refuse(action)
        more = {} if reason is None else {"rejectionReason": reason}
        asyncio.get_running_loop().call_soon(lambda: self.feed(action, origin=origin, **more))
        return Dispatch(entry.client_seq, future)

    async def unsubscribe(self, uri: str) -> None:
        self.channel.finish()

    def feed(self, action: Mapping[str, Any], **more: Any) -> None:
        self._seq += 1
        for change in self.mirror.envelope({"channel": CHAT, "action": action, "serverSeq": self._seq, **more}):
            if isinstance(change, Settled):
                self._futures.pop(change.client_seq).set_result(change.outcome)
            else:
                self.channel.publish(change)

    async def answer(self, prompt: str) -> str | None:
        return await self.answers.get()

    def talk(self) -> Conversation:
        return Conversation(self.channel, self, self._show)

    def _show(self, piece: Piece) -> None:
        self.shown.append(piece)
        self._more.set()

    async def until(self, text: str) -> None:
        """Waits until that text has been shown."""
        async with asyncio.timeout(5):
            while text not in self.said:
                self._more.clear()
                await self._more.wait()

    @property
    def said(self) -> str:
        return "".join(piece.text for piece in self.shown)

    async def turn_id(self) -> str:
        state = await self.channel.wait_for(lambda state: "activeTurn" in state, 5)
        turn_id: str = state["activeTurn"]["id"]
        return turn_id

    def complete(self, turn_id: str) -> None:
        self.feed({"type": "chat/turnComplete", "turnId": turn_id, "duration": 1})

    def ask(self, turn_id: str, call: str = "c", **more: Any) -> None:
        named = {"turnId": turn_id, "toolCallId": call}
        self.feed({"type": "chat/toolCallStart", **named, "toolName": "x", "displayName": "X"})
        self.feed({"type": "chat/toolCallReady", **named, "invocationMessage": "call x", "options": OPTIONS, **more})


@pytest.fixture
async def table() -> Table:
    return Table()


async def test_a_refused_message_is_told_with_its_reason(table: Table) -> None:
    table.refuse = lambda action: "not in the mood"
    with pytest.raises(CliError, match="not in the mood") as caught:
        await table.talk().say("hello")
    assert caught.value.exit_code == exit_codes.REFUSED


async def test_a_turn_of_somebody_else_is_shown_before_ours_begins(table: Table) -> None:
    message = {"text": "theirs", "origin": {"kind": "user"}}
    table.feed({"type": "chat/turnStarted", "turnId": "other", "startedAt": T0, "message": message})
    saying = asyncio.create_task(table.talk().say("mine"))
    await asyncio.sleep(0)
    part = {"kind": "markdown", "id": "m", "content": "their answer"}
    table.feed({"type": "chat/responsePart", "turnId": "other", "part": part})
    assert table.dispatched == []
    table.complete("other")
    await table.channel.wait_for(lambda state: state.get("activeTurn", {}).get("id", "other") != "other", 5)
    table.complete(await table.turn_id())
    assert (await saying)["state"] == "complete"
    assert table.said == "their answer\n"


async def test_a_question_is_put_to_the_person_until_the_answer_is_an_option(table: Table) -> None:
    saying = asyncio.create_task(table.talk().say("go"))
    turn_id = await table.turn_id()
    table.ask(turn_id)
    for given in ("what?", "2"):
        table.answers.put_nowait(given)
    await table.channel.wait_for(
        lambda state: state["activeTurn"]["responseParts"][0]["toolCall"]["status"] == "cancelled", 5
    )
    assert table.dispatched[-1] == {
        "type": "chat/toolCallConfirmed",
        "turnId": turn_id,
        "toolCallId": "c",
        "selectedOptionId": "deny",
        "approved": False,
        "reason": "denied",
    }
    table.complete(turn_id)
    assert (await saying)["state"] == "complete"


async def test_two_questions_are_asked_one_after_the_other(table: Table) -> None:
    saying = asyncio.create_task(table.talk().say("go"))
    turn_id = await table.turn_id()
    table.ask(turn_id, "a")
    table.ask(turn_id, "b")
    for _ in range(2):
        table.answers.put_nowait("1")
    await table.channel.wait_for(lambda state: len(table.dispatched) == 3, 5)
    assert [action["toolCallId"] for action in table.dispatched[1:]] == ["a", "b"]
    table.complete(turn_id)
    await saying


async def test_an_answer_from_elsewhere_withdraws_the_question(table: Table) -> None:
    saying = asyncio.create_task(table.talk().say("go"))
    turn_id = await table.turn_id()
    table.ask(turn_id)
    await table.until("Allow once")
    allowed = {"approved": True, "confirmed": "user-action", "selectedOptionId": "once"}
    table.feed({"type": "chat/toolCallConfirmed", "turnId": turn_id, "toolCallId": "c", **allowed})
    table.complete(turn_id)
    await saying
    assert [action["type"] for action in table.dispatched] == ["chat/turnStarted"]
    assert len(table.said.splitlines()) >= 5


async def test_without_a_person_the_question_is_named_once_and_waits(table: Table) -> None:
    table.interactive = False
    saying = asyncio.create_task(table.talk().say("go"))
    turn_id = await table.turn_id()
    table.ask(turn_id)
    part = {"kind": "markdown", "id": "m", "content": "meanwhile"}
    table.feed({"type": "chat/responsePart", "turnId": turn_id, "part": part})
    await table.until("meanwhile")
    about = [piece for piece in table.shown if "call x" in piece.text]
    assert [(piece.to, piece.text.startswith("→")) for piece in about] == [("err", True), ("err", False)]
    table.complete(turn_id)
    await saying


async def test_the_first_interruption_cancels_and_the_second_one_leaves(table: Table) -> None:
    talk = table.talk()
    assert talk.interrupt() is False
    saying = asyncio.create_task(talk.say("go"))
    await table.turn_id()
    assert (talk.interrupt(), talk.interrupt()) == (True, False)
    assert (await saying)["state"] == "cancelled"
    assert (talk.cancelled, talk.interrupt()) == (True, False)


async def test_a_chat_that_goes_away_ends_the_conversation(table: Table) -> None:
    saying = asyncio.create_task(table.talk().say("go"))
    await table.turn_id()
    await table.unsubscribe(CHAT)
    with pytest.raises(CliError):
        await saying


async def test_a_call_that_asks_again_is_asked_again(table: Table) -> None:
    """AHP §9.2: a running call may go back to pending confirmation."""
    saying = asyncio.create_task(table.talk().say("go"))
    turn_id = await table.turn_id()
    table.ask(turn_id)
    table.answers.put_nowait("1")
    await table.channel.wait_for(lambda state: len(table.dispatched) == 2 and not table.mirror.unanswered(), 5)
    again = {"turnId": turn_id, "toolCallId": "c", "invocationMessage": "call x harder", "options": OPTIONS}
    table.feed({"type": "chat/toolCallReady", **again})
    table.answers.put_nowait("1")
    await table.channel.wait_for(lambda state: len(table.dispatched) == 3, 5)
    table.complete(turn_id)
    await saying
    assert len(table.dispatched) == 3


async def test_a_result_that_needs_consent_is_asked_about(table: Table) -> None:
    saying = asyncio.create_task(table.talk().say("go"))
    turn_id = await table.turn_id()
    named = {"turnId": turn_id, "toolCallId": "c"}
    table.feed({"type": "chat/toolCallStart", **named, "toolName": "x", "displayName": "X"})
    table.feed({"type": "chat/toolCallReady", **named, "invocationMessage": "call x", "confirmed": "not-needed"})
    result = {"success": True, "pastTenseMessage": "called x", "content": [{"type": "text", "text": "secret"}]}
    table.feed({"type": "chat/toolCallComplete", **named, "result": result, "requiresResultConfirmation": True})
    table.answers.put_nowait("2")
    await table.channel.wait_for(lambda state: len(table.dispatched) == 2, 5)
    assert table.dispatched[1] == {"type": "chat/toolCallResultConfirmed", **named, "approved": False}
    table.complete(turn_id)
    await saying


async def test_an_agent_s_own_question_is_answered_in_place(table: Table) -> None:
    """AHP §9.8"""
    saying = asyncio.create_task(table.talk().say("go"))
    turn_id = await table.turn_id()
    asked = {"id": "q", "kind": "text", "message": "Your name?"}
    table.feed({"type": "chat/inputRequested", "request": {"id": "r", "message": "Tell me", "questions": [asked]}})
    table.answers.put_nowait("Ada")
    await table.channel.wait_for(lambda state: len(table.dispatched) == 2, 5)
    assert table.dispatched[1] == {
        "type": "chat/inputCompleted",
        "requestId": "r",
        "response": "accept",
        "answers": {"q": {"state": "submitted", "value": {"kind": "text", "value": "Ada"}}},
    }
    table.complete(turn_id)
    await saying
    assert "Your name?" in table.said
