"""`innkeeper mcp add|set|unset|rm|copy|migrate`: the project's declaration files, changed without a host (M8, M9.4).

Rules
* Exactly what is named changes; every other byte stays. What is refused says where and what to do, and wrote nothing.
* A dry run prints the diff and writes nothing. Values of env and headers are masked in it unless `--show-values` asks.
* An edit here is the user's own, whatever a session may (M8.6b); a host that runs takes it over with the next request.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.options import directory_option, json_option
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.mcp.editor.editor import Editor
    from innkeeper.mcp.editor.sheets import Target
    from innkeeper.ports.mcp_editing import DeclarationDraft, DeclarationForm, EditOutcome, FieldValue, RowValue

Command = Callable[..., Any]
TABLES = ("env", "headers")


def editing_options(function: Command) -> Command:
    """`--dir`, `--dry-run`, `--show-values` and `--json`."""
    function = click.option("--show-values", is_flag=True, help=text("cli.mcp.edit.showValues"))(function)
    function = click.option("--dry-run", is_flag=True, help=text("cli.mcp.edit.dryRun"))(function)
    return directory_option(json_option(function))


def place_options(function: Command) -> Command:
    """`--preset` and `--file`: which file is meant."""
    function = click.option("--file", metavar=text("cli.metavar.file"), help=text("cli.mcp.edit.file"))(function)
    return click.option("--preset", metavar=text("cli.metavar.preset"), help=text("cli.mcp.edit.preset"))(function)


_NAME = click.argument("name", metavar=text("cli.metavar.name"))
_TRANSPORT = click.option("--transport", type=click.Choice(["stdio", "http"]), help=text("cli.mcp.edit.transport"))


@click.command("add", help=text("cli.mcp.add.help"), epilog=text("cli.mcp.add.epilog"))
@_NAME
@place_options
@click.option("--url", help=text("cli.mcp.add.url"))
@click.option("--command", help=text("cli.mcp.add.command"))
@click.option("--arg", "args", multiple=True, help=text("cli.mcp.add.arg"))
@click.option("--cwd", help=text("cli.mcp.add.cwd"))
@click.option("--env", multiple=True, metavar="K=V", help=text("cli.mcp.add.env"))
@click.option("--header", multiple=True, metavar="K=V", help=text("cli.mcp.add.header"))
@_TRANSPORT
@editing_options
def add(
    name: str, preset: str | None, file: str | None, directory: Path, as_json: bool, dry_run: bool, **given: Any
) -> None:
    """Its help is in the catalogue."""
    from innkeeper.ports.mcp_editing import DeclarationDraft

    fields: dict[str, FieldValue] = {key: given[key] for key in ("url", "command", "cwd") if given[key] is not None}
    if given["args"]:
        fields["args"] = list(given["args"])
    for key, option in (("env", "--env"), ("headers", "--header")):
        pairs = given["header" if key == "headers" else key]
        if pairs:
            fields[key] = dict(_pair(pair, option) for pair in pairs)
    if not given["url"] and not given["command"]:
        raise _usage("cli.mcp.add.nothing")
    editor = make_editor()
    target = editor.target(str(directory), preset, file)
    draft = DeclarationDraft(given["transport"], fields)
    outcome = editor.save(
        str(directory), target, None, name, draft, None, dry_run=dry_run, show_values=given["show_values"]
    )
    tell("add", outcome, as_json, dry_run)


@click.command("set", help=text("cli.mcp.set.help"), epilog=text("cli.mcp.set.epilog"))
@_NAME
@click.argument("field", metavar=text("cli.metavar.field"))
@click.argument("values", nargs=-1, required=True, metavar=text("cli.metavar.values"))
@place_options
@_TRANSPORT
@editing_options
def set_field(name: str, field: str, values: Sequence[str], transport: str | None, **given: Any) -> None:
    """Its help is in the catalogue."""
    if field != "args" and len(values) > 1:
        raise _usage("cli.mcp.set.oneValue")
    value: FieldValue = list(values) if field == "args" else values[0]
    _change("set", name, field, value, transport, **given)


@click.command("unset", help=text("cli.mcp.unset.help"))
@_NAME
@click.argument("field", metavar=text("cli.metavar.field"))
@place_options
@editing_options
def unset(name: str, field: str, **given: Any) -> None:
    """Its help is in the catalogue."""
    _change("unset", name, field, None, None, **given)


@click.command("rm", help=text("cli.mcp.rm.help"))
@_NAME
@place_options
@editing_options
def remove(
    name: str,
    preset: str | None,
    file: str | None,
    directory: Path,
    as_json: bool,
    dry_run: bool,
    show_values: bool,
) -> None:
    """Its help is in the catalogue."""
    editor = make_editor()
    target = named_target(editor, directory, name, preset, file)
    outcome = editor.delete(str(directory), target, name, None, dry_run=dry_run, show_values=show_values)
    tell("rm", outcome, as_json, dry_run)


def _between(function: Command) -> Command:
    """The options of copy and migrate."""
    for option in (
        click.option("--as", "new", metavar=text("cli.metavar.name"), help=text("cli.mcp.copy.as")),
        click.option("--to", required=True, metavar=text("cli.metavar.preset"), help=text("cli.mcp.copy.to")),
        click.option(
            "--from", "source", required=True, metavar=text("cli.metavar.preset"), help=text("cli.mcp.copy.from")
        ),
    ):
        function = option(function)
    return _NAME(editing_options(function))


@click.command("copy", help=text("cli.mcp.copy.help"), epilog=text("cli.mcp.copy.epilog"))
@_between
def copy(**given: Any) -> None:
    """Its help is in the catalogue."""
    _transfer("copy", move=False, **given)


@click.command("migrate", help=text("cli.mcp.migrate.help"), epilog=text("cli.mcp.copy.epilog"))
@_between
def migrate(**given: Any) -> None:
    """Its help is in the catalogue."""
    _transfer("migrate", move=True, **given)


def make_editor() -> "Editor":
    """The editor of this user's configuration. Raises HostError CONFIG_INVALID or SECRETS_UNREADABLE."""
    from innkeeper.cli.declarations import read_settings_of_user
    from innkeeper.cli.folders import find_folders
    from innkeeper.mcp.declarations.resolve import Reading
    from innkeeper.mcp.editor import LOCATIONS
    from innkeeper.mcp.editor.editor import Editor
    from innkeeper.mcp.editor.readback import Ground
    from innkeeper.mcp.editor.remembered import Remembered
    from innkeeper.workspace.note_file import NoteFile

    available, settings, configured = read_settings_of_user()
    reading = Reading(
        environment=dict(os.environ),
        inputs=settings.input_values,
        presets=available.enabled,
        file_limit=int(configured.limits["declaration_bytes"]),
        entry_limit=int(configured.limits["declaration_entries"]),
        conflict_policy=configured.conflict_policy,
    )
    remembered = Remembered(NoteFile(find_folders(None).data / LOCATIONS))
    return Editor(Ground(lambda: reading, lambda: available), lambda: settings, remembered)


