"""The client library against a real host: what holds when the host is killed while clients talk to it."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from innkeeper.client import Applied, Client, Rejected, Unconfirmed, connect

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]

TOKEN = "a-token-for-tests"
CLIENTS = 3
ACTIONS = 40


class Host:
    """A host that can be killed and started again on the same port and data."""

    def __init__(self, home: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self._environment = {**os.environ, "INNKEEPER_HOME": str(home)}
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "innkeeper", "serve", "--port", str(self.port), "--quiet", "--token", TOKEN,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env=self._environment,
        )  # fmt: skip
        assert self._process.stdout is not None
        async with asyncio.timeout(20):
            assert (await self._process.stdout.readline()).startswith(b"READY:")

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    host = Host(tmp_path / "home")
    await host.start()
    yield host
    await host.kill()


async def soon(_seconds: float) -> None:
    await asyncio.sleep(0.02)


async def joined(doors: AsyncExitStack, host: Host, number: int) -> Client:
    return await doors.enter_async_context(
        connect(host.url, token=TOKEN, client_id=f"client-{number}", sleep=soon, random=lambda: 0.0)
    )


async def test_clients_agree_and_lose_nothing_when_the_host_is_killed_under_them(host: Host) -> None:
    """AHP §2.4, §6: replay after a crash, repeated actions applied once, every dispatch answered."""
    async with asyncio.timeout(60), AsyncExitStack() as doors:
        clients = [await joined(doors, host, number) for number in range(CLIENTS)]
        uri = await clients[0].create_session(provider="console")
        sessions = [await client.subscribe_session(uri) for client in clients]
        state = await sessions[0].wait_for(lambda state: state["lifecycle"] == "ready")
        chats = [await client.subscribe_chat(state["defaultChat"]) for client in clients]

        async def talk(number: int) -> list[Any]:
            waiting = []
            for count in range(ACTIONS):
                message = {"text": f"{number}-{count}", "origin": {"kind": "user"}}
                title = {"type": "session/titleChanged", "title": f"{number}-{count}"}
                draft = {"type": "chat/draftChanged", "draft": message}
                waiting += [sessions[number].dispatch(title), chats[number].dispatch(draft)]
                await asyncio.sleep(0.005)
            return [await dispatch for dispatch in waiting]

        talking = [asyncio.create_task(talk(number)) for number in range(CLIENTS)]
        await sessions[0].wait_for(lambda state: state["title"].startswith("0-1"))
        await host.kill()
        await host.start()
        outcomes = [outcome for task in talking for outcome in await task]

        assert len(outcomes) == CLIENTS * ACTIONS * 2
        assert [outcome for outcome in outcomes if isinstance(outcome, Rejected)] == []
        assert {type(outcome) for outcome in outcomes} <= {Applied, Unconfirmed}
        for client in clients:
            await client.ping()
        async with connect(host.url, token=TOKEN) as fresh:
            truth = (await fresh.subscribe_session(uri)).state
            draft = (await fresh.subscribe_chat(state["defaultChat"])).state.get("draft")
        for session, chat in zip(sessions, chats, strict=True):
            await session.wait_for(lambda state: state == truth)
            await chat.wait_for(lambda state: state.get("draft") == draft)
            assert (session.unanswered, chat.unanswered) == (0, 0)
        assert truth["title"].endswith(f"-{ACTIONS - 1}")
