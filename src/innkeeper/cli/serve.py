"""`innkeeper serve`: runs a host until it is told to end."""

import gc
import os
from pathlib import Path
from typing import Any

import click

from innkeeper.cli.options import Whole
from innkeeper.cli.words import text


@click.command(help=text("cli.serve.help"), epilog=text("cli.serve.epilog"))
@click.option("--host", help=text("cli.serve.host"))
@click.option("--port", type=Whole(0, 65535), help=text("cli.serve.port"))
@click.option("--socket", type=click.Path(path_type=Path, dir_okay=False), help=text("cli.serve.socket"))
@click.option("--socket-token", is_flag=True, help=text("cli.serve.socketToken"))
@click.option("--token", help=text("cli.serve.token"))
@click.option("--token-file", type=click.Path(path_type=Path, readable=False), help=text("cli.serve.tokenFile"))
@click.option("--no-token", is_flag=True, help=text("cli.serve.noToken"))
@click.option("--force", is_flag=True, help=text("cli.serve.force"))
@click.option(
    "--data-dir", type=click.Path(path_type=Path, file_okay=False, readable=False), help=text("cli.option.dataDir")
)
@click.option("--log", help=text("cli.serve.log"))
@click.option("--quiet", is_flag=True, help=text("cli.serve.quiet"))
@click.option("--no-questions", is_flag=True, help=text("cli.serve.noQuestions"))
@click.option("--open", is_flag=True, help=text("cli.serve.open"))
@click.option("--stdio", is_flag=True, help=text("cli.serve.stdio"))
def serve(**flags: Any) -> int:
    """Its help is in the catalogue."""
    from innkeeper.settings.config import read_settings
    from innkeeper.settings.options import resolve_options
    from innkeeper.settings.paths import find_paths
    from innkeeper.settings.problems import OptionInvalid, Wrong
    from innkeeper.settings.readers import read_log

    if flags["log"] is not None:
        try:
            flags["log"] = read_log(flags["log"])
        except Wrong as error:
            raise OptionInvalid("--log", error.problem) from error
    settings = read_settings(find_paths(os.environ).config_file)
    options = resolve_options(flags, os.environ, settings)
    # The libraries of a host take most of its start; a wrong option is told before they are loaded. What they define
    # lives as long as the host: collecting garbage meanwhile finds none (`app.serve` turns it on again).
    gc.disable()
    from innkeeper.app.run import run_host

    return run_host(options, settings, find_paths(os.environ, options.data_dir))
