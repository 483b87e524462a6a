"""What a declaration and the operator's limits say holds at a real server: filters and bounds (M1.7, M2.9, M6.7)."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from innkeeper.mcp.settings import McpSettings

pytestmark = pytest.mark.anyio
S = "session:/s"


def codex(entry: Mapping[str, Any], **filters: object) -> str:
    """A `.codex/config.toml`; JSON's texts and lists are TOML's."""
    fields = {"command": entry["command"], "args": entry["args"], **filters}
    return "[mcp_servers.one]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (".codex/config.toml", {"enabled_tools": ["echo", "add"], "disabled_tools": ["echo"]}),
        (".codex/config.toml", {"enabled_tools": ["add"]}),
        (".gemini/settings.json", {"includeTools": ["echo", "add"], "excludeTools": ["echo"]}),
    ],
)
async def test_declared_filter_wins_over_full_access_and_a_person(
    host: Any, file: str, content: dict[str, Any]
) -> None:
    """M2.9: exclusion wins; M6.7: neither asked about nor called, and not in the list of tools."""
    folder = host.place / "ws" / file
    folder.parent.mkdir(parents=True)
    entry = host.entry("one")
    text = (
        codex(entry, **content) if file.endswith("toml") else json.dumps({"mcpServers": {"one": {**entry, **content}}})
    )
    folder.write_text(text)
    host.settings = McpSettings(trust_mode="all")
    await host.servers.open_session(S, (host.place / "ws").as_uri())
    await host.servers.prepare(S, "t1")
    assert host.row("one").status == "connected"
    assert [tool["name"] for server in host.gateway.tools(S) for tool in server.tools] == ["add"]
    for result in (
        await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}),
        await host.gateway.call_tool_by_person(S, "one", "echo", {"text": "x"}),
    ):
        assert (result["success"], result["error"]["code"]) == (False, "TOOL_DENIED")
        assert file in result["error"]["message"]
    assert (await host.gateway.call_tool(host.caller(), "one", "add", {"a": 1, "b": 1}))["success"]
    assert [call["tool"] for call in host.log("one", "call")] == ["add"]
    rows = {row.tool: (row.outcome, row.why) for row in host.gateway.survey(S)}
    assert rows["echo"] == ("deny", "projectFilter")
    assert host.asked.questions == []


async def test_limits_of_the_operator_hold_and_the_rest_loads(host: Any) -> None:
    """M1.7"""
    uri = host.declare("ws", {name: host.entry(name) for name in ("one", "two", "three")})
    host.settings = McpSettings(entry_limit=2)
    await host.servers.open_session(S, uri)
    assert [row.name for row in host.servers.report(S) if row.status != "invalid"] == ["one", "two"]
    assert [finding.code for finding in host.servers.findings(S)] == ["LIMIT_ENTRIES"]
    host.settings = McpSettings(file_limit=50)
    await host.servers.refresh(S, start=False)
    assert host.servers.report(S) == []
    assert [finding.code for finding in host.servers.findings(S)] == ["FILE_TOO_LARGE"]
