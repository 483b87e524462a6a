"""Which changeset is meant, and its files as they are now.

Rules
* The session is the named one, else that of the directory; looking creates none.
* Without `--set` the turns that are named say which it is: one, or two to compare; none of them, the whole session.
* What the host computed before this command asked is never shown: subscribing makes it look again, and that is awaited.
"""

import functools
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from innkeeper.cli.mcp.asking import Where
from innkeeper.cli.options import directory_option, host_options, json_option
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.client import Channel, Client
    from innkeeper.client.changesets import ChangedFile, State, Wanted
    from innkeeper.protocol.session.state import SessionState

KINDS: Final = ("session", "uncommitted", "turn", "compare")
OFFERED_SECONDS: Final = 5.0
"""A session that has just begun says a moment later which changesets it has."""
COMPUTED_SECONDS: Final = 120.0
NAMED: Final = 10
"""So many names of what there is stand in a message."""

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Selection:
    """What the options say. `turns` are names or their beginnings."""

    where: Where
    kind: str
    turns: Sequence[str] = ()


class Row(NamedTuple):
    """A file as it is shown, and as it came."""

    shown: "ChangedFile"
    file: "State"


class Changeset(NamedTuple):
    """A changeset that was computed for this command. `note` is what the host says is left out."""

    session: str
    wanted: "Wanted"
    channel: "Channel[Any]"
    state: "State"
    rows: Sequence[Row]
    note: str


def of_session(function: Command) -> Command:
    """Options that name a session and its host, handed over as `where`; and `--json` as `as_json`."""

    @click.option("--session", "-s", help=text("cli.changes.session"))
    @directory_option
    @json_option
    @host_options
    @functools.wraps(function)
    def command(
        url: str | None, token: str | None, data_dir: Path | None, session: str | None, directory: Path, **more: Any
    ) -> Any:
        return function(where=Where(url, token, data_dir, session, directory), **more)

    return command


def selecting(function: Command) -> Command:
    """`of_session`, and which of the session's changesets: handed over as `selection`."""

    @click.option("--set", "kind", type=click.Choice(KINDS), help=text("cli.changes.set"))
    @click.option("--turn", "turns", multiple=True, metavar=text("cli.metavar.turn"), help=text("cli.changes.turn"))
    @of_session
    @functools.wraps(function)
    def command(where: Where, kind: str | None, turns: tuple[str, ...], **more: Any) -> Any:
        from innkeeper.cli.failures import UsageProblem

        kind = kind or {0: "session", 1: "turn"}.get(len(turns), "compare")
        if len(turns) not in {"turn": (0, 1), "compare": (0, 2)}.get(kind, (0,)):
            raise UsageProblem(text(f"cli.changes.turns.{kind}"))
        return function(selection=Selection(where, kind, turns), **more)

    return command


@asynccontextmanager
async def changeset(selection: Selection) -> "AsyncIterator[tuple[Client, Changeset]]":
    """A client, and the changeset that is meant. Raises HostError and CliError for what there is not."""
    from innkeeper.cli.pick import find
    from innkeeper.cli.reach import connection
    from innkeeper.errors import HostError

    where = selection.where
    async with connection(where.wanted) as client:
        uri = await find(client, where.session, where.directory)
        if uri is None:
            raise HostError("SESSION_NONE", directory=where.directory)
        yield client, await _look(client, uri, selection)


async def _look(client: "Client", uri: str, selection: Selection) -> Changeset:
    from innkeeper.client.changesets import Wanted, changed_file, channel_of, offer_of
    from innkeeper.errors import HostError

    session = await client.subscribe_session(uri)
    with suppress(TimeoutError):
        await session.wait_for(lambda state: state.get("changesets"), OFFERED_SECONDS)
    turns = await _turns(client, session.state, selection) if selection.kind in ("turn", "compare") else ()
    wanted = Wanted(selection.kind, turns)
    name = channel_of(wanted, session.state)
    if name is None:
        known = [kind for kind in KINDS if offer_of(kind, session.state) is not None]
        raise HostError("CHANGESET_UNKNOWN", changeset=selection.kind, known=", ".join(known) or "–")
    channel = await _computed(client, name)
    state, folders = channel.state, [str(one) for one in session.state.get("workingDirectories") or ()]
    rows = sorted((Row(changed_file(file, folders), file) for file in state["files"]), key=lambda row: row.shown.path)
    return Changeset(uri, wanted, channel, state, rows, await _note(session, selection.kind, len(rows)))


