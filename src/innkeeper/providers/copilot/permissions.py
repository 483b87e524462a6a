"""What the agent asks before it acts, and what it may not do however it asks (AHP §9.2, §9.8, M6.3b, M6.8, C6.2).

Rules
* The agent is never run in a mode in which it asks nobody: with full access it is the host that answers at once.
* Nothing is allowed but by an answer that approves. A denial has its reason and lets the turn go on. What is asked of
  no running turn is denied. The agent does not end a question that its abort has settled, so the turn's end does.
* A call of a host's server is asked about by the gate when it is made; here the host approves it unasked.
* A hook before every tool call refuses what was taken away while a turn runs and what the session's rules deny. A hook
  of this agent that fails lets the call through, so ours never fails: it refuses.
* A changed input cannot be given back: such an approval is a denial that says what to run instead.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from innkeeper.ports.questions import Answer, Confirmation, Intent, Option
from innkeeper.protocol.chat.state import ChatInputRequest
from innkeeper.providers.copilot import content
from innkeeper.providers.copilot.sdk import rpc
from innkeeper.providers.copilot.turn import Running
from innkeeper.providers.spi import InputAnswer
from innkeeper.providers.telling import denial
from innkeeper.texts import text

log = logging.getLogger(__name__)

T = TypeVar("T")

PLAN: Final = "exit_plan_mode"
ASKING: Final = "ask_user"
META: Final = "innkeeper/call"
"""Under which key of a request's `_meta` an endpoint finds the agent's id of the call (M6.3c)."""
WRITES: Final = "write"

Refusal = Callable[[str, Any], str | None]
"""Tool and input: why the call may not be made now, or None."""
Gated = Callable[[str], bool]
"""Whether a server, by the agent's name for it, is an endpoint of the host's."""


class Permissions:
    """Of one conversation. `turn` gives the running turn."""

    def __init__(self, turn: Callable[[], Running | None], directory: str, refused: Refusal, gated: Gated) -> None:
        self._turn = turn
        self._directory = directory
        self._refused = refused
        self._gated = gated
        self._waiting: set[asyncio.Future[Any]] = set()

    @property
    def asking(self) -> int:
        """How many of the agent's calls wait for an answer."""
        return len(self._waiting)

    def end(self) -> None:
        """Nobody waits any more: the turn is over."""
        for waiting in tuple(self._waiting):
            waiting.cancel()

    # -- what the SDK calls --------------------------------------------------------------------------------------

    async def before(self, input: Mapping[str, Any], _: object) -> dict[str, Any] | None:
        """The hook before a tool call."""
        try:
            why = text("agent.turnOver") if self._turn() is None else self._why(input)
        except Exception:
            log.exception("copilot: a call could not be looked at, so it is refused")
            why = text("agent.turnOver")
        return None if why is None else {"permissionDecision": "deny", "permissionDecisionReason": why}

    def _why(self, input: Mapping[str, Any]) -> str | None:
        return self._refused(str(input.get("toolName")), input.get("toolArgs"))

    def sign(self, input: Mapping[str, Any], _: object) -> dict[str, Any]:
        """The hook before a call goes to a server: the request says which call it is."""
        meta = {**(input.get("_meta") or {}), META: input.get("toolCallId")}
        return {"metaToUse": meta if input.get("toolCallId") else input.get("_meta")}

    async def ask(self, request: Any, _: object) -> Any:
        """The agent wants to know whether it may. Its own shapes in and out."""
        shapes = rpc()
        try:
            answer = await self._answer(request.to_dict())
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            answer = text("agent.deniedCancelled")
        except Exception:
            log.exception("copilot: a question could not be put, so it is denied")
            answer = text("agent.deniedCancelled")
        if answer is None:
            return shapes.PermissionDecisionApproveOnce()
        return shapes.PermissionDecisionReject(feedback=answer)

    async def question(self, request: Mapping[str, Any], _: object) -> dict[str, Any]:
        """The agent's own tool for questions."""
        turn = self._turn()
        unanswered = {"answer": text("agent.notAnswered"), "wasFreeform": True}
        if turn is None:
            return unanswered
        asked = _question(turn.open_call(ASKING) or ASKING, request)
        try:
            answered = await self._wait(turn.output.ask(asked))
        except asyncio.CancelledError:
            return unanswered
        return _chosen(request, answered) or unanswered

    async def leave_plan(self, request: Mapping[str, Any], _: object) -> dict[str, Any]:
        """The agent wants to carry out its plan: a question with the plan in it."""
        turn = self._turn()
        call = None if turn is None else turn.open_call(PLAN)
        if turn is None or call is None:
            return {"approved": False}
        options = (
            Option("proceed", text("agent.plan.proceed"), "approve"),
            Option("keep", text("agent.plan.keep"), "deny"),
        )
        plan = str(request.get("planContent") or request.get("summary") or "")
        try:
            answer = await self._wait(
                turn.output.confirm(call, Confirmation(text("agent.plan.title"), plan, None, options))
            )
        except asyncio.CancelledError:
            return {"approved": False}
        if answer.approved:
            return {"approved": True, "selectedAction": "interactive"}
        return {"approved": False, **({"feedback": answer.message} if answer.message else {})}

    # -- inside --------------------------------------------------------------------------------------------------

    async def _answer(self, request: Mapping[str, Any]) -> str | None:
        """None approves; else what the model is told."""
        turn, kind = self._turn(), str(request.get("kind"))
        if turn is None:
            return text("agent.turnOver")
        if kind == "mcp" and self._gated(str(request.get("serverName"))):
            return None
        tool = str(request.get("toolName") or kind)
        id = str(request.get("toolCallId") or "")
        known = turn.starts(id, tool, request.get("args")) if id else None
        if known is None:
            return text("agent.turnOver")
        known.asked = True
        shown = _shown(request)
        confirmation = Confirmation(
            text("copilot.ask", tool=known.tool),
            str(request.get("intention") or shown or known.tool),
            shown,
            intent=intent_of(request, known.tool, self._directory),
        )
        answer = await self._wait(turn.output.confirm(id, confirmation, subagent=known.subagent))
        known.runs = answer.approved
        return _said(answer)

    async def _wait(self, work: Awaitable[T]) -> T:
        """The answer; cancelled when the turn has ended."""
        waiting = asyncio.ensure_future(work)
        self._waiting.add(waiting)
        try:
            return await waiting
        finally:
            self._waiting.discard(waiting)


