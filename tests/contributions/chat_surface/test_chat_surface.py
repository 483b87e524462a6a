"""Terminals and places in editors (reference §3.11, rows C32 to C35)."""

import pytest

from innkeeper.contributions.chat_surface import chosen
from innkeeper.contributions.chat_surface.lines import CHARACTERS, FILE_BYTES, LINE_CHARACTERS, excerpt
from innkeeper.host.customizations.service import Ground
from innkeeper.workspace.files import LocalFiles
from scripted.world import RpcFailure, World

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world():
    started = await World(ground=Ground(LocalFiles())).start()
    yield started
    await started.close()


def selection(first, last=None):
    last = first if last is None else last
    return {"range": {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 1}}}


def attachment(path, first=0, **more):
    return {"type": "resource", "label": path.name, "uri": path.as_uri(), "selection": selection(first), **more}


async def inline(world, client, attachments, target=None):
    session, chat = await client.new_session()
    await client.request("x-innkeeper/session/surface", session, kind="editorInline", target=target)
    message = {"text": "hello", "origin": {"kind": "user"}, "attachments": attachments}
    client.dispatch(chat, "chat/turnStarted", turnId="t1", startedAt="2026-01-01T00:00:00.000Z", message=message)
    turn = await client.ended(chat)
    assert turn["message"]["text"] == "hello"
    return world.scripted.requests[-1]


async def test_a_terminal_adds_an_instruction_and_leaves_the_text(world, client):
    """C35."""
    session, chat = await client.new_session()
    await client.request("x-innkeeper/session/surface", session, kind="terminal")
    await client.turn(chat, "hello")
    request = world.scripted.requests[-1]
    assert request.text == "hello" and request.instructions[0].startswith("<terminal_chat>")
    await client.request("x-innkeeper/session/surface", session, kind=None)
    await client.turn(chat, "hello", "t2")
    assert world.scripted.requests[-1].instructions == ()


async def test_lines_around_the_target_come_before_the_words(world, client, tmp_path):
    file = tmp_path / "a.py"
    file.write_text("".join(f"line {n}\n" for n in range(40)))
    request = await inline(world, client, [attachment(file, 20)], file.as_uri())
    assert request.instructions[0].startswith("<editor_inline>")
    block, _, words = request.text.rpartition("\n\n")
    assert words == "hello" and "> 21: line 20" in block and "  17: line 16" in block and "line 15" not in block
    assert block.count("\n") == 16 + 4 - 1, "sixteen lines"


async def test_of_two_selections_none_is_guessed(world, client, tmp_path):
    """C32."""
    files = [tmp_path / name for name in ("a", "b")]
    for file in files:
        file.write_text("x\n")
    request = await inline(world, client, [attachment(f) for f in files], (tmp_path / "c").as_uri())
    assert request.text == "hello" and request.instructions[0].startswith("<editor_inline>")


@pytest.mark.parametrize("content", [None, b"x" * (FILE_BYTES + 1), b"\xff\xfe\x00"])
async def test_a_file_that_cannot_be_read_adds_no_lines(world, client, tmp_path, caplog, content):
    """C34."""
    file = tmp_path / "a"
    if content is not None:
        file.write_bytes(content)
    request = await inline(world, client, [attachment(file)], file.as_uri())
    assert request.text == "hello" and len(request.instructions) == 1 and "left out" in caplog.text


async def test_a_selection_without_lines_adds_none(world, client, tmp_path):
    file = tmp_path / "a"
    file.write_text("x")
    broken = {**attachment(file), "selection": {"range": {"start": {}, "end": {}}}}
    session, chat = await client.new_session()
    await client.request("x-innkeeper/session/surface", session, kind="editorInline")
    message = {"text": "hello", "origin": {"kind": "user"}, "attachments": [broken]}
    seq = client.dispatch(chat, "chat/turnStarted", turnId="t1", startedAt="2026-01-01T00:00:00.000Z", message=message)
    assert "rejectionReason" in await client.echo(seq), "the protocol's own check refuses it"


def test_long_lines_and_long_excerpts_are_cut():
    """C33."""
    content = "\n".join(["x" * 300] * 40)
    block = excerpt("a", content, selection(20, 22))
    lines = [line for line in block.splitlines() if "xxx" in line]
    assert all(line.endswith("…") and len(line.split(": ", 1)[1]) == LINE_CHARACTERS for line in lines)
    assert sum(line.startswith(">") for line in lines) == 3 and sum(map(len, lines)) <= CHARACTERS


@pytest.mark.parametrize(
    ("uris", "target", "found"),
    [
        (["a"], "", "a"),
        (["a"], "a", "a"),
        (["a"], "b", None),
        (["a", "b"], "b", "b"),
        (["a", "b"], "", None),
        ([], "", None),
    ],
)
def test_an_attachment_for_another_target_is_never_used(uris, target, found):
    """C32."""
    given = [{"uri": uri, "selection": selection(0)} for uri in uris]
    assert (chosen(given, target) or {}).get("uri") == found


@pytest.mark.parametrize(
    ("channel", "kind", "code"), [("ahp-session:/1", "tv", -32602), ("ahp-session:/9", None, -32001)]
)
async def test_a_surface_that_there_is_not_is_refused(world, client, channel, kind, code):
    await client.new_session()
    with pytest.raises(RpcFailure) as refused:
        await client.request("x-innkeeper/session/surface", channel, kind=kind)
    assert refused.value.code == code
