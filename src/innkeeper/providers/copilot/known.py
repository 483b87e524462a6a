"""What this host learnt of the agent the last time it ran: its models, so that it is listed with them before it runs.

It is a cache: a file that is missing, unreadable or of another shape is nothing known.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from innkeeper.protocol.root.state import SessionModelInfo
from innkeeper.wire.json import JsonError, decode, encode

log = logging.getLogger(__name__)

FILE: Final = "models.json"


def load(directory: Path) -> list[SessionModelInfo]:
    try:
        found = decode((directory / FILE).read_bytes())
    except (OSError, JsonError):
        return []
    return [cast(SessionModelInfo, one) for one in found if _is_model(one)] if isinstance(found, list) else []


def store(directory: Path, models: Sequence[SessionModelInfo]) -> None:
    part = directory / f".{FILE}.part"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        part.write_bytes(encode(list(models)))
        os.replace(part, directory / FILE)
    except OSError as error:
        log.warning("copilot: the models are not kept: %s", error.strerror)


def _is_model(one: Any) -> bool:
    return isinstance(one, Mapping) and all(isinstance(one.get(name), str) for name in ("id", "provider", "name"))
