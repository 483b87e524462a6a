"""`innkeeper approvals`: why a call would run, be asked about or be denied, and by which rules (reference §5.11).

Rules
* Nothing is run and nothing is changed. Without `--session` no host is asked: the built-in rules and the operator's own
  count, as `config.toml` has them now, for a session in the directory that says nothing itself.
* With `--session` the session's own configuration and directories count, as its host has them.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.options import directory_option, host_options, json_option, session_option
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.cli.reach import Wanted
    from innkeeper.host.approval import Ground, Standing, Verdict
    from innkeeper.host.approval.layers import Layer
    from innkeeper.ports.questions import Intent, Reason
    from innkeeper.settings.approvals import OperatorApprovals
    from innkeeper.settings.config import Settings

State = Mapping[str, Any]
MODES = ("interactive", "plan", "autopilot")


@click.group(help=text("cli.approvals.help"))
def approvals() -> None:
    """Its help is in the catalogue."""


@approvals.command("explain", help=text("cli.approvals.explain.help"), epilog=text("cli.approvals.explain.epilog"))
@click.argument("command", required=False, metavar=text("cli.metavar.command"))
@click.option("--read", "reads", multiple=True, metavar=text("cli.metavar.path"), help=text("cli.approvals.read"))
@click.option("--write", "writes", multiple=True, metavar=text("cli.metavar.path"), help=text("cli.approvals.write"))
@click.option("--tool", default="shell", show_default=False, help=text("cli.approvals.tool"))
@click.option("--language", default="bash", show_default=False, help=text("cli.approvals.language"))
@click.option("--mode", type=click.Choice(MODES), help=text("cli.approvals.mode"))
@session_option
@directory_option
@json_option
@host_options
def explain(
    url: str | None,
    token: str | None,
    data_dir: Path | None,
    session: str | None,
    directory: Path,
    as_json: bool,
    command: str | None,
    reads: Sequence[str],
    writes: Sequence[str],
    tool: str,
    language: str,
    mode: str | None,
) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.failures import UsageProblem
    from innkeeper.cli.output import print_json
    from innkeeper.cli.reach import Wanted, run
    from innkeeper.ports.questions import Intent

    if sum((command is not None, bool(reads), bool(writes))) > 1:
        raise UsageProblem(text("cli.approvals.one"))
    intent = Intent("tool")
    if command is not None:
        intent = Intent("shell", command=command, language=language)
    elif reads or writes:
        here = tuple(os.path.join(directory, path) for path in (*reads, *writes))
        intent = Intent("read" if reads else "write", paths=here)
    state = None if session is None else run(_state_of(Wanted(url, token, data_dir), session))
    found = _decided(intent, tool, state, directory, mode)
    if as_json:
        print_json(document(found))
    else:
        _print_verdict(found)


@approvals.command("rules", help=text("cli.approvals.rules.help"))
@json_option
def rules(as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import print_json, print_table
    from innkeeper.host.approval.files_table import ALWAYS, GUARDED
    from innkeeper.host.approval.shell.programs import PROGRAMS, REFUSED

    own = _settings().approvals
    if as_json:
        tables = {
            "allowed": sorted(PROGRAMS),
            "refused": {group: list(names) for group, names in REFUSED.items()},
            "guarded": {group: list(patterns) for group, patterns in GUARDED.items()},
            "always": {group: list(patterns) for group, patterns in ALWAYS.items()},
        }
        print_json({**tables, "operator": _operator(own)})
        return
    rows = [(text("cli.approvals.rules.allowed"), " ".join(sorted(PROGRAMS)))]
    rows += [(text("cli.approvals.rules.refused"), " ".join(names)) for names in REFUSED.values()]
    rows += [(text("cli.approvals.rules.guarded"), " ".join(patterns)) for patterns in GUARDED.values()]
    rows += [(text("cli.approvals.rules.always"), " ".join(patterns)) for patterns in ALWAYS.values()]
    rows += [(text("cli.approvals.rules.operator"), line) for line in _operator_lines(own)]
    print_table((text("cli.approvals.rules.kind"), text("cli.approvals.rules.what")), rows)


def document(found: "Verdict") -> dict[str, Any]:
    """The decision for `--json`: `outcome`, `row`, why as an id with values and in words, and each part."""
    return {
        "outcome": found.outcome,
        "row": found.row,
        "message": found.reason.message,
        "values": dict(found.reason.values),
        "reason": _words(found.reason),
        "steps": [
            {
                "subject": step.subject,
                "outcome": step.outcome,
                "message": step.reason.message,
                "values": dict(step.reason.values),
                "reason": _words(step.reason),
                "effects": step.effects,
            }
            for step in found.steps
        ],
    }


def _decided(intent: "Intent", tool: str, state: State | None, directory: Path, mode: str | None) -> "Verdict":
    from innkeeper.host.approval import Call, decide
    from innkeeper.host.approval.shell.grammar import load
    from innkeeper.workspace.paths import LocalPaths

    settings = _settings()
    standing, ground = _standing(tool, state or {}, settings, mode), _ground(state, directory, settings)
    return decide(Call(tool, intent), standing, ground, LocalPaths(), load() if intent.kind == "shell" else None)


def _standing(tool: str, state: State, settings: "Settings", mode: str | None) -> "Standing":
    from innkeeper.host.approval.layers import effective
    from innkeeper.host.approvals import standing

    found, full = effective(_layers(state, settings, mode)), settings.access == "full"
    return standing(found, state, tool, full=full, managed=settings.approvals.ask)


def _layers(state: State, settings: "Settings", mode: str | None) -> "list[Layer]":
    from innkeeper.host.approval.layers import Layer

    own = settings.approvals
    values = (state.get("config") or {}).get("values") or {}
    asked = [] if mode is None else [Layer("command line", {"mode": mode})]
    host = {"permissions": {"allow": list(own.allow), "deny": list(own.deny)}}
    return [*asked, Layer("session", values), Layer("host", host)]


def _ground(state: State | None, directory: Path, settings: "Settings") -> "Ground":
    from innkeeper.host.approval import Ground, Tables
    from innkeeper.host.approvals import inline, local_paths

    own = settings.approvals
    roots = [os.fspath(directory)] if state is None else list(local_paths(state.get("workingDirectories") or ()))
    return Ground(
        roots=tuple(roots),
        home=os.environ.get("HOME"),
        inline=None if state is None else inline(state),
        tables=Tables(own.commands, own.files, own.shell),
    )


def _settings() -> "Settings":
    from innkeeper.cli.settings_file import config_file
    from innkeeper.settings.config import read_settings

    return read_settings(config_file())


async def _state_of(wanted: "Wanted", session: str) -> State:
    from innkeeper.cli.pick import named
    from innkeeper.cli.reach import connection

    async with connection(wanted) as client:
        uri = named([summary async for summary in client.list_sessions()], session)
        return (await client.subscribe_session(uri)).state


def _words(why: "Reason") -> str:
    return text(why.message, **why.values)


def _print_verdict(found: "Verdict") -> None:
    click.echo(text(f"cli.approvals.outcome.{found.outcome}", reason=_words(found.reason)))
    click.echo(text("cli.approvals.row", row=text(f"approval.row.{found.row}")))
    for step in found.steps:
        click.echo(f"  {text(f'cli.approvals.step.{step.outcome}')}  {step.subject}")
        click.echo(f"      {_words(step.reason)}")


def _operator(own: "OperatorApprovals") -> dict[str, Any]:
    return {
        "allow": list(own.allow),
        "deny": list(own.deny),
        "ask": list(own.ask),
        "shell": own.shell,
        "commands": [
            {"key": rule.key, "approve": rule.approve, "matchCommandLine": rule.whole_line} for rule in own.commands
        ],
        "files": [{"pattern": rule.pattern, "approve": rule.approve} for rule in own.files],
    }


def _operator_lines(own: "OperatorApprovals") -> list[str]:
    lines = [f"{name}: {' '.join(tools)}" for name in ("allow", "deny", "ask") if (tools := getattr(own, name))]
    lines += [f"{rule.key}: {str(rule.approve).lower()}" for rule in own.commands]
    lines += [f"{rule.pattern}: {str(rule.approve).lower()}" for rule in own.files]
    return lines if own.shell else [*lines, "shell: false"]
