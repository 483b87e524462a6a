"""The pull request of a session's branch (reference §3.10)."""

import pytest

from innkeeper.contributions.github_references import PULL_REQUEST
from innkeeper.ports.pull_requests import PullRequest
from scripted.world import World

pytestmark = pytest.mark.anyio
FOUND = PullRequest(7, "Bake", "https://github.com/o/r/pull/7", "OPEN")


class Requests:
    def __init__(self):
        self.found = FOUND
        self.asked = []

    async def of_branch(self, directory):
        self.asked.append(directory)
        return self.found


async def started(on=True):
    requests = Requests()
    world = await World(options={"github_references": on}, pull_requests=requests).start()
    return world, requests, await world.client()


async def test_it_is_told_with_the_session_after_a_turn():
    world, requests, client = await started()
    session, chat = await client.new_session()
    await client.turn(chat, "hello")
    state = await client.state(session, lambda s: PULL_REQUEST in s["_meta"])
    assert state["_meta"][PULL_REQUEST] == FOUND._asdict() and requests.asked == ["file:///w"]
    await world.close()


async def test_no_answer_changes_nothing_and_neither_does_the_same_one():
    world, requests, client = await started()
    session, chat = await client.new_session()
    await client.turn(chat, "hello")
    await client.state(session, lambda s: PULL_REQUEST in s["_meta"])
    told = len(client.actions(session, "session/metaChanged"))
    await client.turn(chat, "hello", "t2")
    requests.found = None
    await client.turn(chat, "hello", "t3")
    await world.until(lambda: len(requests.asked) == 3)
    assert len(client.actions(session, "session/metaChanged")) == told
    await world.close()


async def test_nobody_is_asked_where_the_setting_is_off():
    world, requests, client = await started(on=False)
    _, chat = await client.new_session()
    await client.turn(chat, "hello")
    assert not requests.asked
    await world.close()


async def test_a_refused_turn_asks_nobody():
    world, requests, client = await started()
    session, chat = await client.new_session()
    await client.echo(client.dispatch(session, "session/isArchivedChanged", isArchived=True))
    await client.turn(chat, "hello")
    assert not requests.asked
    await world.close()
