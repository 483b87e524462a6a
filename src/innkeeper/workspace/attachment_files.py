"""Snapshots of attachments in files: `<folder>/<session>/<id>/<name>` (ports.attachments).

Rules
* Folders 0700, files 0600. The session's folder is named by a hash of its URI, which may be anything.
* A snapshot is written beside its place and renamed: what has its name is whole. A name never begins with a dot, so
  that what a sudden end left is told from it.
"""

import logging
import os
import re
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from innkeeper.ports.attachments import AttachmentFault
from innkeeper.workspace.edit_files import session_folder

log = logging.getLogger(__name__)

NAME_BYTES: Final = 200
PARTIAL: Final = ".partial"
_ODD: Final = re.compile(r"[^\w .()+,@=~-]")
_FOLDER: Final = re.compile(r"[0-9a-f]{32}")


class AttachmentFiles:
    """`folder` is the area; it is made when the first snapshot is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder(self, session: str) -> str:
        return session_folder(self._folder, session).name

    def find(self, session: str, id: str) -> str | None:
        try:
            names = sorted(entry.name for entry in os.scandir(self._place(session, id)))
        except OSError:
            return None
        whole = next((name for name in names if not name.startswith(".")), None)
        return None if whole is None else str(self._place(session, id) / whole)

    def keep(self, session: str, id: str, name: str, content: bytes) -> str:
        place = self._place(session, id)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.parent.mkdir(mode=0o700, exist_ok=True)
            place.mkdir(mode=0o700, exist_ok=True)
            partial, whole = place / f"{PARTIAL}-{threading.get_ident()}", place / plain_name(name)
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(content)
            partial.replace(whole)
        except OSError as error:
            raise AttachmentFault(error.strerror or type(error).__name__) from error
        return str(whole)

    def stored(self) -> Sequence[str]:
        try:
            return sorted(entry.name for entry in os.scandir(self._folder) if _FOLDER.fullmatch(entry.name))
        except OSError:
            return ()

    def drop(self, folder: str) -> None:
        if _FOLDER.fullmatch(folder) is None:
            return
        shutil.rmtree(self._folder / folder, ignore_errors=True)
        if (self._folder / folder).exists():
            log.warning("the attachments of a session that ended could not be removed: %s", folder)

    def _place(self, session: str, id: str) -> Path:
        return session_folder(self._folder, session) / plain_name(id)


def plain_name(name: str) -> str:
    """A file name that is one in every place: no separators, no control characters, no leading dot, not too long."""
    tidy = _ODD.sub("_", name.encode("utf-8", "replace").decode()).strip(" .") or "attachment"
    stem, dot, suffix = tidy.rpartition(".")
    if not dot or len(suffix) > 16:
        stem, dot, suffix = tidy, "", ""
    room = NAME_BYTES - len((dot + suffix).encode())
    return stem.encode()[:room].decode(errors="ignore") + dot + suffix
