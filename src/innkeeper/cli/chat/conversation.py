"""One chat from the side of a person: sending, showing, answering, cancelling (AHP §7, §9.2).

Rules
* A turn of another client that runs is shown to its end before ours begins.
* A question is put to the person once; when another client answers it, it is withdrawn here.
* The first interruption cancels the running turn, the next one leaves.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

from innkeeper.cli.chat.form import ask_form
from innkeeper.cli.chat.transcript import Piece, TurnPrinter, plain
from innkeeper.cli.chat.wording import own_words
from innkeeper.cli.failures import CliError
from innkeeper.cli.words import text
from innkeeper.client import Channel, Rejected, turns
from innkeeper.protocol.chat.state import ChatState

Turn = Mapping[str, Any]
Call = Mapping[str, Any]


class Person(Protocol):
    """Who answers questions."""

    @property
    def interactive(self) -> bool: ...

    async def answer(self, prompt: str) -> str | None: ...


class Conversation:
    """A chat that is talked to; `show` is given every piece of output."""

    def __init__(self, chat: Channel[ChatState], person: Person, show: Callable[[Piece], None]) -> None:
        self._chat = chat
        self._person = person
        self._show = show
        self._asked: set[str] = set()
        self._running: str | None = None
        self._cancelled: str | None = None

    async def say(self, message: str) -> Turn:
        """Sends a message and shows the turn that it begins; the turn as it ended. Raises CliError when refused."""
        if active := self._chat.state.get("activeTurn"):
            await self._follow(active["id"])
        turn_id = secrets.token_hex(12)
        dispatch = self._chat.dispatch(turns.turn_started(turn_id, message, _now()))
        following = asyncio.ensure_future(self._follow(turn_id))
        try:
            outcome = await dispatch
            if isinstance(outcome, Rejected):
                raise CliError(text("cli.chat.refused", reason=outcome.reason), code="CHAT_REFUSED")
            return await following
        finally:
            # Retrieved here: a turn that was refused is gone from the state, which is what the follower would report.
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    def interrupt(self) -> bool:
        """Cancels the running turn; False when none runs or it is being cancelled: then the person wants to leave."""
        if self._running is None or self._cancelled == self._running:
            return False
        action = turns.turn_cancelled(self._chat.state, _now())
        if action is None:
            return False
        self._cancelled = self._running
        self._chat.dispatch(action)
        self._show(Piece("err", text("cli.chat.cancelling") + "\n"))
        return True

    @property
    def cancelled(self) -> bool:
        """The person has cancelled the last turn."""
        return self._cancelled is not None

    async def _follow(self, turn_id: str) -> Turn:
        printer, changes = TurnPrinter(), self._chat.events(1)
        self._running, question = turn_id, None
        try:
            while True:
                turn = turns.turn_of(self._chat.state, turn_id)
                if turn is None:
                    raise CliError(text("cli.chat.gone"), code="CHAT_GONE")
                for piece in printer.update(turn):
                    self._show(piece)
                if "state" in turn:
                    return turn
                question = self._question(turn_id, question)
                change = asyncio.ensure_future(anext(changes, None))
                waiting = {change} if question is None else {change, question[1]}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if not change.done():
                    change.cancel()
                elif change.result() is None:
                    raise CliError(text("cli.chat.gone"), code="CHAT_GONE")
        finally:
            self._running = None
            if question is not None:
                question[1].cancel()

    def _question(
        self, turn_id: str, current: tuple[str, "asyncio.Task[None]"] | None
    ) -> tuple[str, "asyncio.Task[None]"] | None:
        """The question that the person has before them: the present one, the next one, or none."""
        waiting = self._waiting(turn_id)
        if current is not None:
            key, task = current
            if not task.done() and key in waiting:
                return current
            if not task.done():
                task.cancel()
                self._show(Piece("err", "\n" + text("cli.chat.answeredElsewhere") + "\n"))
        for key, (what, ask) in waiting.items():
            if key not in self._asked:
                self._asked.add(key)
                if self._person.interactive:
                    return key, asyncio.ensure_future(ask())
                self._show(Piece("err", text("cli.chat.waitsElsewhere", what=what) + "\n"))
        return None

    def _waiting(self, turn_id: str) -> "dict[str, tuple[str, Callable[[], Awaitable[None]]]]":
        """What waits for the person, in its order: its text, and how to ask."""
        state = self._chat.state
        found: dict[str, tuple[str, Callable[[], Awaitable[None]]]] = {}
        for call in map(own_words, turns.tool_calls_to_confirm(state)):
            key = f"{call['status']} {call['toolCallId']}"
            found[key] = (plain(call["invocationMessage"]), partial(self._ask_call, key, turn_id, call))
        for request in turns.inputs_to_answer(state):
            key = f"input {request['id']}"
            found[key] = (str(request.get("message", "?")), partial(self._ask_form, key, request))
        return found

    async def _ask_call(self, key: str, turn_id: str, call: Call) -> None:
        options = options_of(call)
        self._show(Piece("err", question_text(call, options)))
        while True:
            given = await self._person.answer(text("cli.chat.choose", n=len(options)))
            if given is None:
                return
            chosen = choice(given, options)
            if chosen is not None:
                self._answer(key, turns.tool_call_confirmed(turn_id, call, chosen))
                return

    async def _ask_form(self, key: str, request: Mapping[str, Any]) -> None:
        response, answers = await ask_form(request, self._person.answer, lambda words: self._show(Piece("err", words)))
        self._answer(key, turns.input_completed(request["id"], response, answers))

    def _answer(self, key: str, action: Mapping[str, Any]) -> None:
        """Answered is no longer asked: a call may ask again later."""
        self._asked.discard(key)
        self._chat.dispatch(action)


def options_of(call: Call) -> Sequence[Mapping[str, Any]]:
    """What the person may choose; a call without options offers yes and no."""
    return call.get("options") or (
        {"id": "approve", "label": text("cli.chat.approve"), "kind": "approve"},
        {"id": "deny", "label": text("cli.chat.deny"), "kind": "deny"},
    )


def question_text(call: Call, options: Sequence[Mapping[str, Any]]) -> str:
    """The question with its numbered options."""
    lines = [plain(call.get("confirmationTitle")) or plain(call.get("invocationMessage"))]
    tool_input = call.get("toolInput")
    if isinstance(tool_input, str) and tool_input:
        lines.append(f"  {tool_input}")
    lines += [f"  {number}. {option['label']}" for number, option in enumerate(options, 1)]
    return "\n".join(lines) + "\n"


def choice(given: str, options: Sequence[Mapping[str, Any]]) -> str | None:
    """The option that a number, an id or a label means."""
    if given.isdecimal() and 1 <= int(given) <= len(options):
        return str(options[int(given) - 1]["id"])
    wanted = given.strip().casefold()
    return next(
        (str(o["id"]) for o in options if wanted in (str(o["id"]).casefold(), str(o["label"]).casefold())), None
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
