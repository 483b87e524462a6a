"""Finding the host that is meant, and a connection to it (issue 2, section 5: endpoint discovery).

Rules
* `--url` names a host; otherwise it is the one that runs on the same data directory, found by its endpoint file, with
  the token from there.
* A connection that is lost looks for the host again, so that a host which was restarted on another port with another
  token is found.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from innkeeper.cli.words import LANGUAGE
from innkeeper.edge.discovery import Endpoint, find_running
from innkeeper.errors import HostError

if TYPE_CHECKING:
    from innkeeper.client import Client

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options say about the host."""

    url: str | None = None
    token: str | None = None
    data_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a host answers; `endpoint` when it was found rather than named."""

    target: str
    token: str | None
    endpoint: Endpoint | None = None


def locate(wanted: Wanted) -> Place:
    """Raises HostError HOST_NOT_RUNNING when no host is named and none runs on the data directory."""
    if wanted.url is not None:
        return Place(wanted.url, wanted.token)
    from innkeeper.cli.folders import find_folders

    state = find_folders(wanted.data_dir).state
    endpoint = find_running(state)
    if endpoint is None:
        raise HostError("HOST_NOT_RUNNING", path=state)
    return Place(endpoint.target, wanted.token or endpoint.token, endpoint)


class FoundTransport:
    """A transport that asks again where the host is, each time it is opened."""

    def __init__(self, find: Callable[[], Place]) -> None:
        self._find = find
        self._inner: Any = None

    async def open(self) -> None:
        from innkeeper.client import ConnectFailed
        from innkeeper.client.transport import open_target

        try:
            place = self._find()
        except HostError as error:
            raise ConnectFailed(error.message(LANGUAGE)) from error
        self._inner = open_target(place.target, place.token)
        await self._inner.open()

    async def send(self, message: bytes) -> None:
        await self._inner.send(message)

    async def receive(self) -> bytes | str:
        received: bytes | str = await self._inner.receive()
        return received

    async def close(self, code: int = 1000, reason: str = "") -> None:
        if self._inner is not None:
            await self._inner.close(code, reason)


@asynccontextmanager
async def connection(wanted: Wanted, *, stay: bool = False) -> "AsyncIterator[Client]":
    """A client of the host that is meant; `stay` connects again when the connection is lost.

    Raises HostError HOST_NOT_RUNNING, HOST_UNREACHABLE, TOKEN_WRONG, VERSION_UNSUPPORTED, and TargetInvalid.
    """
    from innkeeper._version import running_version
    from innkeeper.client import AccessDenied, ConnectFailed, VersionRefused, connect

    place = locate(wanted)
    opening = connect(
        FoundTransport(lambda: locate(wanted)),
        client_info={"name": "innkeeper-cli", "version": running_version()},
        locale="zh-Hans" if LANGUAGE == "zh_Hans" else "en",
        reconnect=stay,
    )
    try:
        client = await opening.__aenter__()
    except (AccessDenied, VersionRefused):
        raise
    except ConnectFailed as error:
        raise HostError("HOST_UNREACHABLE", url=place.target) from error
    try:
        yield client
    finally:
        await opening.__aexit__(None, None, None)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs the asynchronous part of a command; Ctrl-C ends it by KeyboardInterrupt."""
    return asyncio.run(work)
