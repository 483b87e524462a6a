"""A host that is killed: nothing acknowledged is lost, no number comes twice, nobody misses anything in silence.

Architecture §7, AHP §2.4; a real process, a real file, SIGKILL at random points. 20 rounds, 200 under `just soak`.
"""

import asyncio
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from harness.host_process import BareClient, HostProcess

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]
SESSION = "ahp-session:/s"
LONG = "words that stream for a while " * 600


async def test_killed_while_deltas_run_ahead_of_the_log_it_loses_nothing_acknowledged(
    tmp_path: Path, kill_rounds: int
) -> None:
    """Issue 2, section 4."""
    async with HostProcess(tmp_path / "home") as host:
        resumed = await many_lives(host, tmp_path, kill_rounds, random.Random(20261130))
    assert "unknown" not in resumed
    assert "replay" in resumed


async def many_lives(host: HostProcess, folder: Path, rounds: int, chance: random.Random) -> list[str]:
    """How the client was resumed after each death."""
    writer = await BareClient("writer").open(host.url)
    await writer.initialize()
    await writer.ask("createSession", channel=SESSION, provider="console", workingDirectories=[folder.as_uri()])
    chat = (await writer.subscribe(SESSION))["defaultChat"]
    await writer.subscribe(chat)
    resumed: list[str] = []
    for round_number in range(rounds):
        await one_life(host, writer, chat, round_number, chance)
        await writer.close()
        acknowledged = dict(writer.envelopes)
        await host.start()
        await writer.open(host.url)
        resumed.append(await writer.reconnect())
        await everything_acknowledged_is_there(host, writer, chat, acknowledged)
        await writer.until(lambda: not writer.states[chat].get("activeTurn"))
    assert await host.end() == 0
    await writer.close()
    return resumed


async def one_life(host: HostProcess, writer: BareClient, chat: str, number: int, chance: random.Random) -> None:
    """A turn streams, titles and drafts are dispatched meanwhile; then the host is killed."""
    await writer.dispatch(chat, turn_started(f"t{number}"))
    for step in range(chance.randrange(30)):
        await writer.dispatch(SESSION, {"type": "session/titleChanged", "title": f"{number}.{step}"})
        draft = {"text": f"{number}.{step}", "origin": {"kind": "user"}}
        await writer.dispatch(chat, {"type": "chat/draftChanged", "draft": draft})
        await asyncio.sleep(chance.random() * 0.002)
    await asyncio.sleep(chance.random() * 0.02)
    await host.end(signal.SIGKILL)


def turn_started(turn: str) -> dict[str, Any]:
    message = {"text": LONG, "origin": {"kind": "user"}}
    return {"type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-11-30T12:00:00.000Z", "message": message}


async def everything_acknowledged_is_there(
    host: HostProcess, writer: BareClient, chat: str, acknowledged: dict[int, dict[str, Any]]
) -> None:
    other = await BareClient("other").open(host.url)
    await other.initialize()
    for channel in (SESSION, chat):
        fresh = await other.subscribe(channel)
        await writer.until(lambda c=channel: writer.states[c] == other.states[c])
        for kind, field in (("session/titleChanged", "title"), ("chat/draftChanged", "draft")):
            own = [e for e in acknowledged.values() if e["channel"] == channel and e["action"]["type"] == kind]
            if own:
                newest = max(own, key=lambda envelope: envelope["serverSeq"])["action"][field]
                assert position(fresh[field]) >= position(newest)
    await other.close()


def position(value: Any) -> tuple[int, ...]:
    text = value["text"] if isinstance(value, dict) else value
    return tuple(int(part) for part in text.split("."))
