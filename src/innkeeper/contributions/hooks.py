"""The table of the seven hooks (K2), from which docs/reference/contributions.md is generated. Part of the SPI."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple


class Hook(NamedTuple):
    """One row. `async` hooks may give an awaitable, which is awaited before the next contribution is asked."""

    moment: str
    site: str
    mode: Literal["sync", "async"]
    combination: str
    failure: str
    parameters: int = 1


_LOGGED: Final = "logged with id and hook; the others run"

HOOKS: Final[Mapping[str, Hook]] = MappingProxyType(
    {
        "on_incoming_request": Hook(
            moment="a turn asks to proceed, before any agent",
            site="host.admission",
            mode="sync",
            combination="the first answer other than None wins",
            failure="rejects the turn",
        ),
        "on_outgoing_turn": Hook(
            moment="a turn is about to be sent to its agent",
            site="host.requests",
            mode="async",
            combination="instructions appended, text threaded",
            failure="adds nothing",
        ),
        "on_turn_end": Hook(
            moment="a turn has ended, once a turn, after its last action has left",
            site="host.turns",
            mode="sync",
            combination="none",
            failure=_LOGGED,
        ),
        "on_did_apply_client_action": Hook(
            moment="a client's accepted action has been handled",
            site="host.hook_sites",
            mode="sync",
            combination="none",
            failure=_LOGGED,
        ),
        "on_did_dispatch_action": Hook(
            moment="an action of anybody has left, or a client's was rejected",
            site="host.hook_sites",
            mode="sync",
            combination="none",
            failure=_LOGGED,
        ),
        "on_hydrate_turns": Hook(
            moment="a chat's turns have been read",
            site="host.hydration",
            mode="async",
            combination="turns threaded",
            failure="keeps the turns that came before it",
            parameters=2,
        ),
        "on_hydrate_chat": Hook(
            moment="a chat is about to enter the catalog; its turns need not have been read",
            site="host.hydration",
            mode="async",
            combination="value threaded",
            failure="keeps the value that came before it",
            parameters=2,
        ),
    }
)
