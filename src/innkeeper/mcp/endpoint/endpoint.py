"""One endpoint: one upstream server for one agent (architecture §5). Importing this module imports the SDK.

Rules
* Every list is read when it is asked for, every call passes the gateway, so what is off is refused at once (M6.9).
* A withdrawn endpoint lists nothing and refuses every call. A closed one is gone: its calls are cancelled.
* A tool that may not be called, or was not, gives an unsuccessful result with the reason: the model reads it (M6.1).
  Resources and prompts give a JSON-RPC error.
* What the server has not stated as a capability this endpoint does not state either. Nor does it hand on what the
  server says about its use: the host sends that with each request, so it comes once (M5.7).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, cast

import mcp_types as types
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from innkeeper._version import running_version
from innkeeper.errors import ERRORS
from innkeeper.limits import MESSAGE_BYTES
from innkeeper.mcp.endpoint.agents import Agents
from innkeeper.mcp.endpoint.door import Receive, Scope, Send
from innkeeper.mcp.endpoint.levels import at_least
from innkeeper.mcp.endpoint.names import ListedNames
from innkeeper.mcp.endpoint.passage import Context, Passage, agent_of
from innkeeper.mcp.endpoint.streams import follow_stream
from innkeeper.ports.endpoints import Ask, CallSigns, CurrentTurn, Who
from innkeeper.ports.mcp import JsonObject, McpGateway, McpRefused, ServerOffering
from innkeeper.ports.questions import Caller
from innkeeper.protocol.chat.state import ToolCallResult
from innkeeper.texts import text

logger = logging.getLogger(__name__)

REFUSAL_KEY: Final = "x-innkeeper/refusal"
IDLE_SECONDS: Final = 24 * 3600.0
RESOURCE_NOT_FOUND: Final = -32002

_COMPLETE: Final[Mapping[str, Any]] = {"resultType": "complete"}
_FRESH: Final[Mapping[str, Any]] = {**_COMPLETE, "ttlMs": 0, "cacheScope": "private"}
"""What the second generation wants of a result; the SDK leaves it out for the first. Nothing may be cached."""
_ALL: Final = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
_NO_TURN: Final = "No turn of this session is running, so no tool may be called."
_INTERNAL: Final = "The host could not make the call; its log says why."
_CANCELLED: Final = "The call was cancelled because the session's servers were ended."


class _Proxy(Server[Any]):
    """The SDK's server, stating what the upstream server has stated."""

    features: frozenset[str] = frozenset()

    def get_capabilities(self, *args: Any, **kwargs: Any) -> types.ServerCapabilities:
        stated = super().get_capabilities(*(args or (_ALL,)), **kwargs)
        if stated.resources is not None:
            stated.resources.subscribe = None
        absent = {name: None for name in ("tools", "resources", "prompts", "logging") if name not in self.features}
        return stated.model_copy(update=absent)

    def create_initialization_options(self, *args: Any, **kwargs: Any) -> Any:
        return super().create_initialization_options(*(args or (_ALL,)), **kwargs)


