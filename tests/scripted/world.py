"""A whole host in memory, and clients that speak JSON-RPC to it: the highest door a test can use.

Every wait is bounded. A client keeps, beside what it received, its own copy of each subscribed channel, reduced from
what it was sent; `World.check_mirrors` compares those with the host's state.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from innkeeper.contributions.builtin import activate
from innkeeper.contributions.spi import Contribution
from innkeeper.engine.effects import Frame
from innkeeper.engine.hub import Hub
from innkeeper.engine.settings import HubSettings
from innkeeper.host.approvals import Approving
from innkeeper.host.changesets.service import ChangesOutside
from innkeeper.host.customizations.service import Ground
from innkeeper.host.driver import Driver
from innkeeper.host.policy import HostPolicy
from innkeeper.host.service import HOST_METHODS, Conversation, HostService, Outside
from innkeeper.host.settings import HostSettings
from innkeeper.host.worktrees import WorktreesOutside
from innkeeper.ports.attachments import AttachmentStore, NoAttachments
from innkeeper.ports.ids import Ids
from innkeeper.ports.local_commands import LocalCommands
from innkeeper.ports.pull_requests import NoPullRequests, PullRequests
from innkeeper.ports.records import MemoryRecords
from innkeeper.ports.terminals import NoTerminals, Terminals
from innkeeper.protocol.check import check_action
from innkeeper.providers.console import ConsoleProvider
from innkeeper.providers.spi import Provider
from innkeeper.reduce import reduce
from innkeeper.store.memory import MemoryLog
from scripted.fakes import CountingIds, FakeDeclarations, FakeMcp, RealClock
from scripted.provider import ScriptedProvider

ROOT = "ahp-root://"
WAIT = 15.0


class RpcFailure(Exception):
    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.message = error["message"]
        self.data = error.get("data")


class Client:
    """One connection. `after` is the lost one of the same client: numbers go on."""

    def __init__(self, world: "World", client_id: str, after: "Client | None" = None) -> None:
        self.client_id = client_id
        self.frames: list[dict[str, Any]] = []
        self.states: dict[str, Any] = {}
        self.closed: tuple[int, str] | None = None
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._news = asyncio.Event()
        self._next_id = 0
        self._seq = 0 if after is None else after._seq
        self.link = world.driver.attach(self)

    # -- Peer ----------------------------------------------------------------------------------------------------

    def send(self, frame: Frame, delay_ms: int = 0) -> None:
        message = json.loads(frame.body)
        self.frames.append(message)
        if "method" not in message:
            self._answered(message)
        elif message["method"] == "action":
            self._applied(message["params"])
        self._news.set()

    def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)
        self._news.set()
        self.link.lost()

    def _answered(self, message: dict[str, Any]) -> None:
        result = message.get("result")
        snapshots = result.get("snapshots", []) if isinstance(result, dict) else []
        if isinstance(result, dict) and "snapshot" in result:
            snapshots = [result["snapshot"]]
        for snapshot in snapshots:
            self.states[snapshot["resource"]] = snapshot["state"]
        future = self._answers.pop(message["id"], None)
        if future is not None and not future.done():
            if "error" in message:
                future.set_exception(RpcFailure(message["error"]))
            else:
                future.set_result(result)

    def _applied(self, envelope: dict[str, Any]) -> None:
        uri = envelope["channel"]
        if "origin" not in envelope:
            check_action(envelope["action"])
        if uri in self.states and "rejectionReason" not in envelope:
            kind = envelope["action"]["type"].split("/")[0]
            self.states[uri] = reduce(kind, self.states[uri], envelope["action"])  # type: ignore[arg-type]

    # -- speaking ------------------------------------------------------------------------------------------------

    def say(self, message: Mapping[str, Any]) -> None:
        self.link.receive(json.dumps(message))

    async def request(self, method: str, channel: str = ROOT, **params: Any) -> Any:
        self._next_id += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[self._next_id] = future
        body = {"channel": channel, **params}
        self.say({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": body})
        async with asyncio.timeout(WAIT):
            return await future

    def dispatch(self, channel: str, type: str, **fields: Any) -> int:
        self._seq += 1
        params = {"channel": channel, "clientSeq": self._seq, "action": {"type": type, **fields}}
        self.say({"jsonrpc": "2.0", "method": "dispatchAction", "params": params})
        return self._seq

    async def initialize(self, **more: Any) -> Any:
        return await self.request(
            "initialize",
            protocolVersions=["1.0.0"],
            clientId=self.client_id,
            initialSubscriptions=[ROOT],
            **more,
        )

    async def subscribe(self, channel: str) -> Any:
        return (await self.request("subscribe", channel))["snapshot"]["state"]

    def unsubscribe(self, channel: str) -> None:
        self.say({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": channel}})
        self.states.pop(channel, None)

    def lose(self) -> None:
        self.link.lost()

    # -- listening -----------------------------------------------------------------------------------------------

    def actions(self, channel: str | None = None, type: str | None = None) -> list[dict[str, Any]]:
        """Envelopes received, rejections too."""
        envelopes = [f["params"] for f in self.frames if f.get("method") == "action"]
        return [
            e
            for e in envelopes
            if (channel is None or e["channel"] == channel) and (type is None or e["action"]["type"] == type)
        ]

    def notices(self, method: str) -> list[dict[str, Any]]:
        return [f["params"] for f in self.frames if f.get("method") == method]

    async def until(self, found: Callable[[], Any]) -> Any:
        """What `found` gives once it gives something; it is asked again after every message."""
        async with asyncio.timeout(WAIT):
            while not (result := found()):
                self._news.clear()
                await self._news.wait()
        return result

    async def action(self, channel: str, type: str, count: int = 1) -> dict[str, Any]:
        """The `count`-th envelope of that type on that channel."""
        found = await self.until(lambda: self.actions(channel, type)[count - 1 : count])
        return dict(found[0])

    async def state(self, channel: str, holds: Callable[[Any], Any]) -> Any:
        """The client's own copy once `holds` says so."""
        await self.until(lambda: channel in self.states and holds(self.states[channel]))
        return self.states[channel]

    async def rejection(self, seq: int) -> str:
        """Why the action with that clientSeq was refused."""
        echo = await self.echo(seq)
        assert "rejectionReason" in echo, f"not refused: {echo}"
        return str(echo["rejectionReason"])

    async def echo(self, seq: int) -> dict[str, Any]:
        origin = {"clientId": self.client_id, "clientSeq": seq}
        found = await self.until(lambda: [e for e in self.actions() if e.get("origin") == origin])
        return dict(found[0])

    # -- what tests do all the time ------------------------------------------------------------------------------

    async def new_session(self, uri: str = "ahp-session:/1", **params: Any) -> tuple[str, str]:
        """A session that is ready, subscribed with its default chat."""
        params.setdefault("provider", "scripted")
        params.setdefault("workingDirectories", ["file:///w"])
        await self.request("createSession", uri, **params)
        state = await self.subscribe(uri)
        chat = state["defaultChat"]
        await self.subscribe(chat)
        await self.state(uri, lambda s: s["lifecycle"] == "ready")
        return uri, chat

    def start_turn(self, chat: str, text: str, turn_id: str = "t1", **more: Any) -> int:
        message = {"text": text, "origin": {"kind": "user"}}
        return self.dispatch(
            chat, "chat/turnStarted", turnId=turn_id, startedAt="2026-01-01T00:00:00.000Z", message=message, **more
        )

    async def turn(self, chat: str, text: str, turn_id: str = "t1") -> Any:
        """The completed turn."""
        self.start_turn(chat, text, turn_id)
        return await self.ended(chat, turn_id)

    async def ended(self, chat: str, turn_id: str = "t1") -> Any:
        state = await self.state(chat, lambda s: any(t["id"] == turn_id for t in s["turns"]))
        return next(t for t in state["turns"] if t["id"] == turn_id)


