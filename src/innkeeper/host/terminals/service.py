"""The terminals of a host and their channels (AHP §3, §4, §9.9; contributions reference §5.10).

Rules
* `createTerminal` takes a URI once: one that is taken by whatever is refused. What the root channel lists changes with
  the terminal, in one transaction.
* A terminal that a session opened goes with the session. Another one stays, also when it has ended, until it is
  disposed of.
* Input, size and claims act after their echo; nobody types into a terminal that its state says is another's.
* A terminal whose host has died has ended, with no exit code: it is shown so before anybody sees it.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from innkeeper.engine.effects import Act, Change, Create, Drop, Released
from innkeeper.errors import HostError
from innkeeper.host.commands import Asker, Handler
from innkeeper.host.core import Core, act
from innkeeper.host.faults import bad_params
from innkeeper.host.outcomes import StorageFailed
from innkeeper.host.terminals.policy import claim_refusal, running, size_refusal
from innkeeper.limits import TERMINALS
from innkeeper.ports.clock import Clock
from innkeeper.ports.terminals import Opening, Size, Terminals
from innkeeper.protocol.errors import ALREADY_EXISTS, CONFLICT, NOT_FOUND, RpcError
from innkeeper.protocol.uris import ROOT, file_uri, is_uri, local_path

if TYPE_CHECKING:
    from innkeeper.host.terminals.live import LiveTerminal, Shown

log = logging.getLogger(__name__)

State = Mapping[str, Any]

TERMINAL_METHODS = frozenset({"createTerminal", "disposeTerminal"})


class Wanted(NamedTuple):
    """A terminal to open. `directory` is a local path; `agent` says that an agent's commands run in it."""

    uri: str
    title: str
    claim: State
    directory: str
    size: Size = Size()
    agent: bool = False


