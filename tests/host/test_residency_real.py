"""A session leaves memory with real server processes (M5.8, M4.2, contributions reference §5.2)."""

import psutil
import pytest

from innkeeper.host.settings import HostSettings
from scripted.real import declare, real_host, session_in

pytestmark = pytest.mark.anyio
SETTINGS = HostSettings(version="1", resident_sessions=0, rest_seconds=0.0, summary_delay=0.001)


def pids(world, session):
    return [report.pid for report in world.servers.report(session) if report.pid is not None]


async def test_the_server_of_a_session_that_leaves_ends_and_comes_back_by_its_grant_at_the_next_request(tmp_path):
    declare(tmp_path, "memo")
    async with real_host(settings=SETTINGS) as world:
        client = await world.client("alice")
        session, chat = await session_in(client, tmp_path)
        server = client.states[session]["customizations"][0]
        client.dispatch(session, "session/mcpServerStartRequested", id=server["id"])
        await client.state(session, lambda s: s["customizations"][0]["state"]["kind"] == "ready")
        (pid,) = pids(world, session)
        for uri in (chat, session):
            client.unsubscribe(uri)
        await world.until(lambda: not world.hub.channels("session"))
        assert not psutil.pid_exists(pid), "its process tree is gone before the session is"

        state = await client.subscribe(session)
        assert state["customizations"][0]["state"]["kind"] == "stopped"
        assert pids(world, session) == [], "looking at a session starts nothing"
        await client.subscribe(chat)
        await client.turn(chat, "/tools")
        await client.state(session, lambda s: s["customizations"][0]["state"]["kind"] == "ready")
        assert pids(world, session) not in ([], [pid]), "a person's grant for the session is not forgotten"
        world.check_mirrors(client)
