"""`initialize` and `reconnect` (AHP §2.1, §2.2, §2.4).

Rules
* The highest offered version that fits a baseline is taken and returned as offered. Nothing fits: -32005 with what is
  supported, and the connection ends. A malformed version: -32602.
* `reconnect` may be the first message on a new socket, with or without `channel`. A client that is not known gets
  -32008, so that it initializes anew. What it missed is replayed from the window, or snapshots replace its state.
"""

from collections.abc import Mapping
from typing import Any

from innkeeper.engine.clients import Client, Connection, recall_dispatches
from innkeeper.engine.effects import ClientAttached, ClientLeft, Close, Effect, JsonObject
from innkeeper.engine.ledger import Ledger
from innkeeper.engine.records import Image, PutClient
from innkeeper.engine.settings import HubSettings
from innkeeper.engine.subscriptions import snapshot_of, subscribe, unsubscribe
from innkeeper.protocol.actions import ACTIONS
from innkeeper.protocol.errors import INVALID_REQUEST, NOT_FOUND, RpcError
from innkeeper.protocol.versions import MalformedVersion, UnsupportedVersions, choose, known_at
from innkeeper.wire.json import JsonError, Raw, decode, encode

CLOSE_UNSUPPORTED = 1002
LOCALE = "x-innkeeper/locale"
"""Beside a client's stored capabilities: both are what it said of itself, and neither is ever sent back."""
LOCALE_CHARACTERS = 100


def remembered_clients(image: Image) -> dict[str, Client]:
    """The clients that an earlier run of the host knew."""
    clients: dict[str, Client] = {}
    for row in image.clients:
        try:
            capabilities = decode(row.capabilities)
        except JsonError:
            capabilities = {}
        declared = dict(capabilities) if isinstance(capabilities, Mapping) else {}
        locale = declared.pop(LOCALE, None)
        clients[row.client_id] = Client(
            row.client_id,
            row.protocol_version,
            declared,
            locale=locale if isinstance(locale, str) else None,
            recalled=False,
        )
    return clients


