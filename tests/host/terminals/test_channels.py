"""Terminal channels (AHP §3, §4, §7, §9.9; reference §5.10): commands, claims, output, ends, restarts."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from innkeeper.host.terminals import live as module
from innkeeper.host.terminals.content import size
from innkeeper.limits import TERMINAL_CHARACTERS, TERMINAL_KEPT_CHARACTERS
from innkeeper.ports.log import StoreFull
from innkeeper.protocol.check import check
from innkeeper.protocol.terminal.state import TerminalState
from innkeeper.protocol.uris import file_uri
from scripted.terminals import FakeTerminals, ShellWorld, shell_world
from scripted.world import Client, RpcFailure, World

pytestmark = pytest.mark.anyio
ROOT = "ahp-root://"
URI = "ahp-terminal:/one"


async def made(client: Client, uri: str = URI, **params: Any) -> Any:
    """A terminal that the client holds, subscribed."""
    params.setdefault("claim", {"kind": "client", "clientId": client.client_id})
    await client.request("createTerminal", uri, **params)
    return await client.subscribe(uri)


def shown(state: Any) -> str:
    return "".join(part.get("value") or part.get("output") or "" for part in state["content"])


async def refused(work: Any) -> RpcFailure:
    with pytest.raises(RpcFailure) as caught:
        await work
    return caught.value


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def prompted(client: Client, uri: str = URI) -> None:
    await client.state(uri, lambda s: s.get("supportsCommandDetection"))


# -- with real shells --------------------------------------------------------------------------------------------


async def test_a_terminal_is_listed_and_runs_what_is_typed(world: ShellWorld, client: Client) -> None:
    state = await made(client, cwd=world.home.as_uri(), name="mine", cols=100, rows=30)
    check(TerminalState, state, "terminal")
    assert state["isPty"] is True
    assert (state["title"], state["cols"], state["rows"]) == ("mine", 100, 30)
    (info,) = client.states[ROOT]["terminals"]
    assert info["resource"] == URI
    assert info["lifecycle"] == {"status": "running"}
    await prompted(client)
    client.dispatch(URI, "terminal/input", data="cd / && stty size; (exit 5)\r")
    state = await client.state(URI, lambda s: any(part.get("isComplete") for part in s["content"]))
    (command,) = [part for part in state["content"] if part["type"] == "command"]
    assert command["commandLine"] == "cd / && stty size; (exit 5)"
    assert command["output"] == "30 100\r\n"
    assert (command["exitCode"], command["isComplete"]) == (5, True)
    assert command["durationMs"] >= 0
    await client.state(URI, lambda s: s["cwd"] == "file:///")
    world.check_mirrors(client)


async def test_a_new_size_reaches_the_program(world: ShellWorld, client: Client) -> None:
    await made(client)
    await prompted(client)
    client.dispatch(URI, "terminal/resized", cols=132, rows=50)
    client.dispatch(URI, "terminal/input", data="stty size\r")
    await client.state(URI, lambda s: "50 132" in shown(s))
    assert (client.states[URI]["cols"], client.states[URI]["rows"]) == (132, 50)


async def test_after_a_storm_of_sizes_the_last_one_counts(world: ShellWorld, client: Client) -> None:
    """As when somebody drags the edge of a window."""
    await made(client)
    await prompted(client)
    for step in range(300):
        client.dispatch(URI, "terminal/resized", cols=20 + step, rows=10 + step % 50)
    client.dispatch(URI, "terminal/input", data="stty size\r")
    await client.state(URI, lambda s: "59 319" in shown(s))
    world.check_mirrors(client)


async def test_a_folder_whose_name_is_no_text_is_a_place_like_any_other(world: ShellWorld, client: Client) -> None:
    folder = os.fsdecode(os.fsencode(world.home) + b"/caf\xe9 \xff")
    os.mkdir(folder)
    session, chat = await client.new_session(workingDirectories=[file_uri(folder)])
    state = await made(client, claim={"kind": "session", "session": session, "chat": chat})
    await prompted(client)
    client.dispatch(URI, "terminal/input", data="touch here\r")
    await client.state(URI, lambda s: any(part.get("isComplete") for part in s["content"]))
    assert os.listdir(folder) == ["here"]
    assert client.states[URI]["cwd"] == state["cwd"] == file_uri(folder)


async def test_a_shell_that_is_killed_has_ended_and_its_command_too(world: ShellWorld, client: Client) -> None:
    await made(client)
    await prompted(client)
    client.dispatch(URI, "terminal/input", data="kill -9 $$\r")
    state = await client.state(URI, lambda s: s["lifecycle"]["status"] == "exited")
    assert state["lifecycle"]["exitCode"] == 128 + signal.SIGKILL
    assert [part["isComplete"] for part in state["content"] if part["type"] == "command"] == [True]
    world.check_mirrors(client)


async def test_the_end_of_the_shell_keeps_the_state_with_its_code(world: ShellWorld, client: Client) -> None:
    """§5.10: until it is disposed of."""
    await made(client)
    await prompted(client)
    client.dispatch(URI, "terminal/input", data="exit 3\r")
    state = await client.state(URI, lambda s: s["lifecycle"]["status"] == "exited")
    assert state["lifecycle"] == {"status": "exited", "exitCode": 3}
    await client.state(ROOT, lambda s: s["terminals"][0]["lifecycle"] == {"status": "exited", "exitCode": 3})
    assert "ended" in await client.rejection(client.dispatch(URI, "terminal/input", data="x"))
    assert "ended" in await client.rejection(client.dispatch(URI, "terminal/resized", cols=1, rows=1))
    await client.request("disposeTerminal", URI)
    assert client.states[ROOT]["terminals"] == []
    assert (await refused(client.request("subscribe", URI))).code == -32008


async def test_a_flood_is_cut_and_everybody_sees_the_same(world: ShellWorld, client: Client) -> None:
    """S26; those who were there and one who comes later have equal content."""
    other = await world.client()
    await made(client)
    await other.subscribe(URI)
    await prompted(client)
    client.dispatch(URI, "terminal/input", data="seq 1 40000; echo the end\r")
    await client.state(URI, lambda s: any(p.get("isComplete") and "the end" in p["output"] for p in s["content"]))
    await other.state(URI, lambda s: any(p.get("isComplete") and "the end" in p["output"] for p in s["content"]))
    late = await world.client()
    state = await late.subscribe(URI)
    assert size(state["content"]) <= TERMINAL_CHARACTERS
    assert "\r\n40000\r\nthe end\r\n" in shown(state)
    assert "\r\n100\r\n" not in shown(state)
    await asyncio.sleep(0.3)  # what still waits is said
    world.check_mirrors(client, other, late)


async def test_a_terminal_of_a_session_goes_with_it(world: ShellWorld, client: Client) -> None:
    session, chat = await client.new_session(workingDirectories=[world.home.as_uri()])
    state = await made(client, claim={"kind": "session", "session": session, "chat": chat})
    assert state["cwd"] == world.home.as_uri()
    await made(client, "ahp-terminal:/own")
    pid = world.service._terminals._live[URI].terminal.pid
    await client.request("disposeSession", session)
    await client.state(ROOT, lambda s: [info["resource"] for info in s["terminals"]] == ["ahp-terminal:/own"])
    await world.until(lambda: not exists(pid))
    assert world.hub.kind(URI) is None


async def test_a_session_that_goes_ends_a_terminal_that_floods(world: ShellWorld, client: Client) -> None:
    session, chat = await client.new_session(workingDirectories=[world.home.as_uri()])
    await made(client, claim={"kind": "session", "session": session, "chat": chat})
    await prompted(client)
    client.dispatch(URI, "terminal/input", data="yes & trap '' HUP TERM; yes\r")
    await client.state(URI, lambda s: size(s["content"]) > TERMINAL_KEPT_CHARACTERS / 2)
    pids = [child.pid for child in psutil.Process(world.service._terminals._live[URI].terminal.pid).children()]
    await client.request("disposeSession", session)
    await client.state(ROOT, lambda s: s["terminals"] == [])
    assert len(pids) == 2
    await world.until(lambda: not any(map(exists, pids)))
    assert world.hub.kind(URI) is None


async def test_a_session_that_goes_ends_the_command_that_its_turn_waits_for(world: ShellWorld, client: Client) -> None:
    config = {"autoApprove": "autoApprove"}
    session, chat = await client.new_session(workingDirectories=[world.home.as_uri()], config=config)
    client.start_turn(chat, "!sleep 300")
    live = world.service._terminals._live
    await world.until(lambda: any(terminal.transcript.is_running for terminal in live.values()))
    (shell,) = (psutil.Process(terminal.terminal.pid) for terminal in live.values())
    await world.until(shell.children)
    pids = [shell.pid, *(child.pid for child in shell.children())]
    await client.request("disposeSession", session)
    await client.state(ROOT, lambda s: s["terminals"] == [])
    await world.until(lambda: not any(map(exists, pids)))
    assert len(pids) == 2 and world.hub.kind(chat) is None


async def test_disposing_ends_the_process(world: ShellWorld, client: Client) -> None:
    await made(client)
    pid = world.service._terminals._live[URI].terminal.pid
    await client.request("disposeTerminal", URI)
    await world.until(lambda: not exists(pid))
    assert (await refused(client.request("disposeTerminal", URI))).code == -32008


async def test_after_a_restart_no_terminal_looks_alive(world: ShellWorld, client: Client) -> None:
    """Whoever held it; the code is not known, and a command that ran has ended."""
    session, chat = await client.new_session(workingDirectories=[world.home.as_uri()])
    await made(client)
    await made(client, "ahp-terminal:/of-session", claim={"kind": "session", "session": session, "chat": chat})
    await prompted(client)
    client.dispatch(URI, "terminal/input", data="echo before; sleep 300\r")
    await client.state(URI, lambda s: "before" in shown(s) and s["content"][-1]["type"] == "command")
    await asyncio.sleep(0.1)  # output is logged a moment later than it is seen
    async with Crashed(world) as later:
        other = await later.client()
        infos = other.states[ROOT]["terminals"]
        assert [info["lifecycle"] for info in infos] == [{"status": "exited"}] * 2
        for uri in (URI, "ahp-terminal:/of-session"):
            assert (await other.subscribe(uri))["lifecycle"] == {"status": "exited"}
        last = other.states[URI]["content"][-1]
        assert last["isComplete"] is True
        assert "exitCode" not in last
        await other.request("disposeTerminal", URI)
        assert (
            await refused(other.request("createTerminal", "ahp-terminal:/of-session", claim=infos[1]["claim"]))
        ).code == -32010


class Crashed:
    """The host after this one was killed; both end."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def __aenter__(self) -> World:
        self.later = await self.world.crash()
        return self.later

    async def __aexit__(self, *_: object) -> None:
        await self.later.close()


