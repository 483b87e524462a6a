"""Mementos: small cells of one contribution, kept with a chat or a session (K6).

Rules
* An entry is contribution, resource, the key's name, and extra segments by value and type: `1`, `"1"`, `True` differ.
* Setting None is not deleting: the entry stays until it is deleted or evicted.
* Eviction is central, by chat or by session with all its chats, and disposes what can be disposed.
"""

import logging
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from innkeeper.contributions.spi import ChatKey, Memento, SessionKey

log = logging.getLogger(__name__)
T = TypeVar("T")
Entry = tuple[str, str, str, str, tuple[tuple[str, object], ...]]


class Cell(Generic[T]):
    """A settable value with listeners."""

    __slots__ = ("_evicted", "_listeners", "_value")

    def __init__(self, value: T) -> None:
        self._value = value
        self._listeners: list[Callable[[T], None]] = []
        self._evicted = False

    @property
    def value(self) -> T:
        return self._value

    @value.setter
    def value(self, new: T) -> None:
        before, self._value = self._value, new
        if before is new:
            return
        if not self._evicted:
            _disposed(before)
        for listener in tuple(self._listeners):
            listener(new)

    def watch(self, changed: Callable[[T], None]) -> Callable[[], None]:
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed) if changed in self._listeners else None

    def evict(self) -> None:
        """Detached from the host; the value stays with whoever holds the cell."""
        self._evicted = True
        _disposed(self._value)


class Mementos:
    """All cells of one host. `owner` gives the session of a chat."""

    def __init__(self, owner: Callable[[str], str | None]) -> None:
        self._owner = owner
        self._cells: dict[str, dict[Entry, Cell[Any]]] = {}
        self._chats: dict[str, set[str]] = {}

    def cell(
        self, contribution: str, key: ChatKey[T] | SessionKey[T], resource: str, extra: tuple[Any, ...]
    ) -> Memento[T]:
        entry = _entry(contribution, key, resource, extra)
        cells = self._cells.setdefault(resource, {})
        found = cells.get(entry)
        if found is None:
            found = cells[entry] = Cell(key.initial())
            session = self._owner(resource) if isinstance(key, ChatKey) else None
            if session is not None:
                self._chats.setdefault(session, set()).add(resource)
        return found

    def delete(self, contribution: str, key: ChatKey[T] | SessionKey[T], resource: str, extra: tuple[Any, ...]) -> None:
        cell = self._cells.get(resource, {}).pop(_entry(contribution, key, resource, extra), None)
        if cell is not None:
            cell.evict()

    def evict_chat(self, chat: str) -> None:
        self._evict(chat, "chat")
        for chats in self._chats.values():
            chats.discard(chat)

    def evict_session(self, session: str) -> None:
        self._evict(session, "session")
        for chat in self._chats.pop(session, ()):
            self._evict(chat, "chat")

    def _evict(self, resource: str, scope: str) -> None:
        cells = self._cells.get(resource, {})
        for entry in [entry for entry in cells if entry[0] == scope]:
            cells.pop(entry).evict()
        if not cells:
            self._cells.pop(resource, None)

    def __len__(self) -> int:
        return sum(map(len, self._cells.values()))


class OwnContext:
    """The context of one contribution."""

    def __init__(self, id: str, mementos: Mementos) -> None:
        self._id = id
        self._mementos = mementos

    @property
    def id(self) -> str:
        return self._id

    def memento(self, key: ChatKey[T] | SessionKey[T], resource: str, *extra: str | bool | int) -> Memento[T]:
        return self._mementos.cell(self._id, key, resource, extra)

    def delete_memento(self, key: ChatKey[T] | SessionKey[T], resource: str, *extra: str | bool | int) -> None:
        self._mementos.delete(self._id, key, resource, extra)


def _entry(contribution: str, key: ChatKey[T] | SessionKey[T], resource: str, extra: tuple[Any, ...]) -> Entry:
    scope = "chat" if isinstance(key, ChatKey) else "session"
    return (scope, contribution, resource, key.name, tuple((type(value).__name__, value) for value in extra))


def _disposed(value: object) -> None:
    dispose = getattr(value, "dispose", None)
    if callable(dispose):
        try:
            dispose()
        except Exception:
            log.exception("disposing a memento of type %s", type(value).__name__)