async def _note(session: "Channel[SessionState]", kind: str, files: int) -> str:
    """What is left out, which the session says right after the files; only as many as there can be leave any out."""
    from innkeeper.client.changesets import offer_of
    from innkeeper.limits import CHANGESET_FILES

    def said(state: "State") -> str:
        return str((offer_of(kind, state) or {}).get("description") or "")

    if kind in ("session", "uncommitted") and files >= CHANGESET_FILES:
        with suppress(TimeoutError):
            await session.wait_for(said, OFFERED_SECONDS)
    return said(session.state)


async def _computed(client: "Client", uri: str) -> "Channel[Any]":
    """The channel, when the host has looked at the files since this asked for it."""
    import asyncio

    from innkeeper.client import RequestTimeout
    from innkeeper.client.channel import ChannelLost
    from innkeeper.client.events import ActionApplied

    asked = asyncio.create_task(client.subscribe(uri))
    await asyncio.sleep(0)  # the channel is there now, and nothing has come on it
    events = client.channel(uri).events()
    channel = await asked
    try:
        async with asyncio.timeout(COMPUTED_SECONDS):
            async for event in events:
                action = event.action if isinstance(event, ActionApplied) else {}
                if action.get("type") == "changeset/statusChanged" and action["status"] in ("ready", "error"):
                    return channel
    except TimeoutError as error:
        raise RequestTimeout(f"{uri} was not computed within {COMPUTED_SECONDS:g} s") from error
    raise ChannelLost(f"{uri} is gone")


async def _turns(client: "Client", session: "State", selection: Selection) -> tuple[str, ...]:
    """Ids: those that are named, else the last turn, or the first and the last one."""
    from innkeeper.errors import HostError

    known = await _known_turns(client, session)
    if not known:
        raise HostError("TURN_NONE")
    if selection.turns:
        return tuple(_turn(known, name) for name in selection.turns)
    ids = list(known)
    return (ids[-1],) if selection.kind == "turn" else (ids[0], ids[-1])


async def _known_turns(client: "Client", session: "State") -> dict[str, str]:
    """The turns of all chats with their words, oldest first in each; the default chat's last."""
    default, found = session.get("defaultChat"), dict[str, str]()
    for chat in sorted(session["chats"], key=lambda one: bool(one["resource"] == default)):
        channel = await client.subscribe_chat(chat["resource"])
        while await client.fetch_turns(channel):
            pass
        active = channel.state.get("activeTurn")
        for turn in (*channel.state["turns"], *([active] if active else [])):
            found[turn["id"]] = " ".join(turn["message"]["text"].split())
    return found


def _turn(known: dict[str, str], name: str) -> str:
    from innkeeper.errors import HostError

    found = [id for id in known if id == name] or [id for id in known if id.startswith(name)]
    if len(found) == 1:
        return found[0]
    listed = [f"{id} ({words[:40]})" for id, words in list(known.items())[-NAMED:]]
    raise HostError("TURN_UNKNOWN", turn=name, known=", ".join(listed))


def named_rows(found: Changeset, names: Sequence[str], directory: Path) -> list[Row]:
    """The files of those names: as they are listed, or a path from `directory`. Raises HostError, UsageProblem."""
    from innkeeper.cli.failures import UsageProblem
    from innkeeper.errors import HostError

    chosen: dict[str, Row] = {}
    for name in names:
        fitting = _fitting(found.rows, name, directory)
        if not fitting:
            there = [quoted(row.shown.path) for row in found.rows]
            more = ", …" if len(there) > NAMED else ""
            known = ", ".join(there[:NAMED]) + more or text("cli.changes.nothing")
            raise HostError("CHANGED_FILE_UNKNOWN", file=name, known=known)
        if len(fitting) > 1:
            raise UsageProblem(
                text("cli.changes.ambiguous", name=name, files=", ".join(row.shown.id for row in fitting))
            )
        chosen[fitting[0].shown.id] = fitting[0]
    return list(chosen.values())


def _fitting(rows: Sequence[Row], name: str, directory: Path) -> list[Row]:
    from innkeeper.protocol.uris import local_path

    place = os.path.normpath(os.path.join(directory, name))
    exact = [row for row in rows if name == row.shown.id or place == local_path(row.shown.id)]
    return exact or [row for row in rows if name in (row.shown.path, quoted(row.shown.path))]


def quoted(path: str) -> str:
    """A path on one line, as git writes it: in quotes where a character cannot be seen, or ends the quotes."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    named = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    escaped = (named.get(one) or (one if one.isprintable() else _octal(one)) for one in path)
    return f'"{"".join(escaped)}"'


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogatepass"))
