"""Where everything lives (architecture §7).

Rules
* `INNKEEPER_HOME` holds all, in subfolders; else the platform's directories.
* `--data-dir` moves the data, and with it what belongs to one host: state (the endpoint file), logs, run-time files.
  The configuration stays where it is.
* Folders of ours are created with mode 0700. One that cannot be written is an error before anything starts.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from innkeeper.errors import HostError
from innkeeper.settings.config import FILE_NAME

APPLICATION = "innkeeper"


@dataclass(frozen=True, slots=True)
class Paths:
    """Absolute folders; none of them needs to exist."""

    config: Path
    data: Path
    """The database and one folder a session."""
    state: Path
    """The endpoint file: who runs."""
    logs: Path
    runtime: Path
    """Sockets."""

    @property
    def config_file(self) -> Path:
        return self.config / FILE_NAME

    def prepare(self) -> None:
        """Creates what a host writes to. Raises `HostError` DATA_DIR_UNWRITABLE."""
        for folder in (self.data, self.state, self.logs):
            create_private(folder)


def find_paths(environ: Mapping[str, str], data_dir: Path | None = None) -> Paths:
    """The folders of a host. `data_dir` is a flag's or a setting's; without it `INNKEEPER_DATA_DIR` counts."""
    home = environ.get("INNKEEPER_HOME")
    paths = _below(_absolute(home)) if home else _of_platform(environ)
    given = data_dir or (Path(environ["INNKEEPER_DATA_DIR"]) if environ.get("INNKEEPER_DATA_DIR") else None)
    if given is None:
        return paths
    data = _absolute(given)
    return Paths(paths.config, data, data / "state", data / "logs", data / "run")


def create_private(folder: Path) -> None:
    """Makes the folder (0700) if it is missing. Raises `HostError` DATA_DIR_UNWRITABLE unless it can be written."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        effective = os.access in os.supports_effective_ids
        usable = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK, effective_ids=effective)
    except OSError as error:
        raise HostError("DATA_DIR_UNWRITABLE", path=folder) from error
    if not usable:
        raise HostError("DATA_DIR_UNWRITABLE", path=folder)


def _below(home: Path) -> Paths:
    return Paths(home / "config", home / "data", home / "state", home / "logs", home / "run")


def _of_platform(environ: Mapping[str, str]) -> Paths:
    from platformdirs import PlatformDirs

    found = PlatformDirs(APPLICATION, appauthor=False)
    state, runtime = found.user_state_path, environ.get("XDG_RUNTIME_DIR")
    sockets = Path(runtime) / APPLICATION if runtime else state / "run"
    return Paths(found.user_config_path, found.user_data_path, state, found.user_log_path, sockets)


def _absolute(path: str | Path) -> Path:
    return Path(os.path.abspath(os.path.expanduser(path)))
