"""`innkeeper completion SHELL`: the script that makes a shell complete our commands and options."""

import click

from innkeeper.cli.words import text


@click.command(help=text("cli.completion.help"), epilog=text("cli.completion.epilog"))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Its help is in the catalogue."""
    from click.shell_completion import get_completion_class

    from innkeeper.cli.main import cli

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(text("cli.error.shell", shell=shell))
    click.echo(made(cli, {}, "innkeeper", "_INNKEEPER_COMPLETE").source())
