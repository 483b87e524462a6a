"""The process of an agent that speaks ACP, or does not: how it starts and ends, and its login (issue 6 §5-§7, M7.8)."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from innkeeper.providers.acp import wire
from providers.acp.conftest import SIMPLE, simple_host
from providers.acp.test_acp import line, opened
from providers.agent_host import session
from providers.answering import question
from scripted.world import Client, text_of
from servers.fake_llm.recording import call, reply, say

pytestmark = pytest.mark.anyio

SOAK = os.environ.get("INNKEEPER_SOAK") == "1"
KEY = "a-key-that-is-a-secret"


def processes() -> list[psutil.Process]:
    """Agents that this process has."""
    return [one for one in psutil.Process().children(recursive=True) if str(SIMPLE) in line(one)]


def error_of(turn: Any) -> dict[str, Any]:
    return dict(next(part for part in turn["responseParts"] if part["kind"] == "error")["error"])


async def listed(client: Client, name: str, code: str | None) -> None:
    """Wait until the root channel lists the agent with that reason why it cannot be had."""

    def says(root: Any) -> bool:
        about = next(one for one in root["agents"] if one["provider"] == name).get("_meta") or {}
        return bool((about.get("x-innkeeper/unavailable") or {}).get("code") == code)

    await client.state("ahp-root://", says)


@pytest.mark.parametrize(
    ("quirk", "code", "says"),
    [
        ("exits", "AGENT_START_FAILED", "exit code 3"),
        ("hangs", "AGENT_START_FAILED", "not ready in time"),
        ("wide", "AGENT_UNSUPPORTED", "version 1 of the Agent Client Protocol"),
        ("mcp", "AGENT_UNSUPPORTED", "version 1 of the Agent Client Protocol"),
        ("broken", "AGENT_UNSUPPORTED", "version 1 of the Agent Client Protocol"),
    ],
)
async def test_a_program_that_is_no_agent_is_refused_with_the_reason_and_nothing_of_it_is_left(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, quirk: str, code: str, says: str
) -> None:
    if quirk == "hangs":
        monkeypatch.setattr(wire, "START_SECONDS", 1.0)
    async with simple_host(root, quirk) as host:
        client = await host.rig.client()
        uri = "ahp-session:/1"
        directories = [host.rig.work.as_uri()]
        await client.request("createSession", uri, provider=host.name, workingDirectories=directories)
        await client.subscribe(uri)
        error = (await client.state(uri, lambda s: s.get("creationError")))["creationError"]
        assert error["errorType"] == code and says in error["message"], error
        assert not processes() and "SECRET" not in caplog.text


async def test_what_an_agent_writes_that_is_no_message_harms_nothing_and_is_not_repeated(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Issue 6 §6, §7: megabytes on standard error, and lines on standard output that nobody knows."""
    async with simple_host(root, "chatty") as host:
        host.llm.add(reply(say("one")), reply(say("two")))
        client, _, chat = await opened(host)
        assert text_of(await client.turn(chat, "ONE")) == "one"
        assert text_of(await client.turn(chat, "TWO", "t2")) == "two" and len(processes()) == 1
    assert "SECRET" not in caplog.text
    said = [record for record in caplog.records if record.name.startswith("innkeeper.providers.acp")]
    assert len(said) == 2, "each kind of it is said once"


@pytest.mark.parametrize("meanwhile", ["the model answers", "a question is open"])
async def test_an_agent_that_is_killed_in_a_turn_says_so_and_the_next_turn_has_another(
    root: Path, caplog: pytest.LogCaptureFixture, meanwhile: str
) -> None:
    """What the system ends for lack of memory is killed."""
    asks = meanwhile == "a question is open"
    async with simple_host(root) as host:
        host.llm.add(reply(say("one")))
        asking = reply(call("shell", command="touch made", id="call-1"))
        host.llm.add(asking if asks else reply(say("half"), then="hang"))
        host.llm.add(reply(say("three")))
        client, uri, chat = await opened(host)
        await client.turn(chat, "ONE", "t0")
        client.start_turn(chat, "TWO")
        await host.llm.request(1)
        if asks:
            await question(client, uri)
        processes()[0].kill()
        error = error_of(await client.ended(chat))
        assert error["errorType"] == "AGENT_EXITED" and "memory" in error["message"]
        await client.state(uri, lambda s: not s.get("inputNeeded"))
        assert text_of(await client.turn(chat, "THREE", "t2")) == "three" and host.llm.asked[-1].mentions("ONE")
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_an_agent_that_ends_in_a_turn_says_with_what(root: Path) -> None:
    async with simple_host(root, "crash") as host:
        host.llm.add(reply(call("shell", command="true", id="call-1")))
        client, _, chat = await opened(host)
        error = error_of(await client.turn(chat, "hi"))
        assert error["errorType"] == "AGENT_EXITED" and "exit code 7" in error["message"]


