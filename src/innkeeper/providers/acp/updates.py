"""What an agent says of a session as signals (AHP §7, §9.2). One `Updates` a turn.

Rules
* Words have the agent's own message ids where it has any; else a part ends when something else is said.
* A call is started once, by whoever tells of it first; some agents ask about a call that they have not told of.
* A tool of one of the host's servers is known by what the agent says of it in a field of its own, or by a title that is
  exactly the name of a tool which is there; then the call carries the customization it belongs to.
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
    _part: tuple[str, str] | None = None
    _parts: int = 0
    _plans: int = 0

    def take(self, update: Mapping[str, Any]) -> None:
        """One update; what means nothing here is ignored."""
        kind = update.get("sessionUpdate")
        if kind in ("agent_message_chunk", "agent_thought_chunk"):
            self._said(str(kind), update)
            return
        if kind in ("tool_call", "tool_call_update", "plan"):
            self._part = None
        match kind:
            case "tool_call" | "tool_call_update":
                self.tool(update)
            case "plan":
                self._planned(update)
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
            self.emit(ToolCompleted(call.id, result_of(update, content)))
        elif status == "in_progress" or (content and call.runs):
            self.run(call)
            if content:
                self.emit(ToolProgress(call.id, shown_content(content)))
        return call

    def run(self, call: Call) -> None:
        if not (call.runs or call.asked):
            call.runs = True
            given = None if call.input is None else encode(call.input).decode()
            self.emit(ToolRunning(call.id, call.name, given))

    def open_calls(self) -> list[str]:
        """Calls of servers that have not ended."""
        return [call.id for call in self.calls.values() if call.server is not None and not call.done]

    def matching(self, tool: str, arguments: Mapping[str, object]) -> Call | None:
        """The open call that a server is called by, by its tool and arguments."""
        waiting = [call for call in self.calls.values() if not call.done and call.tool == tool]
        same = [call for call in waiting if _arguments(call.input) == dict(arguments)]
        return same[0] if same else waiting[0] if len(waiting) == 1 else None

    def _start(self, update: Mapping[str, Any]) -> Call:
        id = str(update.get("toolCallId"))
        known = self.calls.get(id)
        if known is not None:
            known.kind = str(update.get("kind") or known.kind)
            return known
        call = self.calls[id] = Call(id, str(update.get("kind") or ""))
        title = str(update.get("title") or id)
        found = tool_of(update, self.servers)
        contributor: ToolCallContributor | None = None
        call.name, shown = str(_own(update).get("toolName") or call.kind or title), title
        if found is not None:
            server, tool = found
            call.server, call.tool = server.name, tool
            call.name, shown = f"mcp__{server.name}__{tool}", tool
            contributor = {"kind": "mcp", "customizationId": server.id}
        self.emit(ToolStarted(id, call.name, shown, contributor=contributor))
        return call

    def _input(self, call: Call) -> None:
        """Given once, when it is complete: some agents tell of a call before they know what with."""
        if not call.said and call.input is not None:
            call.said = True
            self.emit(ToolInputDelta(call.id, encode(call.input).decode()))

    def _said(self, kind: str, update: Mapping[str, Any]) -> None:
        content = update.get("content") or {}
        words = str(content.get("text") or "") if content.get("type") == "text" else ""
        if not words:
            return
        id = update.get("messageId")
        if id is not None:
            part = (kind, f"{id}:{kind}")
        elif self._part is not None and self._part[0] == kind:
            part = self._part
        else:
            self._parts += 1
            part = (kind, f"{self.turn}:{self._parts}")
        self._part = part
        if kind == "agent_thought_chunk":
            self.emit(ReasoningDelta(words, part[1]))
        else:
            self.emit(TextDelta(words, part[1]))

    def _planned(self, update: Mapping[str, Any]) -> None:
        self._plans += 1
        id = f"plan-{self.turn}-{self._plans}"
        marks = {"completed": "[x]", "in_progress": "[>]"}
        entries = update.get("entries") or ()
        lines = "\n".join(f"{marks.get(e.get('status'), '[ ]')} {e.get('content')}" for e in entries)
        self.emit(ToolStarted(id, "update_plan", text("acp.plan")))
        self.emit(ToolInputDelta(id, encode({"entries": list(entries)}).decode()))
        done: Any = {
            "success": True,
            "pastTenseMessage": text("acp.done"),
            "content": [{"type": "text", "text": lines}],
        }
        self.emit(ToolCompleted(id, done))


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
