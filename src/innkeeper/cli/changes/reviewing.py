"""`innkeeper changes review`: the marks that say who read what; every client of the session sees them."""

import click

from innkeeper.cli.changes.selecting import Selection, changeset, named_rows, selecting
from innkeeper.cli.words import text

files_argument = click.argument("files", nargs=-1, metavar=text("cli.metavar.files"))
all_option = click.option("--all", "every", is_flag=True, help=text("cli.changes.all"))


def check_files(files: tuple[str, ...], every: bool) -> None:
    """Files, or all of them. Raises UsageProblem."""
    from innkeeper.cli.failures import UsageProblem

    if bool(files) is every:
        raise UsageProblem(text("cli.changes.filesOrAll"))


@click.command(help=text("cli.changes.review.help"), epilog=text("cli.changes.review.epilog"))
@files_argument
@all_option
@click.option("--undo", is_flag=True, help=text("cli.changes.review.undo"))
@selecting
def review(selection: Selection, as_json: bool, files: tuple[str, ...], every: bool, undo: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import note, print_json
    from innkeeper.cli.reach import run

    check_files(files, every)
    marked = run(_marked(selection, files, not undo))
    if as_json:
        print_json({"files": marked, "reviewed": not undo})
    else:
        note(text("cli.changes.review.undone" if undo else "cli.changes.review.done", n=len(marked)))


async def _marked(selection: Selection, files: tuple[str, ...], reviewed: bool) -> list[str]:
    from innkeeper.client.events import Applied
    from innkeeper.errors import HostError

    async with changeset(selection) as (_, found):
        rows = named_rows(found, files, selection.where.directory) if files else found.rows
        ids = [row.shown.id for row in rows]
        action = {"type": "changeset/filesReviewChanged", "files": ids, "reviewed": reviewed}
        outcome = await found.channel.dispatch(action)
        if not isinstance(outcome, Applied):
            raise HostError("REVIEW_REFUSED", reason=outcome.reason)
        return [row.shown.path for row in rows]
