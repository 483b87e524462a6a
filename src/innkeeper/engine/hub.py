"""The hub: messages, log answers and host commits in, effects out (architecture §4; AHP §2, §4-§6, §9.9).

Rules
* No method waits, and none does I/O. The caller performs the returned effects in order.
* Before `initialize` or `reconnect` only `ping` is answered.
* Requests that the engine does not serve itself come out as `Command`; the host answers each exactly once.
* A dispatch is checked at the door (shape, channel, direction, version), against the state (AHP §9.9) and by the
  host's policy; what does not pass is echoed to its dispatcher alone, with the reason. An unknown channel is ignored.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from innkeeper.engine.channels import Channel, channel_kind, new_channel
from innkeeper.engine.clients import Client, Connection
from innkeeper.engine.dispatch import UNREADABLE, Dispatching
from innkeeper.engine.effects import (
    Admission,
    Admit,
    Answered,
    CallLost,
    Change,
    ClientDetached,
    ClientLeft,
    Command,
    Effect,
    Frame,
    JsonObject,
    Refuse,
    Send,
)
from innkeeper.engine.entries import HostCommit
from innkeeper.engine.handshake import Handshake, remembered_clients
from innkeeper.engine.ledger import Ledger, LedgerLimits
from innkeeper.engine.listings import Describe, Place
from innkeeper.engine.records import Image, PutListing, StoredChannel
from innkeeper.engine.settings import HubSettings
from innkeeper.engine.subscriptions import snapshot_of, subscribe, wanted_turns
from innkeeper.engine.turns import fetch_turns
from innkeeper.protocol.check import CheckError, check_params
from innkeeper.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    RpcError,
)
from innkeeper.protocol.uris import ROOT
from innkeeper.reduce import reduce
from innkeeper.wire.json import JsonError, decode
from innkeeper.wire.jsonrpc import (
    InvalidMessage,
    Message,
    Notification,
    Request,
    Response,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)

SERVED = frozenset({"initialize", "reconnect", "ping", "subscribe", "fetchTurns"})


class Policy(Protocol):
    """The host's word on client actions that the protocol allows."""

    def admit(
        self, view: "Hub", channel: str, kind: str, action: JsonObject, client_id: str, now: str
    ) -> Admission: ...


