"""`innkeeper mcp scan`: which files declare the same server, and what differs (M11.3). Reads only, needs no host."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.options import directory_option, json_option
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.ports.mcp_editing import ScanGroup, ScanReport


@click.command("scan", help=text("cli.mcp.scan.help"), epilog=text("cli.mcp.scan.epilog"))
@directory_option
@json_option
def scan(directory: Path, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from dataclasses import asdict

    from innkeeper.cli.mcp.editing import make_editor
    from innkeeper.cli.mcp.listing import finding_lines
    from innkeeper.cli.output import note, print_json

    report = make_editor().scan(str(directory))
    if as_json:
        print_json({"workspace": str(directory), **_document(report)})
        return
    if not report.groups:
        note(text("cli.mcp.scan.none", directory=directory))
    for group in report.groups:
        for line in _lines(group):
            click.echo(line)
    for line in (line for found in report.findings for line in finding_lines(asdict(found))):
        note(line)


def _lines(group: "ScanGroup") -> list[str]:
    from innkeeper.mcp.declarations.model import printable

    places = group.places
    if group.kind == "alike":
        head = text("cli.mcp.scan.alike", names=", ".join(printable(place.server) for place in places))
    elif len(places) == 1:
        head = text("cli.mcp.scan.once", name=printable(group.name))
    else:
        head = text("cli.mcp.scan.same", name=printable(group.name), n=len(places))
    lines = [head]
    for place in places:
        marks = [place.preset if place.enabled else text("cli.mcp.scan.off", preset=place.preset)]
        if place.code is not None:
            marks.append(place.code)
        if place.differs:
            marks.append(text("cli.mcp.scan.differs", fields=", ".join(place.differs)))
        lines.append(f"  {place.file}:{place.line}  {'  '.join(marks)}")
    first = places[0]
    if len(places) == 1 and not first.enabled:
        lines.append(f"  innkeeper mcp migrate {printable(first.server)} --from {first.preset} --to root")
    return lines


def _document(report: "ScanReport") -> dict[str, Any]:
    from dataclasses import asdict

    from innkeeper.mcp.check.report import encodable

    groups = []
    for group in report.groups:
        places = [{**asdict(place), "server": encodable(place.server)} for place in group.places]
        for place in places:
            place["differs"] = list(place["differs"])
        groups.append(
            {"name": encodable(group.name), "kind": group.kind, "identical": group.identical, "places": places}
        )
    findings = [
        {"code": one.code, "file": one.file, "line": one.line, "message": one.message} for one in report.findings
    ]
    return {"groups": groups, "findings": findings}
