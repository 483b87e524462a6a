"""The agent's session of one chat: begun, taken up again, prompted (K14, K17).

Rules
* A session is taken up again where the agent can (`session/resume`, else `session/load`); where it cannot, or where it
  knows more than the chat does, a new one is begun and told what was said. One that wants a login first is kept.
* What the agent replays of a session that it loads is no news and is not listened to.
* A cancelled turn is cancelled at once; an agent that does not stop in `STOP_SECONDS` is left to the session, which
  ends its process.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from innkeeper.providers.acp.choosing import Offered, Options
from innkeeper.providers.acp.content import prompt_of, words
from innkeeper.providers.acp.permissions import decide
from innkeeper.providers.acp.profiles import Profile
from innkeeper.providers.acp.updates import Server, Updates
from innkeeper.providers.acp.wire import Failed, Gone, Peer, Update, blocks
from innkeeper.providers.spi import Backing, Notice, ProviderError, TurnOutput, TurnRequest
from innkeeper.providers.telling import earlier
from innkeeper.texts import text

log = logging.getLogger(__name__)

STOP_SECONDS: Final = 0.8
TOLD_SECONDS: Final = 0.5
LOGIN_NEEDED: Final = -32000
GO_ON: Final = "You were interrupted. Go on with what you were doing."


class Conversation:
    """`id` is the agent's own, `last` the last turn of the chat that it knows."""

    def __init__(self, profile: Profile, cwd: str) -> None:
        self.id: str | None = None
        self.last: str | None = None
        self.busy = asyncio.Lock()
        self.options: Options = {}
        self.offered = Offered(self.options)
        self.turn: _Turn | None = None
        self.stuck = False
        self._profile = profile
        self._cwd = cwd
        self._peer: Peer | None = None
        self._told = ""

    def remember(self, backing: Backing | None) -> None:
        if self.id is None and backing and isinstance(backing.get("session"), str):
            self.id, last = str(backing["session"]), backing.get("last")
            self.last = last if isinstance(last, str) else None

    def backing(self) -> Backing:
        kept = {"session": self.id, "last": self.last}
        return {name: value for name, value in kept.items() if value}

    async def ready(self, peer: Peer, request: TurnRequest) -> list[dict[str, Any]]:
        """The session is there; what has to be said before the message. Raises Failed, Gone and TimeoutError."""
        known = [turn["id"] for turn in request.history]
        if self.id is not None and self.last is not None and self.last not in (*known, request.turn_id):
            self.id = self._peer = None
        if self.id is not None and (self._peer is peer or await self._taken_up(peer)):
            return []
        self.id, self._told = None, ""
        if await self._forked(peer, request):
            return []
        answer = await peer.call(
            peer.agent.new_session(cwd=self._cwd, mcp_servers=peer.servers(), **_meta(self._profile))
        )
        self._is(peer, answer.session_id, answer)
        before = earlier((*request.context, *request.history))
        return [words(f"<earlier_conversation>\n{before}\n</earlier_conversation>")] if before else []

    async def choose(self, peer: Peer, category: str, wanted: str | None) -> None:
        """Set the mode or model; None is what the session began with."""
        step = self.offered.step(category, wanted)
        if step is None or self.id is None:
            return
        try:
            if step.option is not None:
                await peer.call(peer.agent.set_config_option(step.option, self.id, step.value))
            else:
                await peer.call(peer.agent.set_session_mode(self.id, step.value))
        except Failed as error:
            log.warning("%s does not take %s: %d", self._profile.name, category, error.code)
            return
        self.offered.was_set(category, step.value)

    async def prompt(self, peer: Peer, request: TurnRequest, turn: "_Turn", said: list[Any]) -> None:
        """One turn. Raises ProviderError, Failed and Gone."""
        assert self.id is not None
        gone_on = request.resumed and self.last == request.turn_id
        self.last, self.turn, turn.offered = request.turn_id, turn, self.offered
        parts = [*said, *self._instructed(request), *self._message(peer, request, gone_on)]
        peer.listen(self.id, turn)
        asking = asyncio.ensure_future(peer.call(peer.agent.prompt(session_id=self.id, prompt=blocks(parts)), None))
        try:
            answer = await asyncio.shield(asking)
        except asyncio.CancelledError:
            await self._stop(peer, asking)
            raise
        finally:
            turn.over.set()
            peer.listen(self.id, None)
            self.turn = None
        usage = answer.usage.model_dump(by_alias=True) if answer.usage is not None else None
        turn.updates.used(usage)
        _ended(str(answer.stop_reason), turn.output)

    async def _stop(self, peer: Peer, asking: "asyncio.Future[Any]") -> None:
        assert self.id is not None
        try:
            await peer.call(peer.agent.cancel(session_id=self.id), STOP_SECONDS)
            await asyncio.wait([asking], timeout=STOP_SECONDS)
        except (Failed, Gone, TimeoutError):
            log.info("%s could not be told to stop", self._profile.name)
        self.stuck = not asking.done()
        if asking.done():
            asking.exception()
        else:
            asking.cancel()

    def _message(self, peer: Peer, request: TurnRequest, gone_on: bool) -> list[dict[str, Any]]:
        if gone_on:
            return [words(GO_ON)]
        takes = peer.capabilities.prompt_capabilities
        return prompt_of(
            request.text,
            request.message,
            pictures=bool(takes and takes.image),
            embedded=bool(takes and takes.embedded_context),
        )

    def _instructed(self, request: TurnRequest) -> list[dict[str, Any]]:
        told = "\n\n".join(request.instructions)
        if told == self._told:
            return []
        self._told = told
        return [words(f"<instructions>\n{told or text('acp.noInstructions')}\n</instructions>")]

    async def _taken_up(self, peer: Peer) -> bool:
        assert self.id is not None
        can = peer.capabilities
        given: dict[str, Any] = {"session_id": self.id, "cwd": self._cwd, "mcp_servers": peer.servers()}
        try:
            if can.session_capabilities is not None and can.session_capabilities.resume is not None:
                answer = await peer.call(peer.agent.resume_session(**given, **_meta(self._profile)))
            elif can.load_session:
                answer = await peer.call(peer.agent.load_session(**given, **_meta(self._profile)))
            else:
                return False
        except Failed as error:
            if error.code == LOGIN_NEEDED:
                raise
            log.info("%s does not take a session up again: %d", self._profile.name, error.code)
            return False
        self._is(peer, self.id, answer)
        return True

    async def _forked(self, peer: Peer, request: TurnRequest) -> bool:
        """A copy of the whole of another session: only where the shared turn is its last."""
        branch, can = request.branch, peer.capabilities.session_capabilities
        source = branch.backing if branch is not None and request.backing is None else None
        if not source or branch is None or can is None or can.fork is None or source.get("last") != branch.turn_id:
            return False
        try:
            answer = await peer.call(
                peer.agent.fork_session(
                    session_id=str(source["session"]), cwd=self._cwd, mcp_servers=peer.servers(), **_meta(self._profile)
                )
            )
        except Failed as error:
            if error.code == LOGIN_NEEDED:
                raise
            return False
        self._is(peer, answer.session_id, answer)
        return True

    def _is(self, peer: Peer, id: str, answer: Any) -> None:
        self.id, self._peer = id, peer
        self.options = answer.model_dump(mode="json", by_alias=True, exclude_none=True) if answer is not None else {}
        self.offered = Offered(self.options, self._profile.first_mode)


