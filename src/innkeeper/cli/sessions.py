"""`innkeeper sessions`: the sessions of a host, one of them in full, and removing one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from innkeeper.cli.options import Whole, host_options, json_option
from innkeeper.cli.words import text

ACTIVITIES = ((24, "inputNeeded"), (8, "inProgress"), (2, "error"))
ARCHIVED = 64


@click.group(help=text("cli.sessions.help"))
def sessions() -> None:
    """Its help is in the catalogue."""


@sessions.command("list", help=text("cli.sessions.list.help"), epilog=text("cli.sessions.list.epilog"))
@click.option("--limit", type=Whole(1), help=text("cli.sessions.list.limit"))
@json_option
@host_options
def list_sessions(url: str | None, token: str | None, data_dir: Path | None, limit: int | None, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import note, print_json, print_table
    from innkeeper.cli.pick import short_id
    from innkeeper.cli.reach import Wanted, run

    found = run(_listed(Wanted(url, token, data_dir), limit))
    if as_json:
        print_json({"sessions": found})
    elif not found:
        note(text("cli.sessions.none"))
    else:
        names = ("id", "title", "agent", "status", "directory", "changed")
        rows = [
            (
                short_id(row["resource"]),
                row["title"],
                row["provider"],
                status_words(row["status"]),
                directory_of(row),
                row["modifiedAt"],
            )
            for row in found
        ]
        print_table([text(f"cli.sessions.column.{name}") for name in names], rows)


@sessions.command("show", help=text("cli.sessions.show.help"), epilog=text("cli.sessions.show.epilog"))
@click.argument("session", metavar=text("cli.metavar.session"))
@json_option
@host_options
def show(url: str | None, token: str | None, data_dir: Path | None, session: str, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import print_json
    from innkeeper.cli.reach import Wanted, run

    state, chats = run(_shown(Wanted(url, token, data_dir), session))
    if as_json:
        print_json({"session": state, "chats": chats})
        return
    _print_session(state, chats)


@sessions.command("rm", help=text("cli.sessions.rm.help"))
@click.argument("names", nargs=-1, required=True, metavar=text("cli.metavar.sessions"))
@click.option("--yes", "-y", is_flag=True, help=text("cli.sessions.rm.yes"))
@json_option
@host_options
def rm(
    url: str | None, token: str | None, data_dir: Path | None, names: tuple[str, ...], yes: bool, as_json: bool
) -> None:
    """Its help is in the catalogue."""
    import sys

    from innkeeper.cli.failures import UsageProblem
    from innkeeper.cli.output import note, print_json
    from innkeeper.cli.reach import Wanted, run

    if not yes:
        if as_json or not sys.stdin.isatty():
            raise UsageProblem(text("cli.sessions.rm.needsYes"))
        click.confirm(text("cli.sessions.rm.confirm", n=len(names)), abort=True, err=True)
    removed = run(_removed(Wanted(url, token, data_dir), names))
    if as_json:
        print_json({"removed": removed})
    else:
        note(text("cli.sessions.rm.done", n=len(removed)))


async def _listed(wanted: Any, limit: int | None) -> list[dict[str, Any]]:
    from innkeeper.cli.reach import connection

    found: list[dict[str, Any]] = []
    async with connection(wanted) as client:
        async for summary in client.list_sessions(limit):
            found.append(dict(summary))
            if len(found) == limit:
                break
    return found


async def _shown(wanted: Any, name: str) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    from innkeeper.cli.pick import named
    from innkeeper.cli.reach import connection

    async with connection(wanted) as client:
        uri = named([summary async for summary in client.list_sessions()], name)
        session = await client.subscribe_session(uri)
        chats: list[Mapping[str, Any]] = []
        for summary in session.state["chats"]:
            chat = await client.subscribe_chat(summary["resource"])
            chats.append(chat.state)
        return {"resource": uri, **session.state}, chats


async def _removed(wanted: Any, names: Sequence[str]) -> list[str]:
    from innkeeper.cli.pick import named
    from innkeeper.cli.reach import connection

    async with connection(wanted) as client:
        summaries = [summary async for summary in client.list_sessions()]
        uris = list(dict.fromkeys(named(summaries, name) for name in names))
        for uri in uris:
            await client.dispose_session(uri)
        return uris


def status_words(status: int) -> str:
    """A session's status as a person reads it."""
    activity = next((name for bits, name in ACTIVITIES if status & bits == bits), "idle")
    words = text(f"cli.sessions.status.{activity}")
    return f"{words}, {text('cli.sessions.status.archived')}" if status & ARCHIVED else words


def directory_of(session: Mapping[str, Any]) -> str:
    """The primary directory as a path, or its URI when it is not on this machine."""
    from innkeeper.cli.paths import shown_path

    directories: Sequence[str] = session.get("workingDirectories") or ()
    return shown_path(directories[0]) if directories else ""


def _print_session(state: Mapping[str, Any], chats: Sequence[Mapping[str, Any]]) -> None:
    from innkeeper.cli.chat.transcript import transcript
    from innkeeper.cli.output import print_pairs

    rows = [
        ("id", state["resource"]),
        ("title", state["title"]),
        ("agent", state["provider"]),
        ("status", status_words(state["status"])),
        ("directory", directory_of(state)),
    ]
    print_pairs((text(f"cli.sessions.column.{name}"), value) for name, value in rows)
    for chat in chats:
        click.echo()
        if len(chats) > 1:
            click.echo(f"# {chat['title'] or chat['resource']}\n")
        click.echo(transcript(chat))
