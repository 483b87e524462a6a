"""A JSON document in a file: the adapter of `ports.notes`. Written whole or not at all, for its owner only."""

import json
import logging
import os
from pathlib import Path

log = logging.getLogger(__name__)


class NoteFile:
    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> object:
        try:
            document: object = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return document

    def save(self, document: object) -> None:
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump(document, file)
            temporary.replace(self._path)
        except OSError as error:
            log.warning("%s cannot be written: %s", self._path.name, error.strerror)
