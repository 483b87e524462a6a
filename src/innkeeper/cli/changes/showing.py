"""`innkeeper changes` and `innkeeper changes diff`: the files, and the lines in them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli import exit_codes
from innkeeper.cli.changes.selecting import Changeset, Row, Selection, changeset, named_rows, quoted, selecting
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.cli.changes.unified import Unified

COLOURS: Mapping[str, Mapping[str, Any]] = {"+": {"fg": "green"}, "-": {"fg": "red"}, "@": {"fg": "cyan"}}
TAGS = ("binary", "executable", "lfs", "submodule", "symlink")
COLUMNS = ("file", "change", "added", "removed", "reviewed", "about")


def show(selection: Selection, as_json: bool) -> int:
    """The list; its exit code says whether the host could look at everything."""
    from innkeeper.cli.output import note, print_json, print_table
    from innkeeper.cli.reach import run

    found = run(_found(selection))
    if as_json:
        print_json({**about(found), "files": [document(row) for row in found.rows]})
    else:
        if found.rows:
            print_table([text(f"cli.changes.column.{name}") for name in COLUMNS], map(_cells, found.rows))
        note(_summary(found))
        _tell_gaps(found)
    return exit_codes.FAILED if found.state.get("error") else exit_codes.OK


@click.command(help=text("cli.changes.diff.help"), epilog=text("cli.changes.diff.epilog"))
@click.argument("files", nargs=-1, metavar=text("cli.metavar.files"))
@selecting
def diff(selection: Selection, as_json: bool, files: tuple[str, ...]) -> int:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import print_json
    from innkeeper.cli.reach import run

    told: list[dict[str, Any]] = []

    async def work() -> Changeset:
        from innkeeper.cli.changes.unified import unified

        async with changeset(selection) as (client, found):
            rows = named_rows(found, files, selection.where.directory) if files else found.rows
            for row in rows:
                made = await unified(client, row)
                if as_json:
                    told.append({**document(row), "diff": made.text or None, "problem": made.problem or None})
                else:
                    _print_diff(row, made)
            return found

    found = run(work())
    if as_json:
        print_json({**about(found), "files": told})
    else:
        _tell_gaps(found)
    return exit_codes.FAILED if found.state.get("error") else exit_codes.OK


def about(found: Changeset) -> dict[str, Any]:
    """The changeset for `--json`, without its files."""
    return {
        "session": found.session,
        "set": found.wanted.kind,
        "turns": list(found.wanted.turns),
        "error": _error(found),
        "note": found.note or None,
        "operations": [{"id": one["id"], "status": one["status"]} for one in found.state.get("operations") or ()],
    }


def document(row: Row) -> dict[str, Any]:
    """A file for `--json`."""
    shown = row.shown
    return {
        "file": shown.path,
        "uri": shown.id,
        "change": shown.change,
        "was": shown.was or None,
        "added": shown.added,
        "removed": shown.removed,
        "reviewed": shown.reviewed,
        "kinds": list(shown.tags),
        "attribution": shown.shared or None,
    }


async def _found(selection: Selection) -> Changeset:
    async with changeset(selection) as (_, found):
        return found


def _cells(row: Row) -> Sequence[str]:
    shown = row.shown
    words = [text(f"web.changes.tag.{tag}") if tag in TAGS else tag for tag in shown.tags]
    words += [text("web.changes.was", path=quoted(shown.was))] if shown.was else []
    words += [text(f"web.changes.whose.{shown.shared}")] if shown.shared in ("shared", "unattributed") else []
    return (
        quoted(shown.path),
        text(f"cli.changes.kind.{shown.change}"),
        "" if shown.added is None else f"+{shown.added}",
        "" if shown.removed is None else f"−{shown.removed}",
        text("cli.changes.yes") if shown.reviewed else "",
        ", ".join(words),
    )


def _summary(found: Changeset) -> str:
    rows, kind = found.rows, found.wanted.kind
    if not rows:
        return text(f"web.changes.none.{kind}")
    counts = {
        "added": sum(row.shown.added or 0 for row in rows),
        "removed": sum(row.shown.removed or 0 for row in rows),
        "reviewed": sum(row.shown.reviewed for row in rows),
    }
    return text("cli.changes.summary", n=len(rows), **counts)


def _error(found: Changeset) -> dict[str, Any] | None:
    """Why the host could not look at everything, in the words of other failures."""
    from innkeeper.errors import ERRORS

    error = found.state.get("error")
    if not error:
        return None
    code = str(error.get("errorType") or "")
    remedy = text(ERRORS[code].remedy) if code in ERRORS else None
    return {"code": code, "message": str(error.get("message") or ""), "remedy": remedy}


def _tell_gaps(found: Changeset) -> None:
    """What is missing in what was shown."""
    from innkeeper.cli.output import note

    if found.note:
        note(found.note)
    error = _error(found)
    if error is not None:
        note(f"innkeeper: {error['message']} [{error['code']}]")
        if error["remedy"]:
            note(error["remedy"])


def _print_diff(row: Row, made: "Unified") -> None:
    """Git's format; in colours, and with what steers a terminal made visible, at a terminal only."""
    import sys

    from innkeeper.cli.output import note

    if made.problem and not made.text:
        note(text(f"cli.changes.diff.{made.problem}", file=quoted(row.shown.path)))
    elif not sys.stdout.isatty():
        click.echo(made.text, nl=False)
    else:
        for at, line in enumerate(made.text.removesuffix("\n").split("\n")):
            style = {"bold": True} if at < made.head else COLOURS.get(line[:1], {})
            click.echo(click.style(visible(line), **style))


def visible(line: str) -> str:
    """A line of a file as a terminal can show it: `^[` for an escape."""
    return "".join(f"^{chr(ord(one) ^ 64)}" if (one < " " and one != "\t") or one == "\x7f" else one for one in line)
