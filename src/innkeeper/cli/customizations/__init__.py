"""`innkeeper customizations`: what a session exposes to a model, and switching it off and on (issue 4 item 8).

With a running host through it; without one on the stored decisions, for what counts in a workspace or everywhere.
"""

import click

from innkeeper.cli.customizations import commands
from innkeeper.cli.words import text


@click.group(help=text("cli.customizations.help"))
def customizations() -> None:
    """Its help is in the catalogue."""


for command in (
    commands.list_items,
    commands.enable,
    commands.disable,
    commands.inherit,
    commands.pin,
    commands.unpin,
):
    customizations.add_command(command)
