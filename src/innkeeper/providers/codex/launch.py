"""What the app-server is started with: program, environment, settings, its own configuration directory (issue 6 §5).

Rules
* Of the host's environment it gets what every child gets (`ports.environment`) and nothing else, so no secret of the
  host reaches it, or the commands that it runs.
* `CODEX_HOME` is a folder of ours. Where the operator shares their login, that folder holds a link to their
  `auth.json` and nothing else of theirs: no server, hook or rule of their own comes in, and nothing of theirs is
  written but the login that Codex itself renews.
* Telemetry, update checks, the catalogue of plugins and unending retries are off, so that nothing but the model's API
  is called, and a lost network ends a turn.
"""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from innkeeper.ports.environment import inherited
from innkeeper.ports.processes import Command

SETTINGS: Final[Mapping[str, str]] = {
    "analytics.enabled": "false",
    "feedback.enabled": "false",
    "check_for_update_on_startup": "false",
    "cli_auth_credentials_store": '"file"',
    "features.plugins": "false",
    "features.apps": "false",
    "features.goals": "false",
    "features.hooks": "false",
    "features.unbounded_connection_retries": "false",
    "otel.exporter": '"none"',
    "otel.metrics_exporter": '"none"',
}
"""`features.goals` would let the agent go on by itself after its turn has ended; the host knows no such turn."""


def user_home(environment: Mapping[str, str]) -> Path | None:
    """The person's own directory of Codex, whether it is there or not."""
    own = environment.get("CODEX_HOME")
    if own:
        return Path(own)
    home = environment.get("HOME")
    return Path(home) / ".codex" if home else None


def prepare_home(directory: Path, environment: Mapping[str, str], *, share_login: bool) -> Path:
    """The `CODEX_HOME` of this host, made where it is missing, readable by its owner alone. Raises OSError."""
    home = directory / "home"
    for folder in (directory, home, directory / "tmp"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    login, theirs = home / "auth.json", user_home(environment)
    if login.is_symlink():
        login.unlink()
    if share_login and theirs is not None and (theirs / "auth.json").is_file() and theirs.resolve() != home.resolve():
        with contextlib.suppress(FileExistsError):
            os.symlink(theirs / "auth.json", login)
    return home


def environment_for(environment: Mapping[str, str], home: Path, directory: Path) -> dict[str, str]:
    """The environment of the process, whole."""
    kept = inherited(environment)
    # Codex makes no helper programs below the system's temporary folder, and says so on standard error.
    kept.setdefault("TMPDIR", os.fspath(directory / "tmp"))
    return {**kept, "CODEX_HOME": os.fspath(home)}


def command(
    program: str, environment: Mapping[str, str], directory: Path, home: Path, *, keep_login: bool = True
) -> Command:
    """`codex app-server`. `keep_login` False: a login of this process is in its memory only."""
    settings = dict(SETTINGS)
    if not keep_login:
        settings["cli_auth_credentials_store"] = '"ephemeral"'
    arguments = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return Command(
        program, [*arguments, "app-server"], environment_for(environment, home, directory), os.fspath(directory)
    )
