"""The check at the door: is a decoded value what the protocol declares? (architecture §3, dependencies §1.2)

`check` is exact. `check_action` and `check_params` are for what comes from clients and tolerate what `TOLERATED` lists,
because real clients need it (AHP §15); whoever takes such a value in must put it right. All of them raise `CheckError`.

A number declared as an integer is refused when it has a fraction or is written as one (`12.0`): it would be passed on
as it came, and typed clients could not read it (AHP §15).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from innkeeper.protocol.actions import ACTIONS
from innkeeper.protocol.chat.actions import ChatTurnStartedAction
from innkeeper.protocol.compiler import Check, CheckError, Compiler, Tolerance, Variants
from innkeeper.protocol.methods import METHODS
from innkeeper.protocol.session.actions import SessionCustomizationToggledAction
from innkeeper.protocol.session.commands import CreateSessionParams

__all__ = ["TOLERATED", "CheckError", "Tolerance", "check", "check_action", "check_params"]

_FIXED_CHANNEL: Final = Tolerance(
    "the method can be about one channel only, and older clients do not name it", optional=frozenset({"channel"})
)

TOLERATED: Final[Mapping[object, Tolerance]] = MappingProxyType(
    {
        **{spec.params: _FIXED_CHANNEL for spec in METHODS.values() if spec.channel in ("root", "automations")},
        ChatTurnStartedAction: Tolerance(
            "clients from before 0.6 leave the time to the host", optional=frozenset({"startedAt"})
        ),
        SessionCustomizationToggledAction: Tolerance(
            "clients from before 0.8 send one `enabled` for all scopes",
            optional=frozenset({"enablement"}),
            also={"enabled": bool},
        ),
        CreateSessionParams: Tolerance("clients from before 0.7 name one directory", also={"workingDirectory": str}),
    }
)
"""What incoming values may lack or add, by declaration."""

_EXACT: Final = Compiler({})
_INCOMING: Final = Compiler(TOLERATED)
_ACTIONS: Final = Variants(_INCOMING, {tag: spec.shape for tag, spec in ACTIONS.items()})
_PARAMS: Final = Variants(_INCOMING, {name: spec.params for name, spec in METHODS.items()})


def check(declared: object, value: object, path: str = "params") -> None:
    """Raises `CheckError` unless a decoded JSON value is what is declared (a TypedDict, or anything inside one).

    `path` names the value in the error.
    """
    _run(_EXACT.check_for(declared), value, path)


def check_action(action: object, path: str = "action") -> None:
    """Checks an action of a client by its tag. An action of a type that is not in `ACTIONS` passes."""
    if type(action) is not dict:
        raise _located(CheckError("object", action), path)
    tag = action.get("type")
    if type(tag) is not str:
        raise _located(CheckError("string", tag, "type"), path)
    _run(_ACTIONS[tag], action, path)


def check_params(method: str, params: object, path: str = "params") -> None:
    """Checks the params of a client's request or notification. Those of a method that is not in `METHODS` pass."""
    _run(_PARAMS[method], params, path)


def _run(run: Check, value: object, path: str) -> None:
    try:
        run(value)
    except CheckError as error:
        raise _located(error, path) from None
    except RecursionError:
        raise _located(CheckError("less nesting", value), path) from None


def _located(error: CheckError, path: str) -> CheckError:
    error.root = path
    return error
