"""Processes that the host starts (architecture §5, M2.8, M5.6, M7.9).

Rules
* A child runs exactly the given program with exactly the given environment, in a process group of its own.
* No process outlives its owner: `close` ends the whole tree, and a guardian process ends every group when the host
  dies, also by SIGKILL.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple, Protocol


class Command(NamedTuple):
    """What to run. `environment` is complete: nothing of the host's own is added."""

    program: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    directory: str


class CloseOutcome(NamedTuple):
    """How a process ended. `confirmed` is False when something of its tree could not be shown to be dead."""

    exit_code: int | None
    confirmed: bool


class Process(Protocol):
    """One running child with pipes."""

    @property
    def pid(self) -> int: ...

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative for a signal."""
        ...

    async def write(self, data: bytes) -> None:
        """Raises BrokenPipeError or ConnectionResetError when the child no longer reads."""
        ...

    def output(self) -> AsyncIterator[bytes]:
        """Lines of standard output, without the line end; ends when the child closes it."""
        ...

    def stderr_tail(self) -> bytes:
        """At most the last 64 KiB of standard error (M7.7). It is unmasked: never log or send it as it is."""
        ...

    async def note_tree(self) -> None:
        """Remember what belongs to the child now: a descendant in a session of its own is found at the end also when
        the processes between have died."""
        ...

    async def wait(self) -> int: ...

    async def close(self) -> CloseOutcome:
        """End of input, 0.5 s, TERM to the group, 1 s, KILL to the whole tree. Idempotent."""
        ...


class Processes(Protocol):
    async def spawn(self, command: Command) -> Process:
        """Raises OSError (not found, not executable, no permission) before anything ran."""
        ...

    async def close(self) -> None:
        """End every child and the guardian."""
        ...
