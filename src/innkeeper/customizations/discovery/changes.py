"""What is different between two results (C7.3, issue 4 item 4). Pure.

Equal results make an empty change, which is not published. One changed skill of a thousand is one child in the change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from innkeeper.customizations.discovery.items import (
    ChildKey,
    ContainerKey,
    DiscoveredChild,
    DiscoveredContainer,
    child_key,
)

Containers = Mapping[ContainerKey, DiscoveredContainer]


@dataclass(frozen=True, slots=True)
class ContainerChange:
    """A container that is new or different, as it is now. `changed`: children that are new or different; `removed`:
    what is gone. `itself`: new, or something besides its children is different."""

    container: DiscoveredContainer
    itself: bool
    changed: tuple[DiscoveredChild, ...]
    removed: tuple[ChildKey, ...]


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """From the last result to this one. False when they are equal. `reordered`: the same containers stand in another
    order, or others came or went, so that the whole list has to be published."""

    containers: tuple[DiscoveredContainer, ...] = ()
    changes: tuple[ContainerChange, ...] = ()
    removed: tuple[ContainerKey, ...] = ()
    reordered: bool = False

    def __bool__(self) -> bool:
        return bool(self.changes or self.removed or self.reordered)


def compare(old: Sequence[DiscoveredContainer], new: Sequence[DiscoveredContainer]) -> ChangeSet:
    """The change from old to new."""
    before: Containers = {container.key: container for container in old}
    after: Containers = {container.key: container for container in new}
    changes = tuple(
        _container_change(before.get(key), container)
        for key, container in after.items()
        if before.get(key) != container
    )
    removed = tuple(key for key in before if key not in after)
    return ChangeSet(tuple(new), changes, removed, list(before) != list(after))


def _container_change(old: DiscoveredContainer | None, new: DiscoveredContainer) -> ContainerChange:
    before = {child_key(child): child for child in old.children} if old else {}
    after = {child_key(child): child for child in new.children}
    changed = tuple(child for key, child in after.items() if before.get(key) != child)
    removed = tuple(key for key in before if key not in after)
    return ContainerChange(new, old is None or _differs(old, new), changed, removed)


def _differs(old: DiscoveredContainer, new: DiscoveredContainer) -> bool:
    """Whether anything besides the children is different."""
    return replace(old, children=()) != replace(new, children=())
