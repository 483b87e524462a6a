"""`innkeeper changes commit`, `discard` and `checkout`: what the host offers for the uncommitted changes (AHP §4).

Rules
* Only what the changeset lists is asked of the host; what it does not list, or has switched off, says why.
* What loses work is confirmed at a terminal, in the host's own words, or by `--yes`; and only what was shown is lost: a
  file that changed since then is a conflict.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.changes.reviewing import all_option, check_files, files_argument
from innkeeper.cli.changes.selecting import (
    NAMED,
    Changeset,
    Row,
    Selection,
    changeset,
    named_rows,
    of_session,
    quoted,
)
from innkeeper.cli.mcp.asking import Where
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.client import Client

OPERATION_SECONDS: Final = 600.0
"""A commit runs the person's hooks."""


@click.command(help=text("cli.changes.commit.help"), epilog=text("cli.changes.commit.epilog"))
@click.option("--message", "-m", metavar=text("cli.metavar.text"), help=text("cli.changes.commit.message"))
@of_session
def commit(where: Where, as_json: bool, message: str | None) -> None:
    """Its help is in the catalogue."""
    words = {"message": message.strip()} if message and message.strip() else {}
    _operate(where, as_json, "commit", words)


@click.command(help=text("cli.changes.checkout.help"), epilog=text("cli.changes.checkout.epilog"))
@click.argument("branch", metavar=text("cli.metavar.branch"))
@of_session
def checkout(where: Where, as_json: bool, branch: str) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.failures import UsageProblem

    if not branch.strip():
        raise UsageProblem(text("cli.changes.checkout.empty"))
    _operate(where, as_json, "checkout", {"branch": branch.strip()})


@click.command(help=text("cli.changes.discard.help"), epilog=text("cli.changes.discard.epilog"))
@files_argument
@all_option
@click.option("--yes", "-y", is_flag=True, help=text("cli.sessions.rm.yes"))
@of_session
def discard(where: Where, as_json: bool, files: tuple[str, ...], every: bool, yes: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.failures import UsageProblem
    from innkeeper.cli.reach import run

    check_files(files, every)
    if not yes and (as_json or not sys.stdin.isatty()):
        raise UsageProblem(text("cli.sessions.rm.needsYes"))
    operation, rows = run(_looked(where, files))
    if not yes:
        _ask(operation, rows)
    _tell(run(_discarded(where, files, rows)), as_json)


def _operate(where: Where, as_json: bool, operation: str, words: dict[str, str]) -> None:
    """One operation on all files, and what the host says about it."""
    from innkeeper.cli.reach import run

    async def work() -> list[str]:
        async with changeset(Selection(where, "uncommitted")) as (client, found):
            offered(found, operation, where)
            return [await _invoke(client, found, operation, None, **words)]

    _tell(run(work()), as_json)


def offered(found: Changeset, operation: str, where: Where) -> Mapping[str, Any]:
    """The operation as it is listed. Raises HostError: it is not, or there is nothing to do, or a turn works here."""
    from innkeeper.errors import HostError

    listed: Sequence[Mapping[str, Any]] = found.state.get("operations") or ()
    here = next((one for one in listed if one["id"] == operation), None)
    if here is None:
        raise HostError("OPERATION_UNKNOWN", operation=operation)
    if here["status"] == "disabled" and not found.rows and operation != "checkout":
        raise HostError("OPERATION_DISABLED", operation=operation)
    if here["status"] == "disabled":
        raise HostError("TURN_RUNNING", directory=where.directory)
    return here


def _ask(operation: Mapping[str, Any], rows: Sequence[Row]) -> None:
    from innkeeper.cli.chat.transcript import plain
    from innkeeper.cli.output import note

    for row in rows[:NAMED]:
        note(f"  {quoted(row.shown.path)}")
    if len(rows) > NAMED:
        note(f"  {text('changeset.leftOut', n=len(rows) - NAMED)}")
    click.confirm(plain(operation.get("confirmation")) or text("web.changes.discard_all"), abort=True, err=True)


def _tell(said: Sequence[str], as_json: bool) -> None:
    from innkeeper.cli.output import note, print_json

    if as_json:
        print_json({"message": "\n".join(said)})
    else:
        note("\n".join(said))


async def _looked(where: Where, files: Sequence[str]) -> tuple[Mapping[str, Any], Sequence[Row]]:
    async with changeset(Selection(where, "uncommitted")) as (_, found):
        rows = named_rows(found, files, where.directory) if files else found.rows
        return offered(found, "discard", where), rows


async def _discarded(where: Where, files: Sequence[str], seen: Sequence[Row]) -> list[str]:
    """What was seen is discarded, if it is still what there is."""
    from innkeeper.errors import HostError

    async with changeset(Selection(where, "uncommitted")) as (client, found):
        offered(found, "discard", where)
        rows = named_rows(found, files, where.directory) if files else found.rows
        versions = {row.shown.id: row.shown.version for row in seen}
        changed = [row for row in rows if versions.get(row.shown.id) != row.shown.version]
        if changed:
            raise HostError("CHANGESET_STALE", file=changed[0].shown.path)
        if not files:
            return [await _invoke(client, found, "discard")]
        return [await _invoke(client, found, "discard", row) for row in rows]


async def _invoke(client: "Client", found: Changeset, operation: str, row: Row | None = None, **words: str) -> str:
    from innkeeper.cli.chat.transcript import plain
    from innkeeper.client.changesets import operation_params

    params = operation_params(found.channel.uri, operation, None if row is None else row.file, **words)
    answer = await client.request("invokeChangesetOperation", params, OPERATION_SECONDS)
    return plain((answer or {}).get("message"))
