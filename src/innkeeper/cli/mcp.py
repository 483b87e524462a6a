"""`innkeeper mcp`: the MCP servers of a session (M6.9, M7.6).

A call that a person makes here counts as their Allow once; a server that is disabled stays so.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli import declarations, exit_codes
from innkeeper.cli.options import directory_option, host_options, json_option, session_option
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.cli.reach import Wanted
    from innkeeper.client import RpcFailure

CONNECT_SECONDS = 60.0
"""A server may take its start-up limit, and a first `npx` or `uvx` loads the server before that."""
CALL_SECONDS = 600.0


@click.group(help=text("cli.mcp.help"))
def mcp() -> None:
    """Its help is in the catalogue."""


mcp.add_command(declarations.check)
mcp.add_command(declarations.explain)
mcp.add_command(declarations.presets)


@mcp.command("list", help=text("cli.mcp.list.help"), epilog=text("cli.mcp.list.epilog"))
@session_option
@directory_option
@json_option
@host_options
def list_servers(
    url: str | None, token: str | None, data_dir: Path | None, session: str | None, directory: Path, as_json: bool
) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.reach import Wanted, run

    uri, found = run(_ask(Wanted(url, token, data_dir), session, directory, "list", {}))
    _print_servers(uri, found["items"], as_json)


@mcp.command("connect", help=text("cli.mcp.connect.help"), epilog=text("cli.mcp.list.epilog"))
@click.argument("server", metavar=text("cli.metavar.server"))
@session_option
@directory_option
@json_option
@host_options
def connect(
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    session: str | None,
    directory: Path,
    server: str,
    as_json: bool,
) -> int:
    """Its help is in the catalogue."""
    from innkeeper.cli.reach import Wanted, run

    uri, found = run(_ask(Wanted(url, token, data_dir), session, directory, "connect", {"server": server}))
    _print_servers(uri, found["items"], as_json)
    connected = any(row["status"] == "connected" for row in found["items"] if server in (row["name"], row["id"]))
    return exit_codes.OK if connected else exit_codes.FAILED


@mcp.command("disconnect", help=text("cli.mcp.disconnect.help"), epilog=text("cli.mcp.list.epilog"))
@click.argument("server", metavar=text("cli.metavar.server"))
@session_option
@directory_option
@json_option
@host_options
def disconnect(
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    session: str | None,
    directory: Path,
    server: str,
    as_json: bool,
) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.reach import Wanted, run

    uri, found = run(_ask(Wanted(url, token, data_dir), session, directory, "disconnect", {"server": server}))
    _print_servers(uri, found["items"], as_json)


@mcp.command("call", help=text("cli.mcp.call.help"), epilog=text("cli.mcp.call.epilog"))
@click.argument("server", metavar=text("cli.metavar.server"))
@click.argument("tool", metavar=text("cli.metavar.tool"))
@click.argument("arguments", default="{}", metavar=text("cli.metavar.arguments"))
@session_option
@directory_option
@json_option
@host_options
def call(
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    session: str | None,
    directory: Path,
    server: str,
    tool: str,
    arguments: str,
    as_json: bool,
) -> int:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import print_json
    from innkeeper.cli.reach import Wanted, run

    given = {"server": server, "tool": tool, "arguments": _parsed(arguments)}
    uri, result = run(_ask(Wanted(url, token, data_dir), session, directory, "call", given))
    if as_json:
        print_json({"session": uri, "result": result})
    else:
        _print_result(result)
    return exit_codes.OK if result.get("success") else exit_codes.FAILED


async def _ask(
    wanted: "Wanted", name: str | None, directory: Path, verb: str, params: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    from innkeeper.cli.pick import open_session
    from innkeeper.cli.reach import connection
    from innkeeper.client import RpcFailure

    async with connection(wanted) as client:
        session = await open_session(client, name, directory)
        seconds = CALL_SECONDS if verb == "call" else CONNECT_SECONDS
        try:
            answer = await client.request(f"x-innkeeper/mcp/{verb}", {"channel": session.uri, **params}, seconds)
        except RpcFailure as error:
            raise _told(error, params) from error
        return session.uri, answer


def _told(error: "RpcFailure", params: Mapping[str, Any]) -> Exception:
    """The host's refusal in the user's language, where the table of errors has it."""
    from innkeeper.errors import ERRORS, HostError

    code = str(error.data.get("code")) if isinstance(error.data, dict) else ""
    known = code in ERRORS and ERRORS[code].area in ("server", "command")
    return HostError(code, **params) if known else error


def _parsed(arguments: str) -> dict[str, Any]:
    import json

    from innkeeper.cli.failures import UsageProblem

    try:
        value = json.loads(arguments)
    except ValueError as error:
        raise UsageProblem(text("cli.mcp.call.notJson", reason=error)) from error
    if not isinstance(value, dict):
        raise UsageProblem(text("cli.mcp.call.notObject"))
    return value


def _print_servers(session: str, servers: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    from innkeeper.cli.output import note, print_json, print_table
    from innkeeper.errors import ERRORS

    if as_json:
        print_json({"session": session, "servers": list(servers)})
        return
    if not servers:
        note(text("cli.mcp.none"))
        return
    names = ("server", "status", "enabled", "tools", "declared", "runs")
    rows = [
        (
            row["name"],
            row["status"] + (f" ({row['reason']})" if row.get("reason") in ERRORS else ""),
            text("cli.word.yes" if row["enabled"] else "cli.word.no"),
            str(len(row["tools"])) if row["tools"] else "",
            f"{row['file']}:{row['line']}",
            " ".join(row["command"]) or row["transport"],
        )
        for row in servers
    ]
    print_table([text(f"cli.mcp.column.{name}") for name in names], rows)
    for row in servers:
        reason = str(row.get("reason"))
        if reason in ERRORS:
            error = ERRORS[reason]
            note(f"{row['name']}: {text(error.meaning, **row)} {text(error.remedy)}")


def _print_result(result: Mapping[str, Any]) -> None:
    from innkeeper.cli.chat.transcript import content_text
    from innkeeper.cli.output import note

    shown = content_text(result.get("content") or ())
    if shown:
        click.echo(shown)
    if not result.get("success"):
        note(text("cli.mcp.call.failed", reason=(result.get("error") or {}).get("message") or "?"))
