"""One chat from the side of a person: sending, showing, answering, cancelling (AHP §7, §9.2).

Rules
* A turn of another client that runs is shown to its end before ours begins.
* A question is put to the person once; when another client answers it, it is withdrawn here.
* The first interruption cancels the running turn, the next one leaves.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from innkeeper.cli.chat.transcript import Piece, TurnPrinter, plain
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
                raise CliError(text("cli.chat.refused", reason=outcome.reason), code="REJECTED", exit_code=4)
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
                    raise CliError(text("cli.chat.gone"))
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
                    raise CliError(text("cli.chat.gone"))
        finally:
            self._running = None
            if question is not None:
                question[1].cancel()

    def _question(
        self, turn_id: str, current: tuple[str, "asyncio.Task[None]"] | None
    ) -> tuple[str, "asyncio.Task[None]"] | None:
        """The question that the person has before them: the present one, the next one, or none."""
        waiting = turns.tool_calls_to_confirm(self._chat.state)
        if current is not None:
            call_id, task = current
            if not task.done() and any(call["toolCallId"] == call_id for call in waiting):
                return current
            if not task.done():
                task.cancel()
                self._show(Piece("err", "\n" + text("cli.chat.answeredElsewhere") + "\n"))
        for call in waiting:
            if call["toolCallId"] not in self._asked:
                self._asked.add(call["toolCallId"])
                if not self._person.interactive:
                    self._show(
                        Piece("err", text("cli.chat.waitsElsewhere", what=plain(call["invocationMessage"])) + "\n")
                    )
                    return None
                task = asyncio.ensure_future(self._ask(turn_id, call))
                return call["toolCallId"], task
        return None

    async def _ask(self, turn_id: str, call: Call) -> None:
        options = options_of(call)
        self._show(Piece("err", question_text(call, options)))
        while True:
            given = await self._person.answer(text("cli.chat.choose", n=len(options)))
            if given is None:
                return
            chosen = choice(given, options)
            if chosen is not None:
                self._chat.dispatch(turns.tool_call_confirmed(turn_id, call, chosen))
                return


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