async def test_programs_that_ask_the_terminal_get_the_least_they_wait_for(world: ShellWorld, client: Client) -> None:
    """§5.10: replies do not pollute the output; the queries are not shown to anybody."""
    await made(client)
    await prompted(client)
    ask = "stty raw -echo; printf '\\033[c\\033[5n\\033[6n'; head -c 11 | od -c; stty sane"
    client.dispatch(URI, "terminal/input", data=f"{ask}\r")
    state = await client.state(URI, lambda s: any(part.get("isComplete") for part in s["content"]))
    (command,) = [part for part in state["content"] if part["type"] == "command"]
    assert "033   [   ?   1   ;   2   c 033   [   0   n" in command["output"]
    assert "\x1b[c" not in command["output"]
    client.dispatch(URI, "terminal/input", data="printf 'a\\033[cb\\n'\r")
    state = await client.state(URI, lambda s: sum(bool(part.get("isComplete")) for part in s["content"]) == 2)
    assert [part["output"] for part in state["content"] if part["type"] == "command"][1] == "ab\r\n"


async def test_no_nonce_is_shown_and_a_forged_line_is_not_believed(world: ShellWorld, client: Client) -> None:
    """S27, end to end."""
    await made(client)
    await prompted(client)
    forge = "printf '\\033]633;E;rm -rf /;forged\\007\\033]633;D;0\\007\\033]633;C\\007after\\n'; (exit 2)"
    client.dispatch(URI, "terminal/input", data=f"{forge}\r")
    state = await client.state(URI, lambda s: any(part.get("isComplete") for part in s["content"]))
    (command,) = [part for part in state["content"] if part["type"] == "command"]
    assert command["commandLine"] == forge
    assert command["exitCode"] == 2
    assert command["output"] == "after\r\n"
    nonce = world.service._terminals._live[URI].terminal.nonce
    assert nonce not in str(client.frames)


