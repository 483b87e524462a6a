"""Own commands, under the reserved prefix `x-innkeeper/` (AHP §0, architecture §6); docs/reference/extensions.md.

Rules
* The same objects stand behind them as behind everything else; they decide nothing of their own.
* What they change about a server they answer with the list as it then is.
* A call that a person makes here counts as their Allow once (M6.9); enablement and filters still hold.
* Never a value of an environment variable, a header or an input in a result; a server's standard error only where it
  is asked for, masked (M7.7).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any

from innkeeper.host.commands import Asker, Handler
from innkeeper.host.core import Core
from innkeeper.host.faults import bad_params, no_session
from innkeeper.host.running import RunningTurns
from innkeeper.host.servers import Servers
from innkeeper.host.setting_commands import status_document
from innkeeper.host.settings import HostSettings
from innkeeper.ports.clock import Clock
from innkeeper.ports.mcp import McpGateway, McpServers
from innkeeper.ports.settings import SettingsService
from innkeeper.protocol.errors import NOT_FOUND, RpcError
from innkeeper.protocol.uris import ROOT

Params = Mapping[str, Any]


class Extensions:
    def __init__(
        self,
        core: Core,
        servers: Servers,
        mcp: McpServers,
        gateway: McpGateway,
        running: RunningTurns,
        clock: Clock,
        settings: HostSettings,
        language: Callable[[str], str],
        chosen: SettingsService | None = None,
        look: Callable[[], None] | None = None,
        counts: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._chosen = chosen
        self._look = look
        self._counts = counts
        self._language = language
        self._core = core
        self._servers = servers
        self._mcp = mcp
        self._gateway = gateway
        self._running = running
        self._settings = settings
        self._clock = clock
        self._began = clock.monotonic()

    def table(self) -> dict[str, Handler]:
        return {
            "x-innkeeper/status": self.status,
            "x-innkeeper/agents/look": self.look_for_agents,
            "x-innkeeper/mcp/list": self.list_servers,
            "x-innkeeper/mcp/reload": self.reload,
            "x-innkeeper/mcp/connect": self.connect,
            "x-innkeeper/mcp/disconnect": self.disconnect,
            "x-innkeeper/mcp/stop": self.stop,
            "x-innkeeper/mcp/retry": self.retry,
            "x-innkeeper/mcp/followPolicy": self.follow_policy,
            "x-innkeeper/mcp/confirmFile": self.confirm_file,
            "x-innkeeper/mcp/allow": self.allow,
            "x-innkeeper/mcp/revoke": self.revoke,
            "x-innkeeper/mcp/tools": self.tools,
            "x-innkeeper/mcp/call": self.call,
            "x-innkeeper/mcp/logs": self.logs,
        }

    async def look_for_agents(self, asker: Asker, params: Params) -> object:
        """What is missing of each agent now; a change is published to everybody."""
        if self._look is not None:
            self._look()
        return {"agents": list((self._core.head(ROOT) or {}).get("agents") or ())}

    async def status(self, asker: Asker, params: Params) -> object:
        agents = (self._core.head(ROOT) or {}).get("agents") or ()
        return {
            "version": self._settings.version,
            "uptimeSeconds": round(self._clock.monotonic() - self._began),
            "agents": [agent["provider"] for agent in agents],
            "sessions": self._core.count("session"),
            "runningTurns": len(self._running),
            "questions": self._settings.questions,
            "counts": self._counts(),
            "settings": self._chosen and status_document(self._chosen.current(), self._language(asker.client_id)),
        }

    async def list_servers(self, asker: Asker, params: Params) -> object:
        session = await self._read(params)
        self._mcp.look(session)
        return {
            "items": [asdict(report) for report in self._mcp.report(session)],
            "findings": [asdict(finding) for finding in self._mcp.findings(session)],
            "directory": self._mcp.trust_directory(session),
        }

    async def reload(self, asker: Asker, params: Params) -> object:
        """Read the declarations anew and apply them; what policy allows starts."""
        await self._mcp.refresh(await self._read(params), start=True)
        return await self.list_servers(asker, params)

    async def connect(self, asker: Asker, params: Params) -> object:
        return await self._changed(self._mcp.start, asker, params)

    async def disconnect(self, asker: Asker, params: Params) -> object:
        return await self._changed(self._mcp.stop, asker, params)

    async def stop(self, asker: Asker, params: Params) -> object:
        return await self._changed(self._mcp.stop_connecting, asker, params)

    async def retry(self, asker: Asker, params: Params) -> object:
        return await self._changed(self._mcp.retry, asker, params)

    async def follow_policy(self, asker: Asker, params: Params) -> object:
        await self._mcp.follow_policy(await self._read(params))
        return await self.list_servers(asker, params)

    async def confirm_file(self, asker: Asker, params: Params) -> object:
        """A person has read the file that an agent wrote (M4.1b)."""
        await self._mcp.confirm_file(await self._read(params), _text(params, "file"))
        return await self.list_servers(asker, params)

    async def allow(self, asker: Asker, params: Params) -> object:
        """The server may start by itself; with `tool`, calls of that tool are not asked about."""
        if "tool" not in params:
            return await self._changed(self._mcp.allow, asker, params)
        tool = _text(params, "tool")
        return await self._changed(lambda session, id: self._gateway.allow_tool(session, id, tool), asker, params)

    async def revoke(self, asker: Asker, params: Params) -> object:
        if "tool" not in params:
            return await self._changed(self._mcp.revoke, asker, params)
        tool = _text(params, "tool")
        return await self._changed(lambda session, id: self._gateway.revoke_tool(session, id, tool), asker, params)

    async def tools(self, asker: Asker, params: Params) -> object:
        session = await self._read(params)
        server = self._server_id(session, params) if "server" in params else None
        return {"items": [report._asdict() for report in self._gateway.survey(session, server)]}

    async def call(self, asker: Asker, params: Params) -> object:
        session = await self._read(params)
        arguments = params.get("arguments", {})
        if not isinstance(arguments, dict):
            raise bad_params("params.arguments must be an object")
        server, tool = _text(params, "server"), _text(params, "tool")
        lang = self._language(asker.client_id)
        return await self._gateway.call_tool_by_person(session, server, tool, arguments, lang)

    async def logs(self, asker: Asker, params: Params) -> object:
        """The call log of a server; its standard error too where `stderr` asks for it."""
        session = await self._read(params)
        id = self._server_id(session, params)
        found: dict[str, Any] = {"server": id, "calls": [call._asdict() for call in self._gateway.calls(session, id)]}
        if params.get("stderr") is True:
            found["stderr"] = self._mcp.stderr(session, id)
        return found

    async def _changed(self, change: Callable[[str, str], Awaitable[None]], asker: Asker, params: Params) -> object:
        """Do it to the server that the params name; the answer is the list as it then is."""
        session = await self._read(params)
        await change(session, self._server_id(session, params))
        return await self.list_servers(asker, params)

    async def _read(self, params: Params) -> str:
        """The session that the params name, its declarations read."""
        uri = _text(params, "channel")
        if self._core.kind(uri) != "session":
            raise no_session(uri)
        await self._servers.read(uri)
        return uri

    def _server_id(self, session: str, params: Params) -> str:
        """`server` is the name or the customization id of a server of the session."""
        wanted = _text(params, "server")
        for report in self._mcp.report(session):
            if wanted in (report.id, report.name):
                return report.id
        raise RpcError(NOT_FOUND, f"there is no MCP server {wanted[:100]} in this session", {"code": "SERVER_UNKNOWN"})


def _text(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise bad_params(f"params.{name} must be a non-empty string")
    return value


EXTENSION_METHODS = frozenset(
    {
        "x-innkeeper/status",
        "x-innkeeper/agents/look",
        "x-innkeeper/mcp/list",
        "x-innkeeper/mcp/reload",
        "x-innkeeper/mcp/connect",
        "x-innkeeper/mcp/disconnect",
        "x-innkeeper/mcp/stop",
        "x-innkeeper/mcp/retry",
        "x-innkeeper/mcp/followPolicy",
        "x-innkeeper/mcp/confirmFile",
        "x-innkeeper/mcp/allow",
        "x-innkeeper/mcp/revoke",
        "x-innkeeper/mcp/tools",
        "x-innkeeper/mcp/call",
        "x-innkeeper/mcp/logs",
    }
)
"""What `Extensions.table` serves; the engine is told before those objects exist."""
