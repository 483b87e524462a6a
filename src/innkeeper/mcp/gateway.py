"""The one way to a project server's tools, resources and prompts: the adapter of `ports.mcp.McpGateway` (M6.9).

Rules
* Order of a call: enablement and connection, rules and gate and project filter, the question, the same checks again (a
  question may stand open for minutes), then the connection, once.
* A question ends as a denial as soon as its tool, its server or its declaration is not there any more.
* "Always allow" is durable before the call runs (C8.1). What cannot be stored is not allowed.
* Anything but an approval is an unsuccessful result with its reason, and the turn goes on (M6.1, M6.4).
* The result of a call never raises: a server that dies in the middle gives an unsuccessful result, and no second try.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from innkeeper.errors import ERRORS
from innkeeper.mcp import results
from innkeeper.mcp.asking import Refusal, edited, question, refusal
from innkeeper.mcp.call_limit import within
from innkeeper.mcp.call_log import CallerKind, CallLog
from innkeeper.mcp.connections.connection import Connection
from innkeeper.mcp.connections.values import CallFailed, ConnectionLost, TokenWanted
from innkeeper.mcp.declarations.model import DeclaredServer
from innkeeper.mcp.gate import ALLOW_ALWAYS, Call, Decision, decide
from innkeeper.mcp.mounts import Mount, MountedSession
from innkeeper.mcp.names import qualified_tool_name
from innkeeper.mcp.publishing import server_id
from innkeeper.mcp.servers import ProjectServers, Store
from innkeeper.mcp.settings import McpSettings
from innkeeper.mcp.survey import survey_of
from innkeeper.ports.clock import Clock
from innkeeper.ports.decisions import Decisions, DropGrant, Grant, PutGrant
from innkeeper.ports.mcp import (
    CallRecord,
    Exchange,
    JsonObject,
    Logged,
    McpRefused,
    ServerOffering,
    ServerTools,
    ToolReport,
)
from innkeeper.ports.questions import NO_RULES, Answer, Caller, Questions, Rules
from innkeeper.protocol.chat.state import ToolCallResult
from innkeeper.texts import text

T = TypeVar("T")

RETURNING = frozenset({"connecting", "reconnecting", "unverified", "failed"})
"""States of a server from which its connection may come back: a question about it stays open."""


class ProjectFilter(Protocol):
    """The project's own exclusion of tools (M6.7)."""

    def excludes(self, declared: DeclaredServer, tool: str) -> bool: ...


class DeclaredFilter:
    """What the server's own entry includes and excludes (M2.9)."""

    def excludes(self, declared: DeclaredServer, tool: str) -> bool:
        return not declared.tools.allows(tool)


@dataclass(frozen=True, slots=True)
class _Way:
    """A call on its way: who makes it, and to what."""

    session: str
    caller: Caller | None
    """None: a person calls by hand."""
    server: str
    tool: str
    arguments: JsonObject
    lang: str
    exchange: Exchange | None = None

    @property
    def place(self) -> str:
        """Whose configuration counts: the chat's that the call is made in, or the session's."""
        return self.session if self.caller is None or not self.caller.chat else self.caller.chat

    @property
    def by(self) -> CallerKind:
        if self.caller is None:
            return "person"
        return "child" if self.caller.subagent else "agent"


@dataclass(eq=False, slots=True)
class _Question:
    """A question that stands open: `gone` is set when its answer cannot matter any more, `code` says why."""

    way: _Way
    declared: DeclaredServer
    gone: "asyncio.Future[str]"
    code: str | None = field(default=None)