class Hub:
    def __init__(
        self, image: Image, *, settings: HubSettings, policy: Policy, methods: frozenset[str] = frozenset()
    ) -> None:
        """`methods` are the requests that the host answers itself; others are -32601."""
        limits = LedgerLimits(
            block=settings.sequence_block,
            fold_envelopes=settings.fold_envelopes,
            replay_envelopes=settings.replay_envelopes,
            replay_bytes=settings.replay_bytes,
        )
        self._settings = settings
        self._methods = methods
        self._ledger = Ledger(image, limits, self._is_unknown_to)
        self._clients = remembered_clients(image)
        self._connections: dict[int, Connection] = {}
        self._handshake = Handshake(self._ledger, self._clients, settings)
        self._dispatching = Dispatching(self._ledger, lambda *given: policy.admit(self, *given))
        self._calls: dict[int, tuple[int, int]] = {}
        self._next_call = 1
        for stored in image.channels:
            self.load(stored)

    # -- what is known -------------------------------------------------------------------------------------------

    @property
    def last_seq(self) -> int:
        return self._ledger.last_seq

    def head(self, channel: str) -> JsonObject | None:
        """The newest accepted state, or None for a channel that is not in memory or was dropped."""
        found = self._ledger.channels.get(channel)
        return None if found is None or found.dropped else found.state

    def released(self, channel: str) -> JsonObject | None:
        """The state as everybody may know it."""
        found = self._ledger.channels.get(channel)
        return None if found is None or not found.visible else found.released

    def kind(self, channel: str) -> str | None:
        return self._ledger.known.kind(channel)

    def owner(self, channel: str) -> str | None:
        found = self._ledger.channels.get(channel)
        return found.owner if found is not None else self._ledger.known.owner(channel)

    def owned_by(self, owner: str) -> tuple[str, ...]:
        return self._ledger.known.owned_by(owner)

    def channels(self, kind: str) -> tuple[str, ...]:
        """Channels of a kind that are in memory, in order of creation."""
        return tuple(c.uri for c in self._ledger.channels.values() if c.kind == kind and not c.dropped)

    def known(self, kind: str) -> tuple[str, ...]:
        """All channels of a kind, in memory or stored."""
        return self._ledger.known.of_kind(kind)

    def count(self, kind: str) -> int:
        return self._ledger.known.count(kind)

    def listed(self, limit: int, after: Place | None = None) -> list[PutListing]:
        """The list of sessions below a place in it, the latest change first."""
        return self._ledger.listings.page(limit, after)

    def listing(self, session: str) -> PutListing | None:
        return self._ledger.listings.get(session)

    def unfinished(self) -> tuple[str, ...]:
        """The sessions that their rows call at work."""
        return self._ledger.listings.unfinished()

    def is_watched(self, channel: str) -> bool:
        """Whether a connection is subscribed, or an action on it waits for the host's answer."""
        found = self._ledger.channels.get(channel)
        return (found is not None and bool(found.subscribers)) or self._dispatching.holds(channel)

    def client_connections(self, client_id: str) -> tuple[int, ...]:
        client = self._clients.get(client_id)
        return tuple(client.connections) if client else ()

    def client_capabilities(self, client_id: str) -> JsonObject:
        client = self._clients.get(client_id)
        return client.capabilities if client else {}

    def client_locale(self, client_id: str) -> str | None:
        """The language that the client asked for at its last `initialize`, also while it is away."""
        client = self._clients.get(client_id)
        return client.locale if client else None

    # -- channels in and out of memory ---------------------------------------------------------------------------

    def is_pending(self, channel: str) -> bool:
        """Whether anything of the channel has not left, or is not stored."""
        return self._ledger.is_pending(channel)

    def describe_by(self, describe: Describe) -> None:
        """How a session becomes a row of the list; set once, before `start`."""
        self._ledger.describe_by(describe)

    def named(self, message: Message) -> tuple[str, ...]:
        """The channels that the message touches, owners first, as far as they are known."""
        known = self._ledger.known
        found: list[str] = []
        for uri in touched(message):
            if uri in known:
                owner = known.owner(uri)
                found.extend((uri,) if owner is None else (owner, uri))
        return tuple(dict.fromkeys(found))

    def unknown(self, message: Message) -> tuple[str, ...]:
        """The channels that the message touches and that there are not."""
        return tuple(uri for uri in touched(message) if uri not in self._ledger.known)

    def missing(self, message: Message) -> tuple[str, ...]:
        """The channels that have to be loaded before the message is received."""
        return tuple(uri for uri in self.named(message) if self._ledger.is_dormant(uri))

    def is_dormant(self, channel: str) -> bool:
        """Whether the channel is stored and has to be loaded before a message that touches it is received."""
        return self._ledger.is_dormant(channel)

    def load(self, stored: StoredChannel) -> list[Effect]:
        """Bring a stored channel into memory: its snapshot and the tail after it. Raises whatever a state that is
        damaged makes a reducer raise; nothing has changed then."""
        if stored.channel in self._ledger.channels or stored.channel not in self._ledger.known:
            return []
        kind = channel_kind(stored.kind)
        state: Any = decode(stored.state)
        if not isinstance(state, dict):
            raise JsonError("the stored state is no object")
        for body in stored.tail:
            envelope: Any = decode(body)
            state = reduce(kind, state, envelope["action"])
        channel = new_channel(stored.channel, kind, stored.owner, state, stored.version, visible=True)
        channel.snapshot_bytes = len(stored.state)
        channel.tail_envelopes = len(stored.tail)
        channel.tail_bytes = sum(map(len, stored.tail))
        self._ledger.channels[stored.channel] = channel
        if self.listing(stored.channel) is not None:
            return []
        try:
            return self._ledger.list_again(stored.channel)
        except Exception:
            del self._ledger.channels[stored.channel]
            raise

    def list_again(self, session: str) -> list[Effect]:
        """The row of a session in memory is made anew: the stored one cannot be read."""
        return self._ledger.list_again(session)

    def show(self, row: PutListing) -> None:
        """The list shows this of a session, until something else is known of it; nothing is stored."""
        self._ledger.listings.put(row)

    def fold(self, channel: str) -> list[Effect]:
        """Before `unload`: store a snapshot in place of a long tail."""
        return self._ledger.fold(channel)

    def unload(self, channel: str) -> bool:
        """Let a stored channel go from memory; False while it is subscribed, unreleased, not fully logged, or the owner
        of one that is in memory."""
        return not self._dispatching.holds(channel) and self._ledger.unload(channel)

    # -- connections ---------------------------------------------------------------------------------------------

    def connect(self, connection: int) -> None:
        self._connections[connection] = Connection(connection)

    def disconnect(self, connection: int) -> list[Effect]:
        """The connection is gone. The client's subscriptions are remembered until it resumes or expires."""
        gone = self._connections.pop(connection, None)
        if gone is None or gone.client is None:
            return []
        calls = gone.requests.fail_all()
        for call in calls:
            self._calls.pop(call, None)
        return [*(CallLost(call) for call in calls), *self._detach(gone, gone.client)]

    def _detach(self, gone: Connection, client: Client) -> list[Effect]:
        subscribed = tuple(gone.subscribed)
        client.connections.discard(gone.id)
        effects: list[Effect] = []
        for uri in subscribed:
            effects.extend(e for e in self._handshake.leave(gone, client, uri) if not isinstance(e, ClientLeft))
        lost = [uri for uri in subscribed if not self._handshake.has(client, uri)]
        if client.connections:
            return [*(ClientLeft(client.client_id, uri) for uri in lost), *effects]
        client.left_behind.update(lost)
        return [ClientDetached(client.client_id), *effects]

    def expire(self, client_id: str) -> list[Effect]:
        """The client's grace period is over: what it left behind is left for good (AHP §9.5)."""
        client = self._clients.get(client_id)
        if client is None or client.connections:
            return []
        left, client.left_behind = client.left_behind, set()
        return [ClientLeft(client_id, uri) for uri in sorted(left)]

    # -- messages ------------------------------------------------------------------------------------------------

    def receive(self, connection: int, message: Message, now: str) -> list[Effect]:
        peer = self._connections.get(connection)
        if peer is None:
            return []
        match message:
            case Request():
                return self._request(peer, message)
            case Notification():
                return self._notification(peer, message, now)
            case Response():
                return self._response(peer, message)
            case InvalidMessage(code, text, message_id, answer):
                return [Send(peer.id, Frame(encode_error(message_id, code, text)))] if answer else []

    def _request(self, peer: Connection, request: Request) -> list[Effect]:
        params: JsonObject = request.params
        if request.method == "ping":
            return self._answer(peer, request, None)
        try:
            if request.method not in SERVED and request.method not in self._methods:
                raise RpcError(METHOD_NOT_FOUND, f"unknown method {request.method[:100]}")
            if peer.state == "new" and request.method not in ("initialize", "reconnect"):
                raise RpcError(INVALID_REQUEST, "initialize or reconnect first")
            check_params(request.method, params)
        except CheckError as error:
            return self._answer(peer, request, RpcError(INVALID_PARAMS, str(error)))
        except RpcError as error:
            return self._answer(peer, request, error)
        match request.method:
            case "initialize":
                result, effects = self._handshake.initialize(peer, params)
                return [*self._answer(peer, request, result), *effects]
            case "reconnect":
                replay, effects = self._handshake.reconnect(peer, params)
                return [*self._answer(peer, request, replay), *effects]
        assert peer.client is not None
        if request.method == "subscribe":
            return self._subscribe(peer, peer.client, request, params)
        if request.method == "fetchTurns":
            return self._fetch_turns(peer, request, params)
        return [Command(peer.id, peer.client.client_id, request.id, request.method, params)]

    def _answer(self, peer: Connection, request: Request, result: object) -> list[Effect]:
        return [Send(peer.id, Frame(_encode_answer(request.id, result)))]

    def _subscribe(self, peer: Connection, client: Client, request: Request, params: JsonObject) -> list[Effect]:
        channel = self._visible(params["channel"])
        if channel is None:
            return self._answer(peer, request, self._no_channel("channel", params["channel"]))
        effects = subscribe(peer, client, channel, params, self._settings)
        snapshot = snapshot_of(channel, self._ledger.released_seq, wanted_turns(params))
        return [*self._answer(peer, request, {"snapshot": snapshot}), *effects]

    def _fetch_turns(self, peer: Connection, request: Request, params: JsonObject) -> list[Effect]:
        channel = self._visible(params["channel"])
        if channel is None or channel.kind != "chat":
            return self._answer(peer, request, self._no_channel("chat", params["channel"]))
        try:
            effects = fetch_turns(self._ledger, peer.id, channel, params.get("cursor"), self._settings.turn_page)
        except RpcError as error:
            return self._answer(peer, request, error)
        return [*effects, *self._ledger.note(self._answer(peer, request, {}))]

    def _no_channel(self, noun: str, uri: str) -> RpcError:
        """One that is there and cannot be read is never told to be gone: a client would drop it."""
        if self._ledger.is_dormant(uri):
            return RpcError(INTERNAL_ERROR, UNREADABLE)
        return RpcError(NOT_FOUND, f"there is no {noun} {uri[:200]}")

    def _visible(self, uri: str) -> Channel | None:
        channel = self._ledger.channels.get(uri)
        return channel if channel is not None and channel.visible else None

    def _notification(self, peer: Connection, notification: Notification, now: str) -> list[Effect]:
        if peer.state != "ready" or peer.client is None:
            return []
        params: JsonObject = notification.params
        if notification.method == "dispatchAction":
            return self._dispatching.dispatch(peer, peer.client, params, now)
        if notification.method == "unsubscribe" and isinstance(params.get("channel"), str):
            return self._handshake.leave(peer, peer.client, params["channel"])
        return []

    def _response(self, peer: Connection, response: Response) -> list[Effect]:
        call = peer.requests.resolve(response)
        if call is None:
            return []
        self._calls.pop(call, None)
        error = None if response.error is None else response.error._asdict()
        return [Answered(call, response.result, error)]

    # -- the log's answers ---------------------------------------------------------------------------------------

    def start(self) -> list[Effect]:
        return self._ledger.start()

    def flush(self) -> list[Effect]:
        return self._ledger.flush()

    def appended(self, batch: int) -> list[Effect]:
        return self._ledger.appended(batch)

    def append_failed(self, batch: int, code: str) -> list[Effect]:
        return self._ledger.append_failed(batch, code)

    # -- the host ------------------------------------------------------------------------------------------------

    def commit(self, changes: Sequence[Change], *, token: int | None = None, keep: bool = True) -> list[Effect]:
        """One transaction; `Committed(token)` or `CommitFailed(token)` follows. Raises KeyError for a channel that is
        not in memory, or that exists already."""
        return self._ledger.commit(HostCommit(tuple(changes), token, keep))

    def settle(self, ticket: str, answer: Admit | Refuse) -> list[Effect]:
        """The host's answer to an action that its policy held."""
        return self._dispatching.settle(ticket, answer)

    def reply(self, connection: int, request_id: Any, result: object) -> list[Effect]:
        return self._ledger.note([Send(connection, Frame(_encode_answer(request_id, result)))])

    def fail(self, connection: int, request_id: Any, error: RpcError) -> list[Effect]:
        return self.reply(connection, request_id, error)

    def notify(self, channel: str, method: str, params: JsonObject) -> list[Effect]:
        """A notification to the channel's subscribers, after everything numbered so far."""
        found = self._visible(channel)
        frame = Frame(encode_notification(method, {"channel": channel, **params}))
        sends = [Send(c, frame) for c in found.connections()] if found is not None else []
        return self._ledger.note(sends)

    def call(self, connection: int, method: str, params: JsonObject) -> tuple[int, list[Effect]]:
        """A request to a client; `Answered(call)` follows unless the connection goes first (the caller's time-out)."""
        peer = self._connections[connection]
        call = self._next_call
        self._next_call += 1
        request_id = peer.requests.open(call)
        self._calls[call] = (connection, request_id)
        return call, [Send(connection, Frame(encode_request(request_id, method, {"channel": ROOT, **params})))]

    def forget_call(self, call: int) -> None:
        """The host no longer waits for the answer."""
        connection, request_id = self._calls.pop(call, (0, 0))
        if (peer := self._connections.get(connection)) is not None:
            peer.requests.cancel(request_id)

    def _is_unknown_to(self, connection: int, action_type: str) -> bool:
        peer = self._connections.get(connection)
        return peer is not None and action_type in peer.unknown_types


def touched(message: Message) -> list[str]:
    """The channels that a request or notification of a client names."""
    if isinstance(message, (Response, InvalidMessage)):
        return []
    params: JsonObject = message.params
    named: list[Any] = [params.get("channel")]
    if message.method == "initialize":
        named.extend(params.get("initialSubscriptions") or ())
    elif message.method == "reconnect":
        named.extend(params.get("subscriptions") or ())
    return [uri for uri in named if isinstance(uri, str)]


def _encode_answer(request_id: Any, result: object) -> bytes:
    if isinstance(result, RpcError):
        return encode_error(request_id, result.code, result.message, result.data)
    return encode_result(request_id, result)
