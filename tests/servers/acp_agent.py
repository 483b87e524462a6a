"""An agent that speaks ACP, written with the SDK's agent side: as simple as an agent can be that is one.

It asks a model behind OpenAI's Responses API (`ACP_MODEL_URL`), offers it the tools of the MCP servers of its session,
asks its client before each call, and keeps its sessions below `ACP_HOME`, to load them again. `ACP_QUIRKS` are words:
`noload` cannot load, `crash` ends in the middle of a turn, `deaf` does not stop when it is told to, `nohttp` takes no
servers; `login` wants a login, which is the file `login` below `ACP_HOME`, or with `key` the variable `SIMPLE_KEY`;
`expires` wants one for a turn, not for a session; `exits` ends at once, `hangs` never answers, `wide` speaks another
version of the protocol, `mcp` another protocol, `broken` gives an answer that is none; `chatty` writes much that is no
message.

Two of the model's calls are its own: `update_plan`, which tells the plan; `task`, which has a subagent make one call.
"""

import asyncio
import json
import os
import sys
import uuid
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import acp
import httpx2
from acp import schema
from mcp.client.streamable_http import streamable_http_client

from mcp import Client

HOME = Path(os.environ.get("ACP_HOME", "."))
QUIRKS = frozenset(os.environ.get("ACP_QUIRKS", "").split())
OPTIONS = [
    schema.PermissionOption(option_id="always", name="Always", kind="allow_always"),
    schema.PermissionOption(option_id="once", name="Once", kind="allow_once"),
    schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
]
MODES = schema.SessionModeState(
    current_mode_id="ask",
    available_modes=[schema.SessionMode(id="ask", name="Ask"), schema.SessionMode(id="plan", name="Plan")],
)


class Session:
    """`said` are the model's input items; servers are connected when they are needed."""

    def __init__(self, id: str, servers: list[Any]) -> None:
        self.id = id
        self.said: list[dict[str, Any]] = []
        self.servers = servers
        self.mode = "ask"
        self.stack = AsyncExitStack()
        self.clients: dict[str, Client] = {}
        self.running: asyncio.Task[Any] | None = None

    async def connect(self) -> None:
        for server in self.servers:
            if server.name not in self.clients:
                headers = {header.name: header.value for header in server.headers}
                http = await self.stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=600))
                transport = streamable_http_client(server.url, http_client=http)
                self.clients[server.name] = await self.stack.enter_async_context(Client(transport))

    async def tools(self) -> dict[str, tuple[Client, Any]]:
        await self.connect()
        found: dict[str, tuple[Client, Any]] = {}
        for name, client in self.clients.items():
            for tool in (await client.list_tools(cache_mode="bypass")).tools:
                found[f"mcp__{name}__{tool.name}"] = (client, tool)
        return found

    def keep(self) -> None:
        (HOME / f"{self.id}.json").write_text(json.dumps(self.said))


