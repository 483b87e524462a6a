import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.providers.console.lines import Call, Echo, Mistake, Read, Show, parse
from innkeeper.providers.console.provider import pieces
from scripted.fakes import FakeMcp, FakeServer
from scripted.world import World, call_of, text_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("/help", Show("help")),
        ("  /tools  ", Show("tools")),
        ("/read memo://1", Read("memo://1")),
        ("/call a b", Call("a", "b", {}, "{}")),
        ('/call a b {"x": [1, 2]}', Call("a", "b", {"x": [1, 2]}, '{"x": [1, 2]}')),
        ("hello", Echo("hello")),
        ("/usr/bin is a path", Echo("/usr/bin is a path")),
        ("/", Echo("/")),
        ("", Echo("")),
    ],
)
def test_a_line_means(line, meaning):
    assert parse(line) == meaning


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/nope", "There is no command /nope"),
        ("/call", "Usage: /call"),
        ("/call a", "Usage: /call"),
        ("/read", "Usage: /read"),
        ('/call a b {"x": }', "line 1, column 7"),
        ("/call a b [1]", "must be a JSON object"),
        ("/call a b " + "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_mistake_says_where_it_is(line, words):
    meaning = parse(line)
    assert isinstance(meaning, Mistake) and words in meaning.message


@given(st.text())
def test_every_line_means_something(line):
    assert parse(line) is not None


@given(st.text())
def test_pieces_are_the_words(words):
    assert "".join(pieces(words)) == words and pieces(words)


@pytest.fixture
async def world():
    servers = {"memo": FakeServer("memo", tools=("echo", "count")), "other": FakeServer("other")}
    started = await World(mcp=FakeMcp(declared=servers)).start()
    yield started
    await started.close()


@pytest.fixture
async def client(world):
    return await world.client("alice")


async def connected(client):
    session, chat = await client.new_session(provider="console")
    for name in ("memo", "other"):
        await client.request("x-innkeeper/mcp/connect", session, server=name)
    return session, chat


async def test_words_are_echoed_in_several_deltas(world, client):
    """issue 2 §6: streaming."""
    _, chat = await client.new_session(provider="console")
    words = "An echo that is long enough to come in more than one piece, so that streaming can be seen."
    turn = await client.turn(chat, words)
    assert text_of(turn) == words
    assert len(client.actions(chat, "chat/delta")) >= 2


async def test_tools_resources_and_prompts_are_listed_by_server(world, client):
    _, chat = await connected(client)
    assert text_of(await client.turn(chat, "/tools", "a")).splitlines()[:2] == ["memo:", "  echo  The echo tool"]
    assert text_of(await client.turn(chat, "/resources", "b")).splitlines()[0] == "memo: memo://memo/1  The first"
    assert text_of(await client.turn(chat, "/prompts", "c")).splitlines()[1] == "other: greet  Says hello"
    assert text_of(await client.turn(chat, "/read memo://memo/1", "d")) == "content of memo://memo/1"
    assert "cannot be read" in text_of(await client.turn(chat, "/read http://x", "e"))


async def test_a_call_is_a_tool_call_of_the_turn_with_its_server(world, client):
    """AHP §9.2: contributor mcp; M6.9: through the gateway, as the turn that makes it."""
    _, chat = await connected(client)
    turn = await client.turn(chat, '/call memo echo {"a": 1}')
    call = call_of(turn, world.mcp.callers[0].tool_call_id)
    assert call["contributor"] == {"kind": "mcp", "customizationId": "memo"} and call["status"] == "completed"
    assert call["toolInput"] == '{"a": 1}' and text_of(turn) == "echo {'a': 1}"
    assert world.mcp.callers[0].chat == chat


async def test_a_server_that_is_not_there_lists_those_that_are(world, client):
    _, chat = await connected(client)
    assert "Connected: memo, other" in text_of(await client.turn(chat, "/call nope echo"))


async def test_without_a_server_it_says_so(world, client):
    _, chat = await client.new_session(provider="console")
    assert "none is connected" in text_of(await client.turn(chat, "/call nope echo"))
    for number, line in enumerate(("/tools", "/resources", "/prompts")):
        assert "No " in text_of(await client.turn(chat, line, f"n{number}"))


async def test_a_tool_that_is_not_there_fails_the_call_and_not_the_turn(world, client):
    _, chat = await connected(client)
    turn = await client.turn(chat, "/call memo nope")
    assert turn["state"] == "complete" and "no tool nope" in text_of(turn)


async def test_a_side_chat_shows_its_context(world, client):
    """AHP §9.3."""
    session, chat = await client.new_session(provider="console")
    await client.turn(chat, "first words", "a")
    source = {"kind": "sideChat", "chat": chat, "turnId": "a"}
    await client.request("createChat", session, chat="ahp-chat:/side", source=source)
    await client.subscribe("ahp-chat:/side")
    shown = text_of(await client.turn("ahp-chat:/side", "/history"))
    assert "Context from another chat, 1 turn:" in shown and "1. first words" in shown
    assert "0 turns before" in shown


async def test_help_names_every_command(world, client):
    _, chat = await client.new_session(provider="console")
    shown = text_of(await client.turn(chat, "/help"))
    for command in ("/help", "/tools", "/call", "/resources", "/read", "/prompts", "/history"):
        assert command in shown
