"""`innkeeper mcp trust|untrust`: may everything that a directory declares start by itself? (M4.1, M4.4, M4.5)

Written into the operator's `config.toml`, whose comments stay; a host that runs follows at once. Never a subdirectory,
never a parent: exactly this directory.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from innkeeper.cli.mcp.asking import confirmed, yes_option
from innkeeper.cli.options import directory_option, json_option
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.settings.config import Settings

SETTING = "trusted_workspaces"
TRIES = 3


@click.command("trust", help=text("cli.mcp.trust.help"), epilog=text("cli.mcp.trust.epilog"))
@directory_option
@yes_option
@json_option
def trust(directory: Path, yes: bool, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import note

    file, settings = _settings()
    commands = _commands(directory, settings)
    if not as_json:
        note(text("cli.mcp.trust.means", directory=directory))
        for command in commands:
            note(f"  {command}")
    if not _positions(settings, directory):
        confirmed(text("cli.mcp.trust.confirm", directory=directory), yes=yes, as_json=as_json)
    _tell(file, directory, _change(file, directory, trusted=True), commands, as_json)


@click.command("untrust", help=text("cli.mcp.untrust.help"), epilog=text("cli.mcp.trust.epilog"))
@directory_option
@json_option
def untrust(directory: Path, as_json: bool) -> None:
    """Its help is in the catalogue."""
    file, settings = _settings()
    _tell(file, directory, _change(file, directory, trusted=False), _commands(directory, settings), as_json)


def _settings() -> "tuple[Path, Settings]":
    """The configuration file of this user and what it says. Raises HostError CONFIG_INVALID."""
    from innkeeper.settings.config import read_settings
    from innkeeper.settings.paths import find_paths

    file = find_paths(os.environ).config_file
    return file, read_settings(file)


def _positions(settings: "Settings", directory: Path) -> list[int]:
    """Where in the list the directory stands, in whatever spelling."""
    from innkeeper.customizations.identity import workspace_key

    wanted = workspace_key(str(directory))
    return [place for place, known in enumerate(settings.trusted_workspaces) if workspace_key(known) == wanted]


def _change(file: Path, directory: Path, *, trusted: bool) -> bool:
    """Put the directory into the list, or take it out; whether that changed anything. Raises HostError."""
    from innkeeper.editing.edits import Delete, Edit, Insert
    from innkeeper.editing.files import change_file, read_content
    from innkeeper.editing.refusals import EditConflict
    from innkeeper.settings.document import changed_content, checked_settings

    for left in reversed(range(TRIES)):
        known = read_content(file)
        settings = checked_settings(known.data, file)
        positions = _positions(settings, directory)
        if bool(positions) is trusted:
            return False
        edits: list[Edit] = [Delete((SETTING, place)) for place in reversed(positions)]
        if trusted:
            edits = [Insert((SETTING, len(settings.trusted_workspaces)), str(directory))]
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            change_file(file, lambda now, edits=edits: changed_content(now.data, edits, file), expected=known.version)  # type: ignore[misc]
        except EditConflict:
            if left == 0:
                raise
        else:
            return True
    return False


def _commands(directory: Path, settings: "Settings") -> Sequence[str]:
    """What would start: each command as it is written, masked; an address for what is not started."""
    from innkeeper.mcp.declarations.custom import available_presets
    from innkeeper.mcp.declarations.resolve import Reading, Resolver
    from innkeeper.mcp.declarations.secrets import mask_arguments

    presets = available_presets(settings.enabled_builtins, settings.presets).enabled
    reading = Reading(
        environment=dict(os.environ),
        presets=presets,
        file_limit=int(settings.limits["declaration_bytes"]),
        entry_limit=int(settings.limits["declaration_entries"]),
        conflict_policy=settings.conflict_policy,
    )
    resolved = Resolver().resolve(os.fspath(directory), reading)
    return [" ".join(mask_arguments(server.command)) for server in resolved.loaded.servers if server.command]


def _tell(file: Path, directory: Path, changed: bool, commands: Sequence[str], as_json: bool) -> None:
    from innkeeper.cli.output import note, print_json

    _, settings = _settings()
    trusted = bool(_positions(settings, directory))
    if as_json:
        print_json(
            {
                "directory": str(directory),
                "trusted": trusted,
                "changed": changed,
                "file": str(file),
                "commands": list(commands),
            }
        )
    else:
        note(text("cli.mcp.trust.now" if trusted else "cli.mcp.untrust.now", directory=directory, file=file))
