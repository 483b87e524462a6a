"""Which channels there are, in memory or only stored: by owner, and by kind (architecture §7).

Rules
* It follows the head: a channel that was accepted is known, one whose drop was accepted is not, also before either is
  durable. What is taken back by a failed append is put back.
* No question costs more than what it answers, however many channels are stored.
"""

from collections.abc import Iterable
from typing import NamedTuple


class KnownChannel(NamedTuple):
    """`owner` is the channel that it goes with."""

    uri: str
    kind: str
    owner: str | None


class KnownChannels:
    """In order of creation."""

    def __init__(self, stored: Iterable[tuple[str, str, str | None]] = ()) -> None:
        self._channels: dict[str, tuple[str, str | None]] = {}
        self._owned: dict[str, dict[str, None]] = {}
        self._of_kind: dict[str, dict[str, None]] = {}
        for uri, kind, owner in stored:
            self.add(uri, kind, owner)

    def __contains__(self, uri: object) -> bool:
        return uri in self._channels

    def add(self, uri: str, kind: str, owner: str | None) -> None:
        self._channels[uri] = (kind, owner)
        self._of_kind.setdefault(kind, {})[uri] = None
        if owner is not None:
            self._owned.setdefault(owner, {})[uri] = None

    def remove(self, uri: str) -> KnownChannel | None:
        """What was known of it; None for a channel that was not known."""
        if uri not in self._channels:
            return None
        kind, owner = self._channels.pop(uri)
        del self._of_kind[kind][uri]
        if owner is not None:
            siblings = self._owned[owner]
            del siblings[uri]
            if not siblings:
                del self._owned[owner]
        return KnownChannel(uri, kind, owner)

    def kind(self, uri: str) -> str | None:
        return self._channels.get(uri, (None, None))[0]

    def owner(self, uri: str) -> str | None:
        return self._channels.get(uri, (None, None))[1]

    def owned_by(self, owner: str) -> tuple[str, ...]:
        return tuple(self._owned.get(owner, ()))

    def of_kind(self, kind: str) -> tuple[str, ...]:
        return tuple(self._of_kind.get(kind, ()))

    def count(self, kind: str) -> int:
        return len(self._of_kind.get(kind, ()))

    def with_owned(self, uri: str) -> list[str]:
        """The channel and everything that goes with it, owners first."""
        found = [uri]
        for parent in found:
            found.extend(self._owned.get(parent, ()))
        return found
