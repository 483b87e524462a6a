"""The one way to a project server's tools, resources and prompts: the adapter of `ports.mcp.McpGateway` (M6.9).

Rules
* Order of a call: enablement and connection, the gate, the question, the same checks again (a question may stand open
  for minutes), project filter, then the connection, once.
* "Always allow" is durable before the call runs (C8.1). What cannot be stored is not allowed.
* Anything but an approval is an unsuccessful result with its reason, and the turn goes on (M6.1, M6.4).
* The result of a call never raises: a server that dies in the middle gives an unsuccessful result, and no second try.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from innkeeper.errors import ERRORS
from innkeeper.mcp import results
from innkeeper.mcp.connections.connection import Connection
from innkeeper.mcp.connections.values import CallFailed, ConnectionLost, TokenWanted
from innkeeper.mcp.declarations.model import DeclaredServer
from innkeeper.mcp.gate import Call, decide
from innkeeper.mcp.names import qualified_tool_name
from innkeeper.mcp.publishing import server_id
from innkeeper.mcp.servers import ProjectServers, Store
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.clock import Clock
from innkeeper.ports.decisions import Decisions, Grant, PutGrant
from innkeeper.ports.mcp import JsonObject, McpRefused, ServerTools
from innkeeper.ports.questions import Answer, Caller, Confirmation, Option, Questions
from innkeeper.protocol.chat.state import ToolCallResult
from innkeeper.texts import text

T = TypeVar("T")

META_KEY: Final = "x-innkeeper/gate"

ALLOW_ONCE: Final = "allow-once"
ALLOW_ALWAYS: Final = "allow-always"
DENY: Final = "deny"


class ProjectFilter(Protocol):
    """The project's own exclusion of tools (M6.7)."""

    def excludes(self, server: str, tool: str) -> bool: ...


class NoFilter:
    """No format that is read so far can exclude a tool."""

    def excludes(self, server: str, tool: str) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class _Way:
    """A call on its way: who makes it, to what, and what was approved."""

    session: str
    caller: Caller | None
    """None: a person calls by hand."""
    server: str
    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class _Refusal:
    code: str
    reason: str


