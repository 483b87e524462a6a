"""Local commands end to end, with real shells (K13, C1, C21, T15, T16, T18; reference §3.2, §4.8)."""

from pathlib import Path
from typing import Any

import pytest

from innkeeper.contributions.local_commands import LocalCommands
from innkeeper.contributions.spi import Handled, IncomingRequest, Reject
from innkeeper.host.local_commands.registry import CommandRegistry
from innkeeper.host.terminals.outcome import Times
from innkeeper.ports.local_commands import Claim, LocalRequest
from scripted.terminals import FakeTerminals, ShellWorld
from scripted.world import Client, World, call_of, text_of

pytestmark = pytest.mark.anyio
CALL = "shell-t1"


async def begun(world: ShellWorld, client: Client) -> tuple[str, str]:
    return await client.new_session(workingDirectories=[world.home.as_uri()])


def calls(turn: Any) -> list[Any]:
    return [part["toolCall"] for part in (turn or {}).get("responseParts") or () if part["kind"] == "toolCall"]


async def asked(client: Client, chat: str, call: str = CALL) -> Any:
    """The tool call once it waits for an answer; None when a rule has approved it."""

    def decided(state: Any) -> Any:
        turns = [state.get("activeTurn"), *state["turns"]]
        found = [c for turn in turns for c in calls(turn) if c["toolCallId"] == call and c["status"] != "streaming"]
        return found[0] if found else None

    found = decided(await client.state(chat, decided))
    return found if found["status"] == "pending-confirmation" else None


async def allow(client: Client, chat: str, turn: str = "t1", **more: Any) -> None:
    """Answer the question, where one is asked."""
    call = await asked(client, chat, f"shell-{turn}")
    if call is None:
        return
    chosen = [option["id"] for option in call.get("options") or () if option["kind"] == "approve"][-1:]
    client.dispatch(
        chat,
        "chat/toolCallConfirmed",
        turnId=turn,
        toolCallId=call["toolCallId"],
        approved=True,
        confirmed="user-action",
        **({"selectedOptionId": chosen[0]} if chosen else {}),
        **more,
    )


async def ran(client: Client, chat: str, words: str, turn: str = "t1") -> Any:
    """The tool call of a command that is allowed."""
    client.start_turn(chat, words, turn)
    await allow(client, chat, turn)
    return call_of(await client.ended(chat, turn), f"shell-{turn}")


def output(call: Any) -> str:
    return "".join(part["text"] for part in call["content"] if part["type"] == "text")


def terminal(call: Any) -> Any:
    return next(part for part in call["content"] if part["type"] == "terminal")


# -- /rename -----------------------------------------------------------------------------------------------------


async def test_rename_names_the_session_in_its_default_chat(world: ShellWorld, client: Client) -> None:
    """C1: one Markdown line, no call of the agent."""
    session, chat = await client.new_session()
    turn = await client.turn(chat, "/rename  A  *new* name ")
    assert text_of(turn) == "Renamed to A \\*new\\* name."
    assert turn["state"] == "complete"
    assert client.states[session]["title"] == "A *new* name"
    assert client.states[session]["chats"][0]["title"] == "A *new* name"
    assert not world.scripted.requests


async def test_rename_in_a_peer_chat_names_that_chat(world: ShellWorld, client: Client) -> None:
    session, _ = await client.new_session()
    await client.request("createChat", session, chat="ahp-chat:/peer")
    await client.subscribe("ahp-chat:/peer")
    await client.turn("ahp-chat:/peer", "/RENAME Peer")
    titles = {c["resource"]: c.get("title") for c in client.states[session]["chats"]}
    assert titles["ahp-chat:/peer"] == "Peer"
    assert client.states[session]["title"] != "Peer"


async def test_rename_without_a_title_completes_silently(world: ShellWorld, client: Client) -> None:
    session, chat = await client.new_session()
    turn = await client.turn(chat, "/rename")
    assert turn["responseParts"] == []
    assert client.states[session]["title"] == ""


async def test_rename_works_in_an_archived_session(world: ShellWorld, client: Client) -> None:
    """C1, K13."""
    session, chat = await client.new_session()
    await client.echo(client.dispatch(session, "session/isArchivedChanged", isArchived=True))
    assert text_of(await client.turn(chat, "/rename Put away")) == "Renamed to Put away."
    assert client.states[session]["title"] == "Put away"


