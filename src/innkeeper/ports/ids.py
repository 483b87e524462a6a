"""Identifiers as an argument (architecture §3.1)."""

from typing import Protocol


class Ids(Protocol):
    def new(self) -> str:
        """A fresh identifier, safe inside a URI path, that no other call on any host returns."""
        ...