class Gateway:
    """`questions` is None where the host was composed without a question service (M6.3). `full_access` answers for a
    session from the host's own state (M6.3b); `language` for the texts of a question."""

    def __init__(
        self,
        *,
        servers: ProjectServers,
        questions: Questions | None,
        clock: Clock,
        decisions: Callable[[], Decisions],
        store: Store,
        settings: Callable[[], McpSettings],
        full_access: Callable[[str], bool] = lambda _session: False,
        language: Callable[[str], str] = lambda _session: "en",
        project_filter: ProjectFilter | None = None,
    ) -> None:
        self._servers = servers
        self._questions = questions
        self._clock = clock
        self._decisions = decisions
        self._store = store
        self._settings = settings
        self._full_access = full_access
        self._language = language
        self._filter = project_filter or NoFilter()

    def tools(self, session: str) -> Sequence[ServerTools]:
        """What the agent may see now: servers that are on and connected, in file order."""
        return [
            ServerTools(mount.declared.safe_name, server_id(mount.declared), connection.catalogue.tools)
            for mount, connection in self._servers.usable(session)
        ]

    def instructions(self, session: str) -> Mapping[str, str]:
        """Server name to what the server says about its use (M5.7)."""
        return {
            mount.declared.safe_name: connection.catalogue.instructions
            for mount, connection in self._servers.usable(session)
            if connection.catalogue.instructions
        }

    async def call_tool(self, caller: Caller, server: str, tool: str, arguments: JsonObject) -> ToolCallResult:
        """An agent's call, or one that stands in a conversation. Raises McpRefused before anything is asked."""
        return await self._call(_Way(caller.session, caller, server, tool, arguments))

    async def call_tool_by_person(self, session: str, server: str, tool: str, arguments: JsonObject) -> ToolCallResult:
        return await self._call(_Way(session, None, server, tool, arguments))

    async def list_resources(self, session: str, server: str) -> Sequence[JsonObject]:
        _, _, connection = self._servers.connected(session, server)
        return connection.catalogue.resources

    async def read_resource(self, session: str, uri: str, server: str | None = None) -> Sequence[JsonObject]:
        """The contents, in MCP's shape. Without a server the one that lists the URI answers, else the only connected
        one that has templates. Raises McpRefused, also with the server's own error (CALL_FAILED)."""
        if server is not None:
            _, _, connection = self._servers.connected(session, server)
        else:
            connection = self._owner_of(session, uri)
        return await _refusing(connection.read_resource(uri))

    async def list_prompts(self, session: str, server: str) -> Sequence[JsonObject]:
        _, _, connection = self._servers.connected(session, server)
        return connection.catalogue.prompts

    async def get_prompt(self, session: str, server: str, name: str, arguments: Mapping[str, str]) -> JsonObject:
        """The prompt's messages, in MCP's shape. Raises McpRefused."""
        _, _, connection = self._servers.connected(session, server)
        return await _refusing(connection.get_prompt(name, arguments))

    async def _call(self, way: _Way) -> ToolCallResult:
        lang = self._language(way.session)
        before, _ = self._target(way)
        name = before.name
        arguments = await self._permit(way, lang)
        if isinstance(arguments, _Refusal):
            return results.refused(name, way.tool, arguments.code, arguments.reason, lang)
        try:
            after, connection = self._target(way)
            if after.fingerprint != before.fingerprint:
                raise McpRefused("DECLARATION_CHANGED", name)
        except McpRefused as error:
            return results.refused(name, way.tool, error.code, text(ERRORS[error.code].meaning, lang=lang), lang)
        try:
            raw = await connection.call_tool(way.tool, arguments, way.caller)
        except (ConnectionLost, TokenWanted) as error:
            why = ERRORS["CONNECTION_LOST" if isinstance(error, ConnectionLost) else "AUTH_REQUIRED"]
            return results.failed(name, way.tool, why.code, text(why.meaning, lang=lang), lang)
        except CallFailed as error:
            return results.failed(name, way.tool, "CALL_FAILED", error.message, lang)
        return results.completed(raw, name, way.tool, lang)

    def _target(self, way: _Way) -> tuple[DeclaredServer, Connection]:
        """Raises McpRefused when the tool cannot be called now, whoever calls."""
        _, mount, connection = self._servers.connected(way.session, way.server)
        if all(tool["name"] != way.tool for tool in connection.catalogue.tools):
            raise McpRefused("TOOL_UNKNOWN", f"{mount.declared.name}: {way.tool}")
        return mount.declared, connection

    async def _permit(self, way: _Way, lang: str) -> JsonObject | _Refusal:
        """The arguments to call with, or why not."""
        session, mount, _ = self._servers.connected(way.session, way.server)
        declared = mount.declared
        call = Call(
            workspace=session.workspace,
            tool=qualified_tool_name(declared.name, way.tool),
            fingerprint=declared.fingerprint,
            by_person=way.caller is None,
            subagent=way.caller is not None and way.caller.subagent,
            full_access=self._full_access(way.session),
            questions=self._questions is not None,
            excluded_by_project=self._filter.excludes(declared.name, way.tool),
        )
        decision = decide(call, self._settings(), self._decisions().grants)
        if decision.outcome in ("pass", "allow"):
            return way.arguments
        if decision.outcome == "ask" and way.caller is not None and self._questions is not None:
            answer = await self._questions.confirm(way.caller, _question(declared.name, way, lang))
            return await self._apply(answer, call, way, lang)
        return _Refusal("TOOL_DENIED", text("gate.filtered", lang=lang))

    async def _apply(self, answer: Answer, call: Call, way: _Way, lang: str) -> JsonObject | _Refusal:
        if not answer.approved or answer.option == DENY:
            return _Refusal("TOOL_DENIED", answer.message or text(_REASONS[answer.reason], lang=lang))
        if answer.option == ALLOW_ALWAYS:
            grant = Grant(call.workspace, "tool", call.tool, call.fingerprint, self._clock.now())
            try:
                await self._store([PutGrant(grant)])
            except Exception:
                return _Refusal("STORAGE_FAILED", text("gate.not_stored", lang=lang))
        if answer.edited_input is None:
            return way.arguments
        try:
            edited = json.loads(answer.edited_input)
        except ValueError:
            edited = None
        return edited if isinstance(edited, dict) else _Refusal("TOOL_DENIED", text("gate.bad_input", lang=lang))

    def _owner_of(self, session: str, uri: str) -> Connection:
        usable = [connection for _, connection in self._servers.usable(session)]
        for connection in usable:
            if any(resource.get("uri") == uri for resource in connection.catalogue.resources):
                return connection
        dynamic = [connection for connection in usable if connection.catalogue.templates]
        if len(dynamic) != 1:
            raise McpRefused("RESOURCE_UNKNOWN", uri)
        return dynamic[0]


_REASONS: Final[Mapping[str, str]] = {
    "user": "gate.denied",
    "timeout": "gate.timed_out",
    "cancelled": "gate.cancelled",
    "no-conversation": "gate.unanswerable",
}


def _question(server: str, way: _Way, lang: str) -> Confirmation:
    """The question with its three answers; message ids and values go along, so that each client shows its own language
    (M6.2)."""
    values = {"server": server, "tool": way.tool}
    return Confirmation(
        title=text("gate.title", lang=lang, **values),
        invocation=text("gate.invocation", lang=lang, **values),
        tool_input=json.dumps(way.arguments, ensure_ascii=False, indent=2),
        options=(
            Option(ALLOW_ONCE, text("gate.allow_once", lang=lang), "approve"),
            Option(ALLOW_ALWAYS, text("gate.allow_always", lang=lang), "approve"),
            Option(DENY, text("gate.deny", lang=lang), "deny"),
        ),
        meta={
            META_KEY: {
                "message": "gate.title",
                "values": values,
                "options": {ALLOW_ONCE: "gate.allow_once", ALLOW_ALWAYS: "gate.allow_always", DENY: "gate.deny"},
            }
        },
    )


async def _refusing(answer: Awaitable[T]) -> T:
    try:
        return await answer
    except ConnectionLost as error:
        raise McpRefused("CONNECTION_LOST", str(error)) from None
    except CallFailed as error:
        raise McpRefused("CALL_FAILED", error.message) from None
