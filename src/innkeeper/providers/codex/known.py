"""What this host learnt of Codex the last time it ran: so that it is listed with models before it runs again.

Rules
* It is a cache: a file that is missing, unreadable or of another shape is nothing known.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from innkeeper.protocol.root.state import SessionModelInfo
from innkeeper.wire.json import JsonError, decode, encode

log = logging.getLogger(__name__)

FILE: Final = "known.json"


@dataclass(frozen=True, slots=True)
class Known:
    models: Sequence[SessionModelInfo] = ()
    wants_login: bool = False


def load(directory: Path) -> Known | None:
    try:
        found = decode((directory / FILE).read_bytes())
    except (OSError, JsonError):
        return None
    if not isinstance(found, Mapping) or not isinstance(found.get("models"), list):
        return None
    models = [cast(SessionModelInfo, one) for one in found["models"] if _is_model(one)]
    return Known(models, found.get("wantsLogin") is True)


def store(directory: Path, known: Known) -> None:
    part = directory / f".{FILE}.part"
    try:
        part.write_bytes(encode({"models": list(known.models), "wantsLogin": known.wants_login}))
        os.replace(part, directory / FILE)
    except OSError as error:
        log.warning("codex: %s cannot be written: %s", directory / FILE, type(error).__name__)


def _is_model(one: Any) -> bool:
    return isinstance(one, Mapping) and all(isinstance(one.get(name), str) for name in ("id", "provider", "name"))