async def test_sessions_at_once_have_a_process_each_and_leave_none(root: Path) -> None:
    """Issue 6 §7: 20 under `just soak`."""
    async with simple_host(root) as host:
        client = await host.rig.client()
        uris = [f"ahp-session:/{number}" for number in range(20 if SOAK else 4)]
        made = await asyncio.gather(*(session(client, host.rig.work, host.name, uri) for uri in uris))
        turns = await asyncio.gather(*(client.turn(chat, f"to {uri}") for uri, chat in made))
        assert {turn["state"] for turn in turns} == {"complete"} and len(processes()) == len(uris)
        for uri in uris:
            await client.request("disposeSession", uri)
        await host.rig.until(lambda: not processes())


# -- login ----------------------------------------------------------------------------------------------------------


def log_in(root: Path, there: bool = True) -> None:
    """As a person does with the agent's own program."""
    file = root / "kept" / "login"
    file.parent.mkdir(exist_ok=True)
    if there:
        file.touch()
    else:
        file.unlink()


async def test_without_a_login_the_agent_is_listed_so_and_one_that_is_made_is_found(root: Path) -> None:
    """Issue 6 §5, §6: nothing has to be restarted."""
    async with simple_host(root, "login") as host:
        host.llm.add(reply(say("hello")))
        client, _, chat = await opened(host)
        assert error_of(await client.turn(chat, "hi"))["errorType"] == "AGENT_LOGIN_MISSING"
        await listed(client, host.name, "AGENT_LOGIN_MISSING")
        log_in(root)
        assert text_of(await client.turn(chat, "again", "t2")) == "hello"
        await listed(client, host.name, None)


@pytest.mark.parametrize("quirks", ["expires", "expires login"])
async def test_a_login_that_ends_in_a_session_does_not_end_its_conversation(root: Path, quirks: str) -> None:
    """Whether it is missed when a message is sent or when another process takes the session up."""
    log_in(root)
    async with simple_host(root, quirks) as host:
        host.llm.add(reply(say("first answer")), reply(say("third answer")))
        client, _, chat = await opened(host)
        await client.turn(chat, "ONE")
        log_in(root, False)
        for number in (2, 3):
            turn = await client.turn(chat, "lost", f"t{number}")
            assert error_of(turn)["errorType"] == "AGENT_LOGIN_MISSING"
        log_in(root)
        assert text_of(await client.turn(chat, "THREE", "t4")) == "third answer"
        asked = host.llm.asked[-1]
        assert asked.mentions("first answer") and not asked.mentions("<earlier_conversation>")


async def test_a_key_of_the_environment_is_a_login_for_an_agent_that_wants_to_be_told(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where two sessions sign in at once; a way that needs a person is never gone."""
    async with simple_host(root, "login key", keys=("SIMPLE_KEY",), more={"SIMPLE_KEY": KEY}) as host:
        host.llm.otherwise = reply(say("hello"))
        client = await host.rig.client()
        uris = ["ahp-session:/1", "ahp-session:/2"]
        made = await asyncio.gather(*(session(client, host.rig.work, host.name, uri) for uri in uris))
        turns: Sequence[Any] = await asyncio.gather(*(client.turn(chat, "hi") for _, chat in made))
        assert [text_of(turn) for turn in turns] == ["hello", "hello"]
        assert KEY not in caplog.text and KEY not in str(client.frames)


@pytest.mark.parametrize("why", ["the login is shared", "there is no key"])
async def test_no_other_way_to_sign_in_is_gone(root: Path, why: str) -> None:
    """A shared login is the person's own: signing in would write it."""
    shared = why == "the login is shared"
    more = {"SIMPLE_KEY": KEY} if shared else {}
    async with simple_host(root, "login key", keys=("SIMPLE_KEY",), more=more, share_login=shared) as host:
        client, _, chat = await opened(host)
        assert error_of(await client.turn(chat, "hi"))["errorType"] == "AGENT_LOGIN_MISSING"
        assert not (root / "kept" / "login").exists()


async def test_an_agent_that_takes_no_servers_says_so_once(root: Path) -> None:
    """M7.8: the part that needs it is off, with a reason."""
    async with simple_host(root, "nohttp") as host:
        host.rig.declare("memo")
        host.llm.otherwise = reply(say("hello"))
        client, uri, chat = await opened(host)
        await client.state(uri, lambda s: s.get("customizations"))
        turns = [await client.turn(chat, "hi", f"t{number}") for number in (1, 2)]
        notices = [[p for p in turn["responseParts"] if p["kind"] == "systemNotification"] for turn in turns]
        assert [len(found) for found in notices] == [1, 0] and not host.asked[-1].offers("mcp__memo__echo")
