"""A host that is killed between a toggle and its echo (C8.1, issue 4 item 9).

A real process, a real file, SIGKILL at random points: 20 rounds, 200 under `just soak`. After each restart every item
has the last set that was acknowledged, or one that was sent after it; always a whole one.
"""

import asyncio
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from harness.host_process import BareClient, HostProcess

LIMIT = 7200 if os.environ.get("INNKEEPER_SOAK") == "1" else 900
"""Seconds, on a busy machine."""
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(LIMIT)]

SESSION = "ahp-session:/s"
TOGGLE = "session/customizationToggled"
NAMES = ("build", "test", "memo")
Set = list[dict[str, Any]]


def project(folder: Path) -> Path:
    for name in ("build", "test"):
        skill = folder / ".github" / "skills" / name / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"---\nname: {name}\ndescription: d\n---\n")
    (folder / ".mcp.json").write_text('{"mcpServers": {"memo": {"command": "true"}}}')
    return folder


def sets(directory: str) -> list[Set]:
    """Complete sets in which nothing equals what it inherits, so that each is stored and echoed as it is sent."""
    session, workspace, everywhere = (
        lambda on: {"kind": "session", "enabled": on},
        lambda on: {"kind": "workspace", "uri": directory, "enabled": on},
        lambda on: {"kind": "global", "enabled": on},
    )
    return [
        [],
        [session(False)],
        [workspace(False)],
        [everywhere(False)],
        [session(True), everywhere(False)],
        [session(False), workspace(True), everywhere(False)],
        [workspace(True), everywhere(False)],
    ]


async def test_no_acknowledged_toggle_is_lost_and_none_is_half_applied(tmp_path: Path, kill_rounds: int) -> None:
    folder, chance = project(tmp_path / "project"), random.Random(20261130)
    known: dict[str, Set] = {name: [] for name in NAMES}
    acknowledged = killed_waiting = 0
    async with HostProcess(tmp_path / "home") as host:
        for number in range(kill_rounds):
            client = await BareClient(f"writer-{number}").open(host.url)
            await client.initialize()
            if number == 0:
                created = {"provider": "console", "workingDirectories": [folder.as_uri()]}
                await client.ask("createSession", channel=SESSION, **created)
            assert_possible(await published(client), {name: [known[name]] for name in NAMES})
            await client.subscribe(SESSION)
            sent = await toggle_and_kill(host, client, sets(folder.as_uri()), chance)
            possible = {name: [known[name]] for name in NAMES}
            for seq, name, wanted in sent:
                if seq in acknowledgements(client):
                    possible[name] = [wanted]
                    acknowledged += 1
                else:
                    possible[name].append(wanted)
                    killed_waiting += 1
            await client.close()
            await host.start()
            reader = await BareClient(f"reader-{number}").open(host.url)
            await reader.initialize()
            known = await published(reader)
            assert_possible(known, possible)
            await reader.close()
        assert await host.end() == 0
    assert acknowledged, "no toggle was acknowledged, so nothing was shown"
    assert killed_waiting, "no kill came between a toggle and its echo"


async def toggle_and_kill(
    host: HostProcess, client: BareClient, choices: list[Set], chance: random.Random
) -> list[tuple[int, str, Set]]:
    """What was sent, in order; the host is dead when this returns."""
    items = by_name(client.states[SESSION])
    sent: list[tuple[int, str, Set]] = []
    for _ in range(chance.randrange(1, 12)):
        name, wanted = chance.choice(NAMES), chance.choice(choices)
        action = {"type": TOGGLE, "id": items[name]["id"], "enablement": wanted}
        sent.append((await client.dispatch(SESSION, action), name, wanted))
        if chance.random() < 0.5:
            await asyncio.sleep(chance.random() * 0.004)
    await asyncio.sleep(chance.choice((0.0, chance.random() * 0.01)))
    await host.end(signal.SIGKILL)
    await client.until(lambda: client.ended)
    return sent


def acknowledgements(client: BareClient) -> set[int]:
    """The dispatches of this client that it got the echo of."""
    origins = (envelope.get("origin") or {} for envelope in client.envelopes.values())
    return {origin["clientSeq"] for origin in origins if origin.get("clientId") == client.client_id}


async def published(client: BareClient) -> dict[str, Set]:
    """What holds, by the host's own word once it has read the session, and the same in its state."""
    answer = await client.ask("x-innkeeper/customizations/list", channel=SESSION)
    told = {item["name"]: item.get("enablement", []) for item in flat(answer["result"]["items"])}
    state = await client.subscribe(SESSION)
    shown = {name: item.get("enablement", []) for name, item in by_name(state).items()}
    assert {name: shown[name] for name in NAMES} == {name: told[name] for name in NAMES}
    return {name: told[name] for name in NAMES}


def assert_possible(found: dict[str, Set], possible: dict[str, list[Set]]) -> None:
    for name, held in found.items():
        assert held in possible[name], f"{name} has {held}, and not one of {possible[name]}"


def by_name(state: Any) -> dict[str, Any]:
    return {item["name"]: item for item in flat(state["customizations"])}


def flat(items: Any) -> list[Any]:
    return [*items, *(child for item in items for child in item.get("children") or ())]
