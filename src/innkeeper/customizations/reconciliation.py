"""Which servers of a running agent have to be switched, by what it says of them (C6.3, C6.4).

Rules
* Status is not enablement: what an agent does not say plainly is unknown, and never "on".
* A server that the agent does not know is passed over; one that nobody decided about is left alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Observed: TypeAlias = Literal["on", "off", "unknown"]

ON_WORDS: Final = frozenset({"connected", "ready", "pending", "starting", "failed", "needs-auth"})
OFF_WORDS: Final = frozenset({"disabled"})


@dataclass(frozen=True, slots=True)
class Switch:
    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """`switches` to make, by name. `unclear`: wanted on, and the agent does not say whether they are; the next launch
    brings them. `absent`: wanted on, and the agent does not know them."""

    switches: tuple[Switch, ...] = ()
    unclear: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


def observe(status: str) -> Observed:
    """What an agent's word for a server's status says about enablement."""
    return "on" if status in ON_WORDS else "off" if status in OFF_WORDS else "unknown"


def reconcile(desired: Mapping[str, bool], live: Mapping[str, str]) -> Reconciliation:
    """From what is wanted and the agent's statuses, both by name. Only a plain word of the agent leads to a switch."""
    switches: list[Switch] = []
    unclear: list[str] = []
    for name in sorted(desired.keys() & live.keys()):
        seen = observe(live[name])
        if not desired[name] and seen == "on":
            switches.append(Switch(name, False))
        elif desired[name] and seen == "off":
            switches.append(Switch(name, True))
        elif desired[name] and seen == "unknown":
            unclear.append(name)
    absent = tuple(sorted(name for name, on in desired.items() if on and name not in live))
    return Reconciliation(tuple(switches), tuple(unclear), absent)


def settled(desired: Mapping[str, bool], live: Mapping[str, str]) -> bool:
    """Whether the agent plainly has what is wanted, as far as it knows the servers: the condition for recording a
    change as applied."""
    result = reconcile(desired, live)
    return not result.switches and not result.unclear
