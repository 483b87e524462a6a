"""When changesets are computed, and what is said of it (reference §5.9, S20).

Rules
* One computation a session at a time, in the order turn, session, uncommitted, comparison; what is asked for meanwhile
  comes after it, once. All of one round show the same moment.
* While a turn runs, its tool calls are collected for `delay` seconds; the end of the turn does not wait for that.
* A changeset that nobody has opened is not computed, except the session's: its lines are in the list of sessions, and
  kept in the session's `_meta` until the next computation.
* A failure is the status `error`; what was shown stays. What is missing though the rest is shown is told the same way.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from innkeeper.errors import HostError
from innkeeper.host.changesets.catalogue import Name, operations
from innkeeper.host.changesets.computing import Computed, Computing, Look
from innkeeper.host.changesets.publishing import file_actions, operation_actions, status_action
from innkeeper.host.core import Core, act
from innkeeper.host.summaries import CHANGES
from innkeeper.texts import Lang, text

log = logging.getLogger(__name__)

ORDER: Final[Mapping[str, int]] = {"turn": 0, "session": 1, "uncommitted": 2, "compare": 3}
Blocked = Callable[[Look], bool]
"""Whether a turn works in one of the repositories."""
Settled = Callable[[str], Awaitable[None]]
Counted = Callable[[Name, int], None]
"""So many files of it are not shown."""


class Refreshing:
    def __init__(
        self, core: Core, computing: Computing, settled: Settled, blocked: Blocked, *, delay: float, lang: Lang
    ) -> None:
        self._core = core
        self._computing = computing
        self._settled = settled
        self._blocked = blocked
        self._delay = delay
        self._lang = lang
        self._wanted: dict[str, set[Name]] = {}
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self.counted: Counted = lambda name, left_out: None

    def soon(self, session: str, names: Callable[[], tuple[Name, ...]]) -> None:
        """Compute what `names` gives when the time is up; calls until then are this one."""
        if session not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers[session] = loop.call_later(self._delay, self._due, session, names)

    def now(self, session: str, *names: Name) -> None:
        """Compute these, and what was waiting to be."""
        if (timer := self._timers.pop(session, None)) is not None:
            timer.cancel()
        self._wanted.setdefault(session, set()).update(names)
        if session not in self._workers:
            self._workers[session] = self._core.spawn(self._work(session), f"changesets of {session}")

    def forget(self, session: str) -> None:
        self._wanted.pop(session, None)
        if (timer := self._timers.pop(session, None)) is not None:
            timer.cancel()
        if (worker := self._workers.pop(session, None)) is not None:
            worker.cancel()

    async def idle(self, session: str) -> None:
        """Nothing is being computed when this returns."""
        while (worker := self._workers.get(session)) is not None:
            await asyncio.wait((worker,))

    def _due(self, session: str, names: Callable[[], tuple[Name, ...]]) -> None:
        self._timers.pop(session, None)
        self.now(session, *names())

    async def _work(self, session: str) -> None:
        try:
            while names := self._wanted.pop(session, None):
                await self._settled(session)
                if await self._core.load(session) is None:
                    return
                look = await self._computing.look(session)
                for name in sorted(names, key=lambda name: (ORDER[name.kind], name.turns)):
                    await self._refresh(name, look)
        finally:
            if self._workers.get(session) is asyncio.current_task():
                del self._workers[session]

    async def _refresh(self, name: Name, look: Look) -> None:
        state = await self._core.load(name.uri)
        if state is None and name.kind != "session":
            return
        if state is not None and state["status"] != "computing":
            act(self._core, name.uri, *status_action(state, "recomputing"))
        try:
            computed = await self._computing.compute(name, look)
        except HostError as error:
            self._failed(name, error)
        except Exception:
            log.exception("changeset %s", name.uri)
            self._failed(name, HostError("computeFailed", reason="the host's log says why"))
        else:
            self._publish(name, computed, look)

    def _publish(self, name: Name, computed: Computed, look: Look) -> None:
        if (state := self._core.head(name.uri)) is not None:
            warning = None if computed.warning is None else self._warning(name, computed.warning)
            offered = operations(name.kind, self._lang, files=len(computed.files), blocked=self._blocked(look))
            actions = [
                *file_actions(state, computed.files),
                *operation_actions(state, offered),
                *status_action(state, "ready" if warning is None else "error", warning),
            ]
            act(self._core, name.uri, *actions)
        self.counted(name, computed.left_out)
        if name.kind == "session":
            self._summarise(name.session, computed)

    def _summarise(self, session: str, computed: Computed) -> None:
        meta: dict[str, Any] = dict((self._core.head(session) or {}).get("_meta") or {})
        summary = computed.summary()
        if (meta.get(CHANGES) or {"files": 0}) != summary and (CHANGES in meta or summary["files"]):
            act(self._core, session, {"type": "session/metaChanged", "_meta": {**meta, CHANGES: summary}})

    def _failed(self, name: Name, error: HostError) -> None:
        log.warning("changeset %s: %s", name.uri, error)
        if (state := self._core.head(name.uri)) is not None:
            told = {"errorType": error.code, "message": error.message(self._lang)}
            act(self._core, name.uri, *status_action(state, "error", told))

    def _warning(self, name: Name, code: str) -> Mapping[str, Any]:
        if name.kind == "turn":
            message = text("error.checkpointFailed.meaning", lang=self._lang, code=code)
            return {"errorType": "checkpointFailed", "message": message}
        message = text("error.computeFailed.meaning", lang=self._lang, reason=code)
        return {"errorType": "computeFailed", "message": message}
