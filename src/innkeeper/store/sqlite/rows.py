"""Writing: one plan of accepted batches becomes one transaction.

Rules
* Few, large statements: the interpreter lock is given up and taken back around each one, and taking it back waits for
  the event loop. A plan of up to `ROWS` envelopes is a single statement, which is a transaction by itself.
* Whatever fails leaves the connection outside of a transaction, with nothing of the plan stored.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from typing import Final, assert_never

from innkeeper.ports.decisions import DropDecision, DropGrant, PutDecision, PutGrant
from innkeeper.ports.log import LogImage, PutClient, Reserve
from innkeeper.store.admission import CLIENTS, GoneChannels, NewChannel, NewListing, NewSnapshot, Plan, Row, Step

ROWS: Final = 256
"""Rows of one insert at most. Only powers of two are prepared; what is missing to the next is filled with nulls."""
NO_ROW: Final = (None, None, None)


@cache
def _insert(rows: int) -> str:
    values = "VALUES " + ",".join(["(?,?,?)"] * rows)
    return f"INSERT INTO envelopes SELECT * FROM ({values}) WHERE column1 IS NOT NULL"


def store(connection: sqlite3.Connection, plan: Plan) -> None:
    """Store `plan`, or nothing of it. Raises sqlite3.Error."""
    if not plan.steps and len(plan.rows) <= ROWS:
        if plan.rows:
            _put_rows(connection, plan.rows)
        return
    with transaction(connection):
        for start in range(0, len(plan.rows), ROWS):
            _put_rows(connection, plan.rows[start : start + ROWS])
        for step in plan.steps:
            _put_step(connection, step)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """`with transaction(connection):` commits at the end, or rolls back and leaves the connection usable."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk and I/O errors make SQLite roll back by itself
            with suppress(sqlite3.Error):  # the first error is the one to tell
                connection.execute("ROLLBACK")
        raise


def put_meta(connection: sqlite3.Connection, values: Mapping[str, int]) -> None:
    """Store named numbers; none of them is ever lowered."""
    connection.executemany(
        """INSERT INTO meta VALUES (?, ?)
           ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE excluded.value > value""",
        list(values.items()),
    )


def begin(connection: sqlite3.Connection, image: LogImage) -> None:
    """Record what a start found: the gaps that are still of use."""
    with transaction(connection):
        connection.execute("DELETE FROM gaps WHERE last < ?", (image.window_start,))
        connection.executemany("INSERT OR REPLACE INTO gaps VALUES (?, ?)", image.gaps)


def end(connection: sqlite3.Connection, last_seq: int) -> None:
    """Record a clean end: no number above `last_seq` has left, so none is reserved."""
    with transaction(connection):
        connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", [("last_seq", last_seq), ("reserved", last_seq)]
        )


def _put_rows(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    count = len(rows)
    size = 1 << (count - 1).bit_length()
    values = chain(chain.from_iterable(rows), NO_ROW * (size - count))
    # executemany with one set of values: execute would take the interpreter lock once more, for the last row's number
    connection.executemany(_insert(size), (tuple(values),))


def _put_step(connection: sqlite3.Connection, step: Step) -> None:
    match step:
        case NewChannel(id_, op):
            connection.execute(
                "INSERT INTO channels VALUES (?, ?, ?, ?, ?, ?, ?)",
                (id_, op.channel, op.kind, op.owner, op.seq, op.seq, op.state),
            )
        case NewSnapshot(id_, seq, version, state):
            connection.execute(
                "UPDATE channels SET snapshot_seq = ?, version = ?, state = ? WHERE id = ?", (seq, version, state, id_)
            )
        case GoneChannels(ids, last_seq):
            put_meta(connection, {"last_seq": last_seq})
            connection.executemany("DELETE FROM channels WHERE id = ?", [(id_,) for id_ in ids])
            connection.executemany("DELETE FROM listings WHERE id = ?", [(id_,) for id_ in ids])
            connection.executemany("INSERT INTO dropped VALUES (?)", [(id_,) for id_ in ids])
        case NewListing(id_, row):
            connection.execute(
                "INSERT OR REPLACE INTO listings VALUES (?, ?, ?, ?)",
                (id_, row.modified, int(row.unfinished), row.summary),
            )
        case Reserve(mark):
            put_meta(connection, {"reserved": mark})
        case PutClient():
            _put_client(connection, step)
        case PutDecision() | DropDecision() | PutGrant() | DropGrant():
            _put_decision(connection, step)
        case _:
            assert_never(step)


def _put_client(connection: sqlite3.Connection, op: PutClient) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO clients (client_id, protocol_version, capabilities) VALUES (?, ?, ?)",
        (op.client_id, op.protocol_version, op.capabilities),
    )
    connection.execute(
        "DELETE FROM clients WHERE position <= (SELECT position FROM clients ORDER BY position DESC LIMIT 1 OFFSET ?)",
        (CLIENTS,),
    )


def _put_decision(connection: sqlite3.Connection, op: PutDecision | DropDecision | PutGrant | DropGrant) -> None:
    match op:
        case PutDecision(d):
            connection.execute(
                """INSERT OR REPLACE INTO decisions (key, scope, target, enabled, decided_at, pinned)
                   VALUES (?, ?, ?, ?, ?, ?)""",
                (d.key, d.scope, d.target, int(d.enabled), d.decided_at, int(d.pinned)),
            )
        case DropDecision(slot):
            connection.execute("DELETE FROM decisions WHERE key = ? AND scope = ? AND target = ?", slot)
        case PutGrant(g):
            connection.execute(
                """INSERT OR REPLACE INTO grants (workspace, kind, name, fingerprint, granted_at)
                   VALUES (?, ?, ?, ?, ?)""",
                (g.workspace, g.kind, g.name, g.fingerprint, g.granted_at),
            )
        case DropGrant(slot):
            connection.execute("DELETE FROM grants WHERE workspace = ? AND kind = ? AND name = ?", slot)
        case _:
            assert_never(op)
