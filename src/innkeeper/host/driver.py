"""The driver: the only place that performs what the engine asks for (architecture §4).

Rules
* Effects are performed in the order in which the engine returned them, also when performing one leads to more.
* One inbox a connection: messages are received in order. What must happen before a message is reduced (loading a
  stored channel; an earlier request of the same connection that creates or removes channels) delays that inbox alone.
  Answers to requests of the host never wait in it.
* A channel that a command is about stays in memory until the command is answered.
* `commit` returns when its changes are durable and seen by everybody; `post` does not wait and is never lost, except
  for a channel that is gone.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from innkeeper.engine.effects import (
    Act,
    Also,
    Answered,
    Append,
    Broadcast,
    CallLost,
    Change,
    ChannelIdle,
    ClientAttached,
    ClientDetached,
    ClientLeft,
    Close,
    Command,
    CommitFailed,
    Committed,
    Create,
    Effect,
    FlushLater,
    JsonObject,
    Released,
    Send,
    Subscribed,
)
from innkeeper.engine.hub import Hub
from innkeeper.host.link import Link, Peer
from innkeeper.host.loading import Loading
from innkeeper.host.outcomes import ClientGone, ClientRefused, ClientTimeout, StorageFailed
from innkeeper.limits import CHAT_IDLE_SECONDS
from innkeeper.ports.clock import Clock
from innkeeper.ports.decisions import DECISION_OPS, NO_DECISIONS, DecisionOp, Decisions
from innkeeper.ports.log import Batch, Log, StoreError
from innkeeper.protocol.errors import INTERNAL_ERROR, RpcError
from innkeeper.wire.jsonrpc import Message
from innkeeper.wire.limits import DEFAULT_LIMITS, Limits

log = logging.getLogger(__name__)

Observed = Released | ClientAttached | ClientDetached | ClientLeft | Subscribed | ChannelIdle
Observer = Callable[[Observed], None]
CommandHandler = Callable[[Command], Awaitable[object]]
CLOSE_RESTART = 1012


class Driver:
    """Joins one hub, one log and any number of peers. All methods are called on one event loop.

    `observe` adds a listener for what was released and for the coming and going of clients; `serve_commands` sets the
    one that answers requests. Both before `start`."""

    def __init__(
        self,
        hub: Hub,
        store: Log,
        clock: Clock,
        *,
        decisions: Decisions = NO_DECISIONS,
        limits: Limits = DEFAULT_LIMITS,
        idle_seconds: float = CHAT_IDLE_SECONDS,
    ) -> None:
        self.hub = hub
        self.decisions = decisions
        """Decisions and grants as accepted; taken back when they could not be stored (C8.1)."""
        self._durable_decisions = decisions
        self.limits = limits
        self._log = store
        self._clock = clock
        self._peers: dict[int, Peer] = {}
        self._links: dict[int, Link] = {}
        self._next_connection = 1
        self._next_token = 1
        self._effects: deque[Effect] = deque()
        self._performing = False
        self._commits: dict[int, asyncio.Future[None]] = {}
        self._calls: dict[int, asyncio.Future[object]] = {}
        self._observers: list[Observer] = []
        self._handler: CommandHandler | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.loading = Loading(hub, store, self.perform, self._commit_kept)
        self._flush_handle: asyncio.TimerHandle | None = None
        self._submitted = 0
        self._settled = asyncio.Event()
        self._settled.set()
        self._idle_seconds = idle_seconds
        self._idle_since: dict[str, float] = {}
        self._closing = False

    # -- joining -------------------------------------------------------------------------------------------------

    def observe(self, observer: Observer) -> None:
        self._observers.append(observer)

    def serve_commands(self, handler: CommandHandler) -> None:
        self._handler = handler

    def start(self) -> None:
        self.perform(self.hub.start())
        self.spawn(self._let_idle_chats_go(), "let idle chats go")

    def attach(self, peer: Peer) -> Link:
        """A new connection; what `peer` receives goes into the returned link."""
        connection = self._next_connection
        self._next_connection += 1
        link = Link(connection, self)
        self._peers[connection] = peer
        self._links[connection] = link
        self.hub.connect(connection)
        return link

    def detach(self, connection: int) -> None:
        """The connection is gone. Called by its link."""
        if self._peers.pop(connection, None) is not None:
            self._links.pop(connection, None)
            self.perform(self.hub.disconnect(connection))

    def close_connection(self, connection: int, code: int, reason: str) -> None:
        if (peer := self._peers.get(connection)) is not None:
            peer.close(code, reason)

    # -- performing ----------------------------------------------------------------------------------------------

    def perform(self, effects: list[Effect]) -> None:
        """Do what the engine asked for, in order; effects that follow from these come after them."""
        self._effects.extend(effects)
        if self._performing:
            return
        self._performing = True
        try:
            while self._effects:
                self._one(self._effects.popleft())
        finally:
            self._performing = False

    def _one(self, effect: Effect) -> None:
        match effect:
            case Broadcast(connections, frame):
                peers = self._peers
                for connection in connections:
                    if (peer := peers.get(connection)) is not None:
                        peer.send(frame)
            case Send(connection, frame, delay):
                if (peer := self._peers.get(connection)) is not None:
                    peer.send(frame, delay)
            case Append():
                self._append(effect)
            case Command():
                self._command(effect)
            case Committed(token):
                _settle(self._commits.pop(token, None), None)
            case CommitFailed(token, code):
                _settle(self._commits.pop(token, None), StorageFailed(code))
            case Answered(call, result, error):
                self._answered(call, result, error)
            case CallLost(call):
                _settle(self._calls.pop(call, None), ClientGone("the connection is gone"))
            case FlushLater(delay_ms):
                self._flush_handle = asyncio.get_running_loop().call_later(delay_ms / 1000, self._flush)
            case Close(connection, code, reason):
                if (peer := self._peers.get(connection)) is not None:
                    peer.close(code, reason)
            case _:
                self._tell(effect)

    def _tell(self, observed: Observed) -> None:
        match observed:
            case ChannelIdle(channel):
                self._idle_since[channel] = self._clock.monotonic()
            case Subscribed(channel=channel):
                self._idle_since.pop(channel, None)
        for observer in self._observers:
            try:
                observer(observed)
            except Exception:
                log.exception("an observer failed on %s", type(observed).__name__)

    def _append(self, effect: Append) -> None:
        self._submitted += 1
        self._settled.clear()
        batch = effect.batch
        rows = tuple(op for op in effect.ops if isinstance(op, DECISION_OPS))
        if rows:
            self.decisions = self.decisions.apply(rows)

        def done(error: StoreError | None) -> None:
            self._submitted -= 1
            if self._submitted == 0:
                self._settled.set()
            if error is None:
                if rows:
                    self._durable_decisions = self._durable_decisions.apply(rows)
                self.perform(self.hub.appended(batch))
            else:
                self.decisions = self._durable_decisions
                log.warning("the log refused a batch: %s %s", error.code, error)
                self.perform(self.hub.append_failed(batch, error.code))

        self._log.submit(Batch(effect.epoch, effect.ops), done)

    def _flush(self) -> None:
        self.perform(self.hub.flush())

    async def store(self, ops: Sequence[DecisionOp]) -> None:
        """Decisions or grants that no envelope announces. Raises StorageFailed; nothing was stored then."""
        await self.commit(Also(tuple(ops)))

    async def store_all(self, channels: Iterable[str]) -> None:
        """Everything of the channels that has left is durable when this returns, with snapshots in place of long tails.
        Raises StorageFailed; nothing is lost then."""
        for channel in channels:
            self.perform(self.hub.fold(channel))
        self._flush()
        await self._commit((), keep=False)

    # -- reading -------------------------------------------------------------------------------------------------

    def head(self, channel: str) -> JsonObject | None:
        """The channel's newest state; None when there is none, or it is not in memory (`load`)."""
        return self.hub.head(channel)

    def kind(self, channel: str) -> str | None:
        """`root`, `session`, `chat`, …; also of a channel that is not in memory."""
        return self.hub.kind(channel)

    def owner(self, channel: str) -> str | None:
        return self.hub.owner(channel)

    def owned_by(self, owner: str) -> Sequence[str]:
        return self.hub.owned_by(owner)

    def channels(self, kind: str) -> Sequence[str]:
        """Channels of a kind that are in memory, in order of creation."""
        return self.hub.channels(kind)

    def count(self, kind: str) -> int:
        """How many channels of a kind there are, in memory or stored."""
        return self.hub.count(kind)

    async def load(self, channel: str) -> JsonObject | None:
        """The newest state, read from the log first when it is not in memory."""
        await self.ensure(channel)
        return self.hub.head(channel)

    # -- the host's own changes ----------------------------------------------------------------------------------

    async def commit(self, *changes: Change, keep: bool = False) -> None:
        """One transaction, durable when this returns. Raises StorageFailed (nothing took effect; with `keep` it took
        effect and is stored later) and KeyError for a channel that is not there, or that exists already."""
        await self.ensure(*(change.channel for change in changes if isinstance(change, Act)))
        await self._commit(changes, keep=keep)

    async def _commit_kept(self, changes: Sequence[Change]) -> None:
        await self._commit(changes, keep=True)

    async def _commit(self, changes: Sequence[Change], *, keep: bool) -> None:
        token = self._next_token
        self._next_token += 1
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        effects = self.hub.commit(changes, token=token, keep=keep)
        self._commits[token] = future
        self.perform(effects)
        await asyncio.shield(future)

    def post(self, *changes: Change) -> None:
        """One transaction that is not waited for and not lost. A channel that is gone takes its changes with it."""
        new = {c.channel for c in changes if isinstance(c, Create)}
        acted = {c.channel for c in changes if isinstance(c, Act)} - new
        stored = [uri for uri in acted if self.hub.head(uri) is None]
        waiting = [uri for uri in stored if self.hub.kind(uri) is not None]
        if waiting:
            self.spawn(self._post_later(waiting, changes), "post")
            return
        if stored:
            log.debug("changes for a channel that is gone: %s", stored)
            return
        self.perform(self.hub.commit(changes))

    async def _post_later(self, waiting: list[str], changes: tuple[Change, ...]) -> None:
        await self.ensure(*waiting)
        if all(not isinstance(c, Act) or self.hub.head(c.channel) is not None for c in changes):
            self.perform(self.hub.commit(changes))

    def notify(self, channel: str, method: str, params: Mapping[str, Any]) -> None:
        """A notification to the channel's subscribers, after every change made so far."""
        self.perform(self.hub.notify(channel, method, params))

    def expire(self, client_id: str) -> None:
        """The client's grace period is over (AHP §9.5)."""
        self.perform(self.hub.expire(client_id))

    async def _let_idle_chats_go(self) -> None:
        """Chats that nobody looks at leave memory; the next message that touches one brings it back."""
        while True:
            await asyncio.sleep(self._idle_seconds / 2)
            long_ago = self._clock.monotonic() - self._idle_seconds
            for channel, since in tuple(self._idle_since.items()):
                if since < long_ago and self._let_go(channel):
                    del self._idle_since[channel]

    def _let_go(self, channel: str) -> bool:
        """True when there is nothing to come back to."""
        state = self.hub.head(channel)
        if state is None or self.hub.kind(channel) != "chat":
            return True
        return not state.get("activeTurn") and self.loading.unload(channel)

    def missing(self, message: Message) -> bool:
        """Whether the message touches a channel that is stored, or on its way into memory or out of it."""
        return bool(self.loading.missing(message))

    async def prepare(self, message: Message) -> None:
        """Bring what is missing into memory."""
        await self.loading.prepare(message)

    async def ensure(self, *channels: str) -> None:
        """Bring stored channels into memory. One that is not stored, or damaged, stays out; the log says why."""
        await self.loading.ensure(*channels)

    # -- requests ------------------------------------------------------------------------------------------------

    def _command(self, command: Command) -> None:
        link = self._links.get(command.connection)
        if link is not None:
            link.command_began(command)
        let_go = self.loading.hold(str(command.params.get("channel")))
        self.spawn(self._run_command(command, let_go), f"command {command.method}")

    async def _run_command(self, command: Command, let_go: Callable[[], None]) -> None:
        result: object
        try:
            if self._handler is None:
                raise RpcError(INTERNAL_ERROR, "the host serves no commands")
            result = await self._handler(command)
        except RpcError as error:
            result = error
        except Exception:
            log.exception("command %s failed", command.method)
            result = RpcError(INTERNAL_ERROR, f"{command.method} failed inside the host; its log says why")
        finally:
            let_go()
        self.perform(self.hub.reply(command.connection, command.request_id, result))
        if (link := self._links.get(command.connection)) is not None:
            link.command_ended(command)

    async def ask(
        self, client_id: str, method: str, params: Mapping[str, Any], *, seconds: float, connection: int | None = None
    ) -> object:
        """A request to a client. Raises ClientGone, ClientTimeout, or ClientRefused with the client's error."""
        connections = self.hub.client_connections(client_id)
        chosen = connection if connection in connections else next(iter(connections), None)
        if chosen is None:
            raise ClientGone(client_id)
        call, effects = self.hub.call(chosen, method, params)
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._calls[call] = future
        self.perform(effects)
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            raise ClientTimeout(client_id, method) from None
        finally:
            self._calls.pop(call, None)
            self.hub.forget_call(call)

    def _answered(self, call: int, result: object, error: Mapping[str, Any] | None) -> None:
        future = self._calls.pop(call, None)
        if future is None or future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(ClientRefused(int(error.get("code", 0)), str(error.get("message", ""))))

    # -- tasks and the end ---------------------------------------------------------------------------------------

    def now(self) -> str:
        return self._clock.now()

    def spawn(self, work: Any, name: str) -> asyncio.Task[None]:
        """A task that belongs to the driver: its failure is logged, and `close` cancels it."""
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("task %s failed", task.get_name(), exc_info=error)

    async def settle(self, seconds: float) -> bool:
        """Log everything that waits; False when the log did not take it in time."""
        self._flush()
        try:
            async with asyncio.timeout(seconds):
                await self._settled.wait()
        except TimeoutError:
            return False
        return True

    async def close(self, *, seconds: float) -> None:
        """Stop the tasks, store what there is, close every connection (1012) and the log."""
        self._closing = True
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=seconds)
        await self.settle(seconds)
        if self._flush_handle is not None:
            self._flush_handle.cancel()
        for peer in tuple(self._peers.values()):
            peer.close(CLOSE_RESTART, "the host is shutting down")
        await self._log.close(last_seq=self.hub.last_seq)


def _settle(future: asyncio.Future[Any] | None, error: Exception | None) -> None:
    if future is None or future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
