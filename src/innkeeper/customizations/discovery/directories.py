"""The directories of a workspace or a home become containers (C7.2).

Rules
* A directory that is missing is published, empty, when the folder above it is there: new items may be written to it.
* Everything stays within the root by real path; a directory that leads out is an error without children.
* Fixed files are one container a place, only where there are any; nothing is written to it.
"""

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from innkeeper.customizations.discovery.cache import Cache
from innkeeper.customizations.discovery.faults import failed
from innkeeper.customizations.discovery.hooks import HookSource
from innkeeper.customizations.discovery.items import DiscoveredChild, DiscoveredDirectory
from innkeeper.customizations.discovery.limits import NAME_CHARACTERS
from innkeeper.customizations.discovery.locations import USER, WORKSPACE, FixedFiles, Location
from innkeeper.customizations.discovery.places import child_uri, file_uri, inside, shown
from innkeeper.customizations.discovery.reading import Children, Leaves, read_hooks_at, stem, unread_hook
from innkeeper.customizations.discovery.walking import SKILL_FILE, Found, Unreachable, Walk, Wanted
from innkeeper.ports.files import FileFault
from innkeeper.protocol.session.state import CustomizationLoadState


@dataclass(frozen=True, slots=True)
class Root:
    """A session's working directory, or a home: an absolute path."""

    path: str
    source: Literal["workspace", "user"] = "workspace"

    @property
    def uri(self) -> str:
        return file_uri(self.path)

    @property
    def locations(self) -> tuple[Location | FixedFiles, ...]:
        return WORKSPACE if self.source == "workspace" else USER


def discover_directories(cache: Cache, root: Root) -> Iterator[DiscoveredDirectory]:
    """The containers of a root, in the order of the table; none when the root cannot be looked into."""
    try:
        boundary = cache.source.real(root.path)
    except FileFault:
        return
    for location in root.locations:
        found = (
            _fixed(cache, root, location, boundary)
            if isinstance(location, FixedFiles)
            else _location(cache, root, location, boundary)
        )
        if found is not None:
            yield found


def _location(cache: Cache, root: Root, location: Location, boundary: str) -> DiscoveredDirectory | None:
    path = posixpath.join(root.path, location.path)
    children = Children()
    try:
        if cache.source.stat(path).kind != "directory":
            return None
        walk = Walk(cache, boundary)
        _collect(walk, location, path, child_uri(root.uri, location.path), children)
    except FileFault as fault:
        if fault.reason in ("missing", "notADirectory"):
            there = _is_there(cache, posixpath.dirname(path), boundary)
            return _directory(cache, root, location, children.load, ()) if there else None
        return _directory(cache, root, location, failed(str(fault)), ())
    except Unreachable as unreachable:
        return _directory(cache, root, location, failed(str(unreachable)), ())
    for problem in walk.problems:
        children.tell(problem)
    return _directory(cache, root, location, children.load, children.items)


def _collect(walk: Walk, location: Location, path: str, uri: str, children: Children) -> None:
    """Every item of a location. Raises Unreachable."""
    wanted = Wanted(location.suffixes, location.excluded, location.depth)
    if location.contents == "hook":
        for found in walk.files(path, wanted):
            _add_hooks(walk.cache, found, HookSource(child_uri(uri, found.relative)), location.suffixes, children)
        return
    leaves = Leaves(walk.cache, uri, location.contents, location.syntax, location.always, location.own_names)
    if location.contents == "skill":
        for found in walk.skills(path, location.depth):
            name = posixpath.basename(found.relative)
            children.add(leaves.read(found, name, f"{found.relative}/{SKILL_FILE}"), shown(found.relative))
        return
    for found in walk.files(path, wanted):
        children.add(leaves.read(found, _name(found.relative, location)), shown(found.relative))


def _name(relative: str, location: Location) -> str:
    match location.naming:
        case "stem":
            return stem(posixpath.basename(relative), location.suffixes)
        case "path":
            return stem(relative, location.suffixes)
        case "colons":
            return stem(relative, location.suffixes).replace("/", ":")
        case _:
            assert_never(location.naming)


def _fixed(cache: Cache, root: Root, place: FixedFiles, boundary: str) -> DiscoveredDirectory | None:
    walk = Walk(cache, boundary)
    children = Children()
    base = child_uri(root.uri, place.path)
    leaves = Leaves(cache, base, "rule", always=True, own_names=False)
    some = False
    for name in place.files:
        try:
            found = walk.file(posixpath.join(root.path, place.path, name), name)
        except Unreachable:
            continue
        if place.contents == "rule":
            some = True
            children.add(leaves.read(found, name), name)
        else:
            source = HookSource(child_uri(base, name), flat=place.ecosystem == "codex")
            _add_hooks(cache, found, source, (".json",), children)
    if not some and not children.items and not children.problems:
        return None
    return _directory(cache, root, place, children.load, children.items)


def _add_hooks(cache: Cache, found: Found, source: HookSource, suffixes: Iterable[str], children: Children) -> None:
    name = shown(stem(found.relative, suffixes))[:NAME_CHARACTERS]
    source = replace(source, prefix=f"{name}:")
    read = read_hooks_at(cache, found, source)
    place = shown(found.relative)
    if read.fault is not None:
        children.add(unread_hook(source, name, read.fault), place)
    for problem in read.problems:
        children.tell(f"{place}: {problem}")
    for hook in read.hooks:
        children.add(hook, place)


def _directory(
    cache: Cache,
    root: Root,
    place: Location | FixedFiles,
    load: CustomizationLoadState,
    children: Sequence[DiscoveredChild],
) -> DiscoveredDirectory:
    writable = isinstance(place, Location) and load["kind"] != "error"
    return DiscoveredDirectory(
        uri=child_uri(root.uri, place.path),
        name=place.path or ".",
        contents=place.contents,
        writable=writable and cache.source.writable(posixpath.join(root.path, place.path)),
        source=root.source,
        ecosystem=place.ecosystem,
        load=load,
        children=children,
    )


def _is_there(cache: Cache, path: str, boundary: str) -> bool:
    try:
        return inside(cache.source.real(path), boundary) and cache.source.stat(path).kind == "directory"
    except FileFault:
        return False