class Handshake:
    """Opens connections for the hub; it changes clients, connections and subscriptions, never a state."""

    def __init__(self, ledger: Ledger, clients: dict[str, Client], settings: HubSettings) -> None:
        self._ledger = ledger
        self._clients = clients
        self._settings = settings

    def initialize(self, connection: Connection, params: JsonObject) -> tuple[JsonObject | RpcError, list[Effect]]:
        """The answer, and what follows it. An RpcError with a Close after it refuses the version."""
        if connection.state != "new":
            return RpcError(INVALID_REQUEST, "this connection is initialized already"), []
        try:
            version = choose(params["protocolVersions"])
        except MalformedVersion as malformed:
            return malformed, []
        except UnsupportedVersions as unsupported:
            return unsupported, [Close(connection.id, CLOSE_UNSUPPORTED, "no common protocol version")]
        client = self._client(params["clientId"], version, params.get("capabilities") or {})
        locale = params.get("locale")
        client.locale = locale[:LOCALE_CHARACTERS] if locale else None
        effects = self._attach(connection, client)
        snapshots: list[JsonObject] = []
        for uri in params.get("initialSubscriptions") or ():
            channel = self._ledger.channels.get(uri)
            if channel is not None and channel.visible:
                effects.extend(subscribe(connection, client, channel, {}, self._settings))
                snapshots.append(snapshot_of(channel, self._ledger.released_seq))
        effects.extend(self._leave_behind(client))
        return self._initialize_result(version, snapshots), effects

    def _client(self, client_id: str, version: str, capabilities: JsonObject) -> Client:
        client = self._clients.get(client_id)
        if client is None:
            client = self._clients[client_id] = Client(client_id, version, capabilities)
        else:
            client.version, client.capabilities = version, capabilities
        if not client.connections:
            client.applied.clear()
            client.recalled = True
        return client

    def _attach(self, connection: Connection, client: Client) -> list[Effect]:
        connection.state = "ready"
        connection.client = client
        connection.capabilities = client.capabilities
        connection.unknown_types = unknown_types(client.version, client.capabilities)
        first = not client.connections
        client.connections.add(connection.id)
        said = client.capabilities if client.locale is None else {**client.capabilities, LOCALE: client.locale}
        row = PutClient(client.client_id, client.version, encode(said))
        effects = self._ledger.log_only(row)
        return [ClientAttached(client.client_id), *effects] if first else effects

    def _initialize_result(self, version: str, snapshots: list[JsonObject]) -> JsonObject:
        settings = self._settings
        info = {"name": settings.server_name, "title": settings.server_title, "version": settings.server_version}
        result: dict[str, Any] = {
            "protocolVersion": version,
            "serverSeq": self._ledger.released_seq,
            "serverInfo": {key: value for key, value in info.items() if value},
            "snapshots": snapshots,
        }
        if settings.default_directory is not None:
            result["defaultDirectory"] = settings.default_directory
        if settings.completion_triggers:
            result["completionTriggerCharacters"] = list(settings.completion_triggers)
        if settings.command_prefix is not None:
            result["terminalCommandPrefix"] = settings.command_prefix
        if settings.meta:
            result["_meta"] = settings.meta
        return result

    def reconnect(self, connection: Connection, params: JsonObject) -> tuple[object | RpcError, list[Effect]]:
        if connection.state != "new":
            return RpcError(INVALID_REQUEST, "this connection is initialized already"), []
        client = self._clients.get(params["clientId"])
        if client is None:
            return RpcError(NOT_FOUND, "this client is not known here; initialize instead"), []
        if not client.recalled:
            recall_dispatches(client, self._ledger.window.bodies())
        effects = self._attach(connection, client)
        present: list[str] = []
        missing: list[str] = []
        for uri in dict.fromkeys(params["subscriptions"]):
            channel = self._ledger.channels.get(uri)
            if channel is None or not channel.visible:
                missing.append(uri)
                continue
            present.append(uri)
            effects.extend(subscribe(connection, client, channel, {}, self._settings))
        effects.extend(self._leave_behind(client))
        last_seen = params["lastSeenServerSeq"]
        if last_seen <= self._ledger.released_seq and self._ledger.window.covers(last_seen):
            return self._replay(connection, last_seen, present, missing), effects
        released = self._ledger.released_seq
        snapshots = [snapshot_of(self._ledger.channels[uri], released) for uri in present]
        return {"type": "snapshot", "snapshots": snapshots}, effects

    def _replay(self, connection: Connection, last_seen: int, present: list[str], missing: list[str]) -> Raw:
        missed = self._ledger.window.after(last_seen, frozenset(present))
        unknown = connection.unknown_types
        bodies = [item.body for item in missed if item.type not in unknown]
        return Raw(b'{"type":"replay","actions":[' + b",".join(bodies) + b'],"missing":' + encode(missing) + b"}")

    def _leave_behind(self, client: Client) -> list[Effect]:
        """What the client had before it went away and does not ask for now counts as left (AHP §2.4)."""
        left = [uri for uri in client.left_behind if not self.has(client, uri)]
        client.left_behind.clear()
        return [ClientLeft(client.client_id, uri) for uri in left]

    def has(self, client: Client, uri: str) -> bool:
        """Whether a connection of the client is subscribed to the channel."""
        channel = self._ledger.channels.get(uri)
        return channel is not None and not client.connections.isdisjoint(channel.subscribers)

    def leave(self, connection: Connection, client: Client, uri: str) -> list[Effect]:
        """One connection gives a channel up; the client has left it when no other connection has it."""
        channel = self._ledger.channels.get(uri)
        connection.subscribed.discard(uri)
        if channel is None:
            return []
        effects = unsubscribe(connection, channel)
        if effects is None:
            return []
        return effects if self.has(client, uri) else [ClientLeft(client.client_id, uri), *effects]


def unknown_types(version: str, capabilities: JsonObject) -> frozenset[str]:
    """The action types that a peer of this version must not be sent (AHP §2.2, §7)."""
    return frozenset(
        name
        for name, spec in ACTIONS.items()
        if (spec.capability is None and not known_at(version, name))
        or (spec.capability is not None and spec.capability not in capabilities)
    )
