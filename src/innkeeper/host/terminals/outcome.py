"""How a command in a terminal ended, and how long it is waited for. Pure."""

from typing import Final, Literal, NamedTuple

from innkeeper.limits import CHAT_IDLE_SECONDS, LOCAL_COMMAND_SECONDS, TERMINAL_READY_SECONDS

Kind = Literal["ran", "timedOut", "shellEnded", "background", "interactive", "incomplete", "untypable"]

INTERRUPT: Final = b"\x03"
"""What a person types to end what runs."""


class Outcome(NamedTuple):
    """How it ended. `ran`: to its end, with the exit code as far as it is known. `background`: somebody took the
    terminal over. `interactive`: it took the whole screen. `incomplete`: the shell waits for the rest of it."""

    kind: Kind
    exit_code: int | None = None
    output: str = ""
    truncated: bool = False


class Times(NamedTuple):
    """In seconds."""

    ready: float = TERMINAL_READY_SECONDS
    run: float = LOCAL_COMMAND_SECONDS
    idle: float = CHAT_IDLE_SECONDS
    """Until an unused shell ends."""
