"""The process of Codex: shared, crashed, hung, killed, ended; nothing of it is left (issue 6 §5, §7, M7.8)."""

import asyncio
import os
import shlex
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from innkeeper.providers.codex import install, rpc, server, turn
from providers.agent_host import Rig, session
from providers.codex.conftest import codex_host
from scripted.world import Client, call_of, text_of
from servers.fake_llm.openai_responses import FakeOpenAI
from servers.fake_llm.recording import call, reply, say

pytestmark = pytest.mark.anyio


def agents() -> list[psutil.Process]:
    """Processes of Codex that this one has."""
    found = psutil.Process().children(recursive=True)
    return [process for process in found if "app-server" in line_of(process) and name_of(process) == "codex"]


def name_of(process: psutil.Process) -> str:
    """A process that was forked and runs nothing of its own yet has another name."""
    try:
        return process.name()
    except psutil.Error:
        return ""


def line_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it has just ended
        return []


async def error_of(client: Client, chat: str, turn_id: str = "t1") -> dict[str, Any]:
    ended = await client.ended(chat, turn_id)
    assert ended["state"] == "error", ended
    return dict(next(p for p in ended["responseParts"] if p["kind"] == "error")["error"])


async def test_sessions_share_one_process_which_ends_with_the_last(host: Rig, llm: FakeOpenAI) -> None:
    client = await host.client()
    uris = [await session(client, host.work, "codex", f"ahp-session:/{n}") for n in range(2)]
    for _, chat in uris:
        await client.turn(chat, "hi")
    assert len(agents()) == 1
    await client.request("disposeSession", uris[0][0])
    await client.turn(uris[1][1], "again", "t2")
    assert len(agents()) == 1
    await client.request("disposeSession", uris[1][0])
    await host.until(lambda: not agents())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_killed_process_ends_its_turns_and_the_next_turn_goes_on_where_they_were(
    host: Rig, llm: FakeOpenAI, number: int
) -> None:
    """As the kernel does it when memory is short; K14."""
    llm.add(reply(say("one")), reply(say("half"), then="hang"), reply(say("two")))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    await client.turn(chat, "ONE", "t0")
    client.start_turn(chat, "HALF")
    await llm.request(1)
    os.kill(agents()[0].pid, number)
    error = await error_of(client, chat)
    assert error["errorType"] == "AGENT_EXITED"
    turn = await client.turn(chat, "TWO", "t2")
    assert text_of(turn) == "two" and llm.asked[2].mentions("ONE")
    assert len(agents()) == 1