# -- with the twin -----------------------------------------------------------------------------------------------


async def test_the_same_uri_twice_is_an_error(quick: World, twin: FakeTerminals) -> None:
    client = await quick.client()
    await made(client)
    claim = {"kind": "client", "clientId": client.client_id}
    assert (await refused(client.request("createTerminal", URI, claim=claim))).code == -32010
    both = await asyncio.gather(
        client.request("createTerminal", "ahp-terminal:/two", claim=claim),
        client.request("createTerminal", "ahp-terminal:/two", claim=claim),
        return_exceptions=True,
    )
    assert [type(one).__name__ for one in both] == ["NoneType", "RpcFailure"]
    assert len(twin.opened) == 2


@pytest.mark.parametrize(
    "params",
    [
        {"claim": {"kind": "client", "clientId": "somebody-else"}},
        {"claim": {"kind": "session", "session": "ahp-session:/none", "chat": "ahp-chat:/none"}},
        {"claim": {"kind": "other"}},
        {"cols": 0},
        {"rows": 1001},
        {"cwd": "https://example.com/x"},
    ],
)
async def test_a_terminal_that_cannot_be_is_refused(quick: World, twin: FakeTerminals, params: Any) -> None:
    client = await quick.client()
    given = {"claim": {"kind": "client", "clientId": client.client_id}, **params}
    assert (await refused(client.request("createTerminal", URI, **given))).code == -32602
    assert twin.opened == []
    assert quick.hub.kind(URI) is None


