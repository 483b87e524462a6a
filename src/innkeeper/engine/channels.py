"""A channel as the engine keeps it: head state, released state, subscribers (AHP §3, architecture §4).

Rules
* `state` is the head: everything accepted so far. `released` is what has left this process; snapshots, replay and
  fan-out are computed from it alone, so that nothing that may still be dropped is ever seen.
* `version` and `released_version` are the numbers of the last envelope in the two states (the number at creation when
  there is none); the log refuses a writer whose version is not its own.
"""

from dataclasses import dataclass, field
from typing import Any, cast

from innkeeper.engine.effects import JsonObject
from innkeeper.protocol.channels import STATES, ChannelKind


@dataclass(slots=True)
class Subscription:
    """One connection's subscription; `loaded_from` is the id of its oldest loaded turn where a view was asked for."""

    delay_ms: int = 0
    loaded_from: str | None = None
    limited: bool = False


@dataclass(slots=True)
class Channel:
    uri: str
    kind: ChannelKind
    owner: str | None
    state: JsonObject
    version: int
    released: JsonObject
    released_version: int
    visible: bool
    """False until its creation is released."""
    dropped: bool = False
    """True once it is dropped from the head; it stays visible until that is released."""
    subscribers: dict[int, Subscription] = field(default_factory=dict)
    audience: tuple[int, ...] | None = None
    """Cached connection ids; None after a change."""
    snapshot_bytes: int = 0
    tail_bytes: int = 0
    tail_envelopes: int = 0

    def connections(self) -> tuple[int, ...]:
        if self.audience is None:
            self.audience = tuple(self.subscribers)
        return self.audience

    def subscribe(self, connection: int, subscription: Subscription) -> None:
        self.subscribers[connection] = subscription
        self.audience = None

    def unsubscribe(self, connection: int) -> bool:
        self.audience = None
        return self.subscribers.pop(connection, None) is not None

    def restore_head(self) -> None:
        """Forget what was accepted and not released."""
        self.state = self.released
        self.version = self.released_version
        self.dropped = False


def new_channel(
    uri: str, kind: ChannelKind, owner: str | None, state: JsonObject, seq: int, *, visible: bool
) -> Channel:
    return Channel(
        uri=uri,
        kind=kind,
        owner=owner,
        state=state,
        version=seq,
        released=state,
        released_version=seq,
        visible=visible,
    )


def channel_kind(name: str) -> ChannelKind:
    """The kind with this name. Raises KeyError: the store holds a channel that this version does not know."""
    if name not in STATES:
        raise KeyError(f"unknown channel kind {name}")
    return cast(ChannelKind, name)


def window_of_turns(state: JsonObject, count: int) -> tuple[JsonObject, str | None]:
    """The chat state with about the `count` newest completed turns, and the id of the oldest of them (AHP §2.5).

    The state itself and None when nothing is left out."""
    turns: list[Any] = state.get("turns") or []
    if len(turns) <= count:
        return state, None
    kept = turns[len(turns) - count :] if count > 0 else []
    cursor = kept[0]["id"] if kept else ""
    return {**state, "turns": kept, "turnsNextCursor": cursor_before(cursor)}, cursor


def cursor_before(turn_id: str) -> str:
    """The opaque cursor for the turns before `turn_id`; the empty id stands for all turns."""
    return "before:" + turn_id


def page_before(state: JsonObject, cursor: str | None, count: int) -> tuple[list[Any], str | None] | None:
    """The `count` turns before the cursor and the next cursor; None for a cursor that names nothing."""
    turns: list[Any] = state.get("turns") or []
    if cursor is None or cursor == "before:":
        end = len(turns)
    else:
        end = next((i for i, turn in enumerate(turns) if cursor_before(turn["id"]) == cursor), -1)
        if end < 0:
            return None
    start = max(0, end - count)
    page = turns[start:end]
    return page, cursor_before(turns[start]["id"]) if start > 0 else None
