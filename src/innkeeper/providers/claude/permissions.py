"""What the agent asks before it acts, and what it may not do however it asks (AHP §9.2, §9.8, M6.3b, M6.8, C6.2).

Rules
* The agent is never run in a mode in which it asks nobody: with full access it is the host that answers at once.
* Nothing is allowed but by an answer that approves. A denial has its reason and lets the turn go on. A call of no
  running turn is denied.
* A hook before every tool call, also of those that need no permission, refuses what was taken away while a turn runs
  and what the session's rules deny; a hook that fails refuses too.
* Questions of the agent's own tool for questions become an input request; a plan that it wants to carry out is a
  question with the plan in it.
"""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from innkeeper.ports.questions import Confirmation, Intent, Option
from innkeeper.protocol.chat.state import ChatInputRequest
from innkeeper.providers.claude.client_tools import PREFIX as CLIENT_PREFIX
from innkeeper.providers.claude.content import EDITS, invocation, shown
from innkeeper.providers.claude.turn import Running
from innkeeper.providers.spi import InputAnswer
from innkeeper.providers.telling import denial
from innkeeper.texts import text

log = logging.getLogger(__name__)

ASKING: Final = "AskUserQuestion"
PLAN: Final = "ExitPlanMode"
READS: Final = {"Read": "file_path", "Glob": "path", "Grep": "path", "LS": "path"}

Refusal = Callable[[str, Mapping[str, Any], str | None], str | None]
"""Tool, input, and the subagent that calls: why the call may not be made now, or None."""


class Permissions:
    """Of one conversation. `turn` gives the running turn; `refused` is asked before every call; `shell` is the language
    of commands, where it is known."""

    def __init__(self, turn: Callable[[], Running | None], directory: str, refused: Refusal, shell: str | None) -> None:
        self._turn = turn
        self._directory = directory
        self._refused = refused
        self._shell = shell
        self.asking = 0
        """How many calls wait for an answer."""

    async def before(self, input: Mapping[str, Any], call: str | None, context: object) -> dict[str, Any]:
        """The hook before a tool call."""
        turn, agent = self._turn(), input.get("agent_id")
        name, arguments = str(input.get("tool_name")), input.get("tool_input") or {}
        why = text("claude.turnOver") if turn is None else self._refused(name, arguments, agent)
        if turn is not None and call is not None:
            turn.calls(call, name, arguments, agent)
        if why is None:
            return {}
        denied = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why}
        return {"hookSpecificOutput": denied}

    async def ask(self, name: str, input: dict[str, Any], context: Any) -> Any:
        """The agent wants to know whether the call may be made."""
        self.asking += 1
        try:
            return await self._ask(name, input, context)
        finally:
            self.asking -= 1

    async def _ask(self, name: str, input: dict[str, Any], context: Any) -> Any:
        from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny

        turn = self._turn()
        if turn is None:
            return PermissionResultDeny(message=text("claude.turnOver"))
        call = str(context.tool_use_id or "")
        subagent = turn.calls(call, name, input, context.agent_id)
        if name.startswith(CLIENT_PREFIX):
            return PermissionResultAllow(updated_input=input)
        if name == ASKING:
            answered = await turn.output.ask(_questions(call, input))
            if answered.response != "accept":
                return PermissionResultDeny(message=text("claude.notAnswered"))
            return PermissionResultAllow(updated_input={**input, "answers": _answers(input, answered)})
        answer = await turn.output.confirm(call, self._confirmation(name, input), subagent=subagent)
        if not answer.approved:
            return PermissionResultDeny(message=denial(answer))
        edited = input if answer.edited_input is None else _edited(answer.edited_input)
        if edited is None:
            return PermissionResultDeny(message=text("claude.editUnreadable"))
        return PermissionResultAllow(updated_input=edited)

    def _confirmation(self, name: str, input: Mapping[str, Any]) -> Confirmation:
        if name == PLAN:
            options = (
                Option("proceed", text("claude.plan.proceed"), "approve"),
                Option("keep", text("claude.plan.keep"), "deny"),
            )
            return Confirmation(text("claude.plan.title"), str(input.get("plan", "")), None, options)
        title = text("claude.ask", tool=name)
        intent = intent_of(name, input, self._directory, self._shell)
        return Confirmation(title, invocation(name, input), shown(input), intent=intent)


def intent_of(name: str, input: Mapping[str, Any], directory: str, shell: str | None) -> Intent:
    """What the call wants to do, as far as its input says so for certain. `shell` is the language of commands."""
    path = input.get("file_path") or input.get("notebook_path")
    if name == "Bash" and isinstance(input.get("command"), str):
        outside = bool(input.get("dangerouslyDisableSandbox"))
        return Intent("shell", input["command"], shell, directory, tool=name, leaves_sandbox=outside)
    if name in EDITS and isinstance(path, str):
        return Intent("write", directory=directory, paths=(path,), tool=name)
    if name in READS:
        return Intent("read", directory=directory, paths=(str(input.get(READS[name]) or directory),), tool=name)
    if name == "WebFetch" and isinstance(input.get("url"), str):
        return Intent("url", urls=(input["url"],), tool=name)
    return Intent("mcp" if name.startswith("mcp__") else "tool", tool=name)


def _edited(words: str) -> dict[str, Any] | None:
    try:
        found = json.loads(words)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _questions(call: str, input: Mapping[str, Any]) -> ChatInputRequest:
    questions: list[Any] = []
    for number, question in enumerate(input.get("questions") or ()):
        options = []
        for index, option in enumerate(question.get("options") or ()):
            about = {"description": option["description"]} if option.get("description") else {}
            options.append({"id": str(index), "label": str(option.get("label", "")), **about})
        kind = "multi-select" if question.get("multiSelect") else "single-select"
        titled = {"title": question["header"]} if question.get("header") else {}
        asked = {"id": str(number), "kind": kind, "message": str(question.get("question", "")), "options": options}
        questions.append({**titled, **asked, "allowFreeformInput": True})
    return {"id": call, "questions": questions}


def _answers(input: Mapping[str, Any], answered: InputAnswer) -> dict[str, str]:
    """By the text of the question, as the agent's tool wants them; what was skipped is left out."""
    found: dict[str, str] = {}
    for number, question in enumerate(input.get("questions") or ()):
        answer: Mapping[str, Any] = answered.answers.get(str(number)) or {}
        value: Mapping[str, Any] = answer.get("value") or {}
        labels = [str(option.get("label", "")) for option in question.get("options") or ()]
        chosen = value.get("value")
        ids = [chosen] if isinstance(chosen, str) and value.get("kind") == "selected" else chosen
        picked = [labels[int(id)] for id in ids or () if str(id).isdigit() and int(id) < len(labels)]
        if value.get("kind") == "text":
            picked = [str(chosen)]
        picked += [str(one) for one in (value.get("freeformValues") or answer.get("freeformValues") or ())]
        if picked:
            found[str(question.get("question", ""))] = ", ".join(picked)
    return found
