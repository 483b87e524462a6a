"""`innkeeper mcp connect|disconnect|stop|retry|follow-policy|confirm-file`: what a person does to servers (M4.1b, M4.2,
M4.3, M4.5, M7.6).

A declared stdio server runs as the user, outside every sandbox: before it is connected by hand that is said, with the
command. All servers at once want one confirmation, and a second one when policy does not allow some of them.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli import exit_codes
from innkeeper.cli.mcp.asking import Where, ask, confirmed, in_session, request, with_session, yes_option
from innkeeper.cli.mcp.listing import show
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.client import Channel, Client
    from innkeeper.protocol.session.state import SessionState

Row = Mapping[str, Any]
UP = frozenset({"connected", "unverified"})

optional_server = click.argument("server", required=False, metavar=text("cli.metavar.server"))
all_option = click.option("--all", "every", is_flag=True, help=text("cli.mcp.all"))


@click.command("connect", help=text("cli.mcp.connect.help"), epilog=text("cli.mcp.connect.epilog"))
@optional_server
@all_option
@yes_option
@in_session
def connect(where: Where, server: str | None, every: bool, yes: bool, as_json: bool) -> int:
    """Its help is in the catalogue."""
    from innkeeper.cli.reach import run

    _one_or_all(server, every)

    async def work(client: "Client", session: "Channel[SessionState]") -> tuple[str, Row, Sequence[str]]:
        before = await request(client, session.uri, "list", {})
        wanted = [row for row in before["items"] if _is(row, server) or (every and _can_be_connected(row))]
        if every:
            await asyncio.to_thread(_confirm_all, wanted, yes=yes, as_json=as_json)
        elif not as_json:
            _warn([row for row in wanted if not row["allowed"]])
        names = [str(row["id"]) for row in wanted] if every else [str(server)]
        answers = [request(client, session.uri, "connect", {"server": name}) for name in names]
        await asyncio.gather(*answers)
        return session.uri, await request(client, session.uri, "list", {}), names

    uri, found, names = run(with_session(where, work))
    show(uri, found, as_json)
    connected = {name for row in found["items"] if row["status"] in UP for name in (row["id"], row["name"])}
    return exit_codes.OK if connected.issuperset(names) else exit_codes.FAILED


@click.command("disconnect", help=text("cli.mcp.disconnect.help"), epilog=text("cli.mcp.list.epilog"))
@optional_server
@all_option
@in_session
def disconnect(where: Where, server: str | None, every: bool, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.reach import run

    _one_or_all(server, every)

    async def work(client: "Client", session: "Channel[SessionState]") -> tuple[str, Row]:
        before = await request(client, session.uri, "list", {})
        names = [row["id"] for row in before["items"] if _is_project(row)] if every else [server]
        await asyncio.gather(*(request(client, session.uri, "disconnect", {"server": name}) for name in names))
        return session.uri, await request(client, session.uri, "list", {})

    uri, found = run(with_session(where, work))
    show(uri, found, as_json)


def _simple(name: str, verb: str) -> click.Command:
    """A command that does one thing to one server and shows the list as it then is."""

    @click.command(name, help=text(f"cli.mcp.{verb}.help"), epilog=text("cli.mcp.list.epilog"))
    @click.argument("server", metavar=text("cli.metavar.server"))
    @in_session
    def command(where: Where, server: str, as_json: bool) -> None:
        show(*ask(where, verb, {"server": server}), as_json)

    return command


stop = _simple("stop", "stop")
retry = _simple("retry", "retry")


@click.command("follow-policy", help=text("cli.mcp.followPolicy.help"), epilog=text("cli.mcp.list.epilog"))
@in_session
def follow_policy(where: Where, as_json: bool) -> None:
    """Its help is in the catalogue."""
    show(*ask(where, "followPolicy", {}), as_json)


@click.command("confirm-file", help=text("cli.mcp.confirmFile.help"), epilog=text("cli.mcp.list.epilog"))
@click.argument("file", metavar=text("cli.metavar.file"))
@in_session
def confirm_file(where: Where, file: str, as_json: bool) -> None:
    """Its help is in the catalogue."""
    show(*ask(where, "confirmFile", {"file": file}), as_json)


def _one_or_all(server: str | None, every: bool) -> None:
    from innkeeper.cli.failures import UsageProblem

    if (server is None) is not every:
        raise UsageProblem(text("cli.mcp.oneOrAll"))


def _is(row: Row, server: str | None) -> bool:
    return server is not None and server in (row["id"], row["name"])


def _is_project(row: Row) -> bool:
    """Servers of the whole host are the operator's (M5.2)."""
    return bool(row.get("scope") != "host")


def _can_be_connected(row: Row) -> bool:
    return bool(row["enabled"]) and _is_project(row) and row["status"] not in (*UP, "connecting", "invalid")


def _warn(rows: Sequence[Row]) -> None:
    """What runs as the user, and how (M4.5)."""
    from innkeeper.cli.output import note

    commands = [" ".join(row["command"]) for row in rows if row["command"]]
    if commands:
        note(text("cli.mcp.runsAsYou", n=len(commands)))
        for command in commands:
            note(f"  {command}")


def _confirm_all(rows: Sequence[Row], *, yes: bool, as_json: bool) -> None:
    """One confirmation, and a second one for what policy does not allow, each with the commands that it is about."""
    foreign = [row for row in rows if not row["allowed"]]
    if not as_json:
        _warn(rows)
    if rows:
        confirmed(text("cli.mcp.connectAll", n=len(rows)), yes=yes, as_json=as_json)
    if foreign:
        if not yes:
            _warn(foreign)
        confirmed(text("cli.mcp.connectForeign", n=len(foreign)), yes=yes, as_json=as_json)
