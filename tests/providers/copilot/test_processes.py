"""The process of Copilot: shared, crashed, hung, killed, ended; its login; what is missing (issue 6 §5-§7, M7.8)."""

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from innkeeper.providers.copilot import conversation, install, runtime, sdk
from innkeeper.providers.spi import Inspecting
from providers.agent_host import Rig, session
from providers.copilot.test_turns import begin, error_of
from providers.copilot_rig import FakeService, copilot_host, line_of, program, runtimes
from scripted.world import Client, call_of, text_of
from servers.fake_llm.github import EFFORTS, FakeGitHub
from servers.fake_llm.recording import call, reply, say

pytestmark = pytest.mark.anyio

SECRET = "gho_verysecret1234567890"


async def refused_session(client: Client, host: Rig) -> dict[str, Any]:
    """Why a session could not be had."""
    uri = "ahp-session:/1"
    await client.request("createSession", uri, provider="copilot", workingDirectories=[host.work.as_uri()])
    await client.subscribe(uri)
    state = await client.state(uri, lambda s: s.get("creationError"))
    return dict(state["creationError"])


def holding(folder: Path, words: str) -> list[Path]:
    """Files in which these words are."""
    found: Iterator[Path] = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in found if words.encode() in path.read_bytes()]


async def test_twenty_sessions_at_once_are_one_process_which_ends_with_the_last(host: Rig, llm: FakeService) -> None:
    client = await host.client()
    made = [session(client, host.work, "copilot", f"ahp-session:/{number}") for number in range(20)]
    chats = await asyncio.gather(*made)
    turns = await asyncio.gather(*(client.turn(chat, f"to {uri}") for uri, chat in chats))
    assert {turn["state"] for turn in turns} == {"complete"} and len(runtimes()) == 1
    assert {asked.last for asked in llm.asked} == {f"to {uri}" for uri, _ in chats}
    for uri, _ in chats[1:]:
        await client.request("disposeSession", uri)
    assert (await client.turn(chats[0][1], "again", "t2"))["state"] == "complete" and len(runtimes()) == 1
    await client.request("disposeSession", chats[0][0])
    await host.until(lambda: not runtimes())


async def test_a_process_that_dies_ends_its_turns_and_the_next_message_goes_on(host: Rig, llm: FakeService) -> None:
    """What the system ends for lack of memory is killed."""
    llm.add(reply(say("first answer")), reply(say("half"), then="hang"), reply(say("on again")))
    llm.add(reply(say("half"), then="hang"), reply(say("and again")))
    client = await host.client()
    _, chat = await session(client, host.work, "copilot")
    await client.turn(chat, "ONE")
    for number, (how, said) in enumerate(((signal.SIGKILL, "on again"), (signal.SIGABRT, "and again"))):
        asked = len(llm.asked)
        client.start_turn(chat, "TWO", f"a{number}")
        await llm.request(asked)
        runtimes()[0].send_signal(how)
        error = error_of(await client.ended(chat, f"a{number}"))
        assert error["errorType"] == "AGENT_EXITED" and ("memory" in error["message"]) is (how == signal.SIGKILL)
        assert text_of(await client.turn(chat, "THREE", f"b{number}")) == said
        assert llm.asked[-1].mentions("first answer") and llm.asked[-1].last == "THREE" and len(runtimes()) == 1


async def test_a_process_that_hangs_is_ended_and_a_silent_model_is_no_hang(
    host: Rig, llm: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "SILENCE_SECONDS", 0.2)
    hold = asyncio.Event()
    llm.add(reply(say("slow"), after=hold), reply(say("half"), then="hang"), reply(say("three")))
    client = await host.client()
    _, chat = await session(client, host.work, "copilot")
    client.start_turn(chat, "ONE")
    await llm.request(0)
    await asyncio.sleep(0.6)
    hold.set()
    assert text_of(await client.ended(chat)) == "slow"
    client.start_turn(chat, "TWO", "t2")
    await llm.request(1)
    monkeypatch.setattr(runtime, "PING_SECONDS", 0.5)
    hung = runtimes()[0]
    hung.suspend()
    error = error_of(await client.ended(chat, "t2"))
    assert error["errorType"] == "AGENT_UNRESPONSIVE"
    await host.until(lambda: not hung.is_running() or hung.status() == psutil.STATUS_ZOMBIE)
    monkeypatch.undo()
    assert text_of(await client.turn(chat, "THREE", "t3")) == "three"


async def test_commands_of_an_aborted_turn_do_not_outlive_it(host: Rig, llm: FakeService) -> None:
    """Also those that run in the background."""
    llm.add(
        reply(call("bash", command="sleep 4321", description="Wait", mode="async")),
        reply(call("bash", command="sleep 4321", description="Wait")),
    )
    client = await host.client()
    _, chat = await session(client, host.work, "copilot", config={"autoApprove": "autoApprove"})

    def sleeping() -> list[psutil.Process]:
        return [one for one in psutil.Process().children(recursive=True) if line_of(one) == ["sleep", "4321"]]

    client.start_turn(chat, "go")
    await host.until(lambda: len(sleeping()) >= 2)
    client.dispatch(chat, "chat/turnCancelled", turnId="t1")
    began = time.monotonic()
    await client.ended(chat)
    assert time.monotonic() - began < 1
    await host.until(lambda: not sleeping(), 5)


