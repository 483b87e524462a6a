"""What the host does for its agents: what it lists, what it keeps for them, what it tells them (K14, K17)."""

import pytest

from innkeeper.providers.spi import ProviderError, Unavailable
from scripted.provider import PROMPTS, ScriptedProvider
from scripted.world import ROOT, World, text_of

pytestmark = pytest.mark.anyio

MISSING = Unavailable("AGENT_EXTRA_MISSING", "The package is missing.", "pip install it")
LOGIN = Unavailable("AGENT_LOGIN_MISSING", "It is not signed in.", "sign in")


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


class SignedOut(ScriptedProvider):
    """Takes tokens, and has no login."""

    @property
    def info(self):
        return {**super().info, "protectedResources": [{"resource": "https://models.example", "required": False}]}


@pytest.mark.parametrize(("missing", "reason"), [(LOGIN, "required"), (None, "expired")])
async def test_where_an_agent_fails_for_want_of_a_login_clients_are_asked_for_a_token(missing, reason, monkeypatch):
    """AHP §8: also in the middle of a session; the resource is whole, and a token that the host has is not enough."""
    monkeypatch.setitem(PROMPTS, "login", no_login)
    agent = SignedOut()
    world = await World(scripted=agent).start()
    client = await world.client()
    _, chat = await client.new_session(provider="scripted")
    agent.missing = missing
    await client.turn(chat, "login")
    notice = await client.until(lambda: client.notices("auth/required"))
    assert notice == [{"channel": ROOT, "resource": agent.info["protectedResources"][0], "reason": reason}]
    await world.close()


async def test_a_login_that_is_made_elsewhere_is_seen_when_a_session_opens():
    """Issue 6 §6: the agent's own stored login, made in a terminal."""
    agent = SignedOut()
    agent.missing = LOGIN
    agent.opening = no_login
    world = await World(scripted=agent).start()
    client = await world.client()
    await client.request("createSession", "ahp-session:/1", provider="scripted")
    await client.until(lambda: client.notices("auth/required"))
    agent.missing = agent.opening = None
    await client.new_session("ahp-session:/2", provider="scripted")
    await client.state(ROOT, lambda s: s["agents"][0]["models"])
    assert len(client.notices("auth/required")) == 1
    await world.close()


async def no_login(*_):
    raise ProviderError("AGENT_LOGIN_MISSING", "It is not signed in.")


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


async def test_what_an_agent_keeps_about_a_chat_comes_back_after_a_restart():
    """K14, K17: durable with the session, by chat."""
    world = await World().start()
    client = await world.client()
    _, chat = await client.new_session(provider="scripted")
    assert text_of(await client.turn(chat, "keep one")) == "had null branch null"
    assert text_of(await client.turn(chat, "keep two", "t2")) == 'had {"word": "one"} branch null'
    later = await world.crash()
    again = await later.client()
    await again.subscribe(chat)
    assert text_of(await again.turn(chat, "keep three", "t3")) == 'had {"word": "two"} branch null'
    await later.close()


async def test_what_is_too_large_to_be_kept_leaves_what_was_kept():
    world = await World().start()
    client = await world.client()
    _, chat = await client.new_session(provider="scripted")
    await client.turn(chat, "keep small")
    await client.turn(chat, f"keep {'x' * 20_000}", "t2")
    assert text_of(await client.turn(chat, "keep again", "t3")) == 'had {"word": "small"} branch null'
    await world.close()


async def test_a_fork_is_told_what_its_source_kept_and_where_it_begins():
    """AHP §9.3"""
    world = await World().start()
    client = await world.client()
    session, chat = await client.new_session(provider="scripted")
    await client.turn(chat, "keep source")
    await client.turn(chat, "hello", "t2")
    fork = "ahp-chat:fork"
    await client.request("createChat", session, chat=fork, source={"kind": "fork", "chat": chat, "turnId": "t2"})
    await client.subscribe(fork)
    assert text_of(await client.turn(fork, "keep fork", "t9")) == 'had null branch [{"word": "source"}, 2]'
    await world.close()


async def test_a_turn_says_whose_words_it_is_about_and_what_its_clients_can_do():
    world = await World().start()
    client = await world.client()
    session, chat = await client.new_session(provider="scripted")
    tools = [{"name": "pick", "inputSchema": {"type": "object"}}]
    client.dispatch(session, "session/activeClientSet", activeClient={"clientId": client.client_id, "tools": tools})
    await client.until(lambda: client.states[session]["activeClients"])
    said = text_of(await client.turn(chat, "who"))
    assert said == f"{client.client_id} ['{client.client_id}:pick']"
    await world.close()
