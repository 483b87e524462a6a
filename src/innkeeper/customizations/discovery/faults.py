"""How faults are told: load states and their messages (C7.3). No message repeats what is in a file."""

from collections.abc import Sequence

from innkeeper.customizations.discovery.items import LOADED
from innkeeper.customizations.discovery.limits import MESSAGE_CHARACTERS, PROBLEMS_SHOWN
from innkeeper.protocol.session.state import CustomizationLoadState


def failed(message: str) -> CustomizationLoadState:
    return {"kind": "error", "message": _cut(message)}


def loaded_with(problems: Sequence[str]) -> CustomizationLoadState:
    """Loaded when there is no problem, else degraded, naming the first few."""
    if not problems:
        return LOADED
    shown = "; ".join(problems[:PROBLEMS_SHOWN])
    more = len(problems) - PROBLEMS_SHOWN
    return {"kind": "degraded", "message": _cut(f"{shown}; and {more} more" if more > 0 else shown)}


def problem_of(load: CustomizationLoadState) -> str | None:
    """The message of a state that has one."""
    return load["message"] if load["kind"] in ("degraded", "error") else None


def _cut(text: str) -> str:
    return text if len(text) <= MESSAGE_CHARACTERS else f"{text[: MESSAGE_CHARACTERS - 1]}…"
