"""`innkeeper mcp tools|call|logs`: what servers offer, a call by hand, what was called (M6.9, M7.7, M11.4-5)."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from innkeeper.cli import exit_codes
from innkeeper.cli.mcp.asking import Where, ask, in_session, server_argument
from innkeeper.cli.words import text

Row = Mapping[str, Any]


@click.command("tools", help=text("cli.mcp.tools.help"), epilog=text("cli.mcp.tools.epilog"))
@click.argument("server", required=False, metavar=text("cli.metavar.server"))
@in_session
def tools(where: Where, server: str | None, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import note, print_json, print_table

    uri, found = ask(where, "tools", {} if server is None else {"server": server})
    rows: Sequence[Row] = found["items"]
    if as_json:
        print_json({"session": uri, "tools": list(rows)})
        return
    if not rows:
        note(text("cli.mcp.tools.none"))
        return
    names = ("server", "tool", "tokens", "permission", "description")
    print_table([text(f"cli.mcp.column.{name}") for name in names], [_cells(row) for row in rows])
    note(text("cli.mcp.tools.sum", n=sum(row["tokens"] for row in rows)))
    note(text("cli.mcp.tools.acts"))


@click.command("call", help=text("cli.mcp.call.help"), epilog=text("cli.mcp.call.epilog"))
@server_argument
@click.argument("tool", metavar=text("cli.metavar.tool"))
@click.argument("arguments", default="{}", metavar=text("cli.metavar.arguments"))
@in_session
def call(where: Where, server: str, tool: str, arguments: str, as_json: bool) -> int:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import print_json

    uri, result = ask(where, "call", {"server": server, "tool": tool, "arguments": _parsed(arguments)})
    if as_json:
        print_json({"session": uri, "result": result})
    else:
        _print_result(result)
    return exit_codes.OK if result.get("success") else exit_codes.FAILED


@click.command("logs", help=text("cli.mcp.logs.help"), epilog=text("cli.mcp.logs.epilog"))
@server_argument
@click.option("--stderr", is_flag=True, help=text("cli.mcp.logs.stderr"))
@in_session
def logs(where: Where, server: str, stderr: bool, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import note, print_json, print_table

    uri, found = ask(where, "logs", {"server": server, **({"stderr": True} if stderr else {})})
    if as_json:
        print_json({"session": uri, **found})
        return
    if stderr:
        written = str(found["stderr"])
        if written:
            click.echo(written, nl=not written.endswith("\n"))
        else:
            note(text("cli.mcp.logs.silent"))
        return
    if not found["calls"]:
        note(text("cli.mcp.logs.none"))
        return
    names = ("time", "tool", "caller", "outcome", "took", "sent", "received")
    rows = [
        (
            row["time"],
            row["tool"],
            text(f"cli.mcp.caller.{row['by']}"),
            text(f"cli.mcp.outcome.{row['outcome']}") + (f" ({row['code']})" if row["code"] else ""),
            str(row["milliseconds"]),
            str(row["sent"]),
            str(row["received"]),
        )
        for row in found["calls"]
    ]
    print_table([text(f"cli.mcp.column.{name}") for name in names], rows)


def _cells(row: Row) -> tuple[str, ...]:
    why = text(f"gate.why.{row['why']}", server=row["server"], tool=row["tool"], file=row.get("file") or "")
    description = str(row["description"] or "").strip().partition("\n")[0]
    answer = text(f"cli.mcp.answer.{row['outcome']}")
    return row["server"], row["tool"], str(row["tokens"]), f"{answer} - {why}", description


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


def _print_result(result: Row) -> None:
    from innkeeper.cli.chat.transcript import content_text
    from innkeeper.cli.output import note

    shown = content_text(result.get("content") or ())
    if shown:
        click.echo(shown)
    if not result.get("success"):
        note(text("cli.mcp.call.failed", reason=(result.get("error") or {}).get("message") or "?"))
