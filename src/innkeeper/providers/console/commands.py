"""What the console answers (issue 2 §6)."""

from collections.abc import Sequence
from typing import Any, assert_never

from innkeeper.ports.customizations import Eligible
from innkeeper.ports.ids import Ids
from innkeeper.ports.mcp import JsonObject, McpGateway, McpRefused, ServerTools
from innkeeper.ports.questions import Caller
from innkeeper.protocol.chat.state import ToolCallResult, Turn
from innkeeper.providers.console.lines import Call, Echo, Line, Listing, Mistake, Read, Show
from innkeeper.providers.spi import ToolCompleted, ToolInputDelta, ToolStarted, TurnOutput, TurnRequest
from innkeeper.texts import text


class Console:
    """One turn."""

    def __init__(self, gateway: McpGateway, ids: Ids, request: TurnRequest, output: TurnOutput) -> None:
        self._gateway = gateway
        self._ids = ids
        self._request = request
        self._output = output

    async def answer(self, line: Line) -> str:
        """What is said to the line; a tool call is reported on the way."""
        match line:
            case Echo(words) | Mistake(words):
                return words
            case Show(what):
                return await self._shown(what)
            case Read(uri):
                return await self._read(uri)
            case Call():
                return await self._call(line)
            case _:
                assert_never(line)

    async def _shown(self, what: Listing) -> str:
        match what:
            case "help":
                return text("console.help")
            case "history":
                return history(self._request.context, self._request.history)
            case "tools":
                return _tools(self._servers())
            case "resources":
                return await self._listed(self._gateway.list_resources, "uri", text("console.noResources"))
            case "customizations":
                return customizations(self._request.customizations)
            case "prompts":
                return await self._listed(self._gateway.list_prompts, "name", text("console.noPrompts"))

    def _servers(self) -> Sequence[ServerTools]:
        """Those that may reach this request: what was withheld from it is not looked at."""
        withheld = {item.id for item in self._request.customizations.withheld}
        try:
            served = self._gateway.tools(self._request.session)
        except McpRefused:
            return ()
        return [server for server in served if server.customization_id not in withheld]

    async def _listed(self, ask: Any, key: str, nothing: str) -> str:
        lines: list[str] = []
        for server in self._servers():
            try:
                found: Sequence[JsonObject] = await ask(self._request.session, server.server)
            except McpRefused as refused:
                lines.append(f"{server.server}: {refused}")
                continue
            lines.extend(_item(server.server, item, key) for item in found)
        return "\n".join(lines) or nothing

    async def _read(self, uri: str) -> str:
        try:
            contents = await self._gateway.read_resource(self._request.session, uri)
        except McpRefused as refused:
            return text("console.readFailed", uri=uri, why=str(refused))
        return "\n".join(_content(content) for content in contents) or text("console.emptyResource", uri=uri)

    async def _call(self, line: Call) -> str:
        servers = self._servers()
        server = next((s for s in servers if s.server == line.server), None)
        if server is None:
            known = ", ".join(sorted(s.server for s in servers))
            if not known:
                return text("console.noServers", server=line.server)
            return text("console.unknownServer", server=line.server, known=known)
        call = self._ids.new()
        self._output.emit(
            ToolStarted(
                call, line.tool, line.tool, contributor={"kind": "mcp", "customizationId": server.customization_id}
            )
        )
        self._output.emit(ToolInputDelta(call, line.given))
        caller = Caller(self._request.session, self._request.chat, self._request.turn_id, call)
        try:
            result = await self._gateway.call_tool(caller, line.server, line.tool, line.arguments)
        except McpRefused as refused:
            result = _refused(line, refused)
        self._output.emit(ToolCompleted(call, result))
        return outcome(result)


def outcome(result: ToolCallResult) -> str:
    """The text of a result, or why there is none."""
    words = [block["text"] for block in result.get("content") or () if block["type"] == "text"]
    if not result["success"]:
        error = result.get("error")
        why = error["message"] if error is not None else "\n".join(words)
        return text("console.callFailed", why=why)
    return "\n".join(words) or text("console.callDone")


def customizations(eligible: Eligible) -> str:
    """What may reach this agent, by type, and what is withheld from it with the reason."""
    lines = [f"{name}: {', '.join(found)}" for name, found in _by_type(eligible).items()]
    lines.extend(text("console.withheld", type=one.type, name=one.name, why=one.reason) for one in eligible.withheld)
    return "\n".join(lines) or text("console.noCustomizations")


def _by_type(eligible: Eligible) -> dict[str, list[str]]:
    found = {
        "plugin": [plugin.name for plugin in eligible.plugins],
        "mcpServer": [server.name for server in eligible.servers],
    }
    for leaf in eligible.leaves:
        found.setdefault(leaf.type, []).append(leaf.name)
    return {type: names for type, names in found.items() if names}


def history(context: Sequence[Turn], turns: Sequence[Turn]) -> str:
    """What the agent knows: the side chat's context, then this chat's own turns."""
    lines: list[str] = []
    if context:
        lines.append(text("console.context", n=len(context)))
        lines.extend(_turn(number, turn) for number, turn in enumerate(context, 1))
    lines.append(text("console.turns", n=len(turns)))
    lines.extend(_turn(number, turn) for number, turn in enumerate(turns, 1))
    return "\n".join(lines)


def _turn(number: int, turn: Turn) -> str:
    return f"{number}. {' '.join(turn['message']['text'].split())[:80]}"


def _tools(servers: Sequence[ServerTools]) -> str:
    lines: list[str] = []
    for server in servers:
        lines.append(f"{server.server}:")
        for tool in server.tools:
            description = tool.get("description") or tool.get("title") or ""
            lines.append(f"  {tool['name']}  {description}".rstrip())
    return "\n".join(lines) or text("console.noTools")


def _item(server: str, item: JsonObject, key: str) -> str:
    name = str(item.get(key, ""))
    about = item.get("description") or item.get("title") or (item.get("name") if key == "uri" else None) or ""
    return f"{server}: {name}  {about}".rstrip()


def _content(content: JsonObject) -> str:
    if isinstance(content.get("text"), str):
        return str(content["text"])
    return text("console.binary", type=str(content.get("mimeType") or "application/octet-stream"))


def _refused(line: Call, refused: McpRefused) -> ToolCallResult:
    return {
        "success": False,
        "pastTenseMessage": text("console.notCalled", tool=line.tool),
        "error": {"message": str(refused), "code": refused.code},
    }
