"""An MCP server that talks back while it works: progress, log messages, questions, odd names, big answers.

`--legacy` makes it one of the first protocol generation. Each start and each call is one JSON line in `--log`.
"""

import argparse
import json
import os
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

parser = argparse.ArgumentParser()
parser.add_argument("--log")
parser.add_argument("--name", default="talking")
parser.add_argument("--legacy", action="store_true")
options = parser.parse_args()

LONG = "a_tool_whose_name_is_so_long_that_no_prefix_fits_before_it"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "maxLength": 9},
        "age": {"type": "integer"},
        "color": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
    },
    "required": ["name"],
}


def log(event: str, **values: object) -> None:
    if options.log:
        with open(options.log, "a") as file:
            file.write(json.dumps({"event": event, "name": options.name, "pid": os.getpid(), **values}) + "\n")


log("start")


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    names = ["progress", "say", "ask", "link", "sample", "big", "list", "hold", "odd.name", LONG]
    tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in names]
    if not options.legacy:
        tools[names.index("list")].output_schema = {"type": "array"}
    return types.ListToolsResult(tools=tools)


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
    given = params.arguments or {}
    log("call", tool=params.name, meta=sorted(dict(ctx.meta or {})))
    try:
        return await TOOLS[params.name](ctx, params, given)
    except MCPError as error:
        return _text(f"{error.code} {error.message}")


def _text(text: str, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], **more)


async def progress(ctx: Any, params: Any, given: Any) -> Any:
    for step in range(given["steps"]):
        await ctx.session.report_progress(step + 1, given["steps"], f"step {step + 1}")
    return _text("done")


async def say(ctx: Any, params: Any, given: Any) -> Any:
    for level in given["levels"]:
        await ctx.session.send_log_message(level, {"said": level}, "voice", ctx.request_id)
    return _text("said")


async def ask(ctx: Any, params: Any, given: Any) -> Any:
    form = types.ElicitRequestFormParams(message="Who?", requested_schema=SCHEMA)
    return await _elicit(ctx, params, form)


async def link(ctx: Any, params: Any, given: Any) -> Any:
    return await _elicit(
        ctx, params, types.ElicitRequestURLParams(message="Log in", url="https://example.com/x", elicitation_id="e")
    )


async def _elicit(ctx: Any, params: Any, request: Any) -> Any:
    log("capability", elicitation=ctx.session.client_capabilities.elicitation is not None)
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        if params.input_responses is None:
            asked = types.ElicitRequest(params=request)
            return types.InputRequiredResult(input_requests={"q": asked}, request_state="s")
        found = params.input_responses["q"]
    else:
        found = await ctx.session.send_request(types.ElicitRequest(params=request), types.ElicitResult)
    return _text(json.dumps({"action": found.action, "content": found.content}))


async def sample(ctx: Any, params: Any, given: Any) -> Any:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="x"))
    request = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=1))
    await ctx.session.send_request(request, types.CreateMessageResult)
    return _text("sampled")


async def big(ctx: Any, params: Any, given: Any) -> Any:
    return _text("é" * given["characters"], _meta={"own": "kept"})


async def listed(ctx: Any, params: Any, given: Any) -> Any:
    return _text("[1]", structured_content=[1])


async def hold(ctx: Any, params: Any, given: Any) -> Any:
    await anyio.sleep_forever()


async def odd(ctx: Any, params: Any, given: Any) -> Any:
    return _text(params.name)


TOOLS = {
    "progress": progress,
    "say": say,
    "ask": ask,
    "link": link,
    "sample": sample,
    "big": big,
    "list": listed,
    "hold": hold,
    "odd.name": odd,
    LONG: odd,
}


async def set_level(ctx: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
    log("level", level=params.level)
    return types.EmptyResult()


server: Server[Any] = Server(options.name, instructions="talk to me", on_list_tools=list_tools, on_call_tool=call_tool)
if options.legacy:
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)


async def main() -> None:
    async with stdio_server() as (incoming, outgoing):
        if options.legacy:
            await serve_loop(server, incoming, outgoing, lifespan_state={})
        else:
            await server.run(incoming, outgoing, server.create_initialization_options())


anyio.run(main)
