"""What the host does for its agents: what it lists, what it keeps for them, what it tells them (K14, K17)."""

import pytest

from innkeeper.providers.spi import Unavailable
from scripted.provider import ScriptedProvider
from scripted.world import ROOT, World, text_of

pytestmark = pytest.mark.anyio

MISSING = Unavailable("AGENT_EXTRA_MISSING", "The package is missing.", "pip install it")


async def test_an_agent_that_cannot_be_had_is_listed_with_the_reason_and_what_helps():
    """Issue 6 §5: never a silent gap, and no model to choose."""
    agent = ScriptedProvider()
    agent.missing = MISSING
    world = await World(scripted=agent).start()
    client = await world.client()
    listed = client.states[ROOT]["agents"][0]
    assert listed["models"] == []
    assert "The package is missing." in listed["description"] and "pip install it" in listed["description"]
    assert listed["_meta"]["x-innkeeper/unavailable"] == {
        "code": "AGENT_EXTRA_MISSING",
        "reason": "The package is missing.",
        "remedy": "pip install it",
    }
    await world.close()


async def test_what_an_agent_says_later_is_published_and_an_equal_list_is_not():
    agent = ScriptedProvider()
    world = await World(scripted=agent).start()
    client = await world.client()
    agent.changed()
    agent.models = ("script-1", "script-2")
    agent.changed()
    await client.until(lambda: client.actions(ROOT, "root/agentsChanged"))
    assert [model["id"] for model in client.states[ROOT]["agents"][0]["models"]] == ["script-1", "script-2"]
    assert len(client.actions(ROOT, "root/agentsChanged")) == 1
    await world.close()
    assert agent.ended == 1


async def test_an_interrupted_turn_is_resumable_where_its_agent_says_so():
    """K14"""
    world = await World().start()
    client = await world.client()
    _, chat = await client.new_session(provider="scripted")
    client.start_turn(chat, "keep-going")
    await client.until(lambda: (turn := client.states[chat].get("activeTurn")) and "working" in text_of(turn))
    later = await world.crash()
    again = await later.client()
    part = (await again.subscribe(chat))["turns"][-1]["responseParts"][-1]
    assert (part["error"]["errorType"], part["resumable"]) == ("executionInterrupted", True)
    await later.close()
