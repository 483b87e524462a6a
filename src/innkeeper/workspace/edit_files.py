"""Edits of sessions in files: `<folder>/<session>/changes.jsonl`, and `contents/` beside it (ports.edits).

Rules
* One line a record, many lines one `write`: the kernel has them when it returns, so SIGKILL cannot cut them. After a
  line that a power failure cut, the next one begins on a line of its own.
* A content is written beside its place and renamed, so that what has a name is whole.
* Folders 0700, files 0600. The folder's name is a hash of the session's URI, which may be anything.
"""

import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from innkeeper.ports.edits import EditsFault, Record
from innkeeper.wire.json import JsonError, decode, encode

log = logging.getLogger(__name__)

FOLDER: Final = "sessions"
RECORDS: Final = "changes.jsonl"
CONTENTS: Final = "contents"
_DIGEST = re.compile(r"[0-9a-f]{64}")


def session_folder(folder: Path, session: str) -> Path:
    """Where a session keeps its blobs."""
    return folder / sha256(session.encode(errors="surrogateescape")).hexdigest()[:32]


class EditFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, session: str) -> Sequence[Record]:
        return tuple(_records(session_folder(self._folder, session) / RECORDS))

    def append(self, session: str, records: Sequence[Record]) -> None:
        lines = b"".join(encode({"session": session, **record}) + b"\n" for record in records)
        try:
            folder = self._made(session)
            descriptor = os.open(folder / RECORDS, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                end = os.lseek(descriptor, 0, os.SEEK_END)
                if end and os.pread(descriptor, 1, end - 1) != b"\n":
                    lines = b"\n" + lines
                written = os.write(descriptor, lines)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise EditsFault(error.strerror or type(error).__name__) from error
        if written != len(lines):
            raise EditsFault("the disk is full")

    def keep(self, session: str, content: bytes) -> str:
        digest = sha256(content).hexdigest()
        try:
            place = self._made(session) / CONTENTS / digest
            if place.exists():
                return digest
            place.parent.mkdir(mode=0o700, exist_ok=True)
            partial = place.with_name(f"{digest}.{os.getpid()}.new")
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(content)
            partial.replace(place)
        except OSError as error:
            raise EditsFault(error.strerror or type(error).__name__) from error
        return digest

    def content(self, session: str, digest: str) -> bytes | None:
        if _DIGEST.fullmatch(digest) is None:
            return None
        try:
            return (session_folder(self._folder, session) / CONTENTS / digest).read_bytes()
        except OSError:
            return None

    def drop(self, session: str) -> None:
        folder = session_folder(self._folder, session)
        try:
            (folder / RECORDS).unlink(missing_ok=True)
            shutil.rmtree(folder / CONTENTS, ignore_errors=True)
            if folder.exists() and not any(folder.iterdir()):
                folder.rmdir()
        except OSError as error:
            log.warning("the edits of a session that ended could not be removed: %s", error.strerror)

    def sessions(self) -> Sequence[str]:
        try:
            folders = sorted(self._folder.iterdir())
        except OSError:
            return ()
        firsts = (next(_records(folder / RECORDS), None) for folder in folders)
        return tuple(str(first["session"]) for first in firsts if first is not None and "session" in first)

    def _made(self, session: str) -> Path:
        folder = session_folder(self._folder, session)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder


def _records(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        file = path.open("rb")
    except OSError:
        return
    with file:
        for line in file:
            try:
                found = decode(line)
            except JsonError:
                continue
            if isinstance(found, dict):
                yield found
