"""`innkeeper mcp list` and `reload`: the servers of a session, and what is wrong with its declarations (M7.6, M1.8)."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from innkeeper.cli import exit_codes
from innkeeper.cli.mcp.asking import Where, ask, in_session
from innkeeper.cli.words import text

Row = Mapping[str, Any]


@click.command("list", help=text("cli.mcp.list.help"), epilog=text("cli.mcp.list.epilog"))
@in_session
def list_servers(where: Where, as_json: bool) -> None:
    """Its help is in the catalogue."""
    show(*ask(where, "list", {}), as_json)


@click.command("reload", help=text("cli.mcp.reload.help"), epilog=text("cli.mcp.list.epilog"))
@in_session
def reload(where: Where, as_json: bool) -> int:
    """Its help is in the catalogue."""
    uri, found = ask(where, "reload", {})
    show(uri, found, as_json)
    broken = any(finding["severity"] == "error" for finding in found["findings"])
    return exit_codes.FAILED if broken else exit_codes.OK


def show(session: str, found: Row, as_json: bool) -> None:
    """Print the servers of the session and what reading their declarations said."""
    from innkeeper.cli.output import note, print_json

    servers, findings = found["items"], found["findings"]
    if as_json:
        print_json({"session": session, "servers": list(servers), "findings": list(findings)})
        return
    if servers:
        _print_servers(servers)
    elif not findings:
        note(text("cli.mcp.none"))
    for finding in findings:
        for line in finding_lines(finding):
            note(line)


def finding_lines(finding: Row) -> list[str]:
    """Place, code and meaning of what reading a declaration said; the remedy too where it is an error."""
    from innkeeper import texts
    from innkeeper.errors import ERRORS

    place = finding["file"] + (f":{finding['line']}" if finding["line"] else "")
    server, code = finding.get("server"), str(finding["code"])
    known = ERRORS.get(code)
    said = str(finding["message"])
    if known is not None and said.startswith(english := texts.text(known.meaning)):
        said = text(known.meaning) + said.removeprefix(english)
    lines = [f"{place}: {f'{server}: ' if server else ''}{said} [{code}]"]
    if known is not None and finding["severity"] == "error":
        lines.append(f"  {text(known.remedy)}")
    return lines


def status_words(row: Row) -> str:
    """A server's state as a person reads it, with the code that explains it."""
    from innkeeper.errors import ERRORS

    words = text(f"cli.mcp.status.{str(row['status']).replace(' ', '_')}")
    if row.get("attempt"):
        words += f" {text('cli.mcp.attempt', n=row['attempt'])}"
    return words + (f" ({row['reason']})" if row.get("reason") in ERRORS else "")


def allowed_words(row: Row) -> str:
    """What lets it start by itself; a bare form, which no change of the declaration voids, is marked (M4.2b)."""
    by = row.get("allowed_by")
    words = text(f"cli.mcp.allowedBy.{by}") if by else ""
    return f"{words} ({text('cli.mcp.bare')})" if words and row.get("bare") else words


def _print_servers(servers: Sequence[Row]) -> None:
    from innkeeper.cli.output import note, print_table
    from innkeeper.errors import ERRORS

    names = ("server", "status", "enabled", "allowed", "tools", "declared", "runs")
    rows = [
        (
            row["name"],
            status_words(row),
            text("cli.word.yes" if row["enabled"] else "cli.word.no"),
            allowed_words(row),
            str(len(row["tools"])) if row["tools"] else "",
            f"{row['file']}:{row['line']}",
            " ".join(row["command"]) or row["transport"],
        )
        for row in servers
    ]
    print_table([text(f"cli.mcp.column.{name}") for name in names], rows)
    for row in servers:
        reason = str(row.get("reason"))
        if reason in ERRORS and row["status"] != "invalid":
            error = ERRORS[reason]
            note(f"{row['name']}: {text(error.meaning, **{**row, 'server': row['name']})} {text(error.remedy)}")
        for line in _changed(row):
            note(line)


def _changed(row: Row) -> list[str]:
    """Old beside new of a server that needs a new grant (M4.2b)."""
    present, granted = row.get("present"), row.get("granted")
    if row["status"] != "needs a new grant" or not isinstance(present, dict) or not isinstance(granted, dict):
        return []
    names = [name for name in present if present[name] != granted.get(name)]
    return [
        f"  {text('cli.mcp.changed', field=name, old=_written(granted.get(name)), new=_written(present[name]))}"
        for name in names
    ]


def _written(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value)) or "-"
    return "-" if value is None else str(value)
