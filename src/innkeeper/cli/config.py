"""`innkeeper config`: the operator's settings, with and without a running host (M9.4, M9.6).

Rules
* Reads and writes the file of this machine, as the host does: byte-exactly, under the same lock and revision. A host
  that runs sees the change by itself, and is asked whether it did.
* `set` and `unset` write hot settings only; `edit` opens the whole file and keeps a broken text out.
* Values of secrets are never shown.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from innkeeper.cli import exit_codes
from innkeeper.cli.options import json_option
from innkeeper.cli.words import LANGUAGE, text

if TYPE_CHECKING:
    from innkeeper.cli.settings_file import Change

_NAME = text("cli.metavar.setting")


@click.group(help=text("cli.config.help"))
def config() -> None:
    """Its help is in the catalogue."""


@config.command("path", help=text("cli.config.path.help"))
@json_option
def path(as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import print_json
    from innkeeper.cli.settings_file import config_file
    from innkeeper.settings.inputs import FILE_NAME

    file = config_file()
    if as_json:
        print_json({"file": str(file), "exists": file.exists(), "secrets": str(file.with_name(FILE_NAME))})
    else:
        click.echo(file)


@config.command("show", help=text("cli.config.show.help"), epilog=text("cli.config.show.epilog"))
@click.option("--all", "every", is_flag=True, help=text("cli.config.show.all"))
@json_option
def show(every: bool, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import print_json, print_table
    from innkeeper.cli.settings_rows import rows_of_everything

    rows = [row for row in rows_of_everything() if every or row.changed or not row.name.startswith("limits.")]
    if as_json:
        print_json({"settings": [row.document() for row in rows]})
        return
    heads = [text(f"cli.config.column.{name}") for name in ("setting", "value", "source", "hot")]
    print_table(["", *heads], [row.cells() for row in rows])


@config.command("get", help=text("cli.config.get.help"))
@click.argument("name", metavar=_NAME)
@json_option
def get(name: str, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import print_json
    from innkeeper.cli.settings_rows import found_value
    from innkeeper.settings.schema import shown

    value = found_value(name)
    if as_json:
        print_json({"setting": name, "value": value})
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        for item in value:
            click.echo(item)
    else:
        click.echo(value if isinstance(value, str) else "" if value is None else shown(value))


@config.command("set", help=text("cli.config.set.help"), epilog=text("cli.config.set.epilog"))
@click.argument("name", metavar=_NAME)
@click.argument("values", nargs=-1, required=True, metavar=text("cli.metavar.values"))
@click.option("--add", is_flag=True, help=text("cli.config.set.add"))
@click.option("--remove", is_flag=True, help=text("cli.config.set.remove"))
@click.option("--revision", help=text("cli.config.revision"))
@click.option("--yes", is_flag=True, help=text("cli.config.set.yes"))
@json_option
def set_value(
    name: str, values: tuple[str, ...], add: bool, remove: bool, revision: str | None, yes: bool, as_json: bool
) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.failures import UsageProblem
    from innkeeper.cli.settings_file import write
    from innkeeper.cli.settings_values import adding, removing, setting, setting_path

    if add and remove:
        raise UsageProblem(text("cli.config.set.both"))
    where = setting_path(name)
    if where == ("trust_mode",) and values == ("all",) and not yes:
        _confirm(as_json)
    making = adding if add else removing if remove else setting
    _print_change(name, write(lambda data: making(data, where, values), revision), as_json)


@config.command("unset", help=text("cli.config.unset.help"))
@click.argument("name", metavar=_NAME)
@click.option("--revision", help=text("cli.config.revision"))
@json_option
def unset(name: str, revision: str | None, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.settings_file import write
    from innkeeper.cli.settings_values import setting_path
    from innkeeper.editing.edits import Delete

    where = setting_path(name)
    _print_change(name, write(lambda data: [Delete(where)], revision), as_json)


@config.command("edit", help=text("cli.config.edit.help"))
@json_option
def edit(as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.settings_edit import edit_file

    _print_change(None, edit_file(), as_json)


@config.command("check", help=text("cli.config.check.help"))
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False, exists=True))
@json_option
def check(file: Path | None, as_json: bool) -> int:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import note, print_json
    from innkeeper.cli.settings_file import config_file, faults

    target = file or config_file()
    found = faults(target, with_secrets=file is None)
    if as_json:
        print_json({"file": str(target), "valid": not found, "problems": [fault.document() for fault in found]})
    elif not found:
        click.echo(text("cli.config.check.ok", path=target))
    for fault in found if not as_json else ():
        note(f"{fault.error.message(LANGUAGE)} [{fault.error.code}]")
        note(fault.error.remedy(LANGUAGE))
    return exit_codes.FAILED if found else exit_codes.OK


def _confirm(as_json: bool) -> None:
    """A second word for what lets every command of every project run (M4.5)."""
    import sys

    from innkeeper.errors import HostError

    error = HostError("CONFIRMATION_NEEDED")
    if as_json or not sys.stdin.isatty():
        raise error
    click.confirm(f"{error.message(LANGUAGE)} {text('cli.config.set.sure')}", abort=True, err=True)


def _print_change(name: str | None, change: "Change", as_json: bool) -> None:
    from innkeeper.cli.output import note, print_json
    from innkeeper.cli.settings_file import ask_host

    host = ask_host(change)
    if as_json:
        print_json({"setting": name, **change.document(), "host": host})
        return
    note(text("cli.config.changed" if change.changed else "cli.config.unchanged", path=change.file))
    if change.after_restart:
        note(text("cli.config.afterRestart", names=", ".join(change.after_restart)))
    if change.changed:
        note(text(f"cli.config.host.{host}"))
