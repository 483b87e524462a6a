"""`config edit`: the file in the user's editor, and a broken text kept out (M9.6).

Rules
* The editor works on a copy. What it saves replaces the file only if it is valid and the file is still the one that was
  copied; otherwise the file stays, and the text is kept beside it with the reason at its end.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from innkeeper.cli.failures import CliError
from innkeeper.cli.settings_file import Change, config_file, replace
from innkeeper.cli.words import LANGUAGE, text
from innkeeper.editing.files import change_file, read_content
from innkeeper.editing.replacing import Content
from innkeeper.errors import HostError
from innkeeper.ports.settings import SettingsConflict
from innkeeper.settings.document import checked_settings, unreadable
from innkeeper.settings.problems import SettingsInvalid

REJECTED = ".rejected"


def edit_file() -> Change:
    """Let the user edit the settings. Raises `CliError` with the place of a text that was not taken."""
    from innkeeper.app.preferences import check_presets

    path = config_file()
    try:
        known = read_content(path)
    except OSError as error:
        raise unreadable(path, error) from error
    wanted = _edited(known.data if known.data is not None else text("cli.config.edit.new").encode() + b"\n")
    if wanted == known.data:
        return Change(path, False, known.version)
    try:
        checked_settings(wanted, path, check_presets)
        return replace(path, lambda _known: wanted, known.version, lambda: known)
    except (SettingsInvalid, SettingsConflict) as error:
        raise _rejected(path, wanted, error) from error


def _edited(data: bytes) -> bytes:
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not chosen and not sys.stdin.isatty():
        raise CliError(text("cli.config.edit.noTerminal"), code="EDITOR_FAILED")
    command = shlex.split(chosen or "vi")
    with tempfile.TemporaryDirectory(prefix="innkeeper-") as folder:
        copy = Path(folder) / "config.toml"
        copy.write_bytes(data)
        try:
            done = subprocess.run([*command, str(copy)], check=False)
        except OSError as error:
            raise CliError(text("cli.config.edit.noEditor", editor=command[0]), code="EDITOR_FAILED") from error
        if done.returncode != 0:
            raise CliError(text("cli.config.edit.failed", n=done.returncode), code="EDITOR_FAILED")
        return copy.read_bytes()


def _rejected(path: Path, data: bytes, error: HostError) -> CliError:
    """Keep the text, with the reason as a last comment, so that the lines it names stay true."""
    beside = path.with_name(path.name + REJECTED)
    reason = " ".join(error.message(LANGUAGE).split())
    end = b"" if data.endswith(b"\n") or not data else b"\n"

    def change(known: Content) -> bytes:
        return data + end + f"# {text('cli.config.edit.reason', reason=reason)}\n".encode()

    change_file(beside, change)
    remedy = text("cli.config.edit.kept", path=beside)
    return CliError(error.message(LANGUAGE), code=error.code, remedy=remedy)
