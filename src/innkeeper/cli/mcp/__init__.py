"""`innkeeper mcp`: the MCP servers of a session and of a project (M6.9, M7.6, M9.4).

A call that a person makes here counts as their Allow once; a server that is disabled stays so.
"""

import click

from innkeeper.cli import declarations
from innkeeper.cli.mcp import (
    authorizing,
    calling,
    connecting,
    editing,
    grants,
    inputs,
    listing,
    permissions,
    scanning,
    trusting,
)
from innkeeper.cli.words import text


@click.group(help=text("cli.mcp.help"))
def mcp() -> None:
    """Its help is in the catalogue."""


for command in (
    listing.list_servers,
    listing.reload,
    connecting.connect,
    connecting.disconnect,
    connecting.stop,
    connecting.retry,
    connecting.follow_policy,
    connecting.confirm_file,
    authorizing.authorize,
    calling.tools,
    calling.call,
    calling.logs,
    permissions.allow,
    permissions.deny,
    permissions.revoke,
    grants.grants,
    grants.forget,
    trusting.trust,
    trusting.untrust,
    inputs.inputs,
    editing.add,
    editing.set_field,
    editing.unset,
    editing.remove,
    editing.copy,
    editing.migrate,
    scanning.scan,
    declarations.check,
    declarations.explain,
    declarations.presets,
):
    mcp.add_command(command)