class World:
    """A host, its store, and what stands around it. `restart` gives the host that comes after this one."""

    def __init__(
        self,
        *,
        log: MemoryLog | None = None,
        mcp: FakeMcp | None = None,
        settings: HostSettings | None = None,
        scripted: ScriptedProvider | None = None,
        more: tuple[Provider, ...] = (),
        ids: Ids | None = None,
        contributions: Sequence[type[Contribution]] = (),
        commands: LocalCommands | None = None,
        terminals: Terminals | None = None,
        options: Mapping[str, object] | None = None,
        pull_requests: PullRequests | None = None,
        ground: Ground | None = None,
        records: MemoryRecords | None = None,
        approving: Approving | None = None,
        changes: ChangesOutside | None = None,
        worktrees: WorktreesOutside | None = None,
        attachments: AttachmentStore | None = None,
    ) -> None:
        self.attachments = attachments or NoAttachments()
        self.changes = changes
        self.worktrees = worktrees
        self.ground = ground or Ground()
        self.records = records or MemoryRecords()
        self.approving = approving
        self.log = log or MemoryLog()
        self.mcp = mcp or FakeMcp()
        self.settings = settings or HostSettings(version="1.2.3", summary_delay=0.001, close_timeout=0.2)
        self.scripted = scripted or ScriptedProvider()
        self.more = more
        self.ids = ids or CountingIds()
        self.clock = RealClock()
        self.contributions = contributions
        self.commands = commands
        self.terminals = terminals or NoTerminals()
        self.options = options or {}
        self.pull_requests = pull_requests or NoPullRequests()
        self.declarations = FakeDeclarations(self.mcp)
        self._names = 0

    async def start(self) -> "World":
        policy = HostPolicy()
        image = await self.log.open()
        self.hub = Hub(image, settings=HubSettings(), policy=policy, methods=HOST_METHODS)
        self.driver = Driver(self.hub, self.log, self.clock, decisions=image.decisions)
        conversation = Conversation(self.driver, self.settings, self.approving)
        self.conversation = conversation
        self.mcp.questions = conversation.questions
        console = ConsoleProvider(self.mcp, self.ids)
        outside = Outside(
            providers=(self.scripted, console, *self.more),
            mcp=self.mcp,
            gateway=self.mcp,
            declarations=self.declarations,
            pull_requests=self.pull_requests,
            clock=self.clock,
            ids=self.ids,
            ground=self.ground,
            records=self.records,
            commands=self.commands,
            terminals=self.terminals,
            options=self.options,
            changes=self.changes,
            worktrees=self.worktrees,
            attachments=self.attachments,
        )
        self.service = HostService(self.driver, conversation, outside, policy, self.settings)
        activate(self.service.contributions)
        for kind in self.contributions:
            self.service.contributions.register(kind)
        self.mcp.listener = self.service.listener
        self.driver.start()
        await self.service.start()
        return self

    async def close(self) -> None:
        await self.service.close()
        await self.driver.close(seconds=1)

    async def crash(self, **changed: Any) -> "World":
        """The host that starts after this one was killed: it finds what was durable."""
        survivor = self.log.crash()
        for task in asyncio.all_tasks():
            if task is not asyncio.current_task() and self._is_ours(task):
                task.cancel()
        changed.setdefault("mcp", FakeMcp(declared=self.mcp.declared))
        changed.setdefault("ground", self.ground)
        changed.setdefault("changes", self.changes)
        changed.setdefault("worktrees", self.worktrees)
        changed.setdefault("attachments", self.attachments)
        return await World(log=survivor, settings=self.settings, ids=CountingIds("later"), **changed).start()

    async def until(self, found: Callable[[], Any]) -> Any:
        """What `found` gives once it gives something; for what no client is told."""
        async with asyncio.timeout(WAIT):
            while not (result := found()):  # noqa: ASYNC110
                await asyncio.sleep(0.001)  # nothing else tells when to look again
        return result

    def _is_ours(self, task: "asyncio.Task[Any]") -> bool:
        return task in self.driver._tasks

    async def client(self, name: str | None = None, **more: Any) -> Client:
        self._names += 1
        client = Client(self, name or f"client-{self._names}")
        await client.initialize(**more)
        return client

    def check_mirrors(self, *clients: Client) -> None:
        """Every client's copy is the host's state (null and absent are the same)."""
        for client in clients:
            for uri, state in client.states.items():
                assert plain(state) == plain(self.hub.released(uri)), uri


def plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def text_of(turn: Any) -> str:
    """The markdown of a turn."""
    return "".join(part["content"] for part in turn["responseParts"] if part["kind"] == "markdown")


def call_of(turn: Any, call_id: str = "call-1") -> Any:
    for part in turn["responseParts"]:
        if part["kind"] == "toolCall" and part["toolCall"]["toolCallId"] == call_id:
            return part["toolCall"]
    raise AssertionError(f"no call {call_id} in {turn}")
