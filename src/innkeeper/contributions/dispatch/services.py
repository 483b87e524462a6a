"""Constructors by type (K7, architecture §3.9).

Rules
* The first parameter of a contribution's constructor is its context; each further one is annotated with the type of a
  registered service. A default value changes nothing: what is asked for must be there.
* Whatever does not resolve is an error before anything of the contribution runs, naming contribution, parameter, type.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from innkeeper.contributions.spi import Context, Contribution
from innkeeper.errors import HostError


class Services:
    """The services of one host, by type."""

    def __init__(self, services: Mapping[type[Any], object] | None = None) -> None:
        self._services: dict[type[Any], object] = dict(services or {})

    def add(self, type_: type[Any], service: object) -> None:
        """Raises ValueError for a type that is there already."""
        if type_ in self._services:
            raise ValueError(f"the service {type_.__name__} is registered already")
        self._services[type_] = service

    def __contains__(self, type_: object) -> bool:
        return type_ in self._services

    def parameters(self, kind: type[Contribution]) -> list[tuple[str, type[Any]]]:
        """Name and type of each injected parameter. Raises HostError CONTRIBUTION_SERVICE."""
        hints = _hints(kind)
        found: list[tuple[str, type[Any]]] = []
        for name in list(inspect.signature(kind.__init__).parameters)[1:]:
            wanted = hints.get(name)
            if wanted is None:
                raise _missing(kind, name, "without annotation")
            found.append((name, wanted))
        if not found or found[0][1] is not Context:
            raise _missing(kind, found[0][0] if found else "context", "the first parameter is the Context")
        return found[1:]

    def construct(self, kind: type[Contribution], context: Context) -> Contribution:
        """Raises HostError CONTRIBUTION_SERVICE, and whatever the constructor raises."""
        services: dict[str, object] = {}
        for name, wanted in self.parameters(kind):
            if wanted not in self._services:
                raise _missing(kind, name, getattr(wanted, "__name__", str(wanted)))
            services[name] = self._services[wanted]
        build: Callable[..., Contribution] = kind
        return build(context, **services)


def _hints(kind: type[Contribution]) -> Mapping[str, Any]:
    """An import under TYPE_CHECKING passes every checker and fails here."""
    try:
        return get_type_hints(kind.__init__)
    except NameError as error:
        raise _missing(kind, "a parameter", f"{error.name} is not imported at run time") from error


def _missing(kind: type[Contribution], parameter: str, type_: str) -> HostError:
    name = f"{getattr(kind, 'id', '') or kind.__qualname__}"
    return HostError("CONTRIBUTION_SERVICE", contribution=name, parameter=parameter, type=type_)