async def test_a_name_that_a_person_gave_stays_and_survives(world: ShellWorld, client: Client) -> None:
    session, chat = await client.new_session()
    await client.turn(chat, "/rename Mine")
    await client.turn(chat, "hello", "t2")
    assert client.states[session]["title"] == "Mine"
    later = await world.crash()
    other = await later.client()
    assert (await other.subscribe(session))["title"] == "Mine"
    await later.close()


async def test_words_that_only_look_like_a_command_go_to_the_agent(world: ShellWorld, client: Client) -> None:
    """A blank before it sends it to the agent; so does a longer word, and a lone exclamation mark."""
    _, chat = await client.new_session()
    for number, words in enumerate((" /rename x", "/renamed x", "!", "! ", " !ls")):
        await client.turn(chat, words, f"t{number}")
    sent = [request.text for request in world.scripted.requests]
    assert sent == [" /rename x", "/renamed x", "!", "! ", " !ls"]


async def test_a_chat_that_began_with_a_command_is_called_after_its_first_message(
    world: ShellWorld, client: Client
) -> None:
    """Reference §4.9: a title of a command is for the time being; a person's is for good."""
    session, chat = await begun(world, client)
    await ran(client, chat, "!echo one", "t1")
    await ran(client, chat, "!echo two", "t2")
    assert client.states[session]["title"] == "!echo one"
    await client.turn(chat, "hello", "t3")
    await client.turn(chat, "hello again", "t4")
    assert client.states[session]["title"] == "hello"
    peer = "ahp-chat:/peer"
    await client.request("createChat", session, chat=peer)
    await client.subscribe(peer)
    await ran(client, peer, "!echo three", "p1")
    await client.turn(peer, "/rename Mine", "p2")
    await client.turn(peer, "hello", "p3")
    titles = {c["resource"]: c.get("title") for c in client.states[session]["chats"]}
    assert titles == {chat: "hello", peer: "Mine"}


# -- !command ----------------------------------------------------------------------------------------------------


async def test_a_command_runs_in_the_working_directory_as_a_tool_call(world: ShellWorld, client: Client) -> None:
    """T15."""
    session, chat = await begun(world, client)
    call = await ran(client, chat, "!echo hi && pwd")
    assert output(call) == f"hi\n{world.home}"
    assert call["success"] is True
    assert call["pastTenseMessage"] == "Ran echo hi && pwd"
    assert call["confirmed"] in ("user-action", "setting", "not-needed")
    shown = terminal(call)
    assert shown["result"] == {"preview": f"hi\n{world.home}", "exitCode": 0}
    state = await client.subscribe(shown["resource"])
    (command,) = [part for part in state["content"] if part["type"] == "command"]
    assert command["commandLine"] == "echo hi && pwd"
    assert command["exitCode"] == 0
    assert state["claim"] == {"kind": "session", "session": session, "chat": chat}
    assert client.states[session]["title"] == "!echo hi && pwd"
    world.check_mirrors(client)


async def test_the_terminal_of_a_command_is_there_after_a_restart_as_ended(world: ShellWorld, client: Client) -> None:
    """T15 as K17 has it: the log is the truth, and the reference leads to the terminal as it was, ended."""
    session, chat = await begun(world, client)
    shown = terminal(await ran(client, chat, "!echo kept"))
    later = await world.crash()
    other = await later.client()
    call = call_of((await other.subscribe(chat))["turns"][0], CALL)
    assert terminal(call)["resource"] == shown["resource"]
    assert output(call) == "kept"
    state = await other.subscribe(shown["resource"])
    assert state["lifecycle"] == {"status": "exited"}
    assert any(part.get("output") == "kept\r\n" for part in state["content"])
    await other.request("disposeSession", session)
    await later.until(lambda: later.hub.kind(shown["resource"]) is None)
    await later.close()


