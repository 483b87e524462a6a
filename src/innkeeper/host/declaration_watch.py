"""Declaration files are followed while a turn runs (M5.3). Routing: it follows what has left, and decides nothing else.

Rules
* Only while a turn of the session runs: an idle session costs nothing, its next request reads anyway.
* A change is taken over at once, between the running calls of the servers that it touches; `ports.mcp` sees to that.
* What cannot be watched is read with the next request.
* Nothing starts in a directory that the session is about to leave for its worktree; there its files are followed.
"""

import asyncio
import logging
import os
from collections.abc import Sequence

from innkeeper.engine.effects import Released
from innkeeper.host.core import Core
from innkeeper.host.driver import Observed
from innkeeper.host.views import active_turn
from innkeeper.host.worktrees.pending import awaits_worktree
from innkeeper.ports.mcp import McpServers
from innkeeper.ports.watches import Watches, WatchTarget

log = logging.getLogger(__name__)


class DeclarationWatch:
    """An observer of the driver: one watch a session that works."""

    def __init__(self, core: Core, mcp: McpServers, watches: Watches) -> None:
        self._core = core
        self._mcp = mcp
        self._watches = watches
        self._working: dict[str, set[str]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def observe(self, observed: Observed) -> None:
        """An action has left the host."""
        if not isinstance(observed, Released):
            return
        if observed.kind == "session":
            self._moved(observed)
        if observed.kind != "chat":
            return
        running = active_turn(observed.after) is not None
        if running == (active_turn(observed.before) is not None):
            return
        session = self._core.owner(observed.channel)
        if running and session is not None:
            self._begin(session, observed.channel)
        elif not running:
            self._end(observed.channel)

    def _begin(self, session: str, chat: str) -> None:
        self._working.setdefault(session, set()).add(chat)
        if session not in self._tasks and not awaits_worktree(self._core.head(session)):
            self._tasks[session] = self._core.spawn(self._follow(session), f"watch the declarations of {session}")

    def _moved(self, released: Released) -> None:
        """The session works elsewhere from now on."""
        session = released.channel
        before, after = ((state.get("workingDirectories") or ())[:1] for state in (released.before, released.after))
        if list(before) == list(after) or session not in self._working:
            return
        if (task := self._tasks.pop(session, None)) is not None:
            task.cancel()
        for chat in tuple(self._working[session]):
            self._begin(session, chat)

    def _end(self, chat: str) -> None:
        for session, chats in tuple(self._working.items()):
            chats.discard(chat)
            if not chats:
                del self._working[session]
                if (task := self._tasks.pop(session, None)) is not None:
                    task.cancel()

    async def _follow(self, session: str) -> None:
        try:
            while targets := watch_targets(self._mcp.declaration_files(session)):
                async with self._watches.watch(targets) as reports:
                    await self._mcp.refresh(session, start=True)
                    async for _ in reports:
                        await self._mcp.refresh(session, start=True)
                        if watch_targets(self._mcp.declaration_files(session)) != targets:
                            break
        except Exception:
            log.exception("the declarations of %s are not followed in this turn", session)


def watch_targets(files: Sequence[str]) -> tuple[WatchTarget, ...]:
    """The directories of the files, and those above that make them appear, as far as they exist."""
    names: dict[str, set[str]] = {}
    for file in files:
        folder, name = os.path.split(file)
        names.setdefault(folder, set()).add(name)
        above, own = os.path.split(folder)
        names.setdefault(above, set()).add(own)
    return tuple(
        WatchTarget(folder, frozenset(wanted)) for folder, wanted in sorted(names.items()) if os.path.isdir(folder)
    )
