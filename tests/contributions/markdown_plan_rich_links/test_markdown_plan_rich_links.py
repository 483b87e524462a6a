"""Links in plans: one instruction, only where the setting is on (reference §3.5)."""

import pytest

from scripted.world import World

pytestmark = pytest.mark.anyio


async def test_the_instruction_comes_with_the_setting_and_names_the_chat():
    world = await World(options={"rich_plan_links": True}).start()
    client = await world.client()
    _, chat = await client.new_session()
    await client.turn(chat, "hello")
    (instruction,) = world.scripted.requests[-1].instructions
    assert instruction.startswith("<rich_plan_markdown>") and f"chat:{chat}" in instruction
    assert world.scripted.requests[-1].text == "hello"
    await world.close()


@pytest.mark.parametrize("options", [{}, {"rich_plan_links": False}, {"rich_plan_links": "yes"}])
async def test_otherwise_nothing_is_added(options):
    world = await World(options=options).start()
    client = await world.client()
    _, chat = await client.new_session()
    await client.turn(chat, "hello")
    assert world.scripted.requests[-1].instructions == ()
    await world.close()
