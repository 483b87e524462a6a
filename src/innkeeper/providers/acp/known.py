"""What an agent reported the last time it ran: models and modes. A cache; what cannot be read is nothing known."""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

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


def learnt(options: Mapping[str, Any], before: Known) -> Known:
    """What the answer to a new or loaded session offers to choose; what it does not say stays."""
    models = modes = None
    for option in options.get("configOptions") or ():
        if option.get("category") == "model":
            models = tuple(_choices(option.get("options") or ()))
        elif option.get("category") == "mode":
            modes = tuple(_choices(option.get("options") or ()))
    available = (options.get("modes") or {}).get("availableModes") or ()
    if modes is None and available:
        modes = tuple((str(mode.get("id")), str(mode.get("name") or mode.get("id"))) for mode in available)
    return Known(before.models if models is None else models, before.modes if modes is None else modes, before.version)


def _choices(options: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for one in options[:MOST]:
        if "value" in one:
            yield str(one["value"]), str(one.get("name") or one["value"])
        else:
            yield from _choices(one.get("options") or ())


def load(directory: Path) -> Known:
    try:
        found = decode((directory / FILE).read_bytes())
    except (OSError, JsonError):
        return Known()
    if not isinstance(found, Mapping):
        return Known()
    return Known(_pairs(found.get("models")), _pairs(found.get("modes")))


def store(directory: Path, known: Known) -> None:
    part = directory / f".{FILE}.part"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.write_bytes(encode({"models": known.models, "modes": known.modes}))
        os.replace(part, directory / FILE)
    except OSError as error:
        log.warning("%s cannot be written: %s", directory / FILE, type(error).__name__)


def _pairs(value: object) -> Choices:
    if not isinstance(value, list):
        return ()
    return tuple((str(one[0]), str(one[1])) for one in value if isinstance(one, list) and len(one) == 2)
