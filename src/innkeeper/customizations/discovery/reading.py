"""Found files become items: through the cache, by the reader of their type (C7.1-C7.3).

Rules
* Type and name are unique in a container: the first file of a name stands for it, the others are told of.
* A container is degraded when something in it is; its message names the first few faults.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from innkeeper.customizations.discovery.cache import Cache
from innkeeper.customizations.discovery.faults import failed, loaded_with, problem_of
from innkeeper.customizations.discovery.hooks import HookSource, HooksRead, read_hooks_file
from innkeeper.customizations.discovery.items import ChildKey, DiscoveredChild, DiscoveredHook, child_key
from innkeeper.customizations.discovery.leaves import LeafType, Subject, Syntax, read_leaf, unread
from innkeeper.customizations.discovery.limits import CHILDREN, NAME_CHARACTERS
from innkeeper.customizations.discovery.places import child_uri, shown
from innkeeper.customizations.discovery.walking import Found
from innkeeper.ports.files import FileFault
from innkeeper.protocol.session.state import CustomizationLoadState


@dataclass(slots=True)
class Children:
    """Collects the items of one container."""

    problems: list[str] = field(default_factory=list)
    _items: dict[ChildKey, DiscoveredChild] = field(default_factory=dict)

    def add(self, child: DiscoveredChild, place: str) -> None:
        """`place` is where it is, as a person would say it."""
        key = child_key(child)
        if key in self._items:
            self.problems.append(f"{place}: another {child.type} has its name")
        elif len(self._items) >= CHILDREN:
            if len(self._items) == CHILDREN:
                self.tell(f"there are more than {CHILDREN}")
        else:
            self._items[key] = child
            problem = problem_of(child.load)
            if problem is not None:
                self.problems.append(f"{place}: {problem}")

    def tell(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    @property
    def items(self) -> tuple[DiscoveredChild, ...]:
        """By type and name."""
        return tuple(self._items[key] for key in sorted(self._items))

    @property
    def load(self) -> CustomizationLoadState:
        return loaded_with(self.problems)


@dataclass(frozen=True, slots=True)
class Leaves:
    """How the files of one place are read. `base` is the URI that paths below the place are appended to."""

    cache: Cache
    base: str
    type: LeafType
    syntax: Syntax = "markdown"
    always: bool | None = None
    own_names: bool = True

    def read(self, found: Found, name: str, within: str | None = None) -> DiscoveredChild:
        """The item of a found file; `within` is its path below `base` where that is not the one it was found by."""
        if found.fault is not None:
            return unread(self.type, self._subject(found, name, within), found.fault)
        try:
            return self.cache.value(
                found.path,
                (self.type, self.base),
                lambda data: read_leaf(data, self.type, self.syntax, self._subject(found, name, within)),
            )
        except FileFault as fault:
            return unread(self.type, self._subject(found, name, within), str(fault))

    def _subject(self, found: Found, name: str, within: str | None) -> Subject:
        uri = child_uri(self.base, found.relative if within is None else within)
        return Subject(uri, shown(name)[:NAME_CHARACTERS], self.always, self.own_names)


def read_hooks_at(cache: Cache, found: Found, source: HookSource) -> HooksRead:
    """The hooks of a found file."""
    if found.fault is not None:
        return HooksRead(fault=found.fault)
    try:
        return cache.value(found.path, ("hook", source), lambda data: read_hooks_file(data, source))
    except FileFault as fault:
        return HooksRead(fault=str(fault))


def unread_hook(source: HookSource, name: str, fault: str) -> DiscoveredHook:
    """Stands for a hooks file that nothing could be learnt from."""
    return DiscoveredHook(uri=source.uri, name=name, event="", load=failed(fault))


def stem(name: str, suffixes: Iterable[str]) -> str:
    """A name without the first of the suffixes that it ends in, whatever their case; never empty."""
    lower = name.lower()
    found = next((end for end in suffixes if lower.endswith(end) and len(name) > len(end)), "")
    return name[: len(name) - len(found)]
