"""Reading: the image of a whole store for a start, and one channel with its tail.

Rules
* Envelopes of dropped channels that are still in the file are never read.
* The range between the last stored number and the reserved mark is a gap: numbers of it may have left a process that
  ended without closing. Gaps below the window are forgotten: such a client gets a snapshot anyway.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from innkeeper.ports.decisions import Decision, Decisions, Grant
from innkeeper.ports.log import LogImage, PutClient, PutListing, StoredChannel, StoredEnvelope
from innkeeper.store.admission import Admission, ChannelRow
from innkeeper.store.window import WindowFloor, WindowLimits, newest


@dataclass(frozen=True, slots=True)
class Loaded:
    image: LogImage
    admission: Admission
    floor: WindowFloor
    dropped: tuple[int, ...]
    """Channel ids whose envelopes are still to be deleted."""


def load(connection: sqlite3.Connection, limits: WindowLimits) -> Loaded:
    """Everything that a start needs; changes nothing. Raises sqlite3.Error."""
    meta = dict(cast(Iterator[tuple[str, int]], connection.execute("SELECT name, value FROM meta")))
    rows = _channel_rows(connection)
    dropped = tuple(row[0] for row in connection.execute("SELECT id FROM dropped ORDER BY id"))
    last_seq = max([meta.get("last_seq", 0), _greatest(connection), *(row.version for row in rows)])
    reserved = max(meta.get("reserved", 0), last_seq)
    window, outside = _window(connection, {row.id: row.channel for row in rows}, limits)
    start = max(outside, meta.get("pruned", 0))
    floor = WindowFloor(limits, start)
    for envelope in window:
        floor.add(envelope.seq, 1, len(envelope.body))
    image = LogImage(
        last_seq=last_seq,
        reserved=reserved,
        channels=tuple(read_channel(connection, row) for row in rows if row.kind == "root"),
        dormant=tuple((row.channel, row.kind, row.owner) for row in rows if row.kind != "root"),
        listed=_listed(connection),
        window=window,
        window_start=start,
        gaps=_gaps(connection, start, last_seq, reserved),
        clients=tuple(
            PutClient(*row)
            for row in connection.execute(
                "SELECT client_id, protocol_version, capabilities FROM clients ORDER BY position"
            )
        ),
        decisions=decisions_in(connection),
    )
    next_id = max([0, *(row.id for row in rows), *dropped]) + 1
    return Loaded(image, Admission(rows, last_seq=last_seq, reserved=reserved, next_id=next_id), floor, dropped)


def read_channel(connection: sqlite3.Connection, row: ChannelRow) -> StoredChannel:
    """The stored channel with its tail. Raises sqlite3.Error."""
    (state,) = connection.execute("SELECT state FROM channels WHERE id = ?", (row.id,)).fetchone()
    tail = connection.execute(
        "SELECT body FROM envelopes WHERE channel = ? AND seq > ? ORDER BY seq", (row.id, row.snapshot_seq)
    )
    return _stored(row, state, tuple(body for (body,) in tail))


def _stored(row: ChannelRow, state: bytes, tail: tuple[bytes, ...]) -> StoredChannel:
    return StoredChannel(row.channel, row.kind, row.owner, row.snapshot_seq, row.version, state, tail)


def _greatest(connection: sqlite3.Connection) -> int:
    found: int | None = connection.execute("SELECT max(seq) FROM envelopes").fetchone()[0]
    return found or 0


def _channel_rows(connection: sqlite3.Connection) -> list[ChannelRow]:
    """One look into the index a channel: the cost does not grow with the envelopes."""
    return [
        ChannelRow(*row)
        for row in connection.execute(
            """SELECT id, channel, kind, owner, snapshot_seq,
                      max(version, ifnull((SELECT max(seq) FROM envelopes AS e WHERE e.channel = c.id), 0))
               FROM channels AS c ORDER BY id"""
        )
    ]


def _listed(connection: sqlite3.Connection) -> tuple[PutListing, ...]:
    return tuple(
        PutListing(channel, modified, bool(unfinished), summary)
        for channel, modified, unfinished, summary in connection.execute(
            """SELECT c.channel, l.modified, l.unfinished, l.summary
               FROM listings AS l JOIN channels AS c ON c.id = l.id ORDER BY l.id"""
        )
    )


def _window(
    connection: sqlite3.Connection, channels: dict[int, str], limits: WindowLimits
) -> tuple[tuple[StoredEnvelope, ...], int]:
    """The window, oldest first, and the newest number that is stored but outside of it (0 when there is none)."""
    stored = (
        StoredEnvelope(seq, channels[id_], body)
        for seq, id_, body in connection.execute("SELECT seq, channel, body FROM envelopes ORDER BY seq DESC")
        if id_ in channels
    )
    window = list(newest(((envelope, len(envelope.body)) for envelope in stored), limits))
    window.reverse()
    before = window[0].seq if window else _greatest(connection) + 1
    outside = connection.execute("SELECT max(seq) FROM envelopes WHERE seq < ?", (before,)).fetchone()[0]
    return tuple(window), outside or 0


def _gaps(connection: sqlite3.Connection, start: int, last_seq: int, reserved: int) -> tuple[tuple[int, int], ...]:
    known = dict(cast(Iterator[tuple[int, int]], connection.execute("SELECT first, last FROM gaps")))
    if reserved > last_seq:
        known[last_seq + 1] = reserved
    return tuple(sorted((first, last) for first, last in known.items() if last >= start))


def decisions_in(connection: sqlite3.Connection) -> Decisions:
    """The stored decisions and grants, in their order."""
    decisions = connection.execute(
        "SELECT key, scope, target, enabled, decided_at, pinned FROM decisions ORDER BY position"
    )
    grants = connection.execute("SELECT workspace, kind, name, fingerprint, granted_at FROM grants ORDER BY position")
    return Decisions(
        tuple(
            Decision(key, scope, target, bool(enabled), at, bool(pinned))
            for key, scope, target, enabled, at, pinned in decisions
        ),
        tuple(Grant(*row) for row in grants),
    )
