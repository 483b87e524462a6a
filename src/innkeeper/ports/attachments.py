"""Snapshots of what was attached to messages, for agents that read files (reference §5.5, §5.11 row 1).

Rules
* They lie below one folder, the area that the approval rules guard: agents read there and write never (T19).
* What is kept is whole, never changes, and goes with its session.
* Methods are synchronous and meant for a thread.
"""

from collections.abc import Sequence
from typing import Protocol


class AttachmentFault(Exception):
    """It could not be kept; the words say why and name no path."""


class AttachmentStore(Protocol):
    def folder(self, session: str) -> str:
        """The name of the session's folder; an opaque word."""
        ...

    def find(self, session: str, id: str) -> str | None:
        """The path of what was kept under that id."""
        ...

    def keep(self, session: str, id: str, name: str, content: bytes) -> str:
        """Keep the content as a file of that name, which may be anything; its path. Raises AttachmentFault."""
        ...

    def stored(self) -> Sequence[str]:
        """The folders that there are."""
        ...

    def drop(self, folder: str) -> None:
        """Everything in that folder goes. Never raises."""
        ...


class NoAttachments:
    """For hosts without a place of their own: nothing is kept."""

    def folder(self, session: str) -> str:
        return session

    def find(self, session: str, id: str) -> str | None:
        return None

    def keep(self, session: str, id: str, name: str, content: bytes) -> str:
        raise AttachmentFault("this host keeps no snapshots")

    def stored(self) -> Sequence[str]:
        return ()

    def drop(self, folder: str) -> None:
        return
