"""The Codex thread of one chat: started, resumed, forked, taken back (K14, K17, AHP §9.3).

Rules
* A chat has one thread for its life; a thread that is not there any more is replaced, and what was said before is told
  to the new one.
* What a thread was loaded with is changed only while nothing runs in it: unsubscribe, then resume. Codex ignores
  another configuration of a thread that it has loaded.
* The host's turn ids go with the messages, so the thread itself says which turns it has; what `history` does not have
  is taken back before anything is sent.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from innkeeper.providers.codex.install import AGENT
from innkeeper.providers.codex.rpc import Refused
from innkeeper.providers.codex.server import AppServer
from innkeeper.providers.spi import Backing, Branch
from innkeeper.providers.telling import refused

log = logging.getLogger(__name__)

PAGE: Final = 100
SETTLE_SECONDS: Final = 10.0
GOING: Final = ("path", "no rollout", "not found", "unknown thread")


@dataclass(frozen=True, slots=True)
class Loading:
    """What a thread is loaded with."""

    directory: str
    approvals: str
    sandbox: str
    config: Mapping[str, Any]
    tools: Sequence[Mapping[str, Any]] = ()
    """Of clients; fixed for the thread's life."""

    def params(self) -> dict[str, Any]:
        return {
            "cwd": self.directory,
            "approvalPolicy": self.approvals,
            "sandbox": self.sandbox,
            "config": self.config,
        }


@dataclass(eq=False, slots=True)
class Thread:
    """`root`: the last turn that it has from another chat, by Codex's id; `shared`: how many it has from there. `last`:
    the last turn of this chat in it."""

    id: str | None = None
    root: str | None = None
    shared: int | None = None
    last: str | None = None
    model: str | None = None
    tools: frozenset[str] = frozenset()
    told: str | None = None
    """The instructions that it was given last."""
    settled: frozenset[str] = frozenset()
    settings: Mapping[str, object] = field(default_factory=dict)
    """The configuration of its chat, as of its last turn."""
    interrupted: bool = False
    """The next turn goes on with a message that it has."""
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the turn that runs, to the end of its stopping."""
    planned: bool = False
    """Its last turn was in plan mode."""

    @classmethod
    def of(cls, backing: Backing | None) -> "Thread":
        if not backing or not isinstance(backing.get("thread"), str):
            return cls()
        names = backing.get("tools")
        tools = frozenset(str(name) for name in names) if isinstance(names, list) else frozenset[str]()
        given = backing.get("shared")
        shared = given if isinstance(given, int) else None
        return cls(str(backing["thread"]), _text(backing, "root"), shared, _text(backing, "last"), tools=tools)

    def backing(self) -> Backing:
        kept: dict[str, object] = {"thread": self.id, "root": self.root, "last": self.last, "tools": sorted(self.tools)}
        kept["shared"] = self.shared
        return {name: value for name, value in kept.items() if value}

    def is_cut(self, branch: Branch | None) -> bool:
        """Whether its chat has lost turns that came with it: what goes on is another beginning. What came from a turn
        that was running then is not counted, and is never cut."""
        if not self.shared:
            return False
        return branch is None or branch.turns not in (0, self.shared)

    async def load(self, server: AppServer, loading: Loading) -> bool:
        """In memory with exactly this. False: there is no such thread any more. Raises ProviderError."""
        assert self.id is not None
        known = server.loaded.get(self.id)
        wanted = (loading.approvals, loading.sandbox, loading.config)
        if known == wanted:
            return True
        try:
            if known is not None:
                await server.call("thread/unsubscribe", threadId=self.id)
                server.loaded.pop(self.id, None)
            resumed = await server.call("thread/resume", threadId=self.id, excludeTurns=True, **loading.params())
        except Refused as error:
            # Also one that was just started, and is let go before its first turn, is nowhere on disk.
            if any(words in error.message.lower() for words in GOING):
                self.id = None
                return False
            raise refused(AGENT, error.message) from None
        self.model = str(resumed.get("model") or "") or None
        self.settled = frozenset()
        server.loaded[self.id] = wanted
        return True

    async def start(self, server: AppServer, loading: Loading) -> None:
        """A new one. Raises ProviderError."""
        tools = [dict(tool) for tool in loading.tools]
        try:
            started = await server.call(
                "thread/start", **loading.params(), **({"dynamicTools": tools} if tools else {})
            )
        except Refused as error:
            raise refused(AGENT, error.message) from None
        self._is(server, loading, started)
        self.root = self.shared = self.last = self.told = None
        self.tools = frozenset(str(tool["name"]) for tool in loading.tools)

    async def fork(self, server: AppServer, loading: Loading, branch: Branch) -> bool:
        """A copy of another chat's thread up to the shared turn. False: it cannot be had."""
        source = Thread.of(branch.backing)
        if source.id is None or "thread/fork" in server.missing:
            return False
        try:
            turns = await source.turns(server)
            at = next((turn for turn in reversed(turns) if turn.is_(branch)), None)
            if at is None:
                return False
            key = "beforeTurnId" if at.runs else "lastTurnId"
            given = {"threadId": source.id, key: at.id, "excludeTurns": True, **loading.params()}
            forked = await server.call("thread/fork", **given)
        except Refused as error:
            log.info("codex: a thread could not be forked (%d)", error.code)
            return False
        self._is(server, loading, forked)
        kept = await self.turns(server)
        self.root, self.shared, self.last = (kept[-1].id if kept else None), branch.turns, None
        self.tools = source.tools
        return True

    async def settle(self, server: AppServer, names: Collection[str]) -> None:
        """Servers that Codex starts itself have come to something: a request does not wait for them."""
        if names and self.id is not None and self.settled != frozenset(names):
            until = asyncio.get_running_loop().time() + SETTLE_SECONDS
            while await starting(server, self.id, names):
                if asyncio.get_running_loop().time() > until:
                    break
                await asyncio.sleep(0.1)
            self.settled = frozenset(names)

    async def take_back(self, server: AppServer, known: Sequence[str]) -> None:
        """Without the turns of this chat that are not among the ids `known`. Raises ProviderError."""
        assert self.id is not None
        if self.last is None or self.last in known:
            return
        turns = await self._own(server)
        gone = next((turn for turn in turns if not turn.among(known)), None)
        if gone is not None:
            try:
                await server.call("thread/revert", threadId=self.id, beforeTurnId=gone.id)
            except Refused as error:
                raise refused(AGENT, error.message) from None
            turns = turns[: turns.index(gone)]
        self.last = turns[-1].host or turns[-1].id if turns else None
        self.told = None

    async def has(self, server: AppServer, turn_id: str) -> bool:
        """Whether the message of that turn has reached it."""
        return any(turn.host == turn_id for turn in await self._own(server))

    async def turns(self, server: AppServer) -> list["Kept"]:
        """All of its turns, oldest first. Raises Refused and ProviderError."""
        found: list[Kept] = []
        cursor: object = None
        while True:
            page = await server.call(
                "thread/turns/list",
                threadId=self.id,
                itemsView="summary",
                sortDirection="asc",
                limit=PAGE,
                cursor=cursor,
            )
            found.extend(Kept.of(turn) for turn in page.get("data") or ())
            cursor = page.get("nextCursor")
            if not cursor:
                return found

    async def _own(self, server: AppServer) -> list["Kept"]:
        try:
            turns = await self.turns(server)
        except Refused as error:
            raise refused(AGENT, error.message) from None
        roots = [index for index, turn in enumerate(turns) if turn.id == self.root]
        return turns[roots[0] + 1 :] if roots else turns

    def _is(self, server: AppServer, loading: Loading, answer: Mapping[str, Any]) -> None:
        self.id = str((answer.get("thread") or {}).get("id"))
        self.model = str(answer.get("model") or "") or None
        self.settled = frozenset()
        server.loaded[self.id] = (loading.approvals, loading.sandbox, loading.config)