class Endpoint:
    """`server` and `subagent` say whose it is. `level_changed` is called when an agent sets its log level.
    `patience`: seconds until the agent gives a call up, where that is known; `who` is asked whose a call is."""

    def __init__(
        self,
        offering: ServerOffering,
        session: str,
        subagent: str | None,
        secret: bytes,
        *,
        gateway: McpGateway,
        current: CurrentTurn,
        ask: Ask | None,
        heartbeat: float,
        level_changed: Callable[[str, str], Awaitable[None]],
        patience: float | None = None,
        who: Who | None = None,
    ) -> None:
        self.session = session
        self.subagent = subagent
        self.server = offering.id
        self.names = frozenset((offering.id, offering.name, offering.safe_name))
        self.secret = secret
        self.withdrawn = False
        self._gateway = gateway
        self._current = current
        self._ask = ask
        self._heartbeat = heartbeat
        self._level_changed = level_changed
        self._patience, self._who = patience, who
        self._agents = Agents()
        self._passages: list[Passage] = []
        self._calls: set[asyncio.Task[ToolCallResult]] = set()
        self._stop = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None
        self._proxy = self._make_proxy(offering.safe_name)
        self._http = StreamableHTTPSessionManager(
            self._proxy, session_idle_timeout=IDLE_SECONDS, max_request_body_size=MESSAGE_BYTES
        )
        self._seen = _NOTHING
        self._tools = ListedNames(offering.name, ())
        self._schemas: Mapping[str, Mapping[str, Any]] = {}
        self._adopt(offering)

    def _make_proxy(self, name: str) -> _Proxy:
        proxy = _Proxy(
            name,
            version=running_version(),
            get_tool_input_schema=lambda tool: self._schemas.get(tool),
            on_list_tools=cast(Any, self._list_tools),
            on_call_tool=cast(Any, self._call_tool),
            on_list_resources=cast(Any, self._list("resources", "resources")),
            on_list_resource_templates=cast(Any, self._list("templates", "resourceTemplates")),
            on_read_resource=cast(Any, self._read_resource),
            on_list_prompts=cast(Any, self._list("prompts", "prompts")),
            on_get_prompt=cast(Any, self._get_prompt),
            on_subscriptions_listen=self._agents.listen,
        )
        proxy.add_request_handler("logging/setLevel", types.SetLevelRequestParams, cast(Any, self._set_level))
        proxy.middleware[:] = [self._agents.notice]
        return proxy

    # -- life ----------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Ready for requests when this returns."""
        ready = asyncio.Event()
        self._owner = asyncio.create_task(self._own(ready), name=f"mcp endpoint {self.server}")
        await ready.wait()

    async def _own(self, ready: asyncio.Event) -> None:
        async with self._http.run():
            ready.set()
            await self._stop.wait()

    def withdraw(self) -> None:
        self.withdrawn = True
        self.look()

    async def close(self) -> None:
        """End the calls and the agents' connections. Idempotent."""
        self.withdraw()
        while self._calls:
            for call in self._calls:
                call.cancel()
            await asyncio.wait(self._calls)
        await self._agents.said()
        self._agents.listen.close()
        self._stop.set()
        if self._owner is not None:
            await asyncio.wait([self._owner])

    def give_up(self, call: str) -> None:
        """The agent does not wait for that call any more, and has not said so to the server."""
        for task in self._calls:
            if task.get_name() == call:
                task.cancel()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One HTTP request, the secret shown."""
        await follow_stream(self._http.asgi_app, self._agents, scope, receive, send)

    # -- what the host says --------------------------------------------------------------------------------------

    def look(self) -> Literal["here", "back", "off", "gone"]:
        """Something about the server may have changed: adopt it, and tell the agents which lists are others. `back`: it
        can be used again; `off`: it cannot be used now; `gone`: it is not part of the session any more."""
        refused: str | None = None
        try:
            now = self._offering()
        except McpRefused as error:
            now, refused = _NOTHING, error.code
        before = self._seen
        if now is not _NOTHING:
            self._adopt(now)
        self._seen = now
        changed = [
            *(["tools"] if now.tools != before.tools else []),
            *(["resources"] if (now.resources, now.templates) != (before.resources, before.templates) else []),
            *(["prompts"] if now.prompts != before.prompts else []),
        ]
        if changed:
            self._agents.changed(changed)
        if refused is not None:
            return "gone" if refused == "SERVER_UNKNOWN" else "off"
        return "back" if before is _NOTHING else "here"

    async def logged(self, message: JsonObject) -> None:
        """A log message of the server: with a call to who has one running, else on the agent's own stream."""
        heard: set[str | None] = set()
        for passage in reversed(self._passages):
            wanted = passage.agent not in heard or passage.agent is None
            if passage.agent is None:
                wanted = passage.log_level is not None and at_least(message.get("level"), passage.log_level)
            elif wanted:
                wanted = self._agents.wants(passage.agent, message)
            heard.add(passage.agent)
            if wanted:
                await passage.logged(message)
        await self._agents.logged(message, heard)

    @property
    def levels(self) -> Sequence[str]:
        return self._agents.levels

    def _adopt(self, offering: ServerOffering) -> None:
        self._seen = offering
        self._tools = ListedNames(offering.name, (tool["name"] for tool in offering.tools))
        self._schemas = {self._tools.shown(tool["name"]): _schema(tool) for tool in offering.tools}
        self._proxy.features = offering.features

    def _offering(self) -> ServerOffering:
        if self.withdrawn:
            raise McpRefused("SERVER_DISABLED", self.server)
        return self._gateway.offering(self.session, self.server)

    # -- what the agent asks -------------------------------------------------------------------------------------

    async def _list_tools(self, ctx: Context, params: object) -> dict[str, Any]:
        self.look()
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        return {**_FRESH, "tools": [_tool(tool, self._tools.shown(tool["name"]), modern) for tool in self._seen.tools]}

    def _list(self, part: str, key: str) -> Callable[[Context, object], Awaitable[dict[str, Any]]]:
        async def listed(ctx: Context, params: object) -> dict[str, Any]:
            try:
                return {**_FRESH, key: list(getattr(self._offering(), part))}
            except McpRefused:
                return {**_FRESH, key: []}

        return listed

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        if self.withdrawn:
            return _refusal("SERVER_DISABLED", text(ERRORS["SERVER_DISABLED"].meaning))
        tool, arguments = self._tools.tool(params.name), params.arguments or {}
        caller = self._caller(CallSigns(tool, arguments, dict(ctx.meta or {})))
        if caller is None:
            return _refusal("TOOL_DENIED", _NO_TURN)
        passage = Passage(ctx, caller, self._seen.name, self._ask, self._heartbeat)
        self._passages.append(passage)
        try:
            result = await self._run(passage, tool, arguments)
        except McpRefused as refused:
            return _refusal(refused.code, _reason(refused))
        except Exception:
            logger.exception("a call through the endpoint of %s failed in the host", self.server)
            return _refusal("CALL_FAILED", _INTERNAL)
        finally:
            self._passages.remove(passage)
            passage.began()
        await passage.finished()
        if result is None:
            return _refusal("SERVER_NOT_CONNECTED", _CANCELLED)
        if passage.result is None:
            error = result.get("error") or {"message": ""}
            return _refusal(error.get("code") or "TOOL_DENIED", error["message"])
        return _answer(passage.result, ctx.protocol_version in MODERN_PROTOCOL_VERSIONS)

    def _caller(self, signs: CallSigns) -> Caller | None:
        """Whose call it is: the provider knows best, else it is the session's running turn (M6.3c)."""
        caller = None if self._who is None else self._who(signs)
        caller = caller or self._current(self.session, self.subagent)
        if caller is None or self._patience is None:
            return caller
        return caller._replace(patience=self._patience)

    async def _run(self, passage: Passage, tool: str, arguments: JsonObject) -> ToolCallResult | None:
        """The call, in a task that this endpoint can cancel; None when it did. An agent that cancels cancels it too."""
        calling = self._gateway.call_tool(passage.caller, self.server, tool, arguments, passage)
        call = asyncio.create_task(calling, name=passage.caller.tool_call_id)
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        try:
            await asyncio.wait([call])
        except asyncio.CancelledError:
            call.cancel()
            raise
        return None if call.cancelled() else call.result()

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> dict[str, Any]:
        try:
            self._offering()
            contents = await self._gateway.read_resource(self.session, str(params.uri), self.server)
        except McpRefused as refused:
            raise _error(refused) from None
        return {**_FRESH, "contents": list(contents)}

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> dict[str, Any]:
        try:
            self._offering()
            prompt = await self._gateway.get_prompt(self.session, self.server, params.name, params.arguments or {})
        except McpRefused as refused:
            raise _error(refused) from None
        return {**_COMPLETE, **{key: prompt[key] for key in ("description", "messages") if key in prompt}}

    async def _set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> dict[str, Any]:
        self._agents.set_level(agent_of(ctx), params.level)
        await self._level_changed(self.session, self.server)
        return {}


