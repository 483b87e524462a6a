"""`innkeeper changes`: what a session changed in files, and what a person does about it (M9.4; AHP §7).

Everything is the host's: the files, the marks and the operations are those that every client of the session sees.
"""

import click
from click.core import ParameterSource

from innkeeper.cli.changes import operating, reviewing, showing
from innkeeper.cli.changes.selecting import Selection, selecting
from innkeeper.cli.words import text


@click.group(invoke_without_command=True, help=text("cli.changes.help"), epilog=text("cli.changes.epilog"))
@selecting
@click.pass_context
def changes(context: click.Context, selection: Selection, as_json: bool) -> int:
    """Its help is in the catalogue."""
    from innkeeper.cli import exit_codes
    from innkeeper.cli.failures import UsageProblem

    if context.invoked_subcommand is None:
        return showing.show(selection, as_json)
    # An option before the command would be about the list, which is not shown: it must not seem to count.
    given = [name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        raise UsageProblem(text("cli.changes.optionsAfter", command=context.invoked_subcommand))
    return exit_codes.OK


for command in (showing.diff, reviewing.review, operating.commit, operating.discard, operating.checkout):
    changes.add_command(command)
