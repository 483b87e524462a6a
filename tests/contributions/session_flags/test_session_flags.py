"""Flags that follow from one another (rows C43, C44 of the reference)."""

import pytest

from innkeeper.contributions.session_flags import ARCHIVED_AT

pytestmark = pytest.mark.anyio
IS_READ, IS_ARCHIVED = 32, 64


async def test_archived_is_read_and_stamped_and_the_stamp_goes_with_it(world, client):
    """C44."""
    session, _ = await client.new_session()
    client.dispatch(session, "session/isArchivedChanged", isArchived=True)
    state = await client.state(session, lambda s: ARCHIVED_AT in s["_meta"])
    assert state["status"] & IS_READ and state["status"] & IS_ARCHIVED
    client.dispatch(session, "session/isArchivedChanged", isArchived=False)
    state = await client.state(session, lambda s: ARCHIVED_AT not in s["_meta"])
    assert not state["status"] & IS_ARCHIVED


async def test_archived_survives_a_restart(world, client):
    """C44."""
    session, _ = await client.new_session()
    client.dispatch(session, "session/isArchivedChanged", isArchived=True)
    await client.state(session, lambda s: ARCHIVED_AT in s["_meta"])
    later = await world.crash()
    again = await later.client("bob")
    assert (await again.subscribe(session))["status"] & IS_ARCHIVED
    await later.close()


async def test_a_value_that_the_schema_does_not_have_is_never_kept(world, client):
    """C43: what is transient cannot be a value here, so nothing has to be taken out of it."""
    session, _ = await client.new_session()
    seq = client.dispatch(session, "session/configChanged", config={"shellInitScript": "rm -rf /"})
    assert "shellInitScript" in await client.rejection(seq)
    later = await world.crash()
    again = await later.client("bob")
    assert "shellInitScript" not in str(await again.subscribe(session))
    await later.close()