async def test_no_secret_of_the_host_reaches_the_agent_or_its_commands_and_nothing_but_the_model_is_called(
    host: Rig, llm: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    """Issue 6 §5, §6: also the key of the model service is in no environment, no file and no log."""
    llm.add(reply(call("bash", command="env", description="Look", id="call-1")), reply(say("done")))
    client = await host.client()
    _, chat = await session(client, host.work, "copilot", config={"autoApprove": "autoApprove"})
    turn = await client.turn(chat, "go")
    shown = str(call_of(turn))
    assert "PATH=" in shown
    process = runtimes()[0]
    environment = process.environ()
    for secret in ("host-secret-words", "sk-made-up"):
        assert secret not in shown and secret not in environment.values() and secret not in caplog.text
        assert not holding(host.agent_folder, secret) and secret not in str(client.frames)
    assert llm.asked[0].headers["authorization"] == "Bearer sk-made-up"
    assert environment["COPILOT_HOME"] == str(host.agent_folder / "home")
    assert environment["COPILOT_AUTO_UPDATE"] == "false"
    remote = {one.raddr.ip for one in process.net_connections("inet") if one.raddr}
    assert remote <= {"127.0.0.1"} and not llm.other


@pytest.mark.parametrize("by", ["environment", "token", "shared login"])
async def test_a_token_of_github_is_used_from_memory_and_githubs_own_server_stays_off(
    root: Path, caplog: pytest.LogCaptureFixture, by: str
) -> None:
    """Issue 6 §6; models and efforts are what the agent reports; C6.1: no server that nobody switched on."""
    theirs = root / "user" / ".copilot"
    theirs.mkdir(parents=True)
    if by == "shared login":
        (theirs / "config.json").write_text(json.dumps({"copilotTokens": {"https://github.com:me": SECRET}}))
    async with FakeGitHub() as github:
        more = {
            "COPILOT_PROVIDER_BASE_URL": "",
            "COPILOT_MODEL": "",
            "COPILOT_API_URL": github.url,
            "COPILOT_DEBUG_GITHUB_API_URL": github.url,
            **({"GH_TOKEN": SECRET} if by == "environment" else {}),
        }
        async with copilot_host(root, github, more=more, share_login=by == "shared login") as host:
            client = await host.client()
            if by == "token":
                assert host.provider.unavailable.code == "AGENT_LOGIN_MISSING"
                await host.provider.take_token("https://api.github.com", SECRET)
            assert host.provider.unavailable is None
            _, chat = await session(client, host.work, "copilot")
            turn = await client.turn(chat, "hi")
            assert turn["state"] == "complete", turn
            assert github.tokens == {SECRET}
            models = {model["id"]: model for model in host.provider.info["models"]}
            assert list(models) == ["gpt-5", "gpt-5-mini"], "what the agent reports, the default first"
            assert models["gpt-5"]["configSchema"]["properties"]["effort"]["enum"] == list(EFFORTS)
            await client.until(lambda: "gpt-5-mini" in str(client.states["ahp-root://"]["agents"]))
            begin(client, chat, "two", "t2", model={"id": "gpt-5-mini", "config": {"effort": "high"}})
            assert (await client.ended(chat, "t2"))["state"] == "complete"
            assert github.asked[1].body["model"] == "gpt-5-mini"
            assert github.asked[1].body["reasoning"]["effort"] == "high"
            assert not [path for path in github.other if "mcp" in path], "GitHub's own server is not started"
            assert SECRET not in caplog.text and SECRET not in str(client.frames)
            assert not holding(host.agent_folder, SECRET) and SECRET not in runtimes()[0].environ().values()


async def test_without_a_login_or_a_program_the_agent_says_so_with_what_to_do(root: Path, llm: FakeService) -> None:
    async with copilot_host(root, llm, more={"COPILOT_PROVIDER_BASE_URL": ""}) as host:
        found = host.provider.unavailable
        assert found.code == "AGENT_LOGIN_MISSING" and found.remedy.startswith("COPILOT_HOME=")
        error = await refused_session(await host.client(), host)
        assert error["errorType"] == "AGENT_LOGIN_MISSING" and "login" in error["message"]
    async with copilot_host(root / "2", llm, program=str(root / "nowhere")) as host:
        error = await refused_session(await host.client(), host)
        assert error["errorType"] == "AGENT_BINARY_MISSING" and "agents.copilot.program" in error["message"]
    broken = root / "broken"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    async with copilot_host(root / "3", llm, program=str(broken)) as host:
        error = await refused_session(await host.client(), host)
        assert error["errorType"] == "AGENT_START_FAILED" and "3" in error["message"]


@pytest.mark.parametrize("lacks", ["nothing", "a method", "a part of the SDK"])
async def test_an_untested_version_is_admitted_by_the_calls_it_has(
    host: Rig, llm: FakeService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, lacks: str
) -> None:
    """M7.8: never refused for its number."""
    monkeypatch.setattr(runtime, "TESTED", frozenset())
    if lacks == "a method":
        monkeypatch.setattr(runtime, "METHODS", (*runtime.METHODS, "session.teleport"))
    if lacks == "a part of the SDK":
        monkeypatch.setattr(sdk, "NEEDED", (*sdk.NEEDED, ("copilot", "CopilotClient.teleport")))
    client = await host.client()
    if lacks != "nothing":
        error = await refused_session(client, host)
        assert error["errorType"] == "AGENT_UNSUPPORTED" and "teleport" in error["message"]
        return
    _, chat = await session(client, host.work, "copilot")
    assert (await client.turn(chat, "hi"))["state"] == "complete"
    assert "version unverified, capabilities confirmed" in caplog.text


async def test_the_table_of_tested_versions_names_the_installed_ones(host: Rig) -> None:
    found = install.find(program(), {"PATH": ""})
    assert isinstance(found, Path) and (install.sdk_version(), install.agent_version(found)) in install.TESTED
    assert isinstance(host.provider, Inspecting)
    seen = host.provider.inspect()
    assert seen.tested and not seen.lacking and set(seen.versions) == {"github-copilot-sdk", "@github/copilot"}