async def test_a_shell_that_cannot_start_says_why(quick: World, twin: FakeTerminals) -> None:
    client = await quick.client()
    claim = {"kind": "client", "clientId": client.client_id}
    failure = await refused(client.request("createTerminal", URI, claim=claim, cwd="/missing"))
    assert failure.data == {"code": "TERMINAL_FAILED"}
    assert "there is no folder /missing" in failure.message
    assert client.states[ROOT].get("terminals", []) == []
    await made(client)


async def test_too_many_terminals_are_refused(quick: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from innkeeper.host.terminals import service

    monkeypatch.setattr(service, "TERMINALS", 1)
    client = await quick.client()
    await made(client)
    claim = {"kind": "client", "clientId": client.client_id}
    failure = await refused(client.request("createTerminal", "ahp-terminal:/two", claim=claim))
    assert failure.data == {"code": "TERMINALS_FULL"}


async def test_only_the_holder_types(quick: World, twin: FakeTerminals) -> None:
    """AHP §9.9: and only the holder gives it away, to itself or to a session."""
    holder, other = await quick.client(), await quick.client()
    await made(holder)
    await other.subscribe(URI)
    for action in ({"type": "terminal/input", "data": "x"}, {"type": "terminal/resized", "cols": 5, "rows": 5}):
        assert "holds" in await other.rejection(other.dispatch(URI, **action))
    claim = {"kind": "client", "clientId": other.client_id}
    assert "holds" in await other.rejection(other.dispatch(URI, "terminal/claimed", claim=claim))
    assert "holds" in (await refused(other.request("disposeTerminal", URI))).message
    session, chat = await holder.new_session()
    narrowed = {"kind": "session", "session": session, "chat": chat}
    assert "does not belong" in await holder.rejection(
        holder.dispatch(URI, "terminal/claimed", claim={**narrowed, "chat": "ahp-chat:/x"})
    )
    await holder.echo(holder.dispatch(URI, "terminal/claimed", claim=narrowed))
    await other.state(ROOT, lambda s: s["terminals"][0]["claim"] == narrowed)
    await other.echo(other.dispatch(URI, "terminal/input", data="now"))
    assert twin.opened[0].typed == b"now"
    await other.echo(other.dispatch(URI, "terminal/claimed", claim=claim))
    assert "holds" in await holder.rejection(holder.dispatch(URI, "terminal/input", data="x"))
    quick.check_mirrors(holder, other)


async def test_a_holder_that_is_away_keeps_nobody_from_disposing(quick: World) -> None:
    holder, other = await quick.client(), await quick.client()
    await made(holder)
    holder.lose()
    await other.request("disposeTerminal", URI)
    assert other.states[ROOT]["terminals"] == []


async def test_a_terminal_that_a_call_uses_takes_no_keys(quick: World, twin: FakeTerminals) -> None:
    """Narrowed to a tool call; taking it over is allowed."""
    client = await quick.client()
    session, chat = await client.new_session()
    claim = {"kind": "session", "session": session, "chat": chat, "turnId": "t1", "toolCallId": "c1"}
    await made(client, claim=claim)
    assert "tool call" in await client.rejection(client.dispatch(URI, "terminal/input", data="x"))
    mine = {"kind": "client", "clientId": client.client_id}
    await client.echo(client.dispatch(URI, "terminal/claimed", claim=mine))
    await client.echo(client.dispatch(URI, "terminal/input", data="x"))
    assert twin.opened[0].typed == b"x"


async def test_a_terminal_that_only_shows_output_takes_no_input(quick: World) -> None:
    """§5.10: of a command that an agent runs by itself."""
    client = await quick.client()
    session, chat = await client.new_session()
    claim = {"kind": "session", "session": session, "chat": chat}
    shown_only = await quick.service._terminals.show(URI, "npm test", claim)
    state = await client.subscribe(URI)
    assert state["isPty"] is False
    shown_only.write("one\x1b]633;C\x07 tw")
    shown_only.write("o\x1b[c\n")
    await client.state(URI, lambda s: shown(s) == "one two\n")
    assert "only shows" in await client.rejection(client.dispatch(URI, "terminal/input", data="x"))
    shown_only.end(0)
    await client.state(ROOT, lambda s: s["terminals"][0]["lifecycle"] == {"status": "exited", "exitCode": 0})
    await client.request("disposeSession", session)
    await client.state(ROOT, lambda s: s["terminals"] == [])


async def test_titles_of_programs_are_told_at_most_five_times_a_second(quick: World, twin: FakeTerminals) -> None:
    client = await quick.client()
    await made(client, name="first")
    for number in range(50):
        twin.opened[0].put(f"\x1b]0;title {number}\x07")
    await client.state(URI, lambda s: s["title"] == "title 49")
    assert len(client.actions(URI, "terminal/titleChanged")) == 1
    await client.state(ROOT, lambda s: s["terminals"][0]["title"] == "title 49")


async def test_output_of_a_moment_is_one_action(quick: World, twin: FakeTerminals) -> None:
    client = await quick.client()
    await made(client)
    await prompted(client)
    before = len(client.actions(URI, "terminal/data"))
    for number in range(200):
        twin.opened[0].put(f"{number},")
    await client.state(URI, lambda s: "199," in shown(s))
    assert len(client.actions(URI, "terminal/data")) - before <= 3


async def test_half_a_character_waits_for_its_other_half(quick: World, twin: FakeTerminals) -> None:
    client = await quick.client()
    await made(client)
    for byte in "ä\U0001f600\x1b[31m!".encode():
        twin.opened[0]._pieces.put_nowait(bytes([byte]))
        await asyncio.sleep(0.03)
    state = await client.state(URI, lambda s: "!" in shown(s))
    assert shown(state).endswith("ä\U0001f600\x1b[31m!")
    assert "\ufffd" not in shown(state)
    assert not any(e["action"]["data"].endswith("\x1b") for e in client.actions(URI, "terminal/data"))


async def test_what_is_kept_is_the_end(quick: World, twin: FakeTerminals) -> None:
    """S26: 150,000 characters, of which at most 100,000 and after a cut about 80,000 are kept."""
    client = await quick.client()
    await made(client)
    await prompted(client)
    twin.opened[0].put("".join(f"line {number}\r\n" for number in range(12_000)))
    state = await client.state(URI, lambda s: "line 11999\r\n" in shown(s))
    assert size(state["content"]) <= TERMINAL_KEPT_CHARACTERS
    assert shown(state).startswith("line ")
    assert client.actions(URI, "terminal/cleared")
    quick.check_mirrors(client)


async def test_cleared_content_is_gone_for_everybody(quick: World, twin: FakeTerminals) -> None:
    client, other = await quick.client(), await quick.client()
    await made(client)
    await other.subscribe(URI)
    await prompted(client)
    await client.echo(client.dispatch(URI, "terminal/cleared"))
    assert other.states[URI]["content"] == []
    twin.opened[0].put("after")
    await other.state(URI, lambda s: shown(s) == "after")
    quick.check_mirrors(client, other)


async def test_a_full_disk_loses_no_output(quick: World, twin: FakeTerminals) -> None:
    """What could not be stored is stored later; clients that follow are equal to the host."""
    client = await quick.client()
    await made(client)
    await prompted(client)
    quick.log.fail_next(StoreFull("no space"), times=2)
    assert twin.opened[0].write(b"echo during\r")
    await client.state(URI, lambda s: any(part.get("isComplete") for part in s["content"]))
    assert "during" in shown(client.states[URI])
    quick.check_mirrors(client)


async def test_the_end_of_the_host_ends_terminals(tmp_path: Path) -> None:
    async with shell_world(tmp_path) as world:
        client = await world.client()
        await made(client)
        pid = world.service._terminals._live[URI].terminal.pid
    assert not exists(pid)


def test_the_reader_is_slowed_not_the_host() -> None:
    """What may wait to be said is bounded."""
    assert module.READ_AHEAD <= 1024 * 1024
