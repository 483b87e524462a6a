"""Whether what a hook gave is what the hook is for (K5). Pure.

Rules
* Looked at as deep as the host relies on it: it goes into the state, where every client sees it, or to an agent.
* A text is never taken for a list of texts.
"""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from innkeeper.contributions.spi import Addition, Handled, HydratedChat, Reject


def is_decision(given: object) -> TypeGuard[Handled | Reject | None]:
    """Of `on_incoming_request`."""
    match given:
        case None | Handled(str()):
            return True
        case Reject(Mapping() as error):
            return all(isinstance(error.get(name), str) for name in ("errorType", "message"))
        case _:
            return False


def is_addition(given: object) -> bool:
    """Of `on_outgoing_turn`."""
    match given:
        case None:
            return True
        case Addition(instructions, None | str()):
            return _is_list(instructions) and all(isinstance(one, str) for one in instructions)
        case _:
            return False


def is_turns(given: object) -> bool:
    """Of `on_hydrate_turns`."""
    return _is_list(given) and all(map(_is_turn, given))


def is_restored(given: object) -> bool:
    """Of `on_hydrate_chat`."""
    match given:
        case HydratedChat(None | str(), None | Mapping(), None | Mapping()):
            return True
        case _:
            return False


def _is_turn(given: object) -> bool:
    return isinstance(given, Mapping) and isinstance(given.get("id"), str) and isinstance(given.get("message"), Mapping)


def _is_list(given: object) -> TypeGuard[Sequence[object]]:
    return isinstance(given, Sequence) and not isinstance(given, str | bytes)
