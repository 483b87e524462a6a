"""What the editor remembers of a workspace between two edits: where it wrote last, and what a file was before it made a
servers table there (M8.10, M8.1).

Rules
* A small note of the host's, shared with the command line; without it everything works, and less comes back.
* Of a content only its version token is kept.
"""

import threading
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.editing.engine import version_of
from innkeeper.mcp.editor.sheets import Target
from innkeeper.mcp.settings import key_of_directory
from innkeeper.ports.notes import MemoryNotes, Notes

KEPT: Final = 500
FILES_KEPT: Final = 20


class Remembered:
    """May be called from several threads."""

    def __init__(self, notes: Notes | None = None) -> None:
        self._notes: Notes = notes or MemoryNotes()
        self._lock = threading.Lock()

    def last(self, workspace: str) -> tuple[str, str] | None:
        """Preset and file of the last write."""
        match self._load().get(key_of_directory(workspace)):
            case {"last": [str(preset), str(file)]}:
                return preset, file
        return None

    def origin(self, workspace: str, file: str, version: str) -> str | None:
        """The token of the file, which has that version now, from before a table was made in it. That there was no file
        counts only as long as nobody else wrote it: what may be somebody's own is not taken away."""
        match _origins(self._load().get(key_of_directory(workspace))).get(file):
            case [str(origin), str(written)] if origin != version_of(None) or written == version:
                return origin
        return None

    def wrote(
        self, workspace: str, target: Target, versions: Mapping[str, str], origins: Mapping[str, str] | None = None
    ) -> None:
        """A write to `target`, after which the files have these versions; `origins` where it made a table."""
        with self._lock:
            known = self._load()
            key = key_of_directory(workspace)
            kept = _origins(known.pop(key, None))
            for file, version in versions.items():
                was = kept.pop(file, None)
                origin = (origins or {}).get(file) or (was[0] if was else None)
                if origin is not None and origin != version:
                    kept[file] = [origin, version]
            place = [target.preset.id, target.file]
            known[key] = {"last": place, "origins": dict(list(kept.items())[-FILES_KEPT:])}
            self._notes.save(dict(list(known.items())[-KEPT:]))

    def _load(self) -> dict[str, Any]:
        document = self._notes.load()
        return document if isinstance(document, dict) else {}


def _origins(entry: object) -> dict[str, list[str]]:
    """File -> its origin, and its version after our last write."""
    found = entry.get("origins") if isinstance(entry, dict) else None
    rows = found.items() if isinstance(found, dict) else ()
    return {file: row for file, row in rows if isinstance(row, list) and len(row) == 2}
