"""Processes of Claude Code: start, crash, hang, sudden death, many at once, and what they are given (issue 6 §5-§7)."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from innkeeper.providers.claude import cli, install
from innkeeper.providers.claude.environment import agent_environment, bash, logged_in
from innkeeper.providers.spi import Completion, ProviderError
from providers.agent_host import Rig, session
from providers.answering import calls
from providers.claude_rig import claude_host, pids
from scripted.world import ROOT, Client, text_of
from servers.fake_llm.anthropic import FakeAnthropic
from servers.fake_llm.recording import call, reply, say

pytestmark = pytest.mark.anyio

SOAK = os.environ.get("INNKEEPER_SOAK") == "1"


async def working(client: Client, chat: str, llm: FakeAnthropic, turn_id: str = "t1") -> None:
    """A turn runs and does not end by itself."""
    llm.add(reply(say("Working"), then="hang"))
    client.start_turn(chat, "work", turn_id)
    await client.until(lambda: "Working" in text_of(client.states[chat].get("activeTurn") or {"responseParts": []}))


async def test_an_agent_that_is_killed_fails_its_turn_and_the_next_one_goes_on(host: Rig, llm: FakeAnthropic) -> None:
    """Issue 6 §7: crash and out-of-memory kill look alike."""
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    await working(client, chat, llm)
    [pid] = pids(host)
    os.kill(pid, signal.SIGKILL)
    turn = await client.ended(chat)
    error = turn["responseParts"][-1]
    assert (turn["state"], error["error"]["errorType"], error["resumable"]) == ("error", "AGENT_EXITED", True)
    assert "memory" in error["error"]["message"]
    llm.add(reply(say("Here.")))
    assert text_of(await client.turn(chat, "still there?", "t2")) == "Here."
    assert llm.asked[-1].mentions("work"), "it knows what was said before"
    assert pids(host) != [pid]


async def test_an_agent_that_hangs_is_ended_by_an_abort(host: Rig, llm: FakeAnthropic) -> None:
    """Issue 6 §7: it does not answer the interrupt, so its process goes; nothing of it stays."""
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    await working(client, chat, llm)
    [pid] = pids(host)
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    client.dispatch(chat, "chat/turnCancelled", turnId="t1")
    assert (await client.ended(chat))["state"] == "cancelled"
    assert time.monotonic() - began < 1.0
    await host.until(lambda: not psutil.pid_exists(pid))
    llm.add(reply(say("Here.")))
    assert text_of(await client.turn(chat, "still there?", "t2")) == "Here."


async def test_the_agents_of_a_session_end_with_it(host: Rig, llm: FakeAnthropic) -> None:
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    await client.turn(chat, "hi")
    [pid] = pids(host)
    await client.request("disposeSession", uri)
    await host.until(lambda: not psutil.pid_exists(pid))
    await host.until(lambda: not list((host.agent_folder / "handed").glob("*")))
    assert not host.provider.sessions and not pids(host)


async def test_many_sessions_work_at_once_and_leave_no_process(root: Path, llm: FakeAnthropic) -> None:
    """Issue 6 §7: 20 under `just soak`; the rig asserts that nothing is left."""
    count = 20 if SOAK else 3
    async with claude_host(root, llm) as host:
        client = await host.client()
        chats = [(await session(client, host.work, "claude", f"ahp-session:/{n}"))[1] for n in range(count)]
        for chat in chats:
            client.start_turn(chat, f"hello {chat}")
        turns = [await client.ended(chat) for chat in chats]
        assert [turn["state"] for turn in turns] == ["complete"] * count
        assert len(set(pids(host))) == count
        for chat in chats:
            assert any(asked.mentions(f"hello {chat}") for asked in llm.asked)


# -- what it is given ------------------------------------------------------------------------------------------------


async def test_the_agent_has_nothing_of_the_hosts_environment_but_what_it_needs(host: Rig, llm: FakeAnthropic) -> None:
    """Issue 6 §5: read from the process itself."""
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    await client.turn(chat, "hi")
    [pid] = pids(host)
    given = psutil.Process(pid).environ()
    assert "HOST_SECRET" not in given and "host-secret-words" not in given.values()
    assert given["CLAUDE_CONFIG_DIR"] == str(host.agent_folder / "config")
    assert given["DISABLE_AUTOUPDATER"] == given["DISABLE_TELEMETRY"] == "1"
    assert given["ENABLE_TOOL_SEARCH"] == "false"


async def test_commands_are_run_by_bash_whatever_shell_the_person_has(root: Path, llm: FakeAnthropic) -> None:
    """The approval rules read bash; what they judge is what runs."""
    other = root / "zsh"
    other.write_text("#!/bin/sh\nexit 0\n")
    other.chmod(0o755)
    async with claude_host(root, llm, more={"SHELL": str(other)}) as host:
        llm.add(reply(call("Bash", command="echo by:$BASH_VERSION", description="Ask")), reply(say("done")))
        client = await host.client()
        _, chat = await session(client, host.work, "claude", config={"autoApprove": "autoApprove"})
        [made] = calls(await client.turn(chat, "which?"))
        assert made["success"] and made["content"][0]["text"].startswith("by:5")


def test_a_machine_without_bash_says_nothing_of_its_shell(tmp_path: Path) -> None:
    assert bash({"PATH": str(tmp_path)}) is None and bash({}) is None
    assert "CLAUDE_CODE_SHELL" not in agent_environment({"PATH": str(tmp_path)}, None)


async def test_it_starts_without_a_network(host: Rig, llm: FakeAnthropic) -> None:
    """Issue 6 §5: nothing but the model is spoken to, and nothing is looked up."""
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    await client.turn(chat, "hi")
    [pid] = pids(host)
    remote = {c.raddr.ip for c in psutil.Process(pid).net_connections() if c.raddr}
    assert remote <= {"127.0.0.1", "::1"}
    assert {path for path in llm.other if path not in ("/", "/v1/messages/count_tokens")} == set()


def test_what_belongs_to_another_service_comes_with_its_switch() -> None:
    host = {"PATH": "/bin", "AWS_REGION": "x", "SECRET": "s", "GOOGLE_X": "y", "CLAUDE_CODE_USE_BEDROCK": "1"}
    given = agent_environment(host, Path("/c"))
    assert given["AWS_REGION"] == "x" and "GOOGLE_X" not in given and "SECRET" not in given
    token = agent_environment({"ANTHROPIC_API_KEY": "old"}, Path("/c"), "sk-ant-oat01-x")
    assert token["CLAUDE_CODE_OAUTH_TOKEN"] == "sk-ant-oat01-x" and "ANTHROPIC_API_KEY" not in token
    assert agent_environment({}, Path("/c"), "sk-ant-api03-x")["ANTHROPIC_API_KEY"] == "sk-ant-api03-x"
    assert "CLAUDE_CONFIG_DIR" not in agent_environment({}, None)


# -- what is missing -------------------------------------------------------------------------------------------------


def listed(client: Client) -> Any:
    return next(agent for agent in client.states[ROOT]["agents"] if agent["provider"] == "claude")


async def test_without_a_login_it_is_listed_with_the_command_that_logs_in_and_a_token_brings_it(
    root: Path, llm: FakeAnthropic, caplog: pytest.LogCaptureFixture
) -> None:
    """Issue 6 §5, §6: the token is used and shown nowhere."""
    async with claude_host(root, llm, more={"ANTHROPIC_API_KEY": ""}) as host:
        client = await host.client()
        missing = listed(client)["_meta"]["x-innkeeper/unavailable"]
        assert missing["code"] == "AGENT_LOGIN_MISSING"
        assert missing["remedy"].startswith(f"CLAUDE_CONFIG_DIR={host.agent_folder / 'config'} ")
        assert missing["remedy"].endswith("auth login")
        [resource] = listed(client)["protectedResources"]
        await host.provider.take_token(resource["resource"], "sk-ant-api03-brought")
        await client.until(lambda: "x-innkeeper/unavailable" not in (listed(client).get("_meta") or {}))
        _, chat = await session(client, host.work, "claude")
        await client.turn(chat, "hi")
        assert llm.asked[0].headers["x-api-key"] == "sk-ant-api03-brought"
        await host.provider.take_token(resource["resource"], "sk-ant-api03-renewed")
        await client.turn(chat, "hi", "t2")
        assert llm.asked[1].headers["x-api-key"] == "sk-ant-api03-renewed" and llm.asked[1].mentions("ok")
        await host.provider.take_token(resource["resource"], None)
        assert host.provider.unavailable.code == "AGENT_LOGIN_MISSING"
        with pytest.raises(ProviderError):
            await host.provider.take_token("https://elsewhere.example", "x")
    assert "sk-ant-api03-brought" not in caplog.text
    assert not any(b"sk-ant-api03-brought" in file.read_bytes() for file in (root / "data").glob("*") if file.is_file())


async def test_without_the_extra_it_is_listed_with_the_command_that_installs_it(
    root: Path, llm: FakeAnthropic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M7.8, issue 6 §5"""
    monkeypatch.setattr(install, "installed", lambda: False)
    async with claude_host(root, llm) as host:
        client = await host.client()
        missing = listed(client)["_meta"]["x-innkeeper/unavailable"]
        assert (missing["code"], missing["remedy"]) == ("AGENT_EXTRA_MISSING", "pip install 'innkeeper[claude]'")
        await client.request("createSession", "ahp-session:/1", provider="claude", workingDirectories=[])
        await client.subscribe("ahp-session:/1")
        state = await client.state("ahp-session:/1", lambda s: s["lifecycle"] == "failed")
        assert state["creationError"]["errorType"] == "AGENT_EXTRA_MISSING"
        assert "pip install" in state["creationError"]["message"]


