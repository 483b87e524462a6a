"""Copies of plugins that clients publish (C7.4).

Rules
* A copy is whole or not there. It is known by the plugin's URI and nonce, and is never changed.
* Methods are synchronous and meant for a thread. Only `OSError` is raised.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol


class PluginCopies(Protocol):
    def find(self, uri: str, nonce: str) -> str | None:
        """The folder of a copy, which counts as used now; None when there is none."""
        ...

    def store(self, uri: str, nonce: str, files: Mapping[str, bytes]) -> str:
        """Keep these files, by relative path, as the copy; its folder. Paths are checked by the caller."""
        ...

    def stored(self) -> Sequence[tuple[str, str]]:
        """URI and nonce of every copy, least recently used first."""
        ...

    def delete(self, uri: str, nonce: str) -> None: ...