async def test_a_process_that_hangs_is_ended_and_replaced(
    host: Rig, llm: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A silence is looked into; what does not answer is ended."""
    monkeypatch.setattr(turn, "SILENCE_SECONDS", 0.3)
    monkeypatch.setattr(server, "CONTROL_SECONDS", 0.5)
    llm.add(reply(say("half"), then="hang"), reply(say("two")))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    client.start_turn(chat, "HALF")
    await llm.request(0)
    hung = agents()[0]
    hung.suspend()
    error = await error_of(client, chat)
    assert error["errorType"] == "AGENT_UNRESPONSIVE"
    await host.until(lambda: not hung.is_running() or hung.status() == psutil.STATUS_ZOMBIE)
    monkeypatch.setattr(server, "CONTROL_SECONDS", 30.0)
    assert text_of(await client.turn(chat, "TWO", "t2")) == "two"


async def test_a_silence_of_the_model_is_no_hang(host: Rig, llm: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "SILENCE_SECONDS", 0.1)
    hold = asyncio.Event()
    llm.add(reply(say("slow"), after=hold))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    client.start_turn(chat, "hi")
    await llm.request(0)
    await asyncio.sleep(0.5)
    hold.set()
    assert text_of(await client.ended(chat)) == "slow"


def calls(chat: Any) -> list[dict[str, Any]]:
    """The tool calls of the running turn."""
    parts = (chat.get("activeTurn") or {}).get("responseParts") or ()
    return [part["toolCall"] for part in parts if part["kind"] == "toolCall"]


async def test_commands_of_an_aborted_turn_do_not_outlive_it(host: Rig, llm: FakeOpenAI) -> None:
    """Also those that Codex has put into the background."""
    llm.add(
        reply(call("exec_command", cmd="sleep 4321", yield_time_ms=250)),
        reply(call("exec_command", cmd="sleep 4321", id="call-1")),
    )
    client = await host.client()
    _, chat = await session(client, host.work, "codex")

    def sleeping() -> list[psutil.Process]:
        return [p for p in psutil.Process().children(recursive=True) if line_of(p)[-1:] == ["4321"]]

    client.start_turn(chat, "go")
    await host.until(lambda: len(sleeping()) >= 2)
    await client.state(chat, lambda s: "running" in [c["status"] for c in calls(s) if c["toolCallId"] == "call-1"])
    client.dispatch(chat, "chat/turnCancelled", turnId="t1")
    assert (await client.ended(chat))["state"] == "cancelled"
    await host.until(lambda: not sleeping(), 5)


async def test_twenty_sessions_at_once_are_one_process(host: Rig, llm: FakeOpenAI) -> None:
    client = await host.client()
    chats = await asyncio.gather(
        *(session(client, host.work, "codex", f"ahp-session:/{number}") for number in range(20))
    )
    turns = await asyncio.gather(*(client.turn(chat, f"to {uri}") for uri, chat in chats))
    assert {turn["state"] for turn in turns} == {"complete"} and len(agents()) == 1
    assert {asked.last for asked in llm.asked} == {f"to {uri}" for uri, _ in chats}


async def test_secrets_of_the_host_do_not_reach_the_agent_or_its_commands(root: Path, llm: FakeOpenAI) -> None:
    more = {"ANTHROPIC_API_KEY": "sk-ant-HIDDEN", "GITHUB_TOKEN": "HIDDEN", "MY_SECRET": "HIDDEN"}
    async with codex_host(root, llm, more=more) as host:
        llm.add(reply(call("exec_command", cmd="env", id="call-1")), reply(say("done")))
        client = await host.client()
        _, chat = await session(client, host.work, "codex")
        turn = await client.turn(chat, "go")
        assert "PATH=" in str(call_of(turn)["content"]) and "HIDDEN" not in str(call_of(turn))
        environment = agents()[0].environ()
        assert not {"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "MY_SECRET"} & environment.keys()
        assert environment["CODEX_HOME"] == str(host.agent_folder / "home")
        assert not llm.other, "nothing else is fetched"


async def test_no_network_is_needed_to_start_and_nothing_but_the_model_is_called(host: Rig, llm: FakeOpenAI) -> None:
    """Telemetry, update checks and the catalogue of plugins are off: no connection but to the model's address."""
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    await client.turn(chat, "hi")
    process = agents()[0]
    remote = {c.raddr for c in process.net_connections("inet") if c.raddr}
    assert {address.ip for address in remote} <= {"127.0.0.1"}


async def refused_session(client: Client, host: Rig) -> dict[str, Any]:
    """Why a session could not be had."""
    uri = "ahp-session:/1"
    await client.request("createSession", uri, provider="codex", workingDirectories=[host.work.as_uri()])
    await client.subscribe(uri)
    state = await client.state(uri, lambda s: s.get("creationError"))
    return dict(state["creationError"])


async def test_a_binary_that_is_missing_is_said_with_what_to_do(root: Path, llm: FakeOpenAI) -> None:
    async with codex_host(root, llm, program=str(root / "nowhere")) as host:
        found = host.provider.unavailable
        assert found.code == "AGENT_BINARY_MISSING" and found.remedy
        error = await refused_session(await host.client(), host)
        assert error["errorType"] == "AGENT_BINARY_MISSING" and found.remedy in error["message"]


async def test_a_missing_extra_is_said_with_the_command_that_fixes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "PACKAGE", "no_such_package_here")
    found = install.find(None)
    assert not isinstance(found, str)
    assert found.code == "AGENT_EXTRA_MISSING" and found.remedy == "pip install 'innkeeper[codex]'"


