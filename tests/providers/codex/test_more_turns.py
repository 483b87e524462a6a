"""Children, client tools, changed tools, interrupted turns, and the protocol as the SDK declares it (issue 6 §1-§4)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from innkeeper.providers.codex import known
from innkeeper.providers.codex.rpc import Rpc
from innkeeper.providers.spi import SessionOpening
from providers.agent_host import Rig, server_id, session
from providers.codex.conftest import codex_host
from providers.codex.test_processes import agents, error_of
from providers.real_agents import codex as real_codex
from providers.test_contract import NOTHING, Recorder, request
from scripted.world import call_of, text_of
from servers.fake_llm.openai_responses import FakeOpenAI
from servers.fake_llm.recording import call, failure, reply, say

pytestmark = pytest.mark.anyio


async def test_a_child_of_a_newer_model_has_a_chat_of_its_own_too(host: Rig, llm: FakeOpenAI) -> None:
    """Newer models start children in another way, and call tools from code: the calls are the child's all the same."""
    host.declare("memo")
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    code = "const r = await tools.mcp__memo__echo({text: 'kid'}); text(r)"
    llm.when(lambda a: "NEW_TASK" in str(a.body["input"]), reply(say("child is done")), 1)
    llm.when(lambda a: "childwork" in str(a.body["input"][-1]), reply(call("exec", raw=code)), 1)
    llm.add(
        reply(call("spawn_agent", message="childwork", task_name="kid", id="spawn-1")),
        reply(call("wait_agent")),
        reply(say("parent is done")),
    )
    message = {"text": "delegate", "origin": {"kind": "user"}, "model": {"id": "gpt-6-sol"}}
    client.dispatch(chat, "chat/turnStarted", turnId="t1", startedAt="2026-01-01T00:00:00.000Z", message=message)
    turn = await client.ended(chat)
    assert turn["state"] == "complete", turn
    block = next(b for b in call_of(turn, "spawn-1")["content"] if b["type"] == "subagent")
    child = await client.subscribe(block["resource"])
    calls = [p["toolCall"] for p in child["turns"][0]["responseParts"] if p["kind"] == "toolCall"]
    assert [c["toolName"] for c in calls] == ["mcp__memo__echo"]
    assert [e["tool"] for e in host.events("memo", "call")] == ["echo"]


async def test_a_child_that_still_works_is_stopped_with_the_turn(host: Rig, llm: FakeOpenAI) -> None:
    llm.when(lambda a: a.last == "childwork", reply(say("busy"), then="hang"), 1)
    begun = asyncio.Event()
    llm.add(reply(call("spawn_agent", message="childwork", id="spawn-1")), reply(say("parent is done"), after=begun))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    client.start_turn(chat, "delegate")
    child = await llm.until(lambda: next((a for a in llm.asked if a.last == "childwork"), None))
    begun.set()
    assert text_of(await client.ended(chat)) == "parent is done"
    await llm.until(lambda: child.left, 3)


async def test_a_tool_of_a_client_is_run_by_the_client(host: Rig, llm: FakeOpenAI) -> None:
    """AHP §9.2."""
    tool = {"name": "pick", "description": "Pick one", "inputSchema": {"type": "object", "properties": {}}}
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    own = {"clientId": client.client_id, "tools": [tool], "customizations": []}
    client.dispatch(uri, "session/activeClientSet", activeClient=own)
    await client.state(uri, lambda s: any(c.get("tools") for c in s["activeClients"]))
    llm.add(reply(call("pick", id="call-1")), reply(say("picked")))
    client.start_turn(chat, "pick one")
    await client.state(
        chat,
        lambda s: any(
            p.get("toolCall", {}).get("status") == "running"
            for p in (s.get("activeTurn") or {}).get("responseParts") or ()
        ),
    )
    result = {"success": True, "pastTenseMessage": "Picked", "content": [{"type": "text", "text": "THE-THIRD"}]}
    client.dispatch(chat, "chat/toolCallComplete", turnId="t1", toolCallId="call-1", result=result)
    turn = await client.ended(chat)
    assert text_of(turn) == "picked" and llm.asked[1].mentions("THE-THIRD")
    assert call_of(turn)["contributor"] == {"kind": "client", "clientId": client.client_id}