class Gateway:
    """`questions` is None where the host was composed without a question service (M6.3). `full_access` answers for a
    chat or a session from the host's own state (M6.3b), `rules` for one and a qualified tool (M6.8); `language` for the
    texts of what a caller's call leads to (M9.4)."""

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
        rules: Callable[[str, str], Rules] = lambda _session, _tool: NO_RULES,
        language: Callable[[Caller], str] = lambda _caller: "en",
        project_filter: ProjectFilter | None = None,
    ) -> None:
        self._servers = servers
        self._questions = questions
        self._clock = clock
        self._decisions = decisions
        self._store = store
        self._settings = settings
        self._full_access = full_access
        self._rules = rules
        self._language = language
        self._filter = project_filter or DeclaredFilter()
        self._log = CallLog(clock)
        self._open: dict[str, list[_Question]] = {}
        self._logged: Logged | None = None
        servers.watch(self._changed)

    # -- what there is -------------------------------------------------------------------------------------------

    def tools(self, session: str) -> Sequence[ServerTools]:
        """What the agent may see now: servers that are on and connected, in file order, without what the project
        excludes."""
        return [
            ServerTools(
                mount.declared.safe_name,
                server_id(mount.declared),
                [t for t in connection.catalogue.tools if not self._filter.excludes(mount.declared, t["name"])],
            )
            for mount, connection in self._servers.usable(session)
        ]

    def instructions(self, session: str) -> Mapping[str, str]:
        """Server name to what the server says about its use (M5.7)."""
        return {
            mount.declared.safe_name: connection.catalogue.instructions
            for mount, connection in self._servers.usable(session)
            if connection.catalogue.instructions
        }

    def offering(self, session: str, server: str) -> ServerOffering:
        """All that the server offers now. Raises McpRefused where it is unknown, off or not connected."""
        _, mount, connection = self._servers.connected(session, server)
        declared, catalogue = mount.declared, connection.catalogue
        return ServerOffering(
            id=server_id(declared),
            name=declared.name,
            safe_name=declared.safe_name,
            features=catalogue.features,
            instructions=catalogue.instructions,
            tools=[tool for tool in catalogue.tools if not self._filter.excludes(declared, tool["name"])],
            resources=catalogue.resources,
            templates=catalogue.templates,
            prompts=catalogue.prompts,
        )

    def survey(self, session: str, server: str | None = None) -> Sequence[ToolReport]:
        """How the gate stands to each tool. Raises McpRefused for a server that cannot be used now."""
        if server is None:
            found = [(mount, connection) for mount, connection in self._servers.usable(session)]
        else:
            _, mount, connection = self._servers.connected(session, server)
            found = [(mount, connection)]
        grants = self._decisions().grants
        reports: list[ToolReport] = []
        for mount, connection in found:
            where, _, _ = self._servers.connected(session, server_id(mount.declared))
            for tool in connection.catalogue.tools:
                call = self._seen(where, mount, _Way(session, _AGENT, "", tool["name"], {}, "en"))
                decision = decide(call, self._settings(), grants)
                reports.append(survey_of(mount.declared.name, tool, call, decision, grants))
        return reports

    def calls(self, session: str, server: str) -> Sequence[CallRecord]:
        """Oldest first; empty for a server that has not been called, or is not known."""
        return self._log.of(session, self._id_of(session, server))

    # -- calls ---------------------------------------------------------------------------------------------------

    async def call_tool(
        self, caller: Caller, server: str, tool: str, arguments: JsonObject, exchange: Exchange | None = None
    ) -> ToolCallResult:
        """An agent's call, or one that stands in a conversation. Raises McpRefused before anything is asked."""
        return await self._call(_Way(caller.session, caller, server, tool, arguments, self._language(caller), exchange))

    async def call_tool_by_person(
        self, session: str, server: str, tool: str, arguments: JsonObject, lang: str = "en"
    ) -> ToolCallResult:
        """The person's Allow once; rules, enablement and filter hold. Raises McpRefused."""
        return await self._call(_Way(session, None, server, tool, arguments, lang))

    async def allow_tool(self, session: str, server: str, tool: str) -> None:
        """Raises McpRefused when the tool is not there now: a grant is for what can be seen."""
        found, mount, connection = self._servers.connected(session, server)
        if all(known["name"] != tool for known in connection.catalogue.tools):
            raise McpRefused("TOOL_UNKNOWN", f"{mount.declared.name}: {tool}")
        await self._store([PutGrant(self._grant(found, mount.declared, tool))])

    async def revoke_tool(self, session: str, server: str, tool: str) -> None:
        """Idempotent. Raises McpRefused for a server that the session does not have."""
        found, mount = self._servers.mounted(session, server)
        name = qualified_tool_name(mount.declared.name, tool)
        await self._store([DropGrant((found.grant_key(mount.declared), "tool", name))])

    # -- resources and prompts -----------------------------------------------------------------------------------

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

    # -- log messages --------------------------------------------------------------------------------------------

    def log_to(self, logged: Logged) -> None:
        self._logged = logged

    async def set_log_level(self, session: str, server: str, level: str) -> None:
        """Raises McpRefused."""
        _, _, connection = self._servers.connected(session, server)
        await _refusing(connection.set_log_level(level))

    # -- inside --------------------------------------------------------------------------------------------------

    async def _call(self, way: _Way) -> ToolCallResult:
        before, _ = self._target(way)
        entry = self._log.begin(way.session, server_id(before), way.tool, way.by, way.arguments)
        try:
            arguments = await self._permit(way)
            if not isinstance(arguments, Refusal):
                arguments = self._still(way, before) or arguments
            made = not isinstance(arguments, Refusal)
            if isinstance(arguments, Refusal):
                result = results.refused(before.name, way.tool, arguments.code, arguments.reason, way.lang)
            else:
                result = await self._made(way, before, arguments)
        except BaseException:
            entry.cancelled()
            raise
        entry.ended(result, made=made)
        return result

    async def _made(self, way: _Way, declared: DeclaredServer, arguments: JsonObject) -> ToolCallResult:
        name = declared.name
        _, connection = self._target(way)
        if way.exchange is not None:
            way.exchange.began()
        try:
            raw = await within(
                declared.timeouts.call,
                way.exchange,
                lambda exchange: connection.call_tool(way.tool, arguments, way.caller, exchange),
            )
        except (ConnectionLost, TokenWanted) as error:
            why = ERRORS[error.code if isinstance(error, ConnectionLost) else "AUTH_REQUIRED"]
            return results.failed(name, way.tool, why.code, text(why.meaning, lang=way.lang), way.lang)
        except TimeoutError:
            why = ERRORS["CALL_TIMEOUT"]
            return results.failed(name, way.tool, why.code, text(why.meaning, lang=way.lang), way.lang)
        except CallFailed as error:
            return results.failed(name, way.tool, "CALL_FAILED", error.message, way.lang)
        if way.exchange is not None:
            way.exchange.answered(raw.whole)
        return results.completed(raw, name, way.tool, way.lang)

    def _target(self, way: _Way) -> tuple[DeclaredServer, Connection]:
        """Raises McpRefused when the tool cannot be called now, whoever calls."""
        _, mount, connection = self._servers.connected(way.session, way.server)
        if all(tool["name"] != way.tool for tool in connection.catalogue.tools):
            raise McpRefused("TOOL_UNKNOWN", f"{mount.declared.name}: {way.tool}")
        return mount.declared, connection

    def _still(self, way: _Way, before: DeclaredServer) -> Refusal | None:
        """Why what was approved is not there any more; None when it is."""
        try:
            now, _ = self._target(way)
        except McpRefused as error:
            return _refusal_of(error.code, way)
        return None if now.fingerprint == before.fingerprint else _refusal_of("DECLARATION_CHANGED", way)

    async def _permit(self, way: _Way) -> JsonObject | Refusal:
        """The arguments to call with, or why not."""
        session, mount, _ = self._servers.connected(way.session, way.server)
        declared = mount.declared
        call = self._seen(session, mount, way)
        decision = decide(call, self._settings(), self._decisions().grants)
        if decision.outcome in ("pass", "allow"):
            return way.arguments
        if decision.outcome == "deny" or way.caller is None or self._questions is None:
            return _denial(decision, declared, way)
        asked = question(declared.name, way.tool, way.arguments, call, decision, way.lang)
        standing = _Question(way, declared, asyncio.get_running_loop().create_future())
        self._open.setdefault(way.session, []).append(standing)
        try:
            answer = await self._questions.confirm(way.caller, asked, standing.gone)
        finally:
            self._close(standing)
        if answer.reason == "withdrawn" and standing.code is not None:
            return _refusal_of(standing.code, way)
        return await self._apply(answer, session, declared, way)

    def _seen(self, session: MountedSession, mount: Mount, way: _Way) -> Call:
        """The call as the gate sees it, from the host's own knowledge."""
        declared = mount.declared
        tool = qualified_tool_name(declared.name, way.tool)
        return Call(
            workspace=session.grant_key(declared),
            tool=tool,
            fingerprint=declared.fingerprint,
            project_server=mount.project,
            by_person=way.caller is None,
            subagent=way.caller is not None and way.caller.subagent,
            full_access=self._full_access(way.place),
            questions=self._questions is not None,
            rules=self._rules(way.place, tool),
            excluded_by_project=self._filter.excludes(declared, way.tool),
        )

    async def _apply(
        self, answer: Answer, session: MountedSession, declared: DeclaredServer, way: _Way
    ) -> JsonObject | Refusal:
        if (refused := refusal(answer, way.lang)) is not None:
            return refused
        if answer.option == ALLOW_ALWAYS:
            try:
                await self._store([PutGrant(self._grant(session, declared, way.tool))])
            except Exception:
                return Refusal("STORAGE_FAILED", text("gate.not_stored", lang=way.lang))
        return edited(answer, way.arguments, way.lang)

    def _grant(self, session: MountedSession, declared: DeclaredServer, tool: str) -> Grant:
        name = qualified_tool_name(declared.name, tool)
        return Grant(session.grant_key(declared), "tool", name, declared.fingerprint, self._clock.now())

    # -- questions that stand open -------------------------------------------------------------------------------

    def _changed(self, session: str) -> None:
        """Something about the session's servers may be different: end the questions that became pointless, and
        listen to a new connection."""
        if self._logged is not None:
            for mount, connection in self._servers.usable(session):
                connection.exchanges.logged = partial(self._logged, session, server_id(mount.declared))
        for standing in tuple(self._open.get(session, ())):
            if not standing.gone.done() and (code := self._gone(standing)) is not None:
                standing.code = code
                standing.gone.set_result(_refusal_of(code, standing.way).reason)
        if not self._servers.report(session):
            self._log.forget(session)

    def _gone(self, standing: _Question) -> str | None:
        """The code that says why the question cannot lead to a call any more. A lost connection may come back."""
        way, id = standing.way, server_id(standing.declared)
        row = next((row for row in self._servers.report(way.session) if row.id == id), None)
        if row is None:
            return "SERVER_UNKNOWN"
        if row.enabled and row.allowed and row.status in RETURNING:
            return None
        refused = self._still(way, standing.declared)
        return None if refused is None else refused.code

    def _close(self, standing: _Question) -> None:
        questions = self._open[standing.way.session]
        questions.remove(standing)
        if not questions:
            del self._open[standing.way.session]
        standing.gone.cancel()

    def _id_of(self, session: str, server: str) -> str:
        """The id under which calls are kept; the name itself when the server is not there any more."""
        try:
            return server_id(self._servers.mounted(session, server)[1].declared)
        except McpRefused:
            return server

    def _owner_of(self, session: str, uri: str) -> Connection:
        usable = [connection for _, connection in self._servers.usable(session)]
        for connection in usable:
            if any(resource.get("uri") == uri for resource in connection.catalogue.resources):
                return connection
        dynamic = [connection for connection in usable if connection.catalogue.templates]
        if len(dynamic) != 1:
            raise McpRefused("RESOURCE_UNKNOWN", uri)
        return dynamic[0]


_AGENT = Caller("", "", "", "")
"""Whoever calls as the session's main agent."""


def _refusal_of(code: str, way: _Way) -> Refusal:
    return Refusal(code, text(ERRORS[code].meaning, lang=way.lang, server=way.server, tool=way.tool))


def _denial(decision: Decision, declared: DeclaredServer, way: _Way) -> Refusal:
    values = {"server": declared.name, "tool": way.tool, "file": declared.file}
    return Refusal("TOOL_DENIED", text(f"gate.why.{decision.why}", lang=way.lang, **values))


async def _refusing(answer: Awaitable[T]) -> T:
    try:
        return await answer
    except ConnectionLost as error:
        raise McpRefused(error.code, str(error)) from None
    except CallFailed as error:
        raise McpRefused("CALL_FAILED", error.message) from None
