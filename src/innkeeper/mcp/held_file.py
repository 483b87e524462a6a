"""Held fingerprints in a file of the host's own, mode 0600, over a restart (M4.1b).

A file that cannot be read means that nothing is held; that is logged, and the next hold writes a new one.
"""

import contextlib
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from innkeeper.wire.json import JsonError, decode, encode

logger = logging.getLogger(__name__)

FILE_NAME: Final = "held.json"


class HeldFile:
    """The adapter of `authorship.HoldMemory`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Mapping[str, Sequence[str]]:
        try:
            found = decode(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, JsonError):
            logger.warning("%s cannot be read: entries that agents wrote earlier are no longer held", self._path.name)
            return {}
        if not isinstance(found, dict):
            return {}
        return {str(key): [str(one) for one in value] for key, value in found.items() if isinstance(value, list)}

    def save(self, held: Mapping[str, Sequence[str]]) -> None:
        """Never raises: what cannot be kept over a restart still holds in this process."""
        new = self._path.with_name(f"{self._path.name}.new")
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(encode({key: list(value) for key, value in held.items()}))
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self._path)
        except OSError:
            logger.exception("%s cannot be written", self._path.name)
            with contextlib.suppress(OSError):
                new.unlink()
