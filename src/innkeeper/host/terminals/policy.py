"""Who may do what with a terminal (AHP §9.9): the host's word on client actions that the protocol allows. Pure.

Rules
* A terminal that a client holds takes nothing from others (the engine's rule). One that a session holds takes input of
  every client, unless the claim is narrowed to a tool call: while that runs a client takes the terminal over first.
* A terminal that has ended, or has no shell behind it (output only), takes no input and has no size.
* A session takes a terminal only together with a chat of its own.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

State = Mapping[str, Any]
Owner = Callable[[str], str | None]
"""The session of a chat."""

MOST: Final = 1000
"""Columns or rows of a window."""
INPUT_CHARACTERS: Final = 256 * 1024


def refusal(state: State, action: State, owner: Owner) -> str | None:
    """Why the action is not taken, or None."""
    match action["type"]:
        case "terminal/input":
            if len(action["data"]) > INPUT_CHARACTERS:
                return f"at most {INPUT_CHARACTERS} characters can be typed at once"
            return _takes_keys(state) or _held_by_call(state)
        case "terminal/resized":
            return _takes_keys(state) or size_refusal(action["cols"], action["rows"])
        case "terminal/claimed":
            return claim_refusal(action["claim"], owner)
        case _:
            return None


def size_refusal(cols: int, rows: int) -> str | None:
    if not (1 <= cols <= MOST and 1 <= rows <= MOST):
        return f"a terminal has 1 to {MOST} columns and rows"
    return None


def claim_refusal(claim: State, owner: Owner) -> str | None:
    """Why nobody can hold a terminal by that claim."""
    if claim.get("kind") == "client":
        return None
    if claim.get("kind") != "session":
        return "a terminal is held by a client or by a chat of a session"
    if owner(claim["chat"]) != claim["session"]:
        return "the chat of the claim does not belong to its session"
    return None


def running(state: State) -> bool:
    return (state.get("lifecycle") or {}).get("status") == "running"


def _takes_keys(state: State) -> str | None:
    if not running(state):
        return "this terminal has ended"
    return None if state.get("isPty", True) else "this terminal only shows output"


def _held_by_call(state: State) -> str | None:
    if (state.get("claim") or {}).get("toolCallId") is not None:
        return "a tool call is using this terminal; take it over first"
    return None
