"""What an agent says of a session as signals (AHP §7, §9.2). One `Updates` a turn.

Rules
* Words have the agent's own message ids where it has any; else a part ends when something else is said.
* A call is started once, by whoever tells of it first; some agents ask about a call that they have not told of.
* A tool of one of the host's servers is known by what the agent says of it in a field of its own, or by a title that is
  exactly the name of a tool which is there; then the call carries the customization it belongs to.
* ACP has no children. Where an agent says in a field of its own which call made a call, that one runs a subagent from
  the first time on that it is named; what is not named so is the main agent's.
* A plan is shown each time that it has changed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from innkeeper.protocol.chat.state import ToolCallContributor
from innkeeper.providers.acp.content import edits_of, result_of, shown_content
from innkeeper.providers.spi import (
    ReasoningDelta,
    Signal,
    SubagentEnded,
    SubagentStarted,
    TextDelta,
    TitleSuggested,
    ToolCompleted,
    ToolInputDelta,
    ToolProgress,
    ToolRunning,
    ToolStarted,
    UsageReported,
)
from innkeeper.texts import text
from innkeeper.wire.json import encode

Emit = Callable[[Signal], None]

OURS: Final = frozenset({"other", "read", "search", "fetch", "think", ""})
"""Kinds of calls that may be a tool of a server; a command or an edit never is."""
MARKS: Final = {"completed": "[x]", "in_progress": "[>]"}


@dataclass(frozen=True, slots=True)
class Server:
    """`name` as the agent has it, `id` of the customization, and its tools."""

    name: str
    id: str
    tools: frozenset[str]


@dataclass(eq=False, slots=True)
class Call:
    id: str
    kind: str = ""
    subagent: str | None = None
    """The call whose agent makes this one."""
    spawned: bool = False
    """It runs a subagent."""
    title: str = ""
    server: str | None = None
    tool: str | None = None
    """The tool's own name, of a server of the host."""
    name: str = ""
    input: object = None
    paths: tuple[str, ...] = ()
    said: bool = False
    """Its input was given."""
    asked: bool = False
    runs: bool = False
    done: bool = False