async def test_what_nobody_allows_does_not_run(world: ShellWorld, client: Client) -> None:
    """K13: the same rules as for a tool."""
    _, chat = await begun(world, client)
    client.start_turn(chat, "!touch made")
    call = await asked(client, chat)
    assert call is not None
    assert call["toolInput"] == "touch made"
    client.dispatch(chat, "chat/toolCallConfirmed", turnId="t1", toolCallId=CALL, approved=False, reason="denied")
    turn = await client.ended(chat)
    assert call_of(turn, CALL)["status"] == "cancelled"
    assert turn["state"] == "complete"
    assert not (world.home / "made").exists()
    assert client.states["ahp-root://"].get("terminals", []) == []


async def test_a_session_that_approves_all_runs_it_at_once(world: ShellWorld, client: Client) -> None:
    _, chat = await client.new_session(workingDirectories=[world.home.as_uri()], config={"autoApprove": "autoApprove"})
    call = call_of(await client.turn(chat, "!echo at once"), CALL)
    assert output(call) == "at once"


async def test_the_command_that_was_allowed_is_the_one_that_runs(world: ShellWorld, client: Client) -> None:
    """A person may change it while they are asked."""
    _, chat = await begun(world, client)
    client.start_turn(chat, "!touch one")
    await allow(client, chat, editedToolInput="touch two")
    assert call_of(await client.ended(chat), CALL)["success"] is True
    assert [path.name for path in world.home.iterdir()] == ["two"]


@pytest.mark.parametrize("where", ["session", "read-only"])
async def test_no_command_runs_where_no_messages_are_taken(world: ShellWorld, client: Client, where: str) -> None:
    """K13: refused, and its text reaches no agent."""
    session, chat = await begun(world, client)
    if where == "session":
        await client.echo(client.dispatch(session, "session/isArchivedChanged", isArchived=True))
    else:
        chat = await read_only(world, client, session)
    client.start_turn(chat, "!touch made")
    turn = await client.ended(chat)
    assert turn["state"] == "error"
    error = next(part["error"] for part in turn["responseParts"] if part["kind"] == "error")
    assert error["errorType"] == ("archived" if where == "session" else "readOnly")
    assert not (world.home / "made").exists()
    assert not world.scripted.requests


async def read_only(world: World, client: Client, session: str) -> str:
    from innkeeper.engine.effects import Act, Create
    from innkeeper.host.states import chat_state
    from innkeeper.host.summaries import chat_summary

    uri = "ahp-chat:/read-only"
    state = {**chat_state(uri, world.clock.now()), "interactivity": "read-only"}
    added = {"type": "session/chatAdded", "summary": chat_summary(state)}
    await world.driver.commit(Create(uri, "chat", session, state), Act(session, added))
    await client.subscribe(uri)
    return uri


async def test_the_code_of_a_command_is_told(world: ShellWorld, client: Client) -> None:
    _, chat = await begun(world, client)
    call = await ran(client, chat, "!echo no >&2; (exit 3)")
    assert call["pastTenseMessage"] == "echo no >&2; (exit 3) exited with code 3"
    assert terminal(call)["result"]["exitCode"] == 3
    assert call["success"] is True


async def test_a_command_that_takes_too_long_goes_on_in_its_terminal(world: ShellWorld, client: Client) -> None:
    """T16."""
    _, chat = await begun(world, client)
    shell_of(world)._times = Times(run=0.5)
    call = await ran(client, chat, "!echo first; sleep 300")
    assert call["pastTenseMessage"] == "echo first; sleep 300 is still running after 0.5 s; it goes on in its terminal"
    assert output(call) == "first"
    state = await client.subscribe(terminal(call)["resource"])
    assert state["lifecycle"] == {"status": "running"}
    client.dispatch(terminal(call)["resource"], "terminal/input", data="\x03")
    await client.state(
        terminal(call)["resource"],
        lambda s: s["content"][-1].get("exitCode") == 130 or s["content"][-2].get("exitCode") == 130,
    )


def shell_of(world: World) -> Any:
    commands: Any = world.service._turns._commands
    assert isinstance(commands, CommandRegistry)
    return next(command for command in commands._commands if command.name == "shell")


async def test_a_shell_that_ends_is_told(world: ShellWorld, client: Client) -> None:
    _, chat = await begun(world, client)
    call = await ran(client, chat, "!exit 4")
    assert call["pastTenseMessage"] == "The shell ended while exit 4 was running"
    assert terminal(call)["result"]["exitCode"] == 4
    state = await client.subscribe(terminal(call)["resource"])
    assert state["lifecycle"] == {"status": "exited", "exitCode": 4}