async def starting(server: AppServer, thread: str, names: Collection[str]) -> bool:
    """Whether one of these servers has neither come up nor failed."""
    for name in names:
        try:
            answer = await server.call(
                "mcpServerStatus/list", threadId=thread, serverName=name, detail="toolsAndAuthOnly"
            )
        except Refused:
            return False
        if any(one.get("runtimeStatus") in ("notStarted", "starting") for one in answer.get("data") or ()):
            return True
    return False


async def listed(server: AppServer, thread: str, names: Collection[str]) -> set[str]:
    """Which of these servers the thread has connected. Always asked by name: without one Codex starts a second copy of
    every server. Raises ProviderError."""
    found: set[str] = set()
    for name in sorted(names):
        try:
            answer = await server.call(
                "mcpServerStatus/list", threadId=thread, serverName=name, detail="toolsAndAuthOnly"
            )
        except Refused as error:
            raise refused(AGENT, error.message) from None
        if any(one.get("name") == name and one.get("runtimeStatus") == "connected" for one in answer.get("data") or ()):
            found.add(name)
    return found


@dataclass(frozen=True, slots=True)
class Kept:
    """A turn in a thread; `host` is the host's id, where the host began it."""

    id: str
    host: str | None
    runs: bool

    @classmethod
    def of(cls, turn: Mapping[str, Any]) -> "Kept":
        said = (item for item in turn.get("items") or () if item.get("type") == "userMessage")
        host = next((str(item["clientId"]) for item in said if item.get("clientId")), None)
        return cls(str(turn.get("id")), host, turn.get("status") == "inProgress")

    def among(self, known: Sequence[str]) -> bool:
        return (self.host or self.id) in known or self.id in known

    def is_(self, branch: Branch) -> bool:
        return branch.turn_id in (self.host, self.id)


def _text(backing: Backing, name: str) -> str | None:
    value = backing.get(name)
    return value if isinstance(value, str) else None
