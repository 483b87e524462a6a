"""Own commands: each reaches what it names, answers with the list as it then is, and is documented."""

import re
from pathlib import Path

import pytest

from innkeeper.host.authentication import AUTHENTICATION_METHODS
from innkeeper.host.extensions import EXTENSION_METHODS
from innkeeper.host.service import HOST_METHODS
from innkeeper.ports.mcp import CallRecord, ServerReport, ToolReport
from scripted.fakes import FakeMcp, FakeServer
from scripted.world import RpcFailure, World

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "extensions.md"


@pytest.fixture
async def memo():
    world = await World(mcp=FakeMcp(declared={"memo": FakeServer("memo")})).start()
    client = await world.client("alice")
    session, _ = await client.new_session()
    await client.state(session, lambda s: s.get("customizations"))
    world.mcp.log.clear()
    yield world, client, session
    await world.close()


@pytest.mark.parametrize(
    ("command", "params", "done"),
    [
        ("list", {}, []),
        ("reload", {}, [("refresh", "True")]),
        ("connect", {"server": "memo"}, [("start", "memo")]),
        ("disconnect", {"server": "memo"}, [("stop", "memo")]),
        ("stop", {"server": "memo"}, [("stop_connecting", "memo")]),
        ("retry", {"server": "memo"}, [("retry", "memo")]),
        ("followPolicy", {}, [("follow_policy",)]),
        ("confirmFile", {"file": ".mcp.json"}, [("confirm_file", ".mcp.json")]),
        ("allow", {"server": "memo"}, [("allow", "memo")]),
        ("allow", {"server": "memo", "tool": "echo"}, [("allow_tool", "memo", "echo")]),
        ("revoke", {"server": "memo"}, [("revoke", "memo")]),
        ("revoke", {"server": "memo", "tool": "echo"}, [("revoke_tool", "memo", "echo")]),
    ],
)
async def test_a_command_does_what_it_names_and_answers_with_the_list(memo, command, params, done):
    """M7.6, M9.4; opening the list looks at servers whose state is old (M7.4)."""
    world, client, session = memo
    answer = await client.request(f"x-innkeeper/mcp/{command}", session, **params)
    assert [row["name"] for row in answer["items"]] == ["memo"]
    assert answer["findings"][0]["code"] == "UNKNOWN_FIELD"
    did = [(what, *more) for what, of, *more in world.mcp.log if of == session]
    assert did == [*done, ("look",)]


async def test_tools_are_listed_with_weight_and_permission(memo):
    """M11.4."""
    _, client, session = memo
    assert (await client.request("x-innkeeper/mcp/tools", session))["items"] == []
    await client.request("x-innkeeper/mcp/connect", session, server="memo")
    (row,) = (await client.request("x-innkeeper/mcp/tools", session, server="memo"))["items"]
    assert row == {
        "server": "memo",
        "tool": "echo",
        "qualified": "mcp__memo__echo",
        "description": None,
        "tokens": 7,
        "outcome": "ask",
        "why": "unknown",
        "granted": None,
        "switch_acts": "now",
    }


async def test_standard_error_leaves_only_when_it_is_asked_for(memo):
    """M7.7, M11.5."""
    _, client, session = memo
    log = await client.request("x-innkeeper/mcp/logs", session, server="memo")
    assert log.keys() == {"server", "calls"}
    assert log["calls"][0]["tool"] == "echo" and log["calls"][0]["sent"] == 12
    more = await client.request("x-innkeeper/mcp/logs", session, server="memo", stderr=True)
    assert more["stderr"] == "what memo said"


@pytest.mark.parametrize(
    ("command", "params", "code"),
    [
        ("connect", {}, -32602),
        ("connect", {"server": ""}, -32602),
        ("connect", {"server": "nobody"}, -32008),
        ("allow", {"server": "memo", "tool": 7}, -32602),
        ("confirmFile", {}, -32602),
        ("call", {"server": "memo", "tool": "echo", "arguments": []}, -32602),
        ("call", {"server": "memo", "tool": "echo"}, -32008),
        ("tools", {"server": "nobody"}, -32008),
        ("logs", {"server": "nobody"}, -32008),
    ],
)
async def test_what_cannot_be_meant_is_refused_and_does_nothing(memo, command, params, code):
    world, client, session = memo
    with pytest.raises(RpcFailure) as refused:
        await client.request(f"x-innkeeper/mcp/{command}", session, **params)
    assert refused.value.code == code
    assert [entry for entry in world.mcp.log if entry[0] != "look"] == []


@pytest.mark.parametrize("command", ["list", "reload", "connect", "followPolicy", "tools", "call", "logs"])
async def test_a_session_that_is_not_there_is_told(memo, command):
    _, client, _ = memo
    with pytest.raises(RpcFailure) as refused:
        await client.request(f"x-innkeeper/mcp/{command}", "ahp-session:/none", server="memo", tool="echo")
    assert refused.value.code == -32001


async def test_status_tells_of_the_host(memo):
    _, client, _ = memo
    status = await client.request("x-innkeeper/status")
    assert status["sessions"] == 1 and status["runningTurns"] == 0 and status["questions"] is True


async def test_agents_are_looked_for_again_when_somebody_asks(memo):
    """Issue 7 B.1: *Look again* of the first start."""
    _, client, _ = memo
    found = await client.request("x-innkeeper/agents/look")
    told = await client.request("x-innkeeper/status")
    assert [agent["provider"] for agent in found["agents"]] == told["agents"] and told["agents"]


def test_the_page_has_every_command_and_every_field():
    """docs/reference/extensions.md."""
    page = PAGE.read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(x-innkeeper/[\w/]+)`", page, flags=re.MULTILINE))
    assert told >= {method for method in HOST_METHODS if method.startswith("x-")} >= EXTENSION_METHODS
    assert {f"`{method}`" for method in AUTHENTICATION_METHODS if method.startswith("x-")} <= set(
        re.findall(r"`[^`\n]+`", page)
    )
    words = set(re.findall(r"`([\w]+)`", page))
    fields = {*ServerReport.__dataclass_fields__, *ToolReport._fields, *CallRecord._fields}
    assert fields <= words