async def test_tools_that_a_server_adds_reach_the_next_request(host: Rig, llm: FakeOpenAI) -> None:
    """The trap: Codex reads a server's list once and ignores that it has changed."""
    host.declare("memo")
    llm.add(reply(call("mcp__memo__grow")), reply(say("grew")), reply(say("seen")))
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    await client.turn(chat, "grow")
    assert not llm.asked[0].offers("mcp__memo__grown")
    gateway = host.host._endpoints._gateway
    await host.until(lambda: any(t["name"] == "grown" for s in gateway.tools(uri) for t in s.tools))
    await client.turn(chat, "look", "t2")
    assert llm.asked[2].offers("mcp__memo__grown") and llm.asked[2].offers("mcp__memo__echo")
    assert server_id(client, uri, "memo")


async def test_a_key_that_is_refused_is_a_missing_login(host: Rig, llm: FakeOpenAI) -> None:
    llm.otherwise = failure(401, "invalid_api_key", "Incorrect API key provided: sk-secret")
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    client.start_turn(chat, "hi")
    error = await error_of(client, chat)
    assert error["errorType"] in ("AGENT_LOGIN_MISSING", "AGENT_REFUSED") and "sk-secret" not in error["message"]


async def test_models_are_known_before_the_first_session_and_no_process_stays(root: Path, llm: FakeOpenAI) -> None:
    async with codex_host(root, llm) as host:
        client = await host.client()

        def models() -> list[Any]:
            listed = {a["provider"]: a for a in client.states["ahp-root://"]["agents"]}
            return list(listed["codex"]["models"])

        await client.until(models)
        await host.until(lambda: not agents())
        assert known.load(host.agent_folder).models == host.provider.info["models"]  # type: ignore[union-attr]
        await host.restart()
        again = await host.client()
        assert {a["provider"]: a for a in again.states["ahp-root://"]["agents"]}["codex"]["models"]
        assert not agents(), "what is known is not looked up again"


async def test_an_interrupted_turn_is_gone_on_with_and_its_message_is_not_said_twice(tmp_path: Path) -> None:
    """K14, at the provider's own door."""
    async with real_codex(tmp_path) as agent:
        first = agent.make()
        opened = await first.open_session(SessionOpening("s", [agent.directory], {}, NOTHING))
        output = Recorder()
        running = asyncio.create_task(opened.run_turn(request(agent.waits), output))
        while not any(getattr(signal, "text", "") == "wait" for signal in output.signals):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        backing = next(s.data for s in reversed(output.signals) if hasattr(s, "data"))
        agents()[0].kill()
        with pytest.raises(Exception, match="ended"):
            await running
        assert first.can_resume(backing)
        later = await agent.make().open_session(SessionOpening("s", [agent.directory], {}, NOTHING))
        again = Recorder()
        await later.run_turn(request("never answer")._replace(resumed=True, backing=backing), again)
        assert any(getattr(signal, "text", "") == "ok" for signal in again.signals), again.signals
        await later.close()


async def test_what_is_said_to_codex_is_what_its_sdk_declares(
    host: Rig, llm: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M7.8: each request of ours fits the models that the SDK generates from the protocol."""
    from openai_codex.generated import v2_all

    sent: list[tuple[str, Any]] = []
    send = Rpc.call

    async def noted(self: Rpc, method: str, params: Any, *, seconds: float) -> Any:
        sent.append((method, params))
        return await send(self, method, params, seconds=seconds)

    monkeypatch.setattr(Rpc, "call", noted)
    host.declare("memo")
    llm.add(reply(call("mcp__memo__echo", text="hi")), reply(say("done")))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    await client.turn(chat, "hi")
    shapes = {
        "thread/start": v2_all.ThreadStartParams,
        "turn/start": v2_all.TurnStartParams,
        "config/read": v2_all.ConfigReadParams,
        "model/list": v2_all.ModelListParams,
        "account/read": v2_all.GetAccountParams,
    }
    checked = {method for method, params in sent if method in shapes and shapes[method].model_validate(params)}
    assert {"thread/start", "turn/start"} <= checked