class Agent(acp.Agent):
    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.client: Any = None

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **more: Any) -> Any:
        if "hangs" in QUIRKS:
            await asyncio.Event().wait()
        key = schema.EnvVarAuthMethod(
            id="key", name="A key", type="env_var", vars=[schema.AuthEnvVar(name="SIMPLE_KEY")]
        )
        return schema.InitializeResponse(
            protocol_version=2 if "wide" in QUIRKS else 1,
            agent_capabilities=schema.AgentCapabilities(
                load_session="noload" not in QUIRKS,
                mcp_capabilities=schema.McpCapabilities(http="nohttp" not in QUIRKS),
                prompt_capabilities=schema.PromptCapabilities(embedded_context=True),
            ),
            agent_info=schema.Implementation(name="simple", version="1.0"),
            auth_methods=[schema.AuthMethodAgent(id="browser", name="A browser"), *([key] if "key" in QUIRKS else [])],
        )

    async def authenticate(self, method_id: str, **more: Any) -> Any:
        if method_id != "key" or not os.environ.get("SIMPLE_KEY"):
            raise acp.RequestError.invalid_params()
        (HOME / "login").touch()
        return schema.AuthenticateResponse()

    def _want_login(self, quirk: str) -> None:
        if quirk in QUIRKS and not (HOME / "login").exists():
            raise acp.RequestError.auth_required()

    async def new_session(self, cwd: str, mcp_servers: Any = None, **more: Any) -> Any:
        self._want_login("login")
        session = Session(uuid.uuid4().hex, mcp_servers or [])
        self.sessions[session.id] = session
        session.keep()
        return schema.NewSessionResponse(session_id=session.id, modes=MODES)

    async def load_session(self, cwd: str, session_id: str, mcp_servers: Any = None, **more: Any) -> Any:
        self._want_login("login")
        session = Session(session_id, mcp_servers or [])
        session.said = json.loads((HOME / f"{session_id}.json").read_text())
        self.sessions[session_id] = session
        for item in session.said:
            if item.get("role") == "assistant":
                await self._say(session_id, "REPLAY " + item["content"][0]["text"])
        return schema.LoadSessionResponse(modes=MODES)

    async def set_session_mode(self, session_id: str, mode_id: str, **more: Any) -> Any:
        self.sessions[session_id].mode = mode_id
        return schema.SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: Any, **more: Any) -> Any:
        self._want_login("expires")
        session = self.sessions[session_id]
        words = [getattr(block, "text", None) or getattr(block, "uri", "") for block in prompt]
        content = [{"type": "input_text", "text": word} for word in words]
        session.said.append({"type": "message", "role": "user", "content": content})
        session.keep()
        session.running = asyncio.create_task(self._turn(session))
        try:
            return await session.running
        except asyncio.CancelledError:
            return schema.PromptResponse(stop_reason="cancelled")

    async def cancel(self, session_id: str, **more: Any) -> None:
        running = self.sessions[session_id].running
        if running is not None and "deaf" not in QUIRKS:
            running.cancel()

    async def _turn(self, session: Session) -> Any:
        while True:
            tools = await session.tools()
            output = await self._ask(session, tools)
            session.said.extend(output)
            session.keep()
            calls = [item for item in output if item["type"] == "function_call"]
            if not calls:
                usage = schema.Usage(total_tokens=120, input_tokens=100, output_tokens=20)
                return schema.PromptResponse(stop_reason="end_turn", usage=usage)
            for call in calls:
                said = await self._call(session, call, tools)
                session.said.append({"type": "function_call_output", "call_id": call["call_id"], "output": said})

    async def _ask(self, session: Session, tools: dict[str, tuple[Client, Any]]) -> list[dict[str, Any]]:
        """One request to the model, streamed; gives the items of its answer."""
        offered = [{"type": "function", "name": name} for name in tools]
        offered.extend({"type": "function", "name": name} for name in ("shell", "update_plan", "task"))
        body = {"model": "simple", "mode": session.mode, "input": session.said, "tools": offered, "stream": True}
        url = os.environ["ACP_MODEL_URL"] + "/v1/responses"
        async with httpx2.AsyncClient(timeout=600) as http, http.stream("POST", url, json=body) as answer:
            if answer.status_code != 200:
                await answer.aread()
                raise acp.RequestError(-32603, "the service said no", {"details": answer.text})
            async for line in answer.aiter_lines():
                if not line.startswith("data: "):
                    continue
                event = json.loads(line[6:])
                if event["type"] == "response.output_text.delta":
                    await self._say(session.id, event["delta"])
                elif event["type"] == "response.reasoning_summary_text.delta":
                    await self.client.session_update(session.id, acp.update_agent_thought_text(event["delta"]))
                elif event["type"] == "response.completed":
                    return list(event["response"]["output"])
        return []

    async def _call(
        self, session: Session, call: dict[str, Any], tools: dict[str, tuple[Client, Any]], by: str | None = None
    ) -> str:
        """`by` is the call whose subagent makes this one."""
        id, name, arguments = call["call_id"], call["name"], json.loads(call["arguments"])
        if name == "update_plan":
            return await self._plan(session, arguments)
        kind: Any = {"shell": "execute", "task": "think"}.get(name, "other")
        title = arguments["description"] if name == "task" else name
        start = acp.start_tool_call(id, title, kind=kind, status="pending", raw_input=arguments)
        await self._tell(session, start, by)
        if "crash" in QUIRKS:
            os._exit(7)
        if name == "task":
            await self._tell(session, acp.update_agent_message_text("the subagent's words"), id)
            inner = {"call_id": f"{id}-inner", "name": arguments["call"], "arguments": json.dumps(arguments["with"])}
            return await self._done(session, id, await self._call(session, inner, tools, id), "completed")
        asked = schema.ToolCallUpdate(tool_call_id=id, title=name, kind=kind, raw_input=arguments)
        answer = await self.client.request_permission(session_id=session.id, tool_call=asked, options=OPTIONS)
        if getattr(answer.outcome, "option_id", None) != "once":
            return await self._done(session, id, "rejected by the person", "failed", by)
        if name == "shell":
            made = await asyncio.create_subprocess_shell(arguments["command"], stdout=-1)
            out, _ = await made.communicate()
            return await self._done(session, id, out.decode(), "completed", by)
        if name not in tools:
            return await self._done(session, id, f"there is no {name}", "failed", by)
        client, tool = tools[name]
        result = await client.call_tool(tool.name, arguments)
        said = "\n".join(block.text for block in result.content if block.type == "text")
        return await self._done(session, id, said, "failed" if result.is_error else "completed", by)

    async def _plan(self, session: Session, arguments: dict[str, Any]) -> str:
        """As steps; or as one of several plans, in words."""
        if "words" in arguments:
            plan = schema.PlanUpdateMarkdown(type="markdown", plan_id="p", content=arguments["words"])
            update: Any = schema.AgentPlanContentUpdate(session_update="plan_update", plan=plan)
        else:
            update = acp.update_plan([acp.plan_entry(**step) for step in arguments["plan"]])
        for _ in range(2):  # some agents say it twice
            await self._tell(session, update)
        return "planned"

    async def _done(self, session: Session, id: str, words: str, status: Any, by: str | None = None) -> str:
        content = [acp.tool_content(acp.text_block(words))]
        await self._tell(session, acp.update_tool_call(id, status=status, content=content), by)
        return words

    async def _tell(self, session: Session, update: Any, by: str | None = None) -> None:
        if by is not None:
            update.field_meta = {"claudeCode": {"parentToolUseId": by}}
        await self.client.session_update(session.id, update)

    async def _say(self, session: str, words: str) -> None:
        await self.client.session_update(session, acp.update_agent_message_text(words))


def chatter() -> None:
    """Much on standard error, and lines on standard output that are no messages, or none that one knows."""
    sys.stderr.write("noise\n" * 500_000)
    odd = [
        '{"jsonrpc":"2.0","id":[],"result":1}',
        '{"jsonrpc":"2.0","id":0,"error":"SECRET"}',
        "[1]",
        "{",
        "SECRET",
        "",
    ]
    news = {"sessionId": "x", "update": {"sessionUpdate": "of another time", "content": "SECRET"}}
    odd.append(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": news}))
    odd.append(json.dumps({"jsonrpc": "2.0", "method": "something/else", "params": "SECRET"}))
    sys.stdout.write("\n".join(odd * 50) + "\n")
    sys.stdout.flush()


def answer(result: object) -> None:
    """One answer to the first request, then nothing."""
    id = json.loads(sys.stdin.readline())["id"]
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    HOME.mkdir(parents=True, exist_ok=True)
    if "exits" in QUIRKS:
        sys.exit(3)
    if "mcp" in QUIRKS:
        answer({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}})
    if "broken" in QUIRKS:
        answer(["SECRET"])
    if "chatty" in QUIRKS:
        chatter()
    sys.exit(asyncio.run(acp.run_agent(Agent())))
