"""What trust remembers besides decisions, in files of the host's own, mode 0600 (M4.1b, M4.2b).

Rules
* `held.json`: fingerprints that agents wrote, by directory. `granted.json`: what allowed declarations said, masked, by
  fingerprint, so that a change can be shown beside it after a restart too. Neither holds a value or decides alone.
* A file that cannot be read means that nothing is remembered; that is logged, and the next change writes a new one.
* Writing never raises: what cannot be kept over a restart still holds in this process.
"""

import contextlib
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from innkeeper.ports.mcp import DeclarationView
from innkeeper.wire.json import JsonError, decode, encode

logger = logging.getLogger(__name__)

HELD: Final = "held.json"
GRANTED: Final = "granted.json"


class HeldFile:
    """The adapter of `authorship.HoldMemory`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Mapping[str, Sequence[str]]:
        found = _read(self._path)
        return {key: [str(one) for one in value] for key, value in found.items() if isinstance(value, list)}

    def save(self, held: Mapping[str, Sequence[str]]) -> None:
        _write(self._path, {key: list(value) for key, value in held.items()})


class GrantedFile:
    """The adapter of `judging.GrantedMemory`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Mapping[str, DeclarationView]:
        views = {key: _view(value) for key, value in _read(self._path).items()}
        return {key: view for key, view in views.items() if view is not None}

    def save(self, views: Mapping[str, DeclarationView]) -> None:
        _write(self._path, {fingerprint: asdict(view) for fingerprint, view in views.items()})


def _view(value: Any) -> DeclarationView | None:
    try:
        texts = {name: tuple(map(str, value[name])) for name in ("command", "environment", "headers")}
        url, directory = value["url"], value["directory"]
    except (TypeError, KeyError):
        return None
    return DeclarationView(
        **texts, url=None if url is None else str(url), directory=None if directory is None else str(directory)
    )


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = decode(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, JsonError):
        logger.warning("%s cannot be read: what it remembered is forgotten", path.name)
        return {}
    return found if isinstance(found, dict) else {}


def _write(path: Path, value: Mapping[str, Any]) -> None:
    new = path.with_name(f"{path.name}.new")
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(encode(value))
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except OSError:
        logger.exception("%s cannot be written", path.name)
        with contextlib.suppress(OSError):
            new.unlink()