async def test_a_program_that_takes_the_screen_is_interactive(world: ShellWorld, client: Client) -> None:
    _, chat = await begun(world, client)
    call = await ran(client, chat, "!printf '\\033[?1049h'; sleep 300")
    assert call["pastTenseMessage"].endswith("became interactive; it goes on in its terminal")


async def test_a_client_that_takes_the_terminal_over_ends_the_waiting(world: ShellWorld, client: Client) -> None:
    """While the tool call holds it, input is refused; who takes it over may type."""
    _, chat = await begun(world, client)
    client.start_turn(chat, "!read line; echo got $line")
    await allow(client, chat)
    running = await client.state(
        chat, lambda s: (s.get("activeTurn") or {}).get("responseParts", [{}])[0].get("toolCall", {}).get("content")
    )
    uri = running["activeTurn"]["responseParts"][0]["toolCall"]["content"][0]["resource"]
    await client.subscribe(uri)
    await client.state(uri, lambda s: any(part["type"] == "command" for part in s["content"]))
    assert "take it over" in await client.rejection(client.dispatch(uri, "terminal/input", data="no\r"))
    client.dispatch(uri, "terminal/claimed", claim={"kind": "client", "clientId": client.client_id})
    call = call_of(await client.ended(chat), CALL)
    assert call["pastTenseMessage"].endswith("goes on in the background; its terminal was taken over")
    client.dispatch(uri, "terminal/input", data="it\r")
    await client.state(uri, lambda s: "got it" in str(s["content"]))
    assert client.states[uri]["claim"] == {"kind": "client", "clientId": client.client_id}


async def test_a_cancelled_turn_interrupts_its_command(world: ShellWorld, client: Client) -> None:
    _, chat = await begun(world, client)
    client.start_turn(chat, "!sleep 300")
    await allow(client, chat)
    root = await client.state("ahp-root://", lambda s: s.get("terminals"))
    uri = root["terminals"][0]["resource"]
    await client.subscribe(uri)
    await client.state(uri, lambda s: any(part["type"] == "command" for part in s["content"]))
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=0)
    assert (await client.ended(chat))["state"] == "cancelled"
    await client.state(uri, lambda s: any(part.get("exitCode") == 130 for part in s["content"]))


async def test_an_incomplete_command_is_taken_back(world: ShellWorld, client: Client) -> None:
    _, chat = await begun(world, client)
    call = await ran(client, chat, "!echo 'open")
    assert call["success"] is False
    assert call["pastTenseMessage"] == "echo 'open is not a complete command"
    assert output(await ran(client, chat, "!echo fine", "t2")) == "fine"


async def test_a_shell_that_nobody_uses_ends_with_the_next_command(world: ShellWorld, client: Client) -> None:
    _, chat = await begun(world, client)
    first = terminal(await ran(client, chat, "!echo one"))["resource"]
    second = terminal(await ran(client, chat, "!echo two", "t2"))["resource"]
    state = await client.state("ahp-root://", lambda s: s["terminals"][0]["lifecycle"]["status"] == "exited")
    assert [info["resource"] for info in state["terminals"]] == [first, second]
    assert state["terminals"][1]["lifecycle"] == {"status": "running"}


async def test_a_shell_that_nobody_looks_at_ends_after_a_while(world: ShellWorld, client: Client) -> None:
    """So that its session can leave memory; the terminal stays, as ended."""
    _, chat = await begun(world, client)
    shell_of(world)._times = Times(idle=0.1)
    uri = terminal(await ran(client, chat, "!echo one"))["resource"]
    await client.state("ahp-root://", lambda s: s["terminals"][0]["lifecycle"]["status"] == "exited")
    assert any(part.get("output") == "one\r\n" for part in (await client.subscribe(uri))["content"])


async def test_long_output_is_its_last_80_000_characters(world: ShellWorld, client: Client) -> None:
    _, chat = await begun(world, client)
    call = await ran(client, chat, "!seq 1 60000")
    said = output(call)
    assert said.startswith("(the beginning of the output was cut off)\n")
    assert said.endswith("\n59999\n60000")
    assert len(said) <= 80_100
    assert "\x1b" not in said
    assert terminal(call)["result"]["truncated"] is True


