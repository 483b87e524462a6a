"""The commands: a tree of what there is, and one change of one scope."""

from typing import Any

import click

from innkeeper.cli.mcp.asking import Where, in_session
from innkeeper.cli.words import text

name_argument = click.argument("name", metavar=text("cli.metavar.customization"))
scope_option = click.option(
    "--scope",
    type=click.Choice(["session", "workspace", "global"]),
    required=True,
    help=text("cli.customizations.scope"),
)


@click.command("list", help=text("cli.customizations.list.help"), epilog=text("cli.customizations.list.epilog"))
@in_session
def list_items(where: Where, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.customizations.showing import print_tree
    from innkeeper.cli.customizations.source import listed
    from innkeeper.cli.output import note, print_json

    found = listed(where)
    if as_json:
        print_json({"session": found.session, "items": list(found.items)})
    elif found.items:
        print_tree(found.items)
    else:
        note(text("cli.customizations.none"))


@click.command(help=text("cli.customizations.enable.help"), epilog=text("cli.customizations.names"))
@name_argument
@scope_option
@in_session
def enable(where: Where, as_json: bool, name: str, scope: Any) -> None:
    """Its help is in the catalogue."""
    _change("enable", where, as_json, name, scope)


@click.command(help=text("cli.customizations.disable.help"), epilog=text("cli.customizations.names"))
@name_argument
@scope_option
@in_session
def disable(where: Where, as_json: bool, name: str, scope: Any) -> None:
    """Its help is in the catalogue."""
    _change("disable", where, as_json, name, scope)


@click.command(help=text("cli.customizations.inherit.help"), epilog=text("cli.customizations.names"))
@name_argument
@scope_option
@in_session
def inherit(where: Where, as_json: bool, name: str, scope: Any) -> None:
    """Its help is in the catalogue."""
    _change("inherit", where, as_json, name, scope)


@click.command(help=text("cli.customizations.pin.help"), epilog=text("cli.customizations.names"))
@name_argument
@scope_option
@in_session
def pin(where: Where, as_json: bool, name: str, scope: Any) -> None:
    """Its help is in the catalogue."""
    _change("pin", where, as_json, name, scope)


@click.command(help=text("cli.customizations.unpin.help"), epilog=text("cli.customizations.names"))
@name_argument
@scope_option
@in_session
def unpin(where: Where, as_json: bool, name: str, scope: Any) -> None:
    """Its help is in the catalogue."""
    _change("unpin", where, as_json, name, scope)


def _change(verb: Any, where: Where, as_json: bool, name: str, scope: Any) -> None:
    from innkeeper.cli.customizations.showing import print_chain
    from innkeeper.cli.customizations.source import change
    from innkeeper.cli.output import print_json

    found = change(where, verb, name, scope)
    if as_json:
        print_json({"session": found.session, "item": dict(found.items[0])})
    else:
        print_chain(found.items[0])
