"""`innkeeper mcp check`, `explain` and `presets`: what a project declares, read without a host (M11.1, M11.2).

Nothing is started, no host is asked, nothing is written. What is printed holds no value of env, headers or inputs.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli import exit_codes
from innkeeper.cli.options import directory_option, json_option
from innkeeper.cli.words import LANGUAGE, text

if TYPE_CHECKING:
    from innkeeper.mcp.check.explain import Explanation
    from innkeeper.mcp.declarations.custom import Available
    from innkeeper.mcp.declarations.model import Diagnostic
    from innkeeper.mcp.declarations.resolve import Resolved
    from innkeeper.mcp.settings import McpSettings

EMPTY_NAME = '""'
_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True, resolve_path=True)


@click.command("check", help=text("cli.mcp.check.help"), epilog=text("cli.mcp.check.epilog"))
@click.argument("directory", type=_FOLDER, default=".", metavar=text("cli.metavar.directory"))
@json_option
@click.option("--sarif", is_flag=True, help=text("cli.mcp.check.sarif"))
def check(directory: Path, as_json: bool, sarif: bool) -> int:
    """Its help is in the catalogue."""
    from innkeeper._version import running_version
    from innkeeper.cli.output import print_json
    from innkeeper.mcp.check.report import report
    from innkeeper.mcp.check.sarif import sarif as make_sarif

    resolved, _ = _read(directory)
    if sarif:
        _print_plain(make_sarif(resolved, running_version()))
    elif as_json:
        print_json(report(os.fspath(directory), resolved))
    else:
        _print_check(directory, resolved)
    return exit_codes.FAILED if resolved.failed else exit_codes.OK


@click.command("explain", help=text("cli.mcp.explain.help"), epilog=text("cli.mcp.explain.epilog"))
@click.argument("server", metavar=text("cli.metavar.server"))
@directory_option
@json_option
def explain(server: str, directory: Path, as_json: bool) -> int:
    """Its help is in the catalogue."""
    from innkeeper.cli.failures import CliError
    from innkeeper.cli.output import note, print_json
    from innkeeper.errors import ERRORS
    from innkeeper.mcp.check.explain import explain as explain_server

    resolved, settings = _read(directory)
    workspace = os.fspath(directory)
    explained = explain_server(server, workspace, resolved, settings, os.environ.get("PATH"))
    if not explained:
        for problem in resolved.diagnostics:
            for line in _lines(problem):
                note(line)
        raise CliError(
            text("cli.mcp.explain.unknown", server=server),
            code="SERVER_UNKNOWN",
            remedy=text(ERRORS["EDIT_NO_SERVER"].remedy),
        )
    if as_json:
        print_json({"workspace": workspace, "declarations": [_explained(one) for one in explained]})
    else:
        for one in explained:
            _print_explanation(one)
    return exit_codes.OK


@click.command("presets", help=text("cli.mcp.presets.help"))
@directory_option
@json_option
def presets(directory: Path, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import print_json, print_table

    available = read_settings_of_user()[0]
    rows = [
        {
            "id": preset.id,
            "enabled": preset.id in available.enabled_ids,
            "built_in": preset.built_in,
            "files": list(preset.files),
            "present": [file for file in preset.files if (directory / file).exists()],
            "format": preset.format,
            "servers": [".".join(path) for path in preset.tables],
            "dialect": preset.dialect,
            "interpolation": preset.interpolation,
            "bare_url": preset.bare_url,
        }
        for preset in available.presets
    ]
    if as_json:
        print_json({"workspace": str(directory), "presets": rows})
        return
    names = ("preset", "on", "files", "format", "table", "dialect", "variables")
    print_table([text(f"cli.mcp.column.{name}") for name in names], [_preset_cells(row) for row in rows])


def _preset_cells(row: Mapping[str, Any]) -> list[str]:
    files = [f"{file} *" if file in row["present"] else file for file in row["files"]]
    return [
        row["id"],
        text("cli.word.yes" if row["enabled"] else "cli.word.no"),
        ", ".join(files),
        row["format"],
        ", ".join(row["servers"]) or "(top level)",
        row["dialect"],
        row["interpolation"],
    ]


def _read(directory: Path) -> "tuple[Resolved, McpSettings]":
    """What the directory declares, and the settings it was read with."""
    from innkeeper.mcp.declarations.resolve import Reading, Resolver

    available, settings, configured = read_settings_of_user()
    reading = Reading(
        environment=dict(os.environ),
        inputs=settings.input_values,
        presets=available.enabled,
        file_limit=int(configured.limits["declaration_bytes"]),
        entry_limit=int(configured.limits["declaration_entries"]),
        conflict_policy=configured.conflict_policy,
    )
    return Resolver().resolve(os.fspath(directory), reading), settings


def read_settings_of_user() -> "tuple[Available, McpSettings, Any]":
    """The operator's presets, trust and inputs. Raises HostError CONFIG_INVALID or SECRETS_UNREADABLE."""
    from innkeeper.errors import HostError
    from innkeeper.mcp.declarations.custom import PresetInvalid, available_presets
    from innkeeper.mcp.settings import McpSettings, WorkspaceAllowance
    from innkeeper.settings.config import read_settings
    from innkeeper.settings.inputs import Inputs
    from innkeeper.settings.paths import find_paths

    paths = find_paths(os.environ)
    path = paths.config_file
    configured = read_settings(path)
    try:
        available = available_presets(configured.enabled_builtins, configured.presets)
    except PresetInvalid as error:
        reason = text("cli.mcp.presets.invalid", place=f"presets[{error.preset}].{error.key}", problem=_problem(error))
        raise HostError("CONFIG_INVALID", path=path, reason=reason) from error
    settings = McpSettings(
        trust_mode=configured.trust_mode,
        trusted_workspaces=frozenset(configured.trusted_workspaces),
        workspace_allowances=tuple(
            WorkspaceAllowance(one.workspace, frozenset(one.allow_mcp), frozenset(one.allow_tools))
            for one in configured.workspace_allowances
        ),
        input_values=Inputs(paths.config, configured.input_values, os.environ).load(),
    )
    return available, settings, configured


