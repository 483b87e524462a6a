"""The contributions of one host, in order (K3, K4, K7).

Rules
* Everything about a contribution is checked before it is constructed: its id, its order, its hooks, its services.
* Sequences are computed when something is registered or unregistered, once a hook; nothing is sorted at a dispatch.
* Two contributions of one hook have different orders. Built-ins are held to it by a test, others are refused.
"""

import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from innkeeper.contributions.dispatch.mementos import Mementos, OwnContext
from innkeeper.contributions.dispatch.services import Services
from innkeeper.contributions.spi import HOOKS, Contribution, Watch
from innkeeper.errors import HostError

log = logging.getLogger(__name__)


class Registered(NamedTuple):
    """One contribution, and what it was registered as."""

    id: str
    order: int
    place: int
    """Which registration it was."""
    hooks: frozenset[str]
    contribution: Contribution


class Bound(NamedTuple):
    """One hook of one contribution."""

    id: str
    call: Callable[..., Any]


class Registration:
    """`dispose` unregisters, once."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end: Callable[[], None] | None = end

    def dispose(self) -> None:
        end, self._end = self._end, None
        if end is not None:
            end()


class Registry:
    def __init__(self, services: Services, mementos: Mementos) -> None:
        self._services = services
        self.mementos = mementos
        self._registered: list[Registered] = []
        self._next = 0
        self._changed: list[Callable[[], None]] = []

    def register(self, kind: type[Contribution]) -> Registration:
        """Construct `kind` and let its hooks be called from now on. Raises HostError CONTRIBUTION_DUPLICATE,
        CONTRIBUTION_ORDER, CONTRIBUTION_HOOK or CONTRIBUTION_SERVICE before the constructor runs."""
        id, order = identity(kind)
        if any(other.id == id for other in self._registered):
            raise HostError("CONTRIBUTION_DUPLICATE", contribution=id)
        hooks = implemented(kind)
        contribution = self._services.construct(kind, OwnContext(id, self.mementos))
        registered = Registered(id, order, self._next, hooks, contribution)
        self._next += 1
        self._registered.append(registered)
        self._tell()
        return Registration(lambda: self._unregister(registered))

    def tied(self, kind: type[Contribution]) -> tuple[str, str] | None:
        """The hook and the contribution with whose order the one of `kind` ties."""
        id, order = identity(kind)
        hooks = implemented(kind)
        for other in self._registered:
            shared = sorted(other.hooks & hooks)
            if other.id != id and other.order == order and shared:
                return shared[0], other.id
        return None

    def sequence(self, hook: str) -> Sequence[Bound]:
        """The hook of each contribution that has it, lower orders first, then as registered."""
        having = sorted((r for r in self._registered if hook in r.hooks), key=lambda r: (r.order, r.place))
        return tuple(Bound(r.id, getattr(r.contribution, hook)) for r in having)

    def watch_of(self, id: str) -> Watch:
        return next(r.contribution.watch for r in self._registered if r.id == id)

    def on_change(self, changed: Callable[[], None]) -> None:
        self._changed.append(changed)
        changed()

    @property
    def ids(self) -> Sequence[str]:
        return tuple(r.id for r in self._registered)

    def close(self) -> None:
        """Unregister all, the last one first."""
        for registered in reversed(tuple(self._registered)):
            self._unregister(registered)

    def _unregister(self, registered: Registered) -> None:
        if registered not in self._registered:
            return
        self._registered.remove(registered)
        self._tell()
        dispose = getattr(registered.contribution, "dispose", None)
        if callable(dispose):
            try:
                dispose()
            except Exception:
                log.exception("disposing the contribution %s", registered.id)

    def _tell(self) -> None:
        for changed in self._changed:
            changed()


def identity(kind: type[Contribution]) -> tuple[str, int]:
    """Id and order. Raises HostError CONTRIBUTION_ORDER for a missing one."""
    id, order = getattr(kind, "id", None), getattr(kind, "order", None)
    if not isinstance(id, str) or not id:
        raise HostError("CONTRIBUTION_HOOK", contribution=kind.__qualname__, problem="it has no id")
    if not isinstance(order, int) or isinstance(order, bool):
        raise HostError("CONTRIBUTION_ORDER", contribution=id)
    return id, order


def implemented(kind: type[Contribution]) -> frozenset[str]:
    """The hooks that `kind` has. Raises HostError CONTRIBUTION_HOOK for one that is none, or that cannot be called."""
    names = [name for name in dir(kind) if name.startswith("on_")]
    for name in names:
        if (problem := _problem(kind, name)) is not None:
            raise HostError("CONTRIBUTION_HOOK", contribution=kind.id, problem=problem)
    return frozenset(names)


def _problem(kind: type[Contribution], name: str) -> str | None:
    hook, method = HOOKS.get(name), getattr(kind, name)
    if hook is None:
        return f"{name} is not a hook; those are {', '.join(HOOKS)}"
    if hook.mode == "sync" and inspect.iscoroutinefunction(method):
        return f"{name} is asynchronous, and the hook is not"
    try:
        inspect.signature(method).bind(*[None] * (1 + hook.parameters))
    except TypeError:
        return f"{name} does not take {hook.parameters} argument(s)"
    if name == "on_did_dispatch_action" and not _is_watch(getattr(kind, "watch", None)):
        return f"{name} needs a watch that says which actions it wants"
    return None


def _is_watch(given: object) -> bool:
    """A text in place of a set would watch for every part of it."""
    return isinstance(given, Watch) and all(part is None or isinstance(part, frozenset) for part in given)
