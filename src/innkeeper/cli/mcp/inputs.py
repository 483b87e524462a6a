"""`innkeeper mcp inputs list|set|remove`: the values of `${input:…}`, of which only names are ever shown (M2.5, M9.6).

A value is read from the terminal without echo, or from standard input; never from the arguments, which other processes
can see. Nothing is asked of a host: it reads the values at its start.
"""

import os
import sys
from typing import TYPE_CHECKING

import click

from innkeeper.cli.options import json_option
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.settings.inputs import Inputs

name_argument = click.argument("name", metavar=text("cli.metavar.input"))


@click.group(help=text("cli.mcp.inputs.help"))
def inputs() -> None:
    """Its help is in the catalogue."""


@inputs.command("list", help=text("cli.mcp.inputs.list.help"))
@json_option
def list_inputs(as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import note, print_json, print_table

    found = _inputs().listed()
    if as_json:
        rows = [
            {"name": one.name, "source": one.source, "reference": one.reference, "available": one.available}
            for one in found
        ]
        print_json({"inputs": rows})
    elif not found:
        note(text("cli.mcp.inputs.none"))
    else:
        words = [
            (
                one.name,
                text(f"cli.mcp.inputs.source.{one.source}"),
                text("cli.word.yes" if one.available else "cli.word.no"),
            )
            for one in found
        ]
        print_table([text(f"cli.mcp.column.{name}") for name in ("input", "source", "available")], words)


@inputs.command("set", help=text("cli.mcp.inputs.set.help"), epilog=text("cli.mcp.inputs.set.epilog"))
@name_argument
@json_option
def set_input(name: str, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.failures import UsageProblem

    known = _inputs()
    if sys.stdin.isatty():
        value = click.prompt(text("cli.mcp.inputs.prompt", name=name), hide_input=True, err=True)
    else:
        value = sys.stdin.read().rstrip("\r\n")
    if not value:
        raise UsageProblem(text("cli.mcp.inputs.empty"))
    known.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    known.store(name, value)
    _told(name, "stored", as_json)


@inputs.command("remove", help=text("cli.mcp.inputs.remove.help"))
@name_argument
@json_option
def remove_input(name: str, as_json: bool) -> None:
    """Its help is in the catalogue."""
    _told(name, "removed" if _inputs().remove(name) else "absent", as_json)


def _told(name: str, what: str, as_json: bool) -> None:
    from innkeeper.cli.output import note, print_json

    if as_json:
        print_json({"name": name, "result": what})
    else:
        note(text(f"cli.mcp.inputs.{what}", name=name))


def _inputs() -> "Inputs":
    """Raises HostError CONFIG_INVALID."""
    from innkeeper.settings.config import read_settings
    from innkeeper.settings.inputs import Inputs
    from innkeeper.settings.paths import find_paths

    paths = find_paths(os.environ)
    return Inputs(paths.config, read_settings(paths.config_file).input_values, os.environ)
