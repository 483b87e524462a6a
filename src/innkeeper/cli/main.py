"""The root command. Starts fast: no library but click is imported here, and a command's module when it is asked for."""

import importlib
import io
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import click

from innkeeper._version import running_version
from innkeeper.cli import exit_codes
from innkeeper.cli.words import LANGUAGE, text

COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "serve": "innkeeper.cli.serve:serve",
        "status": "innkeeper.cli.status:status",
        "tour": "innkeeper.cli.tour.command:tour",
        "chat": "innkeeper.cli.chat.command:chat",
        "sessions": "innkeeper.cli.sessions:sessions",
        "changes": "innkeeper.cli.changes:changes",
        "agents": "innkeeper.cli.agents:agents",
        "mcp": "innkeeper.cli.mcp:mcp",
        "config": "innkeeper.cli.config:config",
        "customizations": "innkeeper.cli.customizations:customizations",
        "why": "innkeeper.cli.why:why",
        "approvals": "innkeeper.cli.approvals:approvals",
        "doctor": "innkeeper.cli.doctor.command:doctor",
        "completion": "innkeeper.cli.completion:completion",
    }
)


@dataclass(slots=True)
class State:
    """What one run of the command line has been told."""

    json: bool = False


class LazyGroup(click.Group):
    """A group whose commands are imported when they are needed, in the order of the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise click.UsageError(text("cli.error.command", name=args[0]), ctx)
        return super().resolve_command(ctx, args)


@click.command(
    "innkeeper",
    cls=LazyGroup,
    help=text("cli.help"),
    epilog=text("cli.epilog"),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(running_version(), "-V", "--version", message="%(version)s", help=text("cli.option.version"))
def cli() -> None:
    """Its help is in the catalogue."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and gives its exit code; raises nothing, unless `INNKEEPER_TRACEBACK` asks for a defect."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    state = State(json="--json" in words)
    _print_anything()
    if LANGUAGE != "en":
        from innkeeper.cli.click_words import speak

        speak(LANGUAGE)
    try:
        plain = False if os.environ.get("NO_COLOR") else None  # None: coloured at a terminal
        result: Any = cli.main(words, prog_name="innkeeper", standalone_mode=False, obj=state, color=plain)
        return result if isinstance(result, int) else exit_codes.OK
    except click.ClickException as error:
        return _report_usage(error, state)
    except (click.Abort, KeyboardInterrupt):
        return _report_interruption(state)
    except BrokenPipeError:
        # Whoever read our output has had enough: nothing is wrong, and nothing more can be told there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.FAILED
    except Exception as error:
        return _report(error, state)


def _print_anything() -> None:
    """A character that the terminal's encoding does not have is written as an escape, and is no failure."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _report_interruption(state: State) -> int:
    from innkeeper.errors import HostError

    if state.json:
        return _report(HostError("INTERRUPTED"), state)
    click.echo(err=True)
    return exit_codes.INTERRUPTED


def _report_usage(error: click.ClickException, state: State) -> int:
    from innkeeper.cli.failures import UsageProblem

    context = getattr(error, "ctx", None)
    if context is None:
        return _report(UsageProblem(error.format_message()), state)
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        if not state.json:
            error.show()
            return exit_codes.USAGE
        message = text("cli.click.missingCommand")
    help_line = text("cli.error.help", command=context.command_path)
    remedy = help_line if state.json else f"{context.get_usage()}\n{help_line}"
    return _report(UsageProblem(message, remedy), state)


def _report(error: Exception, state: State) -> int:
    from innkeeper.cli.failures import tell, tell_defect
    from innkeeper.cli.output import note, print_json

    told = tell(error)
    if told is None:
        if os.environ.get("INNKEEPER_TRACEBACK"):
            raise error
        told = tell_defect(error)
    if state.json:
        print_json(told.document())
    else:
        note(f"innkeeper: {told.message} [{told.code}]")
        if told.remedy:
            note(told.remedy)
    return told.exit_code