def _problem(error: Any) -> str:
    return text(f"declaration.preset.{error.problem}")


def _print_check(directory: Path, resolved: "Resolved") -> None:
    from innkeeper.cli.output import note, print_table
    from innkeeper.mcp.declarations.model import printable

    entries = resolved.entries
    if entries:
        names = ("server", "decision", "transport", "preset", "declared")
        rows = [
            (
                printable(entry.server.name),
                text(f"cli.mcp.decision.{entry.status}") + (f" ({entry.reason})" if entry.reason else ""),
                entry.server.transport,
                entry.server.preset,
                f"{entry.server.file}:{entry.server.line}",
            )
            for entry in entries
        ]
        print_table([text(f"cli.mcp.column.{name}") for name in names], rows)
    else:
        note(text("cli.mcp.check.none", directory=directory))
    found = [*resolved.diagnostics, *(one for entry in entries for one in entry.server.diagnostics)]
    for line in (line for one in found for line in _lines(one)):
        note(line)


def _lines(found: "Diagnostic") -> list[str]:
    """One diagnostic as compilers write them, and below an error what to do."""
    from innkeeper.errors import ERRORS
    from innkeeper.mcp.declarations.model import message_of, printable

    place = f"{found.file}:{found.line}" if found.line else found.file
    about = "" if found.server is None else f" {printable(found.server) or EMPTY_NAME}:"
    severity = text(f"cli.mcp.severity.{found.severity}")
    message = message_of(found.code, found.detail, found.hint, LANGUAGE)
    lines = [f"{place}: {severity} {found.code}:{about} {message}".lstrip(": ")]
    if found.severity == "error" and found.code in ERRORS:
        lines.append(f"  {text(ERRORS[found.code].remedy)}")
    return lines


def _explained(one: "Explanation") -> dict[str, Any]:
    from innkeeper.mcp.check.report import encodable
    from innkeeper.mcp.declarations.traits import CLIENTS

    server = one.entry.server
    return {
        "name": encodable(server.name),
        "safe_name": server.safe_name,
        "preset": server.preset,
        "file": server.file,
        "line": server.line,
        "transport": None if server.transport == "unknown" else server.transport,
        "status": one.entry.status,
        "reason": one.entry.reason,
        "starts": one.loads,
        "fields": dict(one.fields),
        "fingerprint": server.fingerprint or None,
        "decisions": [
            {"step": step.name, "passed": step.passed, "code": step.code, "detail": step.detail} for step in one.steps
        ],
        "clients": [
            {"client": CLIENTS[client], "differs": [text(f"declaration.hint.{hint}") for hint in hints]}
            for client, hints in one.clients.items()
        ],
    }


def _print_explanation(one: "Explanation") -> None:
    from innkeeper.cli.output import note, print_pairs
    from innkeeper.mcp.declarations.model import printable
    from innkeeper.mcp.declarations.traits import CLIENTS

    server = one.entry.server
    click.echo(f"{printable(server.name)}  {server.file}:{server.line}  {server.preset}  {server.transport}")
    print_pairs((f"  {name}", printable(_shown(value))) for name, value in one.fields.items())
    click.echo(text("cli.mcp.explain.starts" if one.loads else "cli.mcp.explain.startsNot"))
    for step in one.steps:
        mark = text("cli.word.yes" if step.passed else "cli.word.no")
        words = " ".join(part for part in (_reason(step.code), printable(step.detail)) if part)
        click.echo(f"  {text(f'cli.mcp.step.{step.name}')}: {mark}" + (f"  {words}" if words else ""))
    for found in server.diagnostics:
        for line in _lines(found):
            note(line)
    click.echo(text("cli.mcp.explain.clients"))
    for client, hints in one.clients.items():
        words = " ".join(text(f"declaration.hint.{hint}") for hint in hints)
        click.echo(f"  {CLIENTS[client]}: {words or text('cli.mcp.explain.alike')}")


def _reason(code: str | None) -> str:
    from innkeeper.errors import ERRORS

    if code is None:
        return ""
    return f"{text(ERRORS[code].meaning)} [{code}]" if code in ERRORS else text(f"cli.mcp.trust.{code}")


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={masked}" for name, masked in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(_quoted(value))
    return str(value)


def _quoted(words: Iterable[object]) -> Iterable[str]:
    import shlex

    for word in words:
        yield shlex.quote(str(word)) if str(word).isascii() else str(word)


def _print_plain(document: Mapping[str, Any]) -> None:
    import json

    click.echo(json.dumps(document, ensure_ascii=False, indent=2))
