"""The gate as people meet it: real servers, a whole host, two clients in two languages (M6, M9.4)."""

import asyncio
import json

import pytest

from innkeeper.host.settings import HostSettings
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.questions import Caller, Confirmation, Option
from innkeeper.providers.spi import ToolCompleted, ToolStarted
from innkeeper.texts import text
from scripted.fakes import CountingIds
from scripted.provider import ScriptedProvider, Session
from scripted.real import calls_of, declare, give, open_question, real_host, session_in
from scripted.world import call_of, text_of

pytestmark = pytest.mark.anyio

CANARY = "c4nary-value-of-a-secret"
GATE_TITLE = "Run echo of the MCP server one?"


async def connected(client, folder, *names, **more):
    session, chat = await session_in(client, folder, **more)
    for name in names or ("one",):
        await client.request("x-innkeeper/mcp/connect", session, server=name)
    return session, chat


async def test_two_clients_in_two_languages_see_one_question_and_either_may_answer(tmp_path):
    """M6.2, M9.4: labels by the asking client's locale; ids and values for every other client; one answer counts."""
    declare(tmp_path, "one")
    async with real_host() as world:
        anna = await world.client("anna", locale="zh-CN")
        bob = await world.client("bob", locale="en-GB")
        session, chat = await connected(anna, tmp_path)
        await bob.subscribe(session)
        await bob.subscribe(chat)
        anna.start_turn(chat, '/call one echo {"text": "hi"}')
        asked, seen = await open_question(anna, session), await open_question(bob, session)
        assert asked == seen
        assert asked["confirmationTitle"] == "要运行 MCP 服务器 one 的 echo 吗？"
        assert [option["label"] for option in asked["options"]] == ["允许一次", "始终允许此工具", "拒绝"]
        assert json.loads(asked["toolInput"]) == {"text": "hi"}
        meta = seen["_meta"]["x-innkeeper/gate"]
        own = text(meta["message"], lang="en", **meta["values"])
        labels = [text(meta["options"][option["id"]], lang="en") for option in seen["options"]]
        assert own == "Run echo of the MCP server one?"
        assert labels == ["Allow once", "Always allow this tool", "Deny"]
        give(bob, chat, "t1", seen, "allow-once")
        turn = await anna.ended(chat)
        assert call_of(turn, asked["toolCallId"])["status"] == "completed"
        await bob.state(session, lambda s: "inputNeeded" not in s)
        bob.start_turn(chat, '/call one echo {"text": "hi"}', "t2")
        again = await open_question(bob, session)
        assert again["confirmationTitle"] == own
        give(anna, chat, "t2", again, "deny")
        denied = await bob.ended(chat, "t2")
        assert call_of(denied, again["toolCallId"])["status"] == "cancelled"
        assert denied["state"] == "complete"
        assert calls_of(tmp_path, "one") == ["echo"]
        world.check_mirrors(anna, bob)


async def test_the_operators_language_counts_where_a_client_states_none(tmp_path):
    """M9.4."""
    declare(tmp_path, "one")
    async with real_host(settings=HostSettings(language="zh")) as world:
        client = await world.client("anna")
        session, chat = await connected(client, tmp_path)
        client.start_turn(chat, '/call one echo {"text": "hi"}')
        asked = await open_question(client, session)
        assert asked["confirmationTitle"].startswith("要运行")
        give(client, chat, "t1", asked, "deny")
        await client.ended(chat)


async def test_always_allow_survives_a_restart_and_not_a_change_of_the_declaration(tmp_path):
    """M6.1, M4.2b; reference A1, A3, D3, T1: exact tool of this workspace and this declaration, stored for good."""
    declare(tmp_path, "one")
    call = '/call one echo {"text": "hi"}'
    async with real_host() as world:
        client = await world.client("anna")
        session, chat = await connected(client, tmp_path)
        client.start_turn(chat, call)
        give(client, chat, "t1", await open_question(client, session), "allow-always")
        await client.ended(chat)
        survivor = world.log.crash()
    async with real_host(log=survivor, ids=CountingIds("later")) as later:
        client = await later.client("anna")
        session, chat = await connected(client, tmp_path, uri="ahp-session:/2")
        turn = await client.turn(chat, call)
        assert turn["responseParts"][0]["toolCall"]["status"] == "completed"
        client.start_turn(chat, '/call one add {"a": 1, "b": 2}', "t2")
        other = await open_question(client, session)
        give(client, chat, "t2", other, "deny")
        await client.ended(chat, "t2")
        declare(tmp_path, "one", env={"ADDED": "1"})
        await client.request("x-innkeeper/mcp/reload", session)
        listed = await client.request("x-innkeeper/mcp/connect", session, server="one")
        assert listed["items"][0]["status"] == "connected"
        client.start_turn(chat, call, "t3")
        give(client, chat, "t3", await open_question(client, session), "deny")
        await client.ended(chat, "t3")
        assert calls_of(tmp_path, "one") == ["echo", "echo"]


