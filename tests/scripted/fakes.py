"""In-memory twins of the ports that a host needs: servers with their gateway, declarations, clock, identifiers."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from innkeeper.ports.mcp import (
    CallRecord,
    DeclarationFinding,
    McpListener,
    McpRefused,
    ServerReport,
    ServerTools,
    ToolReport,
)
from innkeeper.ports.questions import Caller, Confirmation, Option, Questions


class CountingIds:
    """Predictable identifiers."""

    def __init__(self, prefix: str = "id") -> None:
        self._prefix = prefix
        self._next = 0

    def new(self) -> str:
        self._next += 1
        return f"{self._prefix}{self._next:06d}abcdef"


class RealClock:
    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass
class FakeServer:
    name: str
    tools: Sequence[str] = ("echo",)
    state: str = "stopped"
    enabled: bool = True
    gated: bool = False


@dataclass
class FakeMcp:
    """`McpServers` and `McpGateway`: servers that answer with what they were given."""

    declared: dict[str, FakeServer] = field(default_factory=dict)
    listener: McpListener | None = None
    questions: Questions | None = None
    log: list[tuple[str, ...]] = field(default_factory=list)
    sessions: dict[str, dict[str, FakeServer]] = field(default_factory=dict)
    failing: Exception | None = None
    callers: list[Caller] = field(default_factory=list)
    prepare: Callable[[str, str], Any] | None = None

    # -- McpServers ----------------------------------------------------------------------------------------------

    async def open_session(self, session: str, directory: str | None) -> Sequence[Any]:
        self.log.append(("open", session, str(directory)))
        if self.failing is not None:
            raise self.failing
        servers = {name: FakeServer(s.name, s.tools, s.state, s.enabled, s.gated) for name, s in self.declared.items()}
        self.sessions[session] = servers
        return [self._entry(server) for server in servers.values()]

    async def close_session(self, session: str) -> None:
        self.log.append(("close", session))
        self.sessions.pop(session, None)

    async def start(self, session: str, id: str) -> None:
        self.log.append(("start", session, id))
        self._move(session, id, "ready")

    async def stop(self, session: str, id: str) -> None:
        self.log.append(("stop", session, id))
        self._move(session, id, "stopped")

    async def reconcile(self, session: str) -> None:
        self.log.append(("reconcile", session))

    def report(self, session: str) -> Sequence[ServerReport]:
        return [
            ServerReport(
                s.name, s.name, "/w/.mcp.json", 1, "stdio", s.enabled, True, s.state, None, None, s.tools, ("run",)
            )
            for s in self.sessions.get(session, {}).values()
        ]

    def findings(self, session: str) -> Sequence[DeclarationFinding]:
        return [DeclarationFinding("note", "UNKNOWN_FIELD", "It is spelled wrong", ".mcp.json", 3, "memo")]

    async def allow(self, session: str, id: str) -> None:
        self.log.append(("allow", session, id))

    async def revoke(self, session: str, id: str) -> None:
        self.log.append(("revoke", session, id))

    async def retry(self, session: str, id: str) -> None:
        self.log.append(("retry", session, id))
        self._move(session, id, "ready")

    async def stop_connecting(self, session: str, id: str) -> None:
        self.log.append(("stop_connecting", session, id))

    async def follow_policy(self, session: str) -> None:
        self.log.append(("follow_policy", session))

    async def confirm_file(self, session: str, file: str) -> None:
        self.log.append(("confirm_file", session, file))

    async def entered(self, session: str, server: str, fingerprint: str) -> None:
        self.log.append(("entered", session, server))

    async def release_session(self, session: str) -> None:
        self.log.append(("release", session))

    async def refresh(self, session: str, *, start: bool) -> None:
        self.log.append(("refresh", session, str(start)))

    def stderr(self, session: str, id: str) -> str:
        return f"what {id} said"

    def trust_directory(self, session: str) -> str | None:
        return None

    def look(self, session: str) -> None:
        self.log.append(("look", session))

    def instructions(self, session: str) -> Mapping[str, str]:
        return {}

    async def close(self) -> None:
        self.log.append(("closed",))

    # -- Declarations --------------------------------------------------------------------------------------------

    async def declarations_prepare(self, session: str, turn_id: str) -> None:
        self.log.append(("prepare", session))
        if self.prepare is not None:
            result = self.prepare(session, turn_id)
            if result is not None:
                await result

    # -- McpGateway ----------------------------------------------------------------------------------------------

    def tools(self, session: str) -> Sequence[ServerTools]:
        return [
            ServerTools(s.name, s.name, [{"name": tool, "description": f"The {tool} tool"} for tool in s.tools])
            for s in self.sessions.get(session, {}).values()
            if s.state == "ready" and s.enabled
        ]

    async def call_tool(self, caller: Caller, server: str, tool: str, arguments: Mapping[str, object]) -> Any:
        self.callers.append(caller)
        found = self._ready(caller.session, server)
        if tool not in found.tools:
            raise McpRefused("TOOL_UNKNOWN", f"{server} has no tool {tool}")
        if found.gated and self.questions is not None:
            options = (Option("once", "Allow once", "approve"), Option("deny", "Deny", "deny"))
            asked = Confirmation(f"Call {tool}?", f"Calling {tool}", str(dict(arguments)), options, {"tool": tool})
            answer = await self.questions.confirm(caller, asked)
            if not answer.approved:
                return {
                    "success": False,
                    "pastTenseMessage": "Denied",
                    "error": {"message": f"denied: {answer.reason}"},
                }
        return _result(f"{tool} {dict(arguments)}")

    async def call_tool_by_person(
        self, session: str, server: str, tool: str, arguments: Mapping[str, object], lang: str = "en"
    ) -> Any:
        self._ready(session, server)
        return _result(f"{tool} {dict(arguments)}")

    async def list_resources(self, session: str, server: str) -> Sequence[Mapping[str, object]]:
        self._ready(session, server)
        return [{"uri": f"memo://{server}/1", "name": "One", "description": "The first"}]

    async def read_resource(self, session: str, uri: str, server: str | None = None) -> Sequence[Mapping[str, object]]:
        if not uri.startswith("memo://"):
            raise McpRefused("SERVER_UNKNOWN", "no server has that resource")
        return [{"uri": uri, "text": f"content of {uri}"}]

    async def list_prompts(self, session: str, server: str) -> Sequence[Mapping[str, object]]:
        self._ready(session, server)
        return [{"name": "greet", "description": "Says hello"}]

    def survey(self, session: str, server: str | None = None) -> Sequence[ToolReport]:
        return [
            ToolReport(s.name, tool, f"mcp__{s.name}__{tool}", None, 7, "ask", "unknown", None)
            for s in self.sessions.get(session, {}).values()
            for tool in s.tools
            if server in (None, s.name) and s.state == "ready"
        ]

    def calls(self, session: str, server: str) -> Sequence[CallRecord]:
        return [CallRecord("2026-11-30T12:00:00.000Z", "echo", "agent", "ok", None, 3, 12, 34)]

    async def allow_tool(self, session: str, server: str, tool: str) -> None:
        self.log.append(("allow_tool", session, server, tool))

    async def revoke_tool(self, session: str, server: str, tool: str) -> None:
        self.log.append(("revoke_tool", session, server, tool))

    # -- inside --------------------------------------------------------------------------------------------------

    def _ready(self, session: str, server: str) -> FakeServer:
        found = self.sessions.get(session, {}).get(server)
        if found is None or found.state != "ready":
            raise McpRefused("SERVER_UNKNOWN", f"{server} is not connected")
        return found

    def _move(self, session: str, id: str, state: str) -> None:
        server = self.sessions[session].get(id)
        if server is None:
            raise McpRefused("SERVER_UNKNOWN", f"there is no server {id}")
        server.state = state
        if self.listener is not None:
            self.listener.state_changed(session, self._entry(server))

    def _entry(self, server: FakeServer) -> Any:
        return {
            "type": "mcpServer",
            "id": server.name,
            "uri": f"file:///w/.mcp.json#{server.name}",
            "name": server.name,
            "enablement": [{"kind": "global", "enabled": server.enabled}],
            "_meta": {"x-innkeeper/mcp": {"offInFile": not server.enabled}},
            "state": {"kind": server.state},
        }


@dataclass
class FakeDeclarations:
    mcp: FakeMcp
    down: tuple[tuple[str, str], ...] = ()
    whole: bool = True
    watching: list[Callable[[str], None]] = field(default_factory=list)

    async def prepare(self, session: str, turn_id: str) -> None:
        await self.mcp.declarations_prepare(session, turn_id)

    def instructions(self, session: str) -> Mapping[str, str]:
        return self.mcp.instructions(session)

    def known_down(self, session: str) -> Sequence[tuple[str, str]]:
        return self.down

    def complete(self, session: str) -> bool:
        return self.whole

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        self.watching.append(changed)
        return lambda: self.watching.remove(changed)


def _result(words: str) -> Mapping[str, object]:
    return {"success": True, "pastTenseMessage": "Called", "content": [{"type": "text", "text": words}]}
