"""Clients and their connections as the engine knows them (AHP §2, §9.5, §13.13).

Rules
* A client is its `clientId`; it may have several connections. What it negotiated is remembered after it is gone, so
  that `reconnect` works on a new socket and after a restart of the host.
* A dispatch is applied once per `(clientId, clientSeq)`. A number that comes again with another action is a new count:
  the Copilot CLI (1.0.102) begins at 1 again after `reconnect`. So is a fresh `initialize` without another live
  connection: that client has forgotten its old numbers.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from innkeeper.engine.effects import JsonObject
from innkeeper.wire.json import JsonError, decode, encode
from innkeeper.wire.jsonrpc import Correlator

REMEMBERED_DISPATCHES = 4096


@dataclass(slots=True)
class Client:
    client_id: str
    version: str
    capabilities: JsonObject
    locale: str | None = None
    """The language it asked for, as it wrote it."""
    connections: set[int] = field(default_factory=set)
    left_behind: set[str] = field(default_factory=set)
    """Channels that its last connection was subscribed to, until it resumes or its grace period ends."""
    applied: OrderedDict[int, tuple[int, int]] = field(default_factory=OrderedDict)
    """clientSeq -> (serverSeq, digest of channel and action) of the dispatches seen, oldest first, bounded."""
    recalled: bool = True
    """False until its numbers in an earlier run's window have been read."""

    def applied_as(self, client_seq: int, content: int) -> int | None:
        """The number under which this very dispatch was applied before; None for a new one."""
        known = self.applied.get(client_seq)
        if known is None or known[1] == content:
            return None if known is None else known[0]
        self.applied.clear()
        return None

    def remember(self, client_seq: int, content: int, seq: int) -> None:
        self.applied[client_seq] = (seq, content)
        if len(self.applied) > REMEMBERED_DISPATCHES:
            self.applied.popitem(last=False)


@dataclass(slots=True)
class Connection:
    id: int
    state: Literal["new", "ready", "closed"] = "new"
    client: Client | None = None
    capabilities: JsonObject = field(default_factory=dict)
    subscribed: set[str] = field(default_factory=set)
    unknown_types: frozenset[str] = frozenset()
    """Action types that its protocol version does not know."""
    requests: Correlator[int] = field(default_factory=Correlator)


def digest(channel: str, action: JsonObject) -> int:
    """Tells one dispatch from another, within this process."""
    return hash((channel, encode(action)))


def recall_dispatches(client: Client, bodies: Any) -> None:
    """Fill `applied` from the stored envelopes of an earlier run, so that re-sent dispatches stay idempotent."""
    client.recalled = True
    needle = b'"clientId":"' + client.client_id.encode() + b'"'
    for body in bodies:
        if needle not in body:
            continue
        try:
            envelope = decode(body)
        except JsonError:
            continue
        origin = envelope.get("origin") if isinstance(envelope, Mapping) else None
        if isinstance(envelope, Mapping) and isinstance(origin, Mapping) and origin.get("clientId") == client.client_id:
            content = digest(envelope["channel"], envelope["action"])
            client.remember(int(origin["clientSeq"]), content, int(envelope["serverSeq"]))
