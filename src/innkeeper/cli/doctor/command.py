"""The command: all findings at once; exit code 1 when one of them fails."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from innkeeper.cli import exit_codes
from innkeeper.cli.doctor.bundle import bundle
from innkeeper.cli.options import json_option
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.cli.doctor.checks import Check

MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


@click.group(invoke_without_command=True, help=text("cli.doctor.help"), epilog=text("cli.doctor.epilog"))
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help=text("cli.option.dataDir"))
@json_option
@click.pass_context
def doctor(context: click.Context, data_dir: Path | None, as_json: bool) -> int:
    """Its help is in the catalogue."""
    return exit_codes.OK if context.invoked_subcommand is not None else _findings(data_dir, as_json)


doctor.add_command(bundle)


def _findings(data_dir: Path | None, as_json: bool) -> int:
    from innkeeper.cli.doctor.checks import Machine, all_checks
    from innkeeper.cli.folders import find_folders
    from innkeeper.cli.output import print_json
    from innkeeper.errors import HostError
    from innkeeper.settings.paths import find_paths

    try:
        paths = find_folders(data_dir)
    except HostError:
        # The configuration cannot be read: that is a finding, not the end of looking.
        paths = find_paths(os.environ, data_dir)
    found = list(all_checks(Machine(paths.config_file, paths.data, paths.state)))
    failed = any(check.state == "fail" for check in found)
    if as_json:
        print_json({"ok": not failed, "checks": [check.document() for check in found]})
    else:
        _print(found)
    return exit_codes.FAILED if failed else exit_codes.OK


def _print(found: "list[Check]") -> None:
    for check in found:
        mark, colour = MARKS[check.state]
        kind, _, name = check.id.partition(".")
        title = text(f"cli.doctor.title.{kind}") + (f" {name}" if name else "")
        click.echo(f"{click.style(mark, fg=colour)} {title}: {check.detail}")
        if check.remedy:
            click.echo(f"    {check.remedy}")
