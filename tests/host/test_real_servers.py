"""The main job with a real declared server: connect, ask, allow, deny, switch off (issue 2 §7, §8)."""

import json
import sys

import pytest

from scripted.fakes import CountingIds
from scripted.real import real_host
from scripted.world import Client, call_of, text_of

pytestmark = pytest.mark.anyio


def host(log=None, ids=None):
    return real_host(log=log, ids=ids)


@pytest.fixture
def workspace(tmp_path):
    server = {"command": sys.executable, "args": ["-m", "innkeeper.mcp.example_server"]}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": server}}))
    return tmp_path


async def opened(client: Client, workspace):
    session, chat = await client.new_session(provider="console", workingDirectories=[workspace.as_uri()])
    state = await client.state(session, lambda s: s.get("customizations"))
    return session, chat, state["customizations"][0]


def status(client, session):
    return client.states[session]["customizations"][0]["state"]["kind"]


async def answer(client, session, chat, turn_id, option, approved):
    state = await client.state(session, lambda s: s.get("inputNeeded"))
    call = state["inputNeeded"][0]["toolCall"]
    assert len(call["options"]) == 3
    more = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    chosen = next(o["id"] for o in call["options"] if option in o["id"])
    client.dispatch(
        chat,
        "chat/toolCallConfirmed",
        turnId=turn_id,
        toolCallId=call["toolCallId"],
        approved=approved,
        selectedOptionId=chosen,
        **more,
    )
    return await client.ended(chat, turn_id)


async def test_a_declared_server_is_connected_asked_about_and_switched_off(workspace):
    async with host() as world:
        client = await world.client("alice")
        session, chat, server = await opened(client, workspace)
        assert server["state"]["kind"] == "stopped", "nothing starts unasked"
        client.dispatch(session, "session/mcpServerStartRequested", id=server["id"])
        await client.state(session, lambda s: status(client, session) == "ready")
        tools = text_of(await client.turn(chat, "/tools", "a")).split()
        tool = tools[1]

        client.start_turn(chat, f"/call notes {tool} {{}}", "b")
        denied = await answer(client, session, chat, "b", "deny", False)
        assert denied["state"] == "complete" and denied["responseParts"][0]["toolCall"]["status"] == "cancelled"

        client.start_turn(chat, f"/call notes {tool} {{}}", "c")
        allowed = await answer(client, session, chat, "c", "once", True)
        assert allowed["responseParts"][0]["toolCall"]["status"] == "completed"

        folder = {"kind": "workspace", "uri": workspace.as_uri(), "enabled": False}
        await client.echo(
            client.dispatch(session, "session/customizationToggled", id=server["id"], enablement=[folder])
        )
        await client.state(session, lambda s: status(client, session) == "stopped")
        assert "No server" in text_of(await client.turn(chat, "/tools", "d"))
        assert "switched off" in await client.rejection(
            client.dispatch(session, "session/mcpServerStartRequested", id=server["id"])
        )
        world.check_mirrors(client)
        survivor = world.log.crash()

    async with host(survivor, CountingIds("later")) as later:
        again = await later.client("bob")
        state = await again.subscribe(session)
        enablement = state["customizations"][0]["enablement"]
        assert {"kind": "workspace", "uri": workspace.as_uri(), "enabled": False} in enablement
        assert len((await again.subscribe(chat))["turns"]) == 4
        other, _, entry = await opened_elsewhere(again, workspace)
        assert entry["enablement"][0]["enabled"] is False, "the decision is the workspace's"
        assert other != session


async def opened_elsewhere(client, workspace):
    session, chat = await client.new_session(
        "ahp-session:/2", provider="console", workingDirectories=[workspace.as_uri()]
    )
    state = await client.state(session, lambda s: s.get("customizations"))
    return session, chat, state["customizations"][0]


async def test_a_tool_that_is_always_allowed_is_not_asked_about_again(workspace):
    """M6.1."""
    async with host() as world:
        client = await world.client("alice")
        session, chat, _ = await opened(client, workspace)
        await client.request("x-innkeeper/mcp/connect", session, server="notes")
        tool = text_of(await client.turn(chat, "/tools", "a")).split()[1]
        client.start_turn(chat, f"/call notes {tool} {{}}", "b")
        await answer(client, session, chat, "b", "always", True)
        turn = await client.turn(chat, f"/call notes {tool} {{}}", "c")
        call = turn["responseParts"][0]["toolCall"]
        assert call["status"] == "completed" and call_of(turn, call["toolCallId"])["confirmed"] == "not-needed"


