"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from innkeeper.cli.words import text

F = TypeVar("F", bound=Callable[..., Any])


class Whole(click.IntRange):
    """A whole number in a range, called an integer."""

    name = "integer"


def json_option(function: F) -> F:
    """`--json`: one document on standard output, failures included."""

    def remember(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
        if value and context.obj is not None:
            context.obj.json = True

    option = click.option("--json", "as_json", is_flag=True, callback=_keep(remember), help=text("cli.option.json"))
    return option(function)


def host_options(function: F) -> F:
    """`--url`, `--token`, `--data-dir`: which host is meant; `reach.Wanted` takes them."""
    for option in (
        click.option(
            "--data-dir",
            type=click.Path(path_type=Path, file_okay=False, readable=False),
            help=text("cli.option.dataDir"),
        ),
        click.option("--token", envvar="INNKEEPER_TOKEN", help=text("cli.option.token")),
        click.option("--url", envvar="INNKEEPER_URL", help=text("cli.option.url")),
    ):
        function = option(function)
    return function


def session_option(function: F) -> F:
    """`--session`: a session other than that of this directory."""
    return click.option("--session", "-s", help=text("cli.option.session"))(function)


def directory_option(function: F) -> F:
    """`--dir`: another directory than the current one."""
    kind = click.Path(path_type=Path, file_okay=False, exists=True, resolve_path=True)
    return click.option("--dir", "directory", type=kind, default=".", show_default=False, help=text("cli.option.dir"))(
        function
    )


def _keep(
    remember: Callable[[click.Context, click.Parameter, bool], None],
) -> Callable[[click.Context, click.Parameter, bool], bool]:
    def callback(context: click.Context, parameter: click.Parameter, value: bool) -> bool:
        remember(context, parameter, value)
        return value

    return callback
