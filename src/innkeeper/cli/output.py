"""Printing: data to standard output, words to standard error."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from shutil import get_terminal_size
from typing import Any, Final

import click

NARROW: Final = 80
"""Columns below which a table with long cells is no longer read well."""


def print_json(document: Mapping[str, Any]) -> None:
    """One JSON document, indented, with its version first."""
    import json

    click.echo(json.dumps({"version": 1, **document}, ensure_ascii=False, indent=2))


def print_json_line(document: Mapping[str, Any]) -> None:
    """One JSON document on one line, for output that comes bit by bit."""
    import json

    click.echo(json.dumps({"version": 1, **document}, ensure_ascii=False))


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table for a terminal, or a paragraph a row where that is too narrow; lines of tab-separated cells for a pipe,
    which never cut a cell."""
    if not sys.stdout.isatty():
        for row in (heads, *rows):
            click.echo("\t".join(" ".join(cell.split()) for cell in row))
        return
    known = list(rows)
    columns = get_terminal_size().columns
    if columns < NARROW and columns < sum(max(map(_width, column)) + 2 for column in zip(heads, *known, strict=True)):
        for row in known:
            print_pairs((head, cell) for head, cell in zip(heads, row, strict=True) if cell)
            click.echo()
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*heads, box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for row in known:
        table.add_row(*(Text(cell, overflow="fold") for cell in row))
    Console().print(table)


def print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Names and values, one pair a line."""
    known = list(pairs)
    width = max((_width(name) for name, _ in known), default=0)
    for name, value in known:
        click.echo(f"{name}{' ' * (width - _width(name))}  {value}")


def note(message: str) -> None:
    """A word about the run."""
    click.echo(message, err=True)


def _width(words: str) -> int:
    """Columns on a terminal: Chinese characters take two."""
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(character) in "WF" else 1 for character in words)
