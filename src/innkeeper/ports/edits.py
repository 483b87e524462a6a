"""What turns did to files, kept per session: records in order, and contents (reference §5.8, architecture §7).

Rules
* A record is durable when `append` returns: it survives SIGKILL of the host, as the database does. A record that a
  sudden end cut is passed over by reading; the ones around it are whole.
* Contents are named by their SHA-256 and never change. A record is appended after the contents that it names.
* Methods are synchronous and meant for a thread; one session's come one after the other.
* What cannot be written raises `EditsFault`; what cannot be read is absent.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Protocol, TypeAlias

Record: TypeAlias = Mapping[str, Any]


class EditsFault(Exception):
    """Why something could not be kept; the text names no path and no content."""


class EditStore(Protocol):
    def read(self, session: str) -> Sequence[Record]:
        """The session's records, oldest first; none for a session without."""
        ...

    def append(self, session: str, records: Sequence[Record]) -> None: ...

    def keep(self, session: str, content: bytes) -> str:
        """Keep the content; its name. Keeping what is kept costs a look."""
        ...

    def content(self, session: str, digest: str) -> bytes | None: ...

    def drop(self, session: str) -> None:
        """Everything of the session goes. Idempotent, never raises."""
        ...

    def sessions(self) -> Sequence[str]:
        """The sessions that have records."""
        ...


class MemoryEdits:
    """As long as the process lives."""

    def __init__(self) -> None:
        self._records: dict[str, list[Record]] = {}
        self._contents: dict[str, dict[str, bytes]] = {}

    def read(self, session: str) -> Sequence[Record]:
        return tuple(self._records.get(session, ()))

    def append(self, session: str, records: Sequence[Record]) -> None:
        self._records.setdefault(session, []).extend(records)

    def keep(self, session: str, content: bytes) -> str:
        digest = sha256(content).hexdigest()
        self._contents.setdefault(session, {})[digest] = content
        return digest

    def content(self, session: str, digest: str) -> bytes | None:
        return self._contents.get(session, {}).get(digest)

    def drop(self, session: str) -> None:
        self._records.pop(session, None)
        self._contents.pop(session, None)

    def sessions(self) -> Sequence[str]:
        return tuple(self._records)
