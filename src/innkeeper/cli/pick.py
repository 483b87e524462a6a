"""Which session a command means: the one that is named, else that of the directory.

Rules
* A session is named by its URI or by the beginning of its id; a beginning that fits several is refused.
* The session of a directory is the one changed last whose primary directory it is, or was before it got a worktree, and
  that is not archived.
* Who starts a session from a directory means that directory: it works there, unless a worktree is asked for.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from innkeeper.cli.failures import CliError, UsageProblem
from innkeeper.cli.words import text
from innkeeper.errors import HostError
from innkeeper.protocol.errors import PROVIDER_NOT_FOUND
from innkeeper.protocol.status import IS_ARCHIVED

if TYPE_CHECKING:
    from innkeeper.client import Channel, Client
    from innkeeper.protocol.session.state import SessionState

Summary = Mapping[str, Any]


def short_id(uri: str) -> str:
    """What people are shown of a session's URI, and may type."""
    return uri.rsplit("/", 1)[-1]


def named(summaries: Iterable[Summary], name: str) -> str:
    """The URI of the session with that name. Raises HostError SESSION_UNKNOWN, UsageProblem when several fit."""
    found = []
    for summary in summaries:
        if summary["resource"] == name:
            return name
        if short_id(summary["resource"]).startswith(name):
            found.append(summary["resource"])
    if not found:
        raise HostError("SESSION_UNKNOWN", session=name)
    if len(found) > 1:
        raise UsageProblem(text("cli.error.ambiguous", name=name, sessions=", ".join(map(short_id, found))))
    return str(found[0])


def of_directory(summaries: Iterable[Summary], directory: str) -> str | None:
    """The session of a directory's URI; `summaries` are in the order of the host, last changed first."""
    for summary in summaries:
        directories: Sequence[str] = summary.get("workingDirectories") or ()
        opened = (*directories[:1], str((summary.get("project") or {}).get("uri", "")))
        archived = int(summary.get("status", 0)) & IS_ARCHIVED
        if not archived and directory.rstrip("/") in {uri.rstrip("/") for uri in opened}:
            return str(summary["resource"])
    return None


async def find(client: "Client", name: str | None, directory: Path) -> str | None:
    """The session that is meant, or None when the directory has none. Raises as `named`."""
    summaries = [summary async for summary in client.list_sessions()]
    if name is not None:
        return named(summaries, name)
    return of_directory(summaries, directory.as_uri())


async def open_session(
    client: "Client",
    name: str | None,
    directory: Path,
    *,
    provider: str | None = None,
    new: bool = False,
    worktree: bool = False,
) -> "Channel[SessionState]":
    """The session that is meant, subscribed and ready; one is created for a directory that has none, or if `new`.

    Raises HostError SESSION_UNKNOWN, PROVIDER_UNKNOWN, and CliError when the host could not create it.
    """
    uri = None if new else await find(client, name, directory)
    if uri is None:
        uri = await _created(client, directory, provider, "worktree" if worktree else "folder")
    session = await client.subscribe_session(uri)
    state = await session.wait_for(lambda state: state["lifecycle"] != "creating")
    if state["lifecycle"] == "failed":
        error = state.get("creationError")
        raise CliError(text("cli.error.creation", reason=error["message"] if error else "?"), code="SESSION_FAILED")
    return session


async def _created(client: "Client", directory: Path, provider: str | None, isolation: str) -> str:
    from innkeeper.client import RpcFailure

    config = {"isolation": isolation}
    try:
        return await client.create_session(provider=provider, working_directories=[directory.as_uri()], config=config)
    except RpcFailure as error:
        if error.code != PROVIDER_NOT_FOUND:
            raise
        known = ", ".join(agent["provider"] for agent in client.root.state["agents"])
        raise HostError("PROVIDER_UNKNOWN", provider=provider or "", known=known) from error
