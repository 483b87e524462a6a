"""One small JSON document that the host keeps beside its data, for what needs no envelope.

Methods are synchronous and meant for a thread. A document that cannot be read is None; one that cannot be written is
lost and told in the log.
"""

from typing import Protocol


class Notes(Protocol):
    def load(self) -> object:
        """The document; None when there is none."""
        ...

    def save(self, document: object) -> None: ...


class MemoryNotes:
    """As long as the process lives."""

    def __init__(self, document: object = None) -> None:
        self.document = document

    def load(self) -> object:
        return self.document

    def save(self, document: object) -> None:
        self.document = document
