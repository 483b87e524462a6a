"""What the tools of this host's agents wrote: the record behind M4.1b. Correctness invariant: no hook may skip it (K1).

Rules
* A tool call that reports an edit wrote that file when the call ended. A tool call that runs may write any file: what
  changed in that time counts as written by an agent.
* Times are of the host's clock, seconds since the epoch; file systems stamp changes up to `SLACK` early or late.
* In memory: what a process that has ended did is no longer told apart from an edit from outside.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from innkeeper.engine.effects import Released
from innkeeper.host.driver import Observed
from innkeeper.host.views import active_turn, tool_calls
from innkeeper.ports.clock import Clock

SLACK: Final = 0.05
SPANS_KEPT: Final = 2_000
FILES_KEPT: Final = 10_000


class AgentWriteRecord:
    """An observer of the driver; the adapter of `ports.mcp.AgentWrites`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: dict[tuple[str, str], float] = {}
        self._spans: deque[tuple[float, float]] = deque(maxlen=SPANS_KEPT)
        self._files: dict[str, float] = {}

    def observe(self, observed: Observed) -> None:
        """An action has left the host."""
        if not isinstance(observed, Released) or observed.kind != "chat" or observed.rejection is not None:
            return
        action: Mapping[str, Any] = observed.action
        turn = active_turn(observed.after)
        if turn is None and active_turn(observed.before) is not None:
            self._end([key for key in self._running if key[0] == observed.channel])
        elif str(action["type"]).startswith("chat/toolCall") and action["type"] != "chat/toolCallDelta":
            self._look(observed.channel, action, turn)
        if action["type"] == "chat/toolCallComplete":
            self._keep(action)

    def wrote(self, path: str, since: float, changed: float | None) -> bool:
        if self._files.get(path, 0.0) >= since - SLACK and path in self._files:
            return True
        if changed is None:
            return False
        return any(begun - SLACK <= changed <= ended + SLACK for begun, ended in self._spans) or any(
            begun - SLACK <= changed for begun in self._running.values()
        )

    def _look(self, chat: str, action: Mapping[str, Any], turn: Mapping[str, Any] | None) -> None:
        call_id = str(action.get("toolCallId"))
        running = any(
            call.get("toolCallId") == call_id and call.get("status") == "running" for call in tool_calls(turn)
        )
        key = (chat, call_id)
        if running:
            self._running.setdefault(key, self._now())
        elif key in self._running:
            self._end([key])

    def _end(self, keys: list[tuple[str, str]]) -> None:
        now = self._now()
        for key in keys:
            self._spans.append((self._running.pop(key), now))

    def _keep(self, action: Mapping[str, Any]) -> None:
        now = self._now()
        for path in _edited(action):
            self._files.pop(path, None)
            self._files[path] = now
            while len(self._files) > FILES_KEPT:
                del self._files[next(iter(self._files))]

    def _now(self) -> float:
        return datetime.fromisoformat(self._clock.now()).timestamp()


def _edited(action: Mapping[str, Any]) -> Iterator[str]:
    """Local paths that the call's result says it changed."""
    for content in (action.get("result") or {}).get("content") or ():
        if content.get("type") != "fileEdit":
            continue
        for side in ("before", "after"):
            parts = urlsplit(str((content.get(side) or {}).get("uri", "")))
            if parts.scheme == "file" and parts.netloc in ("", "localhost"):
                yield unquote(parts.path, errors="surrogateescape")