async def test_a_named_program_is_used_and_nothing_else(root: Path, llm: FakeAnthropic) -> None:
    async with claude_host(root, llm, program=str(root / "nothing")) as host:
        assert host.provider.unavailable.code == "AGENT_BINARY_MISSING"
    broken = root / "broken"
    broken.write_text("#!/bin/sh\nexit 7\n")
    broken.chmod(0o700)
    async with claude_host(root, llm, program=str(broken)) as host:
        client = await host.client()
        _, chat = await session(client, host.work, "claude")
        turn = await client.turn(chat, "hi")
        error = turn["responseParts"][-1]["error"]
        assert error["errorType"] == "AGENT_START_FAILED" and "exit code 7" in error["message"]


async def test_an_sdk_without_what_is_called_is_refused_by_what_it_lacks_and_not_by_its_number(
    root: Path, llm: FakeAnthropic, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """M7.8"""
    monkeypatch.setattr(install, "TESTED", frozenset())
    caplog.set_level("INFO")
    async with claude_host(root, llm) as host:
        client = await host.client()
        _, chat = await session(client, host.work, "claude")
        assert (await client.turn(chat, "hi"))["state"] == "complete"
    assert caplog.text.count("is unverified, its capabilities are confirmed") == 1
    monkeypatch.setattr(cli, "NEEDED", (("claude_agent_sdk", "Nothing.there"),))
    async with claude_host(root, llm) as host:
        with pytest.raises(ProviderError, match=r"Nothing\.there"):
            await host.provider.complete(Completion("Say", "x"))
        assert host.provider.unavailable.code == "AGENT_UNSUPPORTED"


def test_a_stored_login_is_seen(tmp_path: Path) -> None:
    assert not logged_in({}, tmp_path) or sys.platform == "darwin"
    (tmp_path / ".credentials.json").write_text("{}")
    assert logged_in({}, tmp_path)
    assert logged_in({"CLAUDE_CODE_OAUTH_TOKEN": "x"}, tmp_path / "none")


# -- beside conversations --------------------------------------------------------------------------------------------


async def test_a_completion_has_no_tools_and_leaves_nothing(host: Rig, llm: FakeAnthropic) -> None:
    """K18: what titles are made of."""
    (host.work / "CLAUDE.md").write_text("CLAUDERULE")
    llm.add(reply(say("A short title")))
    said = await host.provider.complete(Completion("Name the conversation.", "about blue", str(host.work)))
    assert said == "A short title"
    [asked] = llm.asked
    assert asked.names == [] and asked.mentions("Name the conversation.") and not asked.mentions("CLAUDERULE")
    assert "haiku" in asked.body["model"]
    assert not list((host.agent_folder / "config").rglob("*.jsonl"))
    llm.add(reply(say("x"), then="hang"))
    with pytest.raises(ProviderError, match="does not answer"):
        await host.provider.complete(Completion("Name it.", "x", str(host.work), seconds=1.5))


async def test_the_agent_names_the_conversation(root: Path, llm: FakeAnthropic) -> None:
    """K18: the title is the agent's, after the first words."""
    llm.when(lambda asked: not asked.names, reply(say("A fine title")))
    async with claude_host(root, llm, titles=True) as host:
        client = await host.client()
        uri, chat = await session(client, host.work, "claude")
        await client.turn(chat, "tell me about blue")
        await client.state(uri, lambda state: state["title"] == "A fine title")
        assert len([asked for asked in llm.asked if not asked.names]) == 1