def _said(answer: Answer) -> str | None:
    if not answer.approved:
        return denial(answer)
    if answer.edited_input is not None:
        return text("agent.editedInput", input=answer.edited_input)
    return None


def _shown(request: Mapping[str, Any]) -> str | None:
    """What a person reads of the call."""
    for name in ("fullCommandText", "diff", "url", "path", "fileName", "fact"):
        if isinstance(request.get(name), str) and request[name]:
            return str(request[name])
    given = request.get("args")
    return None if given is None else content.shown(given)


def intent_of(request: Mapping[str, Any], tool: str, directory: str) -> Intent:
    """What the call wants to do, as far as the agent says so for certain."""
    managed = bool(request.get("managedApprovalRequired"))
    outside = bool(request.get("requestSandboxBypass"))
    more: dict[str, Any] = {"directory": directory, "tool": tool, "managed": managed, "leaves_sandbox": outside}
    match request.get("kind"):
        case "shell" if isinstance(request.get("fullCommandText"), str):
            return Intent("shell", request["fullCommandText"], "bash", **more)
        case "write":
            named = [str(one["path"]) for one in request.get("fileEdits") or () if one.get("path")]
            return Intent("write", paths=tuple(named or [str(request.get("fileName"))]), **more)
        case "read" if request.get("path"):
            return Intent("read", paths=(str(request["path"]),), **more)
        case "url" if request.get("url"):
            return Intent("url", urls=(str(request["url"]),), **more)
        case "mcp":
            return Intent("mcp", **more)
    return Intent("tool", **more)


def _question(id: str, request: Mapping[str, Any]) -> ChatInputRequest:
    base: dict[str, Any] = {"id": "0", "message": str(request.get("question") or "")}
    choices = [str(choice) for choice in request.get("choices") or ()]
    if choices:
        options = [{"id": str(index), "label": choice} for index, choice in enumerate(choices)]
        freeform = request.get("allowFreeform") is not False
        base |= {"kind": "single-select", "options": options, "allowFreeformInput": freeform}
    else:
        base["kind"] = "text"
    return {"id": id, "questions": [base]}  # type: ignore[list-item]  # built as the protocol has it


def _chosen(request: Mapping[str, Any], answered: InputAnswer) -> dict[str, Any] | None:
    given: Mapping[str, Any] = answered.answers.get("0") or {}
    value: Mapping[str, Any] = given.get("value") or {}
    if answered.response != "accept" or not value:
        return None
    typed = [str(one) for one in value.get("freeformValues") or given.get("freeformValues") or ()]
    choices = [str(choice) for choice in request.get("choices") or ()]
    picked = str(value.get("value") or "")
    if typed or value.get("kind") == "text":
        return {"answer": typed[0] if typed else picked, "wasFreeform": True}
    chosen = choices[int(picked)] if picked.isdigit() and int(picked) < len(choices) else picked
    return {"answer": chosen, "wasFreeform": chosen not in choices}