@pytest.mark.parametrize("way", ["toggle", "disconnect", "file"])
async def test_a_server_that_goes_while_its_question_is_open_ends_the_question(tmp_path, way):
    """Issue 3, item 6: deny, at once, with the reason; the turn goes on and nothing is called."""
    declare(tmp_path, "one")
    async with real_host() as world:
        anna = await world.client("anna", locale="en")
        session, chat = await connected(anna, tmp_path)
        anna.start_turn(chat, '/call one echo {"text": "hi"}')
        asked = await open_question(anna, session)
        server = anna.states[session]["customizations"][0]
        if way == "toggle":
            off = [{"kind": "session", "enabled": False}]
            anna.dispatch(session, "session/customizationToggled", id=server["id"], enablement=off)
        elif way == "disconnect":
            await anna.request("x-innkeeper/mcp/disconnect", session, server="one")
        else:
            (tmp_path / ".mcp.json").write_text("{}")
            await anna.request("x-innkeeper/mcp/reload", session)
        turn = await anna.ended(chat)
        call = call_of(turn, asked["toolCallId"])
        assert (turn["state"], call["status"]) == ("complete", "cancelled")
        assert call["reasonMessage"]
        await anna.state(session, lambda s: "inputNeeded" not in s)
        assert calls_of(tmp_path, "one") == []


async def test_a_deny_rule_of_the_session_denies_without_a_question(tmp_path):
    """M6.8: also under full access."""
    declare(tmp_path, "one")
    async with real_host() as world:
        client = await world.client("anna")
        config = {"autoApprove": "autoApprove", "permissions": {"allow": [], "deny": ["mcp__one__echo"]}}
        session, chat = await connected(client, tmp_path, config=config)
        turn = await client.turn(chat, '/call one echo {"text": "hi"}')
        assert "A rule of this session denies echo." in text_of(turn)
        by_hand = await client.request(
            "x-innkeeper/mcp/call", session, server="one", tool="echo", arguments={"text": "hi"}
        )
        assert by_hand["error"]["code"] == "TOOL_DENIED"
        allowed = await client.turn(chat, '/call one add {"a": 1, "b": 2}', "t2")
        assert allowed["responseParts"][0]["toolCall"]["status"] == "completed"
        assert calls_of(tmp_path, "one") == ["add"]


async def test_rules_of_the_operator_hold_for_every_session(tmp_path):
    """M6.8; M9.6."""
    declare(tmp_path, "one")
    settings = HostSettings(denied_tools=frozenset({"mcp__one__echo"}), full_access=True)
    async with real_host(settings=settings) as world:
        client = await world.client("anna")
        _, chat = await connected(client, tmp_path)
        turn = await client.turn(chat, '/call one echo {"text": "hi"}')
        assert "The operator's configuration denies echo." in text_of(turn)
        assert calls_of(tmp_path, "one") == []


async def test_a_question_that_nobody_answers_is_denied_and_hangs_nothing(tmp_path):
    """M6.4, M6.4b; reference A2; also while no client is connected."""
    declare(tmp_path, "one")
    async with real_host(settings=HostSettings(question_timeout=0.3)) as world:
        client = await world.client("anna")
        session, chat = await connected(client, tmp_path)
        client.start_turn(chat, '/call one echo {"text": "hi"}')
        await open_question(client, session)
        client.lose()
        bob = await world.client("bob")
        await bob.subscribe(chat)
        (turn,) = (await bob.state(chat, lambda s: s["turns"]))["turns"]
        assert turn["state"] == "complete"
        assert calls_of(tmp_path, "one") == []


async def test_without_a_question_service_calls_pass_and_nothing_is_stored(tmp_path):
    """M6.3, M4.2b: the operator's `--no-questions`."""
    declare(tmp_path, "one")
    async with real_host(asks=False) as world:
        client = await world.client("anna")
        _, chat = await connected(client, tmp_path)
        turn = await client.turn(chat, '/call one echo {"text": "hi"}')
        assert turn["responseParts"][0]["toolCall"]["status"] == "completed"
        assert world.driver.decisions.grants == ()


async def test_trust_of_the_workspace_answers_for_its_tools_and_no_others(tmp_path):
    """M6.3, M4.1: exact identity; the settings are read at the time of the call."""
    one, two = tmp_path / "one", tmp_path / "one" / "sub"
    two.mkdir(parents=True)
    for folder in (one, two):
        declare(folder, "one")
    async with real_host(mcp_settings=McpSettings(trusted_workspaces=frozenset({str(one)}))) as world:
        client = await world.client("anna")
        _, chat = await connected(client, one)
        turn = await client.turn(chat, '/call one echo {"text": "hi"}')
        assert turn["responseParts"][0]["toolCall"]["status"] == "completed"
        session, other = await connected(client, two, uri="ahp-session:/2")
        client.start_turn(other, '/call one echo {"text": "hi"}', "u1")
        give(client, other, "u1", await open_question(client, session), "deny")
        await client.ended(other, "u1")
        world.mcp_settings = McpSettings()
        session, chat = await connected(client, one, uri="ahp-session:/3")
        client.start_turn(chat, '/call one echo {"text": "hi"}', "v1")
        give(client, chat, "v1", await open_question(client, session), "deny")
        await client.ended(chat, "v1")
        assert calls_of(one, "one") == ["echo"]


