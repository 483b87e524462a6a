"""`innkeeper why`: why a customization is on, off or undecided, with the whole chain (C5.3, C5.4)."""

import click

from innkeeper.cli.mcp.asking import Where, in_session
from innkeeper.cli.words import text


@click.command(help=text("cli.why.help"), epilog=text("cli.customizations.names"))
@click.argument("name", metavar=text("cli.metavar.customization"))
@click.option("--history", is_flag=True, help=text("cli.why.history"))
@in_session
def why(where: Where, as_json: bool, name: str, history: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.customizations.showing import print_chain, print_history
    from innkeeper.cli.customizations.source import why as ask
    from innkeeper.cli.output import print_json

    found = ask(where, name, history=history)
    if as_json:
        document = {"session": found.session, "items": list(found.items)}
        print_json({**document, "history": list(found.history)} if history else document)
        return
    for item in found.items:
        print_chain(item)
    if history:
        click.echo(text("cli.why.records", n=len(found.history)))
        print_history(found.history)