async def test_a_session_with_full_access_is_not_asked(workspace):
    """M6.3b."""
    async with host() as world:
        client = await world.client("alice")
        session, chat, _ = await opened(client, workspace)
        await client.request("x-innkeeper/mcp/connect", session, server="notes")
        await client.echo(client.dispatch(session, "session/configChanged", config={"autoApprove": "autoApprove"}))
        tool = text_of(await client.turn(chat, "/tools", "a")).split()[1]
        turn = await client.turn(chat, f"/call notes {tool} {{}}", "b")
        assert turn["responseParts"][0]["toolCall"]["status"] == "completed"


async def test_a_broken_declaration_is_told_and_harms_nothing(tmp_path):
    (tmp_path / ".mcp.json").write_text('{"mcpServers": ')
    async with host() as world:
        client = await world.client("alice")
        session, chat = await client.new_session(provider="console", workingDirectories=[tmp_path.as_uri()])
        assert text_of(await client.turn(chat, "words")) == "words"
        listed = await client.request("x-innkeeper/mcp/list", session)
        assert listed["items"] == [] and listed["findings"][0]["severity"] == "error"


async def test_a_queue_that_waits_for_a_required_server_goes_on_when_a_person_has_mended_it(tmp_path):
    """K12, K19, M5.5: refused at once while it is known to be down, and by itself when it is there."""
    program = tmp_path / "serve"
    (tmp_path / ".codex").mkdir()
    declared = f'[mcp_servers.must]\ncommand = "{program}"\nrequired = true\n'
    (tmp_path / ".codex" / "config.toml").write_text(declared)
    async with host() as world:
        client = await world.client("alice")
        session, chat, server = await opened(client, tmp_path)
        client.dispatch(session, "session/mcpServerStartRequested", id=server["id"])
        await client.state(session, lambda s: status(client, session) == "error")
        message = {"text": "/tools", "origin": {"kind": "user"}}
        client.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q", message=message)
        paused = "x-innkeeper/queuePaused"
        meta = (await client.state(session, lambda s: paused in (s.get("_meta") or {})))["_meta"]
        assert (
            meta[paused][chat]["errorType"] == "requiredServerUnavailable" and "must" in meta[paused][chat]["message"]
        )
        assert client.states[chat]["turns"] == [] and len(client.states[chat]["queuedMessages"]) == 1
        program.write_text(f"#!/bin/sh\nexec {sys.executable} -m innkeeper.mcp.example_server\n")
        program.chmod(0o700)
        client.dispatch(session, "session/mcpServerStartRequested", id=server["id"])
        state = await client.state(chat, lambda s: s["turns"])
        assert "must" in text_of(state["turns"][0]) and "queuedMessages" not in state
        await client.state(session, lambda s: paused not in s["_meta"])


async def test_a_queue_that_waits_for_a_required_server_stays_where_it_is_when_the_host_ends(tmp_path):
    """K12, K14: the servers end with the host, which is no end of the reason."""
    (tmp_path / ".codex").mkdir()
    declared = f'[mcp_servers.must]\ncommand = "{tmp_path / "nothing"}"\nrequired = true\n'
    (tmp_path / ".codex" / "config.toml").write_text(declared)
    async with host() as world:
        client = await world.client("alice")
        session, chat, server = await opened(client, tmp_path)
        client.dispatch(session, "session/mcpServerStartRequested", id=server["id"])
        await client.state(session, lambda s: status(client, session) == "error")
        message = {"text": "/tools", "origin": {"kind": "user"}}
        client.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q", message=message)
        await client.state(session, lambda s: "x-innkeeper/queuePaused" in (s.get("_meta") or {}))
        log = world.log
    async with host(log, CountingIds("later")) as later:
        again = await later.client("bob")
        state = await again.subscribe(chat)
        assert [waiting["id"] for waiting in state["queuedMessages"]] == ["q"] and state["turns"] == []
        assert "x-innkeeper/queuePaused" in (await again.subscribe(session))["_meta"]
