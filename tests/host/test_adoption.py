"""Conversations that an agent has on disk become sessions (K17, issue 6 §8), with an agent that has them in memory."""

import asyncio
from collections.abc import Sequence

import pytest

from innkeeper.protocol.errors import ALREADY_EXISTS
from innkeeper.providers.spi import Adopted, Transcript
from scripted.provider import ScriptedProvider
from scripted.world import RpcFailure, World

pytestmark = pytest.mark.anyio

ADOPT = "x-innkeeper/transcripts/adopt"


class Remembering(ScriptedProvider):
    """Reading takes until `gate` is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()

    async def transcripts(self, directory: str | None) -> Sequence[Transcript]:
        return [Transcript(id, f"About {id}", None, "2026-01-01T00:00:00.000Z") for id in ("one", "two")]

    async def read_transcript(self, id: str, directory: str | None) -> Adopted:
        await self.gate.wait()
        return Adopted([], {})


@pytest.mark.parametrize(
    ("first", "second"),
    [(("one", "ahp-session:/1"), ("one", "ahp-session:/2")), (("one", "ahp-session:/1"), ("two", "ahp-session:/1"))],
    ids=["one conversation twice", "two into one session"],
)
async def test_of_two_that_adopt_at_once_one_is_refused_and_leaves_nothing(
    first: tuple[str, str], second: tuple[str, str]
) -> None:
    agent = Remembering()
    world = await World(scripted=agent).start()
    client = await world.client()
    asked = [
        asyncio.create_task(client.request(ADOPT, provider="scripted", transcript=id, session=uri))
        for id, uri in (first, second)
    ]
    await asyncio.sleep(0)
    agent.gate.set()
    done = await asyncio.gather(*asked, return_exceptions=True)
    refused = [one for one in done if isinstance(one, RpcFailure)]
    assert [one.code for one in refused] == [ALREADY_EXISTS] and {"session": first[1]} in done
    listed = (await client.request("listSessions"))["items"]
    assert [one["resource"] for one in listed] == [first[1]]
    await client.request(ADOPT, provider="scripted", transcript="two", session="ahp-session:/2")
    again = await client.request("x-innkeeper/transcripts/list", provider="scripted")
    assert [one["session"] for one in again["items"]] == [first[1], "ahp-session:/2"]
    await world.close()
