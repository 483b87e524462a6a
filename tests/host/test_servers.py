import pytest

from scripted.fakes import FakeMcp, FakeServer
from scripted.world import RpcFailure, World, text_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world():
    servers = {"memo": FakeServer("memo"), "off": FakeServer("off", enabled=False)}
    started = await World(mcp=FakeMcp(declared=servers)).start()
    yield started
    await started.close()


@pytest.fixture
async def client(world):
    return await world.client("alice")


async def opened(client, provider="console"):
    session, chat = await client.new_session(provider=provider)
    await client.state(session, lambda s: s.get("customizations"))
    return session, chat


def server(client, session, name="memo"):
    return next(c for c in client.states[session]["customizations"] if c["id"] == name)


async def test_declared_servers_are_shown_and_none_runs_unasked(world, client):
    """issue 2 §7, M4: nothing starts before a person connects it."""
    session, _ = await opened(client)
    assert [c["state"]["kind"] for c in client.states[session]["customizations"]] == ["stopped", "stopped"]
    assert ("open", session, "file:///w") in world.mcp.log
    assert not [entry for entry in world.mcp.log if entry[0] == "start"]


async def test_a_client_starts_and_stops_a_server(world, client):
    """AHP §10.2."""
    session, chat = await opened(client)
    client.dispatch(session, "session/mcpServerStartRequested", id="memo")
    await client.state(session, lambda s: server(client, session)["state"]["kind"] == "ready")
    assert text_of(await client.turn(chat, "/tools")).startswith("memo:")
    client.dispatch(session, "session/mcpServerStopRequested", id="memo")
    await client.state(session, lambda s: server(client, session)["state"]["kind"] == "stopped")
    assert "No server" in text_of(await client.turn(chat, "/tools", "t2"))
    world.check_mirrors(client)


async def test_requests_are_carried_out_in_their_order(world, client):
    session, _ = await opened(client)
    for type in ("Start", "Stop", "Start"):
        client.dispatch(session, f"session/mcpServer{type}Requested", id="memo")
    await client.until(lambda: len(client.actions(session, "session/mcpServerStateChanged")) >= 3)
    assert [entry[0] for entry in world.mcp.log if entry[0] in ("start", "stop")] == ["start", "stop", "start"]


async def test_a_server_that_is_off_is_not_started(world, client):
    session, _ = await opened(client)
    why = await client.rejection(client.dispatch(session, "session/mcpServerStartRequested", id="off"))
    assert "switched off" in why


async def test_a_toggle_is_stored_with_its_echo_and_carries_the_resolved_set(world, client):
    """C2.3, C8.1."""
    session, _ = await opened(client)
    seq = client.dispatch(
        session, "session/customizationToggled", id="memo", enablement=[{"kind": "session", "enabled": False}]
    )
    echo = await client.echo(seq)
    assert echo["action"]["enablement"] == [{"kind": "session", "enabled": False}]
    assert server(client, session)["enablement"] == echo["action"]["enablement"]
    image = await world.log.crash().open()
    assert [(d.key, d.enabled) for d in image.decisions.decisions] == [("mcp/workspace/memo", False)]
    await world.until(lambda: ("reconcile", session) in world.mcp.log)


async def test_a_wide_toggle_touches_every_session_that_was_read(world, client):
    first, _ = await opened(client)
    second, _ = await client.new_session("ahp-session:/2", provider="console")
    client.dispatch(first, "session/customizationToggled", id="memo", enablement=[{"kind": "global", "enabled": False}])
    assert await world.until(lambda: ("reconcile", second) in world.mcp.log)


async def test_a_toggle_that_cannot_be_stored_is_refused_with_its_reason(world, client):
    """C3.3."""
    session, _ = await opened(client)
    elsewhere = [{"kind": "workspace", "uri": "file:///elsewhere", "enabled": False}]
    seq = client.dispatch(session, "session/customizationToggled", id="memo", enablement=elsewhere)
    assert "another directory" in await client.rejection(seq)


async def test_a_file_that_cannot_be_read_harms_nothing_else(world, client, caplog):
    """issue 2, bad input: a broken `.mcp.json`."""
    world.mcp.failing = OSError("unreadable")
    _session, chat = await client.new_session(provider="console")
    assert text_of(await client.turn(chat, "words")) == "words"
    assert "could not be read" in caplog.text


async def test_the_servers_end_with_their_session(world, client):
    """M5.6."""
    session, _ = await opened(client)
    await client.request("disposeSession", session)
    assert await world.until(lambda: ("close", session) in world.mcp.log)


# -- own commands ------------------------------------------------------------------------------------------------------


async def test_servers_are_listed_connected_called_and_disconnected_by_command(world, client):
    """architecture §6."""
    session, _ = await opened(client)
    listed = await client.request("x-innkeeper/mcp/list", session)
    items = listed["items"]
    assert listed["findings"][0]["code"] == "UNKNOWN_FIELD"
    await client.request("x-innkeeper/mcp/allow", session, server="memo")
    await client.request("x-innkeeper/mcp/revoke", session, server="memo")
    did = [entry for entry in world.mcp.log if entry[0] != "look"]
    assert did[-2:] == [("allow", session, "memo"), ("revoke", session, "memo")]
    assert [item["name"] for item in items] == ["memo", "off"] and items[0]["status"] == "stopped"
    items = (await client.request("x-innkeeper/mcp/connect", session, server="memo"))["items"]
    assert items[0]["status"] == "ready"
    result = await client.request("x-innkeeper/mcp/call", session, server="memo", tool="echo", arguments={"a": 1})
    assert result["content"][0]["text"] == "echo {'a': 1}"
    items = (await client.request("x-innkeeper/mcp/disconnect", session, server="memo"))["items"]
    assert items[0]["status"] == "stopped"


@pytest.mark.parametrize(
    ("method", "channel", "params", "code"),
    [
        ("mcp/list", "ahp-session:/none", {}, -32001),
        ("mcp/connect", "ahp-session:/1", {"server": "nope"}, -32008),
        ("mcp/connect", "ahp-session:/1", {}, -32602),
        ("mcp/connect", "ahp-session:/1", {"server": 5}, -32602),
        ("mcp/call", "ahp-session:/1", {"server": "memo", "tool": "echo", "arguments": []}, -32602),
        ("mcp/call", "ahp-session:/1", {"server": "memo", "tool": "echo"}, -32008),
    ],
)
async def test_a_command_that_cannot_be_done_says_why(world, client, method, channel, params, code):
    await opened(client)
    with pytest.raises(RpcFailure) as caught:
        await client.request(f"x-innkeeper/{method}", channel, **params)
    assert caught.value.code == code


async def test_status_tells_what_runs(world, client):
    await opened(client)
    status = await client.request("x-innkeeper/status")
    assert status["version"] == "1.2.3" and status["sessions"] == 1 and status["runningTurns"] == 0
    assert status["agents"] == ["scripted", "console"]
