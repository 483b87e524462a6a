"""The last calls of each server (M11.5): time, tool, caller, duration, outcome, bytes; never an argument or a result.

In memory; forgotten with the session and at the end of the host.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from innkeeper.ports.clock import Clock
from innkeeper.ports.mcp import CallRecord, JsonObject
from innkeeper.protocol.chat.state import ToolCallResult
from innkeeper.wire.json import JsonError, encode

KEPT: Final = 200
"""Calls a server; about 40 KiB."""

CallerKind = Literal["agent", "child", "person"]


class CallLog:
    """By session and server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._calls: dict[str, dict[str, deque[CallRecord]]] = {}

    def of(self, session: str, server: str) -> Sequence[CallRecord]:
        """Oldest first."""
        return tuple(self._calls.get(session, {}).get(server, ()))

    def forget(self, session: str) -> None:
        self._calls.pop(session, None)

    def begin(self, session: str, server: str, tool: str, by: CallerKind, arguments: JsonObject) -> "CallEntry":
        kept = self._calls.setdefault(session, {}).setdefault(server, deque(maxlen=KEPT))
        return CallEntry(kept, self._clock, tool, by, _size(arguments))


class CallEntry:
    """One call that has not ended."""

    def __init__(self, kept: "deque[CallRecord]", clock: Clock, tool: str, by: CallerKind, sent: int) -> None:
        self._kept = kept
        self._clock = clock
        self._tool, self._by, self._sent = tool, by, sent
        self._time, self._began = clock.now(), clock.monotonic()

    def ended(self, result: ToolCallResult, *, made: bool) -> None:
        """`made`: the server was asked, whatever came of it."""
        code = result.get("error", {}).get("code")
        outcome: Literal["ok", "failed", "refused"] = "ok" if result["success"] else "failed" if made else "refused"
        self._keep(outcome, None if code is None else str(code), _size(result) if made else 0)

    def cancelled(self) -> None:
        self._keep("cancelled", None, 0)

    def _keep(self, outcome: Literal["ok", "failed", "refused", "cancelled"], code: str | None, received: int) -> None:
        took = max(0, round((self._clock.monotonic() - self._began) * 1000))
        self._kept.append(CallRecord(self._time, self._tool, self._by, outcome, code, took, self._sent, received))


def _size(value: Mapping[str, object]) -> int:
    """UTF-8 bytes of its JSON; 0 for what has none."""
    try:
        return len(encode(value))
    except JsonError:
        return 0