def named_target(editor: "Editor", directory: Path, name: str, preset: str | None, file: str | None) -> "Target":
    """The file that declares the server. Raises CliError when several do and none was named."""
    if preset is None:
        found = editor.declaring(str(directory), name)
        if len(found) > 1:
            raise _usage("cli.mcp.edit.several", presets=", ".join(target.preset.id for target in found))
    return editor.target(str(directory), preset, file, name)


def tell(what: str, outcome: "EditOutcome", as_json: bool, dry_run: bool) -> None:
    """What came of it; the diff of a dry run on standard output."""
    from dataclasses import asdict

    from innkeeper.cli.mcp.listing import finding_lines
    from innkeeper.cli.output import note, print_json
    from innkeeper.mcp.declarations.model import printable

    if as_json:
        print_json(_document(outcome, dry_run))
        return
    if dry_run:
        click.echo(outcome.diff, nl=False)
    place = f"{outcome.place.file}:{outcome.line}" if outcome.line else outcome.place.file
    done = "dryRun" if dry_run else what if outcome.written else "unchanged"
    source = outcome.source.file if outcome.source is not None else ""
    note(text(f"cli.mcp.edit.done.{done}", name=printable(outcome.server), place=place, source=source))
    if what == "rm" and outcome.written and not outcome.place.exists:
        note(text("cli.mcp.edit.fileGone", file=outcome.place.file))
    for line in (line for found in outcome.findings for line in finding_lines(asdict(found))):
        note(f"  {line}")
    if outcome.written and what != "rm":
        note(text(f"cli.mcp.edit.loads.{'yes' if outcome.loads_by else 'no'}"))


