"""Preparing a session's declarations for a request: a stage of the send path, not a hook (K19, M5.3)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol


class RequiredServerUnavailable(Exception):
    """A required server cannot be had: the request fails with errorType `requiredServerUnavailable` (M5.5)."""

    def __init__(self, server: str, code: str) -> None:
        super().__init__(f"{server}: {code}")
        self.server = server
        self.code = code


class Declarations(Protocol):
    """The MCP servers that a session's project declares, as its requests need them."""

    async def prepare(self, session: str, turn_id: str) -> None:
        """Re-read, apply policy, reconcile and start what must start. Bounded by the longest start-up limit; what is
        not ready by then goes on connecting. Raises RequiredServerUnavailable."""
        ...

    def instructions(self, session: str) -> Mapping[str, str]:
        """Server name to what each connected server says about its use, for the outgoing turn (M5.7)."""
        ...

    def known_down(self, session: str) -> Sequence[tuple[str, str]]:
        """Selected required servers, with their codes, that are known not to come up without somebody doing something,
        and whose declaration is unchanged; synchronous, reads no file and starts nothing (K19)."""
        ...

    def complete(self, session: str) -> bool:
        """Whether all selected required servers are connected, as far as the files have been read; False for a session
        whose servers have ended with it. Synchronous, reads no file and starts nothing."""
        ...

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """`changed` is told the session whenever something about its servers may be different; the result ends that."""
        ...