class TerminalChannels:
    """`home` is where a terminal begins that nobody gave a place."""

    def __init__(self, core: Core, terminals: Terminals, clock: Clock, *, home: str | None) -> None:
        self._core = core
        self._terminals = terminals
        self._clock = clock
        self.home = home or "/"
        self._live: dict[str, LiveTerminal] = {}
        self._reserved: set[str] = set()

    # -- commands ------------------------------------------------------------------------------------------------

    async def create(self, client_id: str, params: State) -> None:
        """`createTerminal`. Raises RpcError: -32602, -32010; HostError TERMINAL_FAILED, TERMINALS_FULL."""
        claim = params["claim"]
        if claim.get("kind") == "client" and claim.get("clientId") != client_id:
            raise bad_params("params.claim.clientId must be the clientId of this connection")
        if claim.get("kind") == "session":
            await self._core.load(claim["session"])
        if (why := claim_refusal(claim, self._core.owner)) is not None:
            raise bad_params(f"params.claim: {why}")
        given = {name: params[name] for name in ("cols", "rows") if params.get(name) is not None}
        size = Size(**given)
        if (why := size_refusal(*size)) is not None:
            raise bad_params(f"params: {why}")
        directory = self._directory(params.get("cwd"), claim)
        title = str(params.get("name") or "") or directory.rstrip("/").rsplit("/", 1)[-1] or "/"
        await self.open(Wanted(params["channel"], title, claim, directory, size))

    async def dispose(self, client_id: str, uri: str) -> None:
        """`disposeTerminal`: the processes end, the channel goes. Raises RpcError -32008, and -32011 while another
        client holds it and is there."""
        if self._core.kind(uri) != "terminal":
            raise RpcError(NOT_FOUND, f"there is no terminal {uri[:200]}")
        claim = (await self._core.load(uri) or {}).get("claim") or {}
        holder = claim.get("clientId") if claim.get("kind") == "client" else None
        if holder not in (None, client_id) and self._core.is_connected(holder):
            raise RpcError(CONFLICT, "another client holds this terminal")
        await self._core.commit(Drop(uri), self._listed(uri, None))
        self._close_behind(uri)

    # -- for the host --------------------------------------------------------------------------------------------

    async def open(self, wanted: Wanted) -> "LiveTerminal":
        """A terminal with its channel. Raises RpcError -32602, -32010, HostError, StorageFailed."""
        self._refuse_uri(wanted.uri)
        if len(self._live) + len(self._reserved) >= TERMINALS:
            raise HostError("TERMINALS_FULL", count=TERMINALS)
        self._reserved.add(wanted.uri)
        try:
            live = await self._opened(wanted)
            self._live[wanted.uri] = live
        finally:
            self._reserved.discard(wanted.uri)
        self._core.spawn(self._follow(live), f"terminal {wanted.uri}")
        return live

    async def show(self, uri: str, title: str, claim: State) -> "Shown":
        """A terminal that only shows output, of what an agent runs by itself. Raises RpcError, StorageFailed."""
        self._refuse_uri(uri)
        if (why := claim_refusal(claim, self._core.owner)) is not None:
            raise bad_params(why)
        state = {
            "title": title,
            "content": [],
            "lifecycle": {"status": "running"},
            "claim": claim,
            "isPty": False,
        }
        await self._core.commit(Create(uri, "terminal", claim.get("session"), state), self._listed(uri, state))
        from innkeeper.host.terminals.live import Shown, Transcript

        return Shown(uri, Transcript(self._core, self._clock, uri, titled=False))

    def get(self, uri: str) -> "LiveTerminal | None":
        return self._live.get(uri)

    def claim(self, uri: str, claim: State) -> None:
        """The host narrows or widens what holds the terminal."""
        if (self._core.head(uri) or {}).get("claim") != claim:
            act(self._core, uri, {"type": "terminal/claimed", "claim": claim})

    async def close_shell(self, uri: str) -> None:
        """End the processes; the channel stays, as ended."""
        live = self._live.get(uri)
        if live is not None:
            await live.terminal.close()

    async def sweep(self) -> None:
        """A session is gone, and its channels with it: end the processes of its terminals, and list them no more."""
        kept = [info for info in self._infos() if self._core.kind(info["resource"]) is not None]
        if len(kept) != len(self._infos()):
            act(self._core, ROOT, {"type": "root/terminalsChanged", "terminals": kept})
        gone = [uri for uri in self._live if self._core.kind(uri) is None]
        await asyncio.gather(*(self._end(uri) for uri in gone))

    async def close(self, seconds: float) -> None:
        """End all processes; what does not end in time is left to the guardian."""
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(self._end(uri) for uri in tuple(self._live)))
                await self._terminals.close()
        except TimeoutError:
            log.warning("the terminals did not close in %g s", seconds)

    # -- what left -----------------------------------------------------------------------------------------------

    def table(self) -> dict[str, Handler]:
        return {"createTerminal": self._create, "disposeTerminal": self._dispose}

    async def _create(self, asker: Asker, params: State) -> None:
        await self.create(asker.client_id, params)

    async def _dispose(self, asker: Asker, params: State) -> None:
        await self.dispose(asker.client_id, params["channel"])

    def root_changed(self, released: Released) -> None:
        """An action on the root channel has left."""
        if released.action["type"] == "root/activeSessionsChanged" and self._infos():
            self._core.spawn(self.sweep(), "terminals of sessions that are gone")

    def released(self, released: Released) -> None:
        """An action on a terminal has left."""
        uri, action = released.channel, released.action
        live = self._live.get(uri)
        match action["type"]:
            case "terminal/input" if live is not None:
                if not live.type(action["data"].encode("utf-8", "replace")):
                    log.debug("input for %s was dropped", uri)
            case "terminal/resized" if live is not None:
                live.resize(Size(action["cols"], action["rows"]))
            case "terminal/claimed" | "terminal/titleChanged" | "terminal/exited":
                if released.before is not released.after and self._core.head(uri) is not None:
                    self._core.post(self._listed(uri, released.after))
                if live is not None and live.taken_over and released.origin and action["type"] == "terminal/claimed":
                    live.taken_over()
            case _:
                return

    # -- after a restart -----------------------------------------------------------------------------------------

    async def restored(self) -> None:
        """The host has started: no terminal of an earlier process is shown as running, and none that is gone."""
        infos = [info for info in self._infos() if self._core.kind(info["resource"]) == "terminal"]
        changes: list[Change] = []
        for info in infos:
            if running(info):
                await self._core.load(info["resource"])
                changes.extend(self.entering(info["resource"]))
        shown = [{**info, "lifecycle": {"status": "exited"}} if running(info) else info for info in infos]
        if shown != list(self._infos()):
            changes.append(Act(ROOT, {"type": "root/terminalsChanged", "terminals": shown}))
        if not changes:
            return
        try:
            await self._core.commit(*changes, keep=True)
        except StorageFailed as failed:
            log.warning("the terminals after the restart are not stored yet: %s", failed.code)

    def entering(self, uri: str) -> Sequence[Change]:
        """What has to change in a terminal that was just read from the store."""
        state = self._core.head(uri) or {}
        if uri in self._live or not running(state):
            return ()
        unfinished = [
            {"type": "terminal/commandFinished", "commandId": part["commandId"]}
            for part in state.get("content") or ()
            if part.get("type") == "command" and not part.get("isComplete")
        ]
        return tuple(Act(uri, action) for action in (*unfinished, {"type": "terminal/exited"}))

    # -- inside --------------------------------------------------------------------------------------------------

    async def _opened(self, wanted: Wanted) -> "LiveTerminal":
        try:
            terminal = await self._terminals.open(Opening(wanted.directory, wanted.size, wanted.agent))
        except OSError as error:
            raise HostError("TERMINAL_FAILED", reason=error.strerror or str(error)) from error
        state = {
            "title": wanted.title,
            "cwd": file_uri(wanted.directory),
            "cols": wanted.size.cols,
            "rows": wanted.size.rows,
            "content": [],
            "lifecycle": {"status": "running"},
            "claim": wanted.claim,
            "isPty": True,
        }
        owner = wanted.claim.get("session") if wanted.claim.get("kind") == "session" else None
        try:
            if owner is not None and self._core.kind(owner) != "session":
                raise bad_params("the session is gone")
            await self._core.commit(Create(wanted.uri, "terminal", owner, state), self._listed(wanted.uri, state))
        except BaseException:
            await terminal.close()
            raise
        from innkeeper.host.terminals.live import LiveTerminal, Transcript

        transcript = Transcript(self._core, self._clock, wanted.uri, titled=not wanted.agent)
        return LiveTerminal(wanted.uri, terminal, transcript)

    async def _follow(self, live: "LiveTerminal") -> None:
        try:
            await live.run()
        finally:
            if self._live.get(live.uri) is live and live.terminal.exit_code is not None:
                del self._live[live.uri]
        await live.terminal.close()

    def _close_behind(self, uri: str) -> None:
        self._core.spawn(self._end(uri), f"end terminal {uri}")

    async def _end(self, uri: str) -> None:
        live = self._live.pop(uri, None)
        if live is not None:
            await live.terminal.close()

    def _infos(self) -> Sequence[State]:
        return (self._core.head(ROOT) or {}).get("terminals") or ()

    def _listed(self, uri: str, state: State | None) -> Change:
        """The root's list with the terminal as it is in `state`, or without it."""
        infos = list(self._infos())
        at = next((index for index, info in enumerate(infos) if info["resource"] == uri), len(infos))
        shown = [] if state is None else [{"resource": uri, **{n: state[n] for n in ("title", "claim", "lifecycle")}}]
        infos[at : at + 1] = shown
        return Act(ROOT, {"type": "root/terminalsChanged", "terminals": infos})

    def _refuse_uri(self, uri: str) -> None:
        if not is_uri(uri) or uri == ROOT:
            raise bad_params("params.channel must be an absolute URI for the new terminal")
        if self._core.kind(uri) is not None or uri in self._reserved or uri in self._live:
            raise RpcError(ALREADY_EXISTS, f"{uri[:200]} is taken")

    def _directory(self, cwd: object, claim: State) -> str:
        if cwd is not None:
            path = str(cwd) if str(cwd).startswith("/") else local_path(str(cwd))
            if path is None:
                raise bad_params("params.cwd is not on this machine (a file: URI)")
            return path
        session = self._core.head(str(claim.get("session"))) or {}
        for uri in (session.get("workingDirectories") or ())[:1]:
            return local_path(uri) or self.home
        return self.home