@dataclass(eq=False)
class Updates:
    emit: Emit
    turn: str
    servers: Sequence[Server]
    calls: dict[str, Call] = field(default_factory=dict)
    _part: dict[str | None, tuple[str, str]] = field(default_factory=dict)
    """What each agent says just now: its kind, and the part that it is in."""
    _parts: int = 0
    _plans: dict[str, str] = field(default_factory=dict)
    """The last of each plan, as it was shown."""
    _planned: int = 0

    def take(self, update: Mapping[str, Any]) -> None:
        """One update; what means nothing here is ignored."""
        kind, by = update.get("sessionUpdate"), self._by(update)
        if kind in ("agent_message_chunk", "agent_thought_chunk"):
            self._said(str(kind), update, by)
            return
        if kind in ("tool_call", "tool_call_update", "plan", "plan_update"):
            self._part.pop(by, None)
        match kind:
            case "tool_call" | "tool_call_update":
                self.tool(update)
            case "plan":
                self._plan("", update, by)
            case "plan_update":
                plan = update.get("plan") or {}
                self._plan(str(plan.get("planId")), plan, by)
            case "session_info_update" if update.get("title"):
                self.emit(TitleSuggested(str(update["title"])))

    def used(self, usage: Mapping[str, Any] | None) -> None:
        if usage:
            self.emit(
                UsageReported(
                    {
                        "inputTokens": int(usage.get("inputTokens") or 0),
                        "outputTokens": int(usage.get("outputTokens") or 0),
                        "cacheReadTokens": int(usage.get("cachedReadTokens") or 0),
                    }
                )
            )

    def tool(self, update: Mapping[str, Any], *, asked: bool = False) -> Call:
        """News of a call, or what is asked about: the same shape."""
        call = self._start(update)
        if call.done:
            return call
        call.paths = call.paths or tuple(edits_of(update))
        if update.get("rawInput") not in (None, {}, ""):
            call.input = update["rawInput"]
        status = update.get("status")
        content = update.get("content") or ()
        if asked or status in ("in_progress", "completed", "failed"):
            self._input(call)
        if asked:
            return call
        if status in ("completed", "failed"):
            call.done = True
            if call.spawned:
                self.emit(SubagentEnded(call.id, subagent=call.subagent))
            self.emit(ToolCompleted(call.id, result_of(update, content), subagent=call.subagent))
        elif status == "in_progress" or (content and call.runs):
            self.run(call)
            if content:
                self.emit(ToolProgress(call.id, shown_content(content), subagent=call.subagent))
        return call

    def run(self, call: Call) -> None:
        if not (call.runs or call.asked or call.done):
            call.runs = True
            given = None if call.input is None else encode(call.input).decode()
            self.emit(ToolRunning(call.id, call.name, given, subagent=call.subagent))

    def open_calls(self) -> list[str]:
        """Calls of servers that have not ended."""
        return [call.id for call in self.calls.values() if call.server is not None and not call.done]

    def matching(self, tool: str, arguments: Mapping[str, object]) -> Call | None:
        """The open call that a server is called by, by its tool and arguments."""
        waiting = [call for call in self.calls.values() if not call.done and call.tool == tool]
        same = [call for call in waiting if _arguments(call.input) == dict(arguments)]
        unknown = [call for call in waiting if call.input is None]
        return same[0] if same else unknown[0] if len(unknown) == 1 else None

    def _by(self, update: Mapping[str, Any]) -> str | None:
        """The call whose agent says this; it has a chat from now on."""
        parent = self.calls.get(str(_own(update).get("parentToolUseId")))
        if parent is None or parent.id == update.get("toolCallId"):
            return None
        if not parent.spawned:
            parent.spawned = True
            self._input(parent)
            self.run(parent)
            given = parent.input if isinstance(parent.input, Mapping) else {}
            name, about = given.get("subagent_type"), given.get("description")
            self.emit(
                SubagentStarted(
                    parent.id,
                    parent.title,
                    name if isinstance(name, str) else None,
                    about if isinstance(about, str) else None,
                    subagent=parent.subagent,
                )
            )
        return parent.id

    def _start(self, update: Mapping[str, Any]) -> Call:
        id = str(update.get("toolCallId"))
        known = self.calls.get(id)
        if known is not None:
            known.kind = str(update.get("kind") or known.kind)
            known.title = str(update.get("title") or known.title)
            return known
        title = str(update.get("title") or id)
        call = self.calls[id] = Call(id, str(update.get("kind") or ""), self._by(update), title=title)
        found = tool_of(update, self.servers)
        contributor: ToolCallContributor | None = None
        call.name, shown = str(_own(update).get("toolName") or call.kind or title), title
        if found is not None:
            server, tool = found
            call.server, call.tool = server.name, tool
            call.name, shown = f"mcp__{server.name}__{tool}", tool
            contributor = {"kind": "mcp", "customizationId": server.id}
        self.emit(ToolStarted(id, call.name, shown, contributor=contributor, subagent=call.subagent))
        return call

    def _input(self, call: Call) -> None:
        """Given once, when it is complete: some agents tell of a call before they know what with."""
        if not call.said and call.input is not None:
            call.said = True
            self.emit(ToolInputDelta(call.id, encode(call.input).decode(), subagent=call.subagent))

    def _said(self, kind: str, update: Mapping[str, Any], by: str | None) -> None:
        content = update.get("content") or {}
        words = str(content.get("text") or "") if content.get("type") == "text" else ""
        if not words:
            return
        id, last = update.get("messageId"), self._part.get(by)
        if id is not None:
            part = (kind, f"{id}:{kind}")
        elif last is not None and last[0] == kind:
            part = last
        else:
            self._parts += 1
            part = (kind, f"{self.turn}:{self._parts}")
        self._part[by] = part
        if kind == "agent_thought_chunk":
            self.emit(ReasoningDelta(words, part[1], subagent=by))
        else:
            self.emit(TextDelta(words, part[1], subagent=by))

    def _plan(self, plan: str, said: Mapping[str, Any], by: str | None) -> None:
        """A plan, whole: its steps, or its words, or where it stands."""
        entries = list(said.get("entries") or ())
        steps = [f"{MARKS.get(str(e.get('status')), '[ ]')} {e.get('content')}" for e in entries]
        shown = "\n".join(steps) or str(said.get("content") or said.get("uri") or "")
        if self._plans.get(plan, "") == shown:
            return
        self._plans[plan] = shown
        self._planned += 1
        id = f"plan-{self.turn}-{self._planned}"
        given = {"entries": entries} if entries else {"plan": shown}
        self.emit(ToolStarted(id, "update_plan", text("acp.plan"), subagent=by))
        self.emit(ToolInputDelta(id, encode(given).decode(), subagent=by))
        done: Any = {
            "success": True,
            "pastTenseMessage": text("acp.done"),
            "content": [{"type": "text", "text": shown}],
        }
        self.emit(ToolCompleted(id, done, subagent=by))


def tool_of(update: Mapping[str, Any], servers: Sequence[Server]) -> tuple[Server, str] | None:
    """The server and tool that a call is of; None where it is not certain that it is one of the host's."""
    if str(update.get("kind") or "") not in OURS:
        return None
    raw = update.get("rawInput")
    named = raw.get("server") if isinstance(raw, Mapping) else None
    for server in servers:
        if named is not None and named != server.name:
            continue
        for tool in server.tools:
            if named is not None and isinstance(raw, Mapping) and raw.get("tool") == tool:
                return server, tool
            if _says(str(_own(update).get("toolName") or ""), server.name, tool):
                return server, tool
            if _says(str(update.get("title") or ""), server.name, tool):
                return server, tool
    return None


def _says(words: str, server: str, tool: str) -> bool:
    """Whether these words are exactly that tool, in one of the ways in which agents write it."""
    s, t = re.escape(server), re.escape(tool)
    return re.fullmatch(rf"(?:Tool: ?)?(?:mcp__|mcp\.)?{s}(?:__|_|/|\.|-){t}|{t} \({s} MCP Server\)", words) is not None


def _own(update: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the adapter of Claude says in a field of its own."""
    meta = update.get("_meta") or {}
    own = meta.get("claudeCode") if isinstance(meta, Mapping) else None
    return own if isinstance(own, Mapping) else {}


def _arguments(given: object) -> object:
    if isinstance(given, Mapping) and isinstance(given.get("arguments"), Mapping):
        return dict(given["arguments"])
    return dict(given) if isinstance(given, Mapping) else given