def _change(
    what: str,
    name: str,
    field: str,
    value: "FieldValue",
    transport: str | None,
    *,
    preset: str | None,
    file: str | None,
    directory: Path,
    as_json: bool,
    dry_run: bool,
    show_values: bool,
) -> None:
    editor = make_editor()
    target = named_target(editor, directory, name, preset, file)
    form = editor.open(str(directory), name, target.preset.id, target.file).form
    draft = _draft(form, field, value, transport)
    outcome = editor.save(str(directory), target, name, name, draft, None, dry_run=dry_run, show_values=show_values)
    tell(what, outcome, as_json, dry_run)


def _draft(form: "DeclarationForm", field: str, value: "FieldValue", transport: str | None) -> "DeclarationDraft":
    """`env.KEY` and `headers.KEY` are one row; the others keep what they have."""
    from innkeeper.ports.mcp_editing import DeclarationDraft, Keep

    table, dot, key = field.partition(".")
    if not dot or table not in TABLES:
        return DeclarationDraft(transport, {field: value})
    known = form.env if table == "env" else form.headers
    rows: dict[str, RowValue] = {row.key: Keep(row.key) for row in known or () if row.key != key or value is not None}
    if value is not None:
        rows[key] = str(value)
    return DeclarationDraft(transport, {table: rows})


def _transfer(
    what: str,
    *,
    move: bool,
    name: str,
    source: str,
    to: str,
    new: str | None,
    directory: Path,
    as_json: bool,
    dry_run: bool,
    show_values: bool,
) -> None:
    editor = make_editor()
    workspace = str(directory)
    outcome = editor.copy(
        workspace,
        editor.target(workspace, source, None, name),
        name,
        editor.target(workspace, to, None),
        new or name,
        {},
        move=move,
        dry_run=dry_run,
        show_values=show_values,
    )
    tell(what, outcome, as_json, dry_run)


def _pair(given: str, option: str) -> tuple[str, str]:
    key, equals, value = given.partition("=")
    if not equals or not key:
        raise _usage("cli.mcp.add.pair", option=option)
    return key, value


def _usage(id: str, **values: object) -> Exception:
    from innkeeper.cli.failures import UsageProblem

    return UsageProblem(text(id, **values))


def _document(outcome: "EditOutcome", dry_run: bool) -> Mapping[str, Any]:
    from innkeeper.mcp.check.report import encodable

    return {
        "server": encodable(outcome.server),
        "preset": outcome.place.preset,
        "file": outcome.place.file,
        "line": outcome.line,
        "from": None if outcome.source is None else outcome.source.file,
        "written": outcome.written,
        "dry_run": dry_run,
        "tokens": dict(outcome.tokens),
        "loads_by": outcome.loads_by,
        "diff": encodable(outcome.diff),
        "findings": [
            {"severity": one.severity, "code": one.code, "message": encodable(one.message), "line": one.line}
            for one in outcome.findings
        ],
    }
