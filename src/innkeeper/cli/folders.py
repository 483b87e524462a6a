"""Where the host of this user lives, as a client of it must know."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from innkeeper.settings.paths import Paths


def find_folders(data_dir: Path | None) -> "Paths":
    """The folders that `serve` would use with the same `--data-dir`: flag, then environment, then configuration.

    A configuration that is broken by now does not hide a host that runs on: the place it names counts as far as it can
    be read.
    """
    from innkeeper.settings.paths import find_paths

    paths = find_paths(os.environ, data_dir)
    if data_dir is None and not os.environ.get("INNKEEPER_DATA_DIR"):
        from innkeeper.settings.config import named_data_dir

        named = named_data_dir(paths.config_file)
        if named is not None:
            return find_paths(os.environ, named)
    return paths
