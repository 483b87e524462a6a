"""The command: one message with `-m`, else a conversation until the input ends."""

import asyncio
import contextlib
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli import exit_codes
from innkeeper.cli.options import directory_option, host_options, json_option, session_option
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.cli.chat.conversation import Conversation
    from innkeeper.cli.chat.terminal import Terminal
    from innkeeper.cli.chat.transcript import Piece
    from innkeeper.cli.reach import Wanted
    from innkeeper.client import Client

PATIENCE_SECONDS = 60.0
"""How long one message waits for a host that has gone away."""


@click.command(help=text("cli.chat.help"), epilog=text("cli.chat.epilog"))
@click.option("--message", "-m", help=text("cli.chat.message"))
@click.option("--agent", "-a", "provider", help=text("cli.chat.agent"))
@click.option("--new", is_flag=True, help=text("cli.chat.new"))
@click.option("--worktree", is_flag=True, help=text("cli.chat.worktree"))
@session_option
@directory_option
@json_option
@host_options
def chat(
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    session: str | None,
    directory: Path,
    message: str | None,
    provider: str | None,
    new: bool,
    worktree: bool,
    as_json: bool,
) -> int:
    """Its help is in the catalogue."""
    from innkeeper.cli.chat.terminal import Terminal
    from innkeeper.cli.failures import UsageProblem
    from innkeeper.cli.folders import find_folders
    from innkeeper.cli.reach import Wanted, run

    if as_json and message is None:
        raise UsageProblem(text("cli.chat.jsonNeedsMessage"))
    if (new or worktree) and session is not None:
        raise UsageProblem(text("cli.chat.newOrSession"))
    wanted = Wanted(url, token, data_dir)
    with Terminal(find_folders(data_dir).state / "chat_history") as terminal:
        which = {"name": session, "directory": directory, "provider": provider, "new": new or worktree}
        return run(_chat(wanted, terminal, message, as_json, **which, worktree=worktree))


async def _chat(wanted: "Wanted", terminal: "Terminal", message: str | None, as_json: bool, **which: Any) -> int:
    from innkeeper.cli.chat.conversation import Conversation
    from innkeeper.cli.output import note, print_json
    from innkeeper.cli.pick import open_session, short_id
    from innkeeper.cli.reach import connection

    async with connection(wanted, stay=True) as client:
        session = await open_session(client, **which)
        uri = session.state.get("defaultChat") or session.state["chats"][0]["resource"]
        channel = await client.subscribe_chat(uri)
        conversation = Conversation(channel, terminal, _hide if as_json else _print)
        if message is None:
            if terminal.interactive:
                note(text("cli.chat.welcome", agent=session.state["provider"], session=short_id(session.uri)))
            return await _guarded(client, conversation, _converse(conversation, terminal), patient=True)
        turns: list[Mapping[str, Any]] = []
        code = await _guarded(client, conversation, _once(conversation, message, turns), patient=False)
        if as_json and turns:
            print_json({"session": session.uri, "chat": uri, "turn": turns[0]})
        return code


async def _once(conversation: "Conversation", message: str, turns: list[Mapping[str, Any]]) -> int:
    turn = await conversation.say(message)
    turns.append(turn)
    if conversation.cancelled:
        return exit_codes.INTERRUPTED
    return exit_codes.OK if turn["state"] == "complete" else exit_codes.FAILED


async def _converse(conversation: "Conversation", terminal: "Terminal") -> int:
    from innkeeper.cli.failures import tell
    from innkeeper.cli.output import note

    code = exit_codes.OK
    while (line := await terminal.line("> ")) is not None:
        if not line.strip():
            continue
        try:
            turn = await conversation.say(line)
        except Exception as error:
            told = tell(error)
            if told is None or not terminal.interactive:
                raise
            note(told.message)
            continue
        if turn["state"] == "error" and not terminal.interactive:
            code = exit_codes.FAILED
    if terminal.interactive:
        click.echo(err=True)
    return code


async def _guarded(client: "Client", conversation: "Conversation", work: Any, *, patient: bool) -> int:
    """Runs `work` until it is done, the person leaves, or the host stays away."""
    loop, leave = asyncio.get_running_loop(), asyncio.Event()
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_watch(client, patient))
    leaving = asyncio.ensure_future(leave.wait())
    loop.add_signal_handler(signal.SIGINT, lambda: None if conversation.interrupt() else leave.set())
    try:
        await asyncio.wait({working, watching, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return int(working.result())
        if watching.done():
            watching.result()
        click.echo(err=True)
        return exit_codes.INTERRUPTED
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        for task in (working, watching, leaving):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({working, watching, leaving})


async def _watch(client: "Client", patient: bool) -> None:
    """Tells of lost connections. Raises ConnectionLost when there will be none, or not soon enough."""
    from innkeeper.cli.output import note
    from innkeeper.client import Connected, ConnectionLost, Disconnected

    events = client.events()
    lost = False
    while True:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS if lost and not patient else None):
                event = await anext(events, None)
        except TimeoutError as error:
            raise ConnectionLost(text("cli.chat.stayedAway", seconds=f"{PATIENCE_SECONDS:g}")) from error
        if event is None:
            raise ConnectionLost(text("cli.chat.ended"))
        if isinstance(event, Disconnected) and event.retry_in is None:
            raise ConnectionLost(event.reason or text("cli.chat.ended"))
        if isinstance(event, Disconnected) and not lost:
            lost = True
            note(text("cli.chat.lost"))
        elif isinstance(event, Connected) and lost:
            lost = False
            note(text("cli.chat.back"))


def _print(piece: "Piece") -> None:
    click.echo(piece.text, nl=False, err=piece.to == "err")


def _hide(piece: "Piece") -> None:
    """Under `--json` the turn is printed whole, at its end."""