async def test_an_untested_version_is_admitted_by_the_calls_it_has(
    host: Rig, llm: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """M7.8."""
    monkeypatch.setattr(server, "TESTED", frozenset())
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    assert (await client.turn(chat, "hi"))["state"] == "complete"
    assert "version unverified, capabilities confirmed" in caplog.text


async def test_a_version_that_lacks_a_call_is_refused_with_its_name(
    host: Rig, llm: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M7.8."""
    monkeypatch.setattr(server, "TESTED", frozenset())
    monkeypatch.setattr(server, "NEEDED", server.NEEDED | {"thread/teleport"})
    error = await refused_session(await host.client(), host)
    assert error["errorType"] == "AGENT_UNSUPPORTED" and "thread/teleport" in error["message"]


async def test_a_version_that_lacks_what_is_only_wanted_works_without_it(
    host: Rig, llm: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """M7.8: the part that needs it is off."""
    monkeypatch.setattr(server, "TESTED", frozenset())
    monkeypatch.setattr(server, "WANTED", {**server.WANTED, "thread/teleport": "journeys"})
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    assert (await client.turn(chat, "hi"))["state"] == "complete"
    assert "has no thread/teleport: journeys are off" in caplog.text


async def test_the_table_of_tested_versions_names_the_installed_one() -> None:
    from importlib.metadata import version

    import codex_cli_bin  # noqa: F401 - its metadata is asked for

    assert version("openai-codex-cli-bin") in install.TESTED


async def test_every_line_of_the_agent_is_bounded_and_garbage_is_dropped() -> None:
    assert rpc.LINES.max_bytes == 64 * 1024 * 1024


async def test_without_a_login_the_agent_says_so_with_the_command(root: Path) -> None:
    """Issue 6 §5, §6: the binary's own provider wants one."""
    async with FakeOpenAI() as llm, codex_host(root, llm) as host:
        (host.agent_folder / "home" / "config.toml").write_text("")
        error = await refused_session(await host.client(), host)
        assert error["errorType"] == "AGENT_LOGIN_MISSING" and "login" in error["message"]
        found = host.provider.unavailable
        assert found.code == "AGENT_LOGIN_MISSING" and shlex.split(found.remedy)[-1] == "login"
        assert shlex.split(found.remedy)[0] == f"CODEX_HOME={host.agent_folder / 'home'}"


def holding(folder: Path, words: str) -> list[Path]:
    """Files in which these words are."""
    return [p for p in folder.rglob("*") if p.is_file() and words.encode() in p.read_bytes()]


@pytest.mark.parametrize("by", ["environment", "token"])
async def test_a_key_is_used_from_memory_and_is_in_no_file_and_no_log(
    root: Path, llm: FakeOpenAI, caplog: pytest.LogCaptureFixture, by: str
) -> None:
    """Issue 6 §6."""
    secret = "sk-verysecret-1234567890"
    more = {"OPENAI_API_KEY": secret} if by == "environment" else {}
    async with codex_host(root, llm, more=more) as host:
        home = host.agent_folder / "home" / "config.toml"
        home.write_text(
            home.read_text().replace("[model_providers.fake]", "[model_providers.fake]\nrequires_openai_auth = true")
        )
        client = await host.client()
        if by == "token":
            await host.provider.take_token("https://api.openai.com/", secret)
        _, chat = await session(client, host.work, "codex")
        turn = await client.turn(chat, "hi")
        assert turn["state"] == "complete", turn
        assert llm.asked[0].headers["authorization"] == f"Bearer {secret}"
        assert secret not in caplog.text and secret not in str(client.frames)
        assert not holding(root, secret)