_NOTHING: Final = ServerOffering("", "", "", frozenset(), None, [], [], [], [])


def _schema(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    return tool.get("inputSchema") or {"type": "object"}


def _tool(tool: Mapping[str, Any], shown: str, modern: bool) -> dict[str, Any]:
    """First-generation schemas of results are objects; another one would make the whole list invalid there."""
    found = {**tool, "name": shown, "inputSchema": _schema(tool)}
    if not modern and (found.get("outputSchema") or {}).get("type") != "object":
        found.pop("outputSchema", None)
    return found


def _answer(result: JsonObject, modern: bool) -> dict[str, Any]:
    """The server's result. `_meta` of the protocol itself stays behind: it speaks of another connection."""
    answer: dict[str, Any] = {**_COMPLETE, "content": result.get("content", []), "isError": bool(result.get("isError"))}
    structured = result.get("structuredContent")
    if structured is not None and (modern or isinstance(structured, dict)):
        answer["structuredContent"] = structured
    meta = cast(Mapping[str, Any], result.get("_meta") or {})
    kept = {key: value for key, value in meta.items() if not key.startswith("io.modelcontextprotocol/")}
    return {**answer, "_meta": kept} if kept else answer


def _refusal(code: str, reason: str) -> dict[str, Any]:
    content = [{"type": "text", "text": reason}]
    return {**_COMPLETE, "content": content, "isError": True, "_meta": {REFUSAL_KEY: code}}


def _reason(refused: McpRefused) -> str:
    if refused.code == "CALL_FAILED":
        return str(refused)
    if refused.code == "TOOL_UNKNOWN":
        return f"The server has no such tool ({refused})."
    if refused.code == "SERVER_UNKNOWN":
        return "The server is not part of this session any more."
    return text(ERRORS[refused.code].meaning)


def _error(refused: McpRefused) -> MCPError:
    code = RESOURCE_NOT_FOUND if refused.code == "RESOURCE_UNKNOWN" else types.INTERNAL_ERROR
    return MCPError(code, _reason(refused), {REFUSAL_KEY: refused.code})
