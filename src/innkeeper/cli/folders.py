"""Where the host of this user lives, as a client of it must know."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from innkeeper.settings.paths import Paths


def find_folders(data_dir: Path | None) -> "Paths":
    """The folders that `serve` would use with the same `--data-dir`: flag, then environment, then configuration.

    Raises HostError CONFIG_INVALID.
    """
    from innkeeper.settings.paths import find_paths

    paths = find_paths(os.environ, data_dir)
    if data_dir is None and not os.environ.get("INNKEEPER_DATA_DIR") and paths.config_file.exists():
        from innkeeper.settings.config import read_settings

        configured = read_settings(paths.config_file).serve.get("data_dir")
        if configured is not None:
            return find_paths(os.environ, Path(configured))
    return paths
