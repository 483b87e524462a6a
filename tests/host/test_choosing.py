"""The model and the agent that a message names (reference §4.1 `modelSelection`, AHP §9.7)."""

import pytest

from innkeeper.host.choosing import check_model
from innkeeper.providers.claude.agent import ClaudeProvider
from innkeeper.providers.spi import Choosing, ProviderError
from scripted.provider import ScriptedProvider
from scripted.world import World, text_of

pytestmark = pytest.mark.anyio


class LateProvider(ScriptedProvider):
    """Says which models it has when a session of it is opened, and takes any before."""

    models = ("default",)

    async def open_session(self, opening):
        opened = await super().open_session(opening)
        self.models = ("default", "late-1")
        self.changed()
        return opened


def send(client, chat, turn="t1", **more):
    message = {"text": "hello", "origin": {"kind": "user"}, **more}
    client.dispatch(chat, "chat/turnStarted", turnId=turn, startedAt="2026-01-01T00:00:00.000Z", message=message)
    return client.ended(chat, turn)


async def test_a_model_that_the_agent_has_goes_with_the_message(world, client):
    _, chat = await client.new_session()
    assert (await send(client, chat, model={"id": "script-1"}))["state"] == "complete"
    assert world.scripted.requests[-1].message["model"] == {"id": "script-1"}


async def test_a_model_that_it_does_not_have_fails_the_turn_in_words(world, client):
    """`modelSelectionFailed`: no server starts for it, no agent hears of it; the next turn goes on."""
    _, chat = await client.new_session()
    turn = await send(client, chat, model={"id": "gone-9"})
    error = turn["responseParts"][-1]["error"]
    assert (turn["state"], error["errorType"]) == ("error", "modelSelectionFailed")
    assert "gone-9" in error["message"] and "script-1" in error["message"]
    assert not world.scripted.requests and not [entry for entry in world.mcp.log if entry[0] == "prepare"]
    assert text_of(await send(client, chat, "t2")) == "Hello, world"


async def test_what_an_agent_says_when_it_is_opened_counts(world):
    scripted = LateProvider()
    later = await World(scripted=scripted).start()
    client = await later.client("alice")
    _, chat = await client.new_session()
    assert (await send(client, chat, model={"id": "late-1"}))["state"] == "complete"
    assert (await send(client, chat, "t2", model={"id": "late-2"}))["state"] == "error"
    await later.close()


def test_an_agent_that_has_said_nothing_is_not_judged():
    scripted = ScriptedProvider()
    scripted.models = ()
    check_model(scripted, {"model": {"id": "anything"}})
    scripted.models = ("one",)
    with pytest.raises(ProviderError) as caught:
        check_model(scripted, {"model": {"id": "anything"}})
    assert caught.value.error_type == "modelSelectionFailed"


@pytest.mark.parametrize("nothing", [{}, {"model": None}])
def test_a_message_without_a_model_is_not_judged(nothing):
    scripted = ScriptedProvider()
    assert check_model(scripted, nothing) is None and check_model(None, {"model": {"id": "x"}}) is None


def test_an_agent_that_may_take_more_than_it_lists_is_asked():
    class Asked(ScriptedProvider):
        def takes_model(self, id):
            return id == "hidden"

    assert isinstance(Asked(), Choosing) and not isinstance(ScriptedProvider(), Choosing)
    assert issubclass(ClaudeProvider, Choosing)
    assert check_model(Asked(), {"model": {"id": "hidden"}}) is None
    with pytest.raises(ProviderError):
        check_model(Asked(), {"model": {"id": "other"}})


async def test_an_agent_that_the_session_does_not_have_is_told_and_the_turn_goes_on(world, client, caplog):
    """Reference §4.1: only logged."""
    _, chat = await client.new_session()
    turn = await send(client, chat, agent={"uri": "file:///w/.claude/agents/none.md"})
    assert turn["state"] == "complete" and "names an agent" in caplog.text
