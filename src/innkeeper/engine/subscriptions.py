"""Subscriptions, snapshots and views (AHP §2.5).

Rules
* A snapshot is the released state, and its `fromSeq` the last released number: everything later is sent, nothing
  earlier is, because both happen in the same step.
* Subscribing a channel twice on one connection is one subscription, with the newer options.
"""

from innkeeper.engine.channels import Channel, Subscription, window_of_turns
from innkeeper.engine.clients import Client, Connection
from innkeeper.engine.effects import ChannelIdle, Effect, JsonObject, Subscribed
from innkeeper.engine.settings import HubSettings


def snapshot_of(channel: Channel, released_seq: int, turns: int | None = None) -> JsonObject:
    """AHP `Snapshot`; with `turns` only about that many of the newest completed turns of a chat."""
    state = channel.released
    if turns is not None and channel.kind == "chat":
        state, _ = window_of_turns(state, turns)
    return {"resource": channel.uri, "state": state, "fromSeq": released_seq}


def subscribe(
    connection: Connection, client: Client, channel: Channel, params: JsonObject, settings: HubSettings
) -> list[Effect]:
    delay = (params.get("delivery") or {}).get("maxLatencyMs") or 0
    subscription = Subscription(delay_ms=int(min(max(delay, 0), settings.max_latency_ms)))
    turns = wanted_turns(params)
    if turns is not None and channel.kind == "chat":
        _, subscription.loaded_from = window_of_turns(channel.released, turns)
        subscription.limited = subscription.loaded_from is not None
    new = connection.id not in channel.subscribers
    channel.subscribe(connection.id, subscription)
    connection.subscribed.add(channel.uri)
    return [Subscribed(client.client_id, channel.uri)] if new else []


def wanted_turns(params: JsonObject) -> int | None:
    """`view.turns` as a count, None without one; an unknown view is ignored."""
    turns = (params.get("view") or {}).get("turns")
    return max(0, int(turns)) if isinstance(turns, (int, float)) and not isinstance(turns, bool) else None


def unsubscribe(connection: Connection, channel: Channel) -> list[Effect] | None:
    """None when there was no subscription."""
    if not channel.unsubscribe(connection.id):
        return None
    return [] if channel.subscribers else [ChannelIdle(channel.uri)]
