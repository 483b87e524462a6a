"""What an agent reported when it last ran: version, models, modes. A cache; what cannot be read is nothing known."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from innkeeper.providers.acp.choosing import MODE, entries, modes_of
from innkeeper.wire.json import JsonError, decode, encode

log = logging.getLogger(__name__)

FILE: Final = "known.json"
MOST: Final = 500

Choices = tuple[tuple[str, str], ...]
"""Ids and names."""


@dataclass(frozen=True, slots=True)
class Known:
    models: Choices = ()
    modes: Choices = ()
    version: str | None = None


def learnt(options: Mapping[str, Any], version: str | None, before: Known) -> Known:
    """What the answer to a new or loaded session offers to choose; what it does not say stays."""
    models, modes = before.models, tuple(modes_of(options)) or before.modes
    for option in options.get("configOptions") or ():
        if option.get("category") == "model":
            models = tuple(islice(entries(option), MOST))
        elif option.get("category") == MODE:
            modes = tuple(islice(entries(option), MOST))
    return Known(models, modes, version or before.version)


def load(directory: Path) -> Known:
    try:
        found = decode((directory / FILE).read_bytes())
    except (OSError, JsonError):
        return Known()
    if not isinstance(found, Mapping):
        return Known()
    version = found.get("version")
    return Known(_pairs(found.get("models")), _pairs(found.get("modes")), version if isinstance(version, str) else None)


def store(directory: Path, known: Known) -> None:
    part = directory / f".{FILE}.part"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.write_bytes(encode({"version": known.version, "models": known.models, "modes": known.modes}))
        os.replace(part, directory / FILE)
    except OSError as error:
        log.warning("%s cannot be written: %s", directory / FILE, type(error).__name__)


def _pairs(value: object) -> Choices:
    if not isinstance(value, list):
        return ()
    return tuple((str(one[0]), str(one[1])) for one in value if isinstance(one, list) and len(one) == 2)
