"""What was read, kept as long as the file is the same (issue 4 item 4, C7.3).

Rules
* A file is read again when its stamp changed, or when it was fresh as it was read. A file that could not be read is
  tried again each time. An unchanged file costs one `stat`.
* A reading that comes out equal keeps the old object, so that equal results are the same objects.
* What a scan did not ask for is forgotten at its end.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from innkeeper.customizations.discovery.limits import ENTRIES, FILE_BYTES
from innkeeper.ports.files import Entry, FileFault, Files, Stamp

T = TypeVar("T")


@dataclass(slots=True)
class _Kept(Generic[T]):
    stamp: Stamp
    fresh: bool
    value: T
    scan: int


@dataclass(frozen=True, slots=True)
class Listing:
    """A directory: its entries by name, in the order of names, links last."""

    entries: Mapping[str, Entry]


class Cache:
    """Reads through to `source`; not to be shared by threads at the same time."""

    def __init__(self, source: Files) -> None:
        self.source = source
        self.reads = 0
        """Files and directories read since the beginning."""
        self._kept: dict[Hashable, _Kept[object]] = {}
        self._scan = 0

    def begin(self) -> None:
        self._scan += 1

    def end(self) -> None:
        """Forget what this scan did not ask for."""
        if any(kept.scan != self._scan for kept in self._kept.values()):
            self._kept = {key: kept for key, kept in self._kept.items() if kept.scan == self._scan}

    @property
    def directories(self) -> frozenset[str]:
        """Directories that were listed and are kept."""
        return frozenset(key for key in self._kept if isinstance(key, str))

    @property
    def files_read(self) -> frozenset[str]:
        """Files that were read and are kept."""
        return frozenset(str(key[0]) for key in self._kept if isinstance(key, tuple))

    def listing(self, path: str) -> Listing:
        """Raises FileFault."""
        return self._value(path, path, self._list)

    def value(self, path: str, key: Hashable, read: Callable[[bytes], T]) -> T:
        """What `read` makes of a regular file's bytes; `key` says which reading it is. Raises FileFault."""
        return self._value(path, (path, key), lambda path: read(self.source.read(path, FILE_BYTES)))

    def _value(self, path: str, key: Hashable, make: Callable[[str], T]) -> T:
        found = self.source.stat(path)
        kept = cast("_Kept[T] | None", self._kept.get(key))
        if kept is not None and kept.stamp == found.stamp and not kept.fresh:
            kept.scan = self._scan
            return kept.value
        if found.kind == "other":
            raise FileFault("notAFile")
        self.reads += 1
        value = make(path)
        if kept is not None and kept.value == value:
            value = kept.value
        self._kept[key] = cast("_Kept[object]", _Kept(found.stamp, found.fresh, value, self._scan))
        return value

    def _list(self, path: str) -> Listing:
        entries = sorted(self.source.entries(path, ENTRIES), key=lambda entry: (entry.link, entry.name))
        return Listing({entry.name: entry for entry in entries})
