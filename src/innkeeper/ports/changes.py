"""What turns do to files, as the send path and the end of a turn see it (reference §3.6, §5.8)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

Outcome: TypeAlias = Literal["success", "cancelled", "error", "rejected", "localCommand"]


class TurnCheckpoints(Protocol):
    """The send path's part. Nothing here raises: a turn runs without a checkpoint rather than not at all."""

    def begin(self, session: str, chat: str, turn: str) -> None:
        """The working directory is known: capture the files as the turn begins, while other stages go on."""
        ...

    async def ready(self, session: str, turn: str) -> None:
        """The files are captured, or could not be, which is told. The agent may write when this returns."""
        ...

    def abandon(self, session: str, chat: str, turn: str) -> None:
        """The turn never reached its agent: it gets no checkpoint."""
        ...

    async def announced(self, session: str, chat: str, call: str, paths: Sequence[str]) -> None:
        """The call may write those files, local paths, as soon as this returns: what is in them now is known then."""
        ...

    def completed(self, session: str, call: str, result: Mapping[str, Any]) -> None:
        """The call has just reported `result`, an AHP `ToolCallResult`: what is in its files is read now. Returns at
        once."""
        ...


class NoCheckpoints:
    """For hosts without files."""

    def begin(self, session: str, chat: str, turn: str) -> None:
        return

    async def ready(self, session: str, turn: str) -> None:
        return

    def abandon(self, session: str, chat: str, turn: str) -> None:
        return

    async def announced(self, session: str, chat: str, call: str, paths: Sequence[str]) -> None:
        return

    def completed(self, session: str, call: str, result: Mapping[str, Any]) -> None:
        return


class TurnChanges(Protocol):
    """What follows a turn."""

    def turn_ended(self, session: str, chat: str, turn: str, outcome: Outcome, *, resumable: bool = False) -> None:
        """Capture the end where the turn is really over, then compute the changesets, whether that worked or not.
        Returns at once; what begins after this call is captured after it."""
        ...


class NoChanges:
    """For hosts without files."""

    def turn_ended(self, session: str, chat: str, turn: str, outcome: Outcome, *, resumable: bool = False) -> None:
        return
