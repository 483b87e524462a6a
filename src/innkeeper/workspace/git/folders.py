"""The adapter of `ports.worktrees.Folders`."""

import contextlib
import logging
import os
import shutil
from collections.abc import Sequence

log = logging.getLogger(__name__)


class LocalFolders:
    """Folders of this machine."""

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def copy(self, source: str, target: str, paths: Sequence[str]) -> Sequence[str]:
        failed: list[str] = []
        for path in paths:
            try:
                self._copy(source, target, path)
            except OSError as error:
                log.warning("%s is not copied into the worktree: %s", path, error.strerror or error)
                failed.append(path)
        return failed

    def remove_if_empty(self, path: str) -> None:
        with contextlib.suppress(OSError):
            os.rmdir(path)

    def _copy(self, source: str, target: str, path: str) -> None:
        origin, place = os.path.join(source, path), os.path.join(target, path)
        if os.path.lexists(place):
            return
        folder = os.path.dirname(place)
        # A tracked link in the worktree may lead out of it; what is copied stays inside.
        real, inside = os.path.realpath(folder), os.path.realpath(target)
        if os.path.commonpath([real, inside]) != inside:
            raise OSError(None, "a link leads out of the worktree")
        os.makedirs(folder, exist_ok=True)
        if not os.path.islink(origin) and not os.path.isfile(origin):
            raise OSError(None, "it is no regular file")
        shutil.copy2(origin, place, follow_symlinks=False)
