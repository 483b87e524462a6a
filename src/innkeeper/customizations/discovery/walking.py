"""Going through a directory for the files of one kind, within a boundary (C7.1, C7.3).

Rules
* Containment is by real path: a link that leads out of the boundary is found, with its fault, and not followed.
* A real directory is looked into once, so that links in a circle, or many to one place, end.
* Order is that of names, links last: the same tree always gives the same result.
* `.git` and `node_modules` are never entered. Depth and number of names are limited.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from innkeeper.customizations.discovery.cache import Cache, Listing
from innkeeper.customizations.discovery.formats import MANIFEST_FOLDERS
from innkeeper.customizations.discovery.limits import ENTRIES
from innkeeper.customizations.discovery.places import inside, shown
from innkeeper.ports.files import Entry, FileFault

SKILL_FILE: Final = "SKILL.md"
OUTSIDE: Final = "its link leads out of the directory that it must stay in"
SEEN: Final = "its link leads to a directory that is read already"
TOO_MANY: Final = f"only the first {ENTRIES} names are looked at"
_NEVER: Final = frozenset({".git", "node_modules"})


class Unreachable(Exception):
    """The directory to begin with cannot be looked into; the text says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file of the wanted kind: its path, and that path below where the walk began. `fault`: why not to read it."""

    path: str
    relative: str
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which files: the ends of their names in lower case, names that are not meant, how deep."""

    suffixes: tuple[str, ...]
    excluded: frozenset[str] = frozenset()
    depth: int = 1


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    relative: str
    real: str
    depth: int

    def below(self, name: str) -> str:
        return f"{self.relative}/{name}" if self.relative else name

    def path_of(self, name: str) -> str:
        return f"{self.path.rstrip('/')}/{name}"


@dataclass(slots=True)
class Walk:
    """One walk. `boundary` is a real path. `problems` collects what is wrong and belongs to no file."""

    cache: Cache
    boundary: str
    problems: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _names: int = 0

    def files(self, root: str, wanted: Wanted) -> Iterator[Found]:
        """The wanted files below `root`. Raises Unreachable."""
        start, listing = self._start(root, wanted.depth)
        return self._files(start, listing, wanted)

    def skills(self, root: str, depth: int, *, own: bool = False) -> Iterator[Found]:
        """`SKILL.md` of every skill folder below `root`; `own`: the root itself may be one. A skill's own folders and
        plugins are not looked into. Raises Unreachable."""
        start, listing = self._start(root, depth)
        if own and SKILL_FILE in listing.entries:
            return iter((self._own_skill(start, listing),))
        return self._skills(start, listing)

    def file(self, path: str, relative: str) -> Found:
        """One file by its path, which may be missing. Raises Unreachable when it is."""
        try:
            real = self.cache.source.real(path)
        except FileFault as fault:
            if fault.reason in ("missing", "notADirectory"):
                raise Unreachable(str(fault)) from None
            return Found(path, relative, str(fault))
        return Found(path, relative, None if inside(real, self.boundary) else OUTSIDE)

    def _start(self, root: str, depth: int) -> tuple[_Folder, Listing]:
        try:
            real = self.cache.source.real(root)
            if not inside(real, self.boundary):
                raise Unreachable(OUTSIDE)
            listing = self.cache.listing(root)
        except FileFault as fault:
            raise Unreachable(str(fault)) from None
        self._seen.add(real)
        return _Folder(root, "", real, depth), listing

    def _files(self, folder: _Folder, listing: Listing, wanted: Wanted) -> Iterator[Found]:
        for entry in self._entries(listing):
            if entry.name not in wanted.excluded and entry.name.lower().endswith(wanted.suffixes):
                found = self._file(folder, entry)
                if found is not None:
                    yield found
                    continue
            below = self._folder(folder, entry) if folder.depth > 1 else None
            if isinstance(below, str):
                self._tell(folder.below(entry.name), below)
            elif below is not None and (inner := self._listing(below)) is not None:
                yield from self._files(below, inner, wanted)

    def _skills(self, folder: _Folder, listing: Listing) -> Iterator[Found]:
        for entry in self._entries(listing):
            below = self._folder(folder, entry) if folder.depth > 0 else None
            if below == OUTSIDE:
                yield Found(f"{folder.path_of(entry.name)}/{SKILL_FILE}", folder.below(entry.name), OUTSIDE)
            elif isinstance(below, str):
                self._tell(folder.below(entry.name), below)
            elif below is not None and (inner := self._listing(below)) is not None:
                yield from self._skill(below, inner)

    def _skill(self, folder: _Folder, listing: Listing) -> Iterator[Found]:
        """The folder's own skill, or those below it."""
        if not MANIFEST_FOLDERS.isdisjoint(listing.entries):
            return
        if SKILL_FILE in listing.entries:
            yield self._own_skill(folder, listing)
        else:
            yield from self._skills(folder, listing)

    def _own_skill(self, folder: _Folder, listing: Listing) -> Found:
        found = self._file(folder, listing.entries[SKILL_FILE])
        fault = str(FileFault("notAFile")) if found is None else found.fault
        return Found(folder.path_of(SKILL_FILE), folder.relative, fault)

    def _entries(self, listing: Listing) -> Iterator[Entry]:
        for entry in listing.entries.values():
            self._names += 1
            if self._names > ENTRIES:
                if TOO_MANY not in self.problems:
                    self.problems.append(TOO_MANY)
                return
            yield entry

    def _listing(self, folder: _Folder) -> Listing | None:
        try:
            return self.cache.listing(folder.path)
        except FileFault as fault:
            self._tell(folder.relative, str(fault))
            return None

    def _file(self, folder: _Folder, entry: Entry) -> Found | None:
        """The entry as a file; None when it is a directory."""
        path, relative = folder.path_of(entry.name), folder.below(entry.name)
        if not entry.link:
            return None if entry.kind == "directory" else Found(path, relative)
        try:
            if self.cache.source.stat(path).kind == "directory":
                return None
            real = self.cache.source.real(path)
        except FileFault as fault:
            return Found(path, relative, str(fault))
        return Found(path, relative, None if inside(real, self.boundary) else OUTSIDE)

    def _folder(self, folder: _Folder, entry: Entry) -> "_Folder | str | None":
        """The entry as a directory, or why it is not looked into; None when it is something else."""
        if entry.kind not in ("directory", None) or entry.name in _NEVER:
            return None
        path, real = folder.path_of(entry.name), f"{folder.real.rstrip('/')}/{entry.name}"
        if entry.link:
            try:
                if self.cache.source.stat(path).kind != "directory":
                    return None
                real = self.cache.source.real(path)
            except FileFault as fault:
                return str(fault)
            if not inside(real, self.boundary):
                return OUTSIDE
        if real in self._seen:
            return SEEN
        self._seen.add(real)
        return _Folder(path, folder.below(entry.name), real, folder.depth - 1)

    def _tell(self, relative: str, problem: str) -> None:
        self.problems.append(f"{shown(relative)}: {problem}")