class _Turn:
    """Listens to the agent while a turn runs."""

    def __init__(self, output: TurnOutput, updates: Updates, cwd: str) -> None:
        self.output = output
        self.updates = updates
        self.over = asyncio.Event()
        self.offered: Offered | None = None
        self._news = asyncio.Event()
        self._cwd = cwd

    def update(self, update: Update) -> None:
        self.updates.take(update)
        if self.offered is not None:
            self.offered.heard(update)
        self._news.set()

    async def permission(self, call: Update, options: Sequence[Update]) -> str | None:
        """A turn that is over answers nothing any more; what cannot be asked is not allowed."""
        asking = asyncio.ensure_future(self._decided(call, options))
        over = asyncio.ensure_future(self.over.wait())
        try:
            await asyncio.wait([asking, over], return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() and not self.over.is_set() else None
        except Exception:
            log.exception("a question of the agent could not be put, so it is denied")
            return None
        finally:
            asking.cancel()
            over.cancel()

    async def _decided(self, call: Update, options: Sequence[Update]) -> str | None:
        """Some agents ask about a call a moment before they tell of it, and only what they tell says whose it is."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TOLD_SECONDS):
                while str(call.get("toolCallId")) not in self.updates.calls:
                    self._news.clear()
                    await self._news.wait()
        return await decide(self.output, self.updates, call, options, self._cwd)


def turn_of(output: TurnOutput, turn_id: str, servers: Sequence[Server], cwd: str) -> _Turn:
    return _Turn(output, Updates(output.emit, turn_id, servers), cwd)


def _meta(profile: Profile) -> Mapping[str, Any]:
    return dict(profile.meta)


def _ended(reason: str, output: TurnOutput) -> None:
    """How the agent ended the turn; Raises ProviderError where it refused it."""
    if reason == "refusal":
        raise ProviderError("AGENT_REFUSED", text("acp.refusal"))
    if reason in ("max_tokens", "max_turn_requests"):
        output.emit(Notice(text("acp.limit", reason=reason)))