async def test_a_terminal_that_cannot_be_opened_is_an_unsuccessful_call() -> None:
    """The turn completes all the same."""
    world = await World(terminals=FakeTerminals(refuse=OSError(24, "Too many open files"))).start()
    client = await world.client()
    _, chat = await client.new_session()
    call = await ran(client, chat, "!ls")
    assert call["success"] is False
    assert call["pastTenseMessage"] == "The command could not be started"
    assert call["error"]["message"] == "The terminal could not be opened: Too many open files"
    assert client.states[chat]["turns"][0]["state"] == "complete"
    await world.close()


async def test_a_command_that_raises_completes_its_turn(world: ShellWorld, client: Client) -> None:
    """T18."""

    class Broken:
        name = "broken"
        anywhere = True
        prefix = None

        def takes(self, words: str) -> str | None:
            return "" if words == "/broken" else None

        def title(self, argument: str) -> str | None:
            return None

        async def run(self, request: LocalRequest, argument: str, output: Any) -> None:
            raise RuntimeError("a secret")

    commands: Any = world.service._turns._commands
    commands.register(Broken())
    _, chat = await client.new_session()
    turn = await client.turn(chat, "/broken")
    assert turn["state"] == "complete"
    assert "The command failed inside the host" in text_of(turn)
    assert "secret" not in str(turn)
    with pytest.raises(ValueError, match="broken"):
        commands.register(Broken())


async def test_the_queue_goes_on_after_a_local_command(world: ShellWorld, client: Client) -> None:
    """C21."""
    _, chat = await client.new_session()
    message = {"text": "after", "origin": {"kind": "user"}}
    client.start_turn(chat, "/rename First")
    client.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q1", message=message)
    state = await client.state(chat, lambda s: len(s["turns"]) == 2)
    assert [turn["message"]["text"] for turn in state["turns"]] == ["/rename First", "after"]


async def test_a_local_turn_is_not_in_the_agents_history(world: ShellWorld, client: Client) -> None:
    """Its words were for the host."""
    _, chat = await client.new_session()
    await client.turn(chat, "/rename Named")
    await client.turn(chat, "hello", "t2")
    (request,) = world.scripted.requests
    assert [turn["message"]["text"] for turn in request.history] == []


# -- the contribution itself -------------------------------------------------------------------------------------


class Claims:
    def __init__(self, claim: Claim | None) -> None:
        self.claim = claim

    def claims(self, request: LocalRequest) -> Claim | None:
        return self.claim

    def prefixes(self) -> tuple[str, ...]:
        return ()

    async def run(self, request: LocalRequest, output: Any) -> None:
        raise AssertionError("the host runs it")


@pytest.mark.parametrize(
    ("claim", "answer"),
    [
        (None, None),
        (Claim("rename"), Handled("rename")),
        (
            Claim("shell", refused={"errorType": "archived", "message": "no"}),
            Reject({"errorType": "archived", "message": "no"}),
        ),
    ],
)
def test_what_is_claimed_is_handled_or_refused(claim: Claim | None, answer: object) -> None:
    """Reference §3.2, K13."""
    contribution = LocalCommands(None, Claims(claim))  # type: ignore[arg-type] # it needs nothing of its context
    request = IncomingRequest("s", "c", "t", {"text": "x"}, "direct", None)  # type: ignore[typeddict-item] # a test's
    assert contribution.on_incoming_request(request) == answer
    assert LocalCommands.order == 50


@pytest.mark.parametrize("kind", ["agent", "tool", "automation", "systemNotification"])
async def test_only_a_users_own_words_are_a_command(world: ShellWorld, kind: str) -> None:
    """What another chat or an agent says is never run."""
    commands: Any = world.service._turns._commands
    message: Any = {"text": "!ls", "origin": {"kind": kind}}
    assert commands.claims(LocalRequest("s", "c", "t", message)) is None
    assert commands.claims(LocalRequest("s", "c", "t", {**message, "origin": {"kind": "user"}})) is not None


def test_tests_are_where_the_contribution_is() -> None:
    """K3."""
    assert Path(__file__).parent.name == "local_commands"