async def test_no_secret_is_in_anything_that_a_client_is_sent(tmp_path, caplog):
    """M7.7; reference V4: env values, declared secrets and addresses, over every own command, state and log."""
    args = ("--token", CANARY)
    declare(tmp_path, "one", "two", env={"API_KEY": CANARY, "FROM": "${CANARY}"})
    document = json.loads((tmp_path / ".mcp.json").read_text())
    document["mcpServers"]["web"] = {
        "type": "http",
        "url": f"http://user:{CANARY}@127.0.0.1:9/mcp?api_key={CANARY}",
        "headers": {"Authorization": f"Bearer {CANARY}"},
    }
    document["mcpServers"]["broken"] = {"command": "/no/such/program", "args": list(args), "env": {"K": CANARY}}
    (tmp_path / ".mcp.json").write_text(json.dumps(document))
    caplog.set_level("DEBUG", logger="innkeeper")
    async with real_host(environment={"PATH": "/usr/bin:/bin", "CANARY": CANARY}) as world:
        client = await world.client("anna")
        session, chat = await connected(client, tmp_path, "one", "web", "broken")
        client.start_turn(chat, '/call one echo {"text": "hi"}')
        give(client, chat, "t1", await open_question(client, session), "allow-always")
        await client.ended(chat)
        for command in ("list", "reload", "tools"):
            await client.request(f"x-innkeeper/mcp/{command}", session)
        for server in ("one", "web", "broken"):
            await client.request("x-innkeeper/mcp/logs", session, server=server, stderr=True)
        assert CANARY not in json.dumps(client.frames)
        assert CANARY not in caplog.text


async def test_calls_of_two_sessions_are_asked_in_their_own_conversation(tmp_path):
    """M5.2; reference D3: answers do not leak into another session."""
    declare(tmp_path, "one")
    async with real_host() as world:
        anna = await world.client("anna")
        first, chat = await connected(anna, tmp_path)
        second, other = await connected(anna, tmp_path, uri="ahp-session:/2")
        anna.start_turn(chat, '/call one echo {"text": "first"}', "a")
        anna.start_turn(other, '/call one echo {"text": "second"}', "b")
        asked, waiting = await asyncio.gather(open_question(anna, first), open_question(anna, second))
        give(anna, chat, "a", asked, "allow-once")
        await anna.ended(chat, "a")
        assert "inputNeeded" in anna.states[second]
        give(anna, other, "b", waiting, "deny")
        await anna.ended(other, "b")
        assert calls_of(tmp_path, "one") == ["echo"]


class Cautious(ScriptedProvider):
    """An agent that wants each call of a project's server confirmed itself, and then makes it."""

    def __init__(self) -> None:
        super().__init__("cautious")
        self.gateway = None
        self.own = None

    async def open_session(self, opening):
        return CautiousSession(self, opening.session)


class CautiousSession(Session):
    async def run_turn(self, request, output):
        contributor = {"kind": "mcp", "customizationId": request.text}
        output.emit(ToolStarted("call-1", "mcp__one__echo", "echo", contributor=contributor))
        confirmation = Confirmation("May I?", "echo of one", "{}", (Option("yes", "Yes", "approve"),))
        answer = await output.confirm("call-1", confirmation)
        self.provider.own = answer.approved
        caller = Caller(request.session, request.chat, request.turn_id, "call-1")
        result = await self.provider.gateway.call_tool(caller, "one", "echo", {"text": "hi"})
        output.emit(ToolCompleted("call-1", result))


async def test_the_gates_question_replaces_the_agents_own_of_the_same_call(tmp_path):
    """M6.8: the person is asked once; a server that the host did not mount is still the agent's to ask about."""
    declare(tmp_path, "one")
    agent = Cautious()
    async with real_host(more=(agent,)) as world:
        agent.gateway = world.gateway
        client = await world.client("anna")
        session, chat = await client.new_session(provider="cautious", workingDirectories=[tmp_path.as_uri()])
        await client.state(session, lambda s: s.get("customizations"))
        await client.request("x-innkeeper/mcp/connect", session, server="one")
        client.start_turn(chat, "mcp:one")
        asked = await open_question(client, session)
        assert asked["confirmationTitle"] == GATE_TITLE
        assert agent.own is True
        give(client, chat, "t1", asked, "allow-once")
        turn = await client.ended(chat)
        assert call_of(turn, "call-1")["status"] == "completed"
        assert len(client.actions(chat, "chat/toolCallConfirmed")) == 1
        client.start_turn(chat, "mcp:somebody-elses", "t2")
        own = await open_question(client, session)
        assert own["confirmationTitle"] == "May I?"
        give(client, chat, "t2", own, "yes")
        await client.state(session, lambda s: GATE_TITLE in str(s.get("inputNeeded")))
        give(client, chat, "t2", await open_question(client, session), "deny")
        await client.ended(chat, "t2")
        assert calls_of(tmp_path, "one") == ["echo"]
