"""What the host needs of the driver: reading state, changing it, telling clients (architecture §4).

Rules
* State is read from the *head*: what was decided counts at once, also before it is durable.
* `post` never fails and never waits; what it changes is applied again after a failed append. `commit` waits until the
  change is durable, or raises; a client's command that must not be half done uses it.
* Nothing acts on a channel that is gone: `act` is the one place that checks.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Protocol

from innkeeper.engine.effects import Act, Admit, Change, JsonObject, Refuse
from innkeeper.engine.listings import Describe, Place
from innkeeper.engine.records import PutListing
from innkeeper.host.driver import Driver
from innkeeper.host.loading import Entering, Offers, Opens

Action = Mapping[str, Any]


class Core(Protocol):
    """The driver, as far as the host goes."""

    def head(self, channel: str) -> JsonObject | None:
        """The channel's newest state; None when there is no such channel, or it is not in memory."""
        ...

    def kind(self, channel: str) -> str | None:
        """`root`, `session`, `chat`, …; also of a channel that is not in memory."""
        ...

    def owner(self, channel: str) -> str | None:
        """The session of a chat."""
        ...

    def owned_by(self, owner: str) -> Sequence[str]: ...

    def channels(self, kind: str) -> Sequence[str]:
        """Those of a kind that are in memory."""
        ...

    def known(self, kind: str) -> Sequence[str]:
        """Those of a kind, in memory or stored."""
        ...

    def count(self, kind: str) -> int:
        """How many `known` gives."""
        ...

    def listed(self, limit: int, after: Place | None) -> Sequence[PutListing]:
        """The rows of the list of sessions below a place in it, the latest change first."""
        ...

    def list_again(self, session: str) -> None:
        """The row of a session in memory is damaged: make it anew."""
        ...

    def show(self, row: PutListing) -> None:
        """What the list shows of a session that cannot be read, as long as this process runs."""
        ...

    async def load(self, channel: str) -> JsonObject | None:
        """The state, read from the log first when it is not in memory."""
        ...

    def unload(self, channel: str) -> bool:
        """Let a channel go from memory; False while it is in use."""
        ...

    def hold(self, channel: str) -> Callable[[], None]:
        """A channel in memory stays there, and its owner, until the result is called: for work that changes them at its
        end."""
        ...

    def post(self, *changes: Change) -> None: ...

    async def commit(self, *changes: Change, keep: bool = False) -> None:
        """Raises StorageFailed; nothing of the changes has then taken effect."""
        ...

    async def store_all(self, channels: Iterable[str]) -> None:
        """What has left of them is durable when this returns. Raises StorageFailed; nothing is lost then."""
        ...

    def notify(self, channel: str, method: str, params: JsonObject) -> None:
        """A notification to the channel's subscribers, after everything numbered so far."""
        ...

    def answer_held(self, ticket: str, answer: Admit | Refuse) -> None:
        """The answer to a client's action that policy held."""
        ...

    async def ask(self, client_id: str, method: str, params: JsonObject, *, seconds: float) -> object:
        """A request to a client. Raises ClientGone, ClientTimeout, ClientRefused."""
        ...

    def is_connected(self, client_id: str) -> bool: ...

    def is_watched(self, channel: str) -> bool:
        """Whether anybody is subscribed, or an action on it waits for an answer of the host."""
        ...

    def is_pending(self, channel: str) -> bool:
        """Whether anything of the channel has not left, or is not stored."""
        ...

    def enter_by(self, entering: Entering) -> None:
        """Who puts right what comes from the store into memory; set once."""
        ...

    def open_by(self, offers: Offers, opens: Opens) -> None:
        """Who makes channels that are there only once somebody names them; set once."""
        ...

    def describe_by(self, describe: Describe) -> None:
        """How a session becomes a row of the list; set once."""
        ...

    def unfinished(self) -> Sequence[str]:
        """The sessions that are at work, by the list."""
        ...

    def listing(self, session: str) -> PutListing | None:
        """The session's row of the list."""
        ...

    def expire(self, client_id: str) -> None:
        """The client's grace period is over: its subscriptions end."""
        ...

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        """A named task whose failure is logged and harms nothing else."""
        ...


class DriverCore:
    """The real one."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._hub = driver.hub

    def head(self, channel: str) -> JsonObject | None:
        return self._hub.head(channel)

    def kind(self, channel: str) -> str | None:
        return self._hub.kind(channel)

    def owner(self, channel: str) -> str | None:
        return self._hub.owner(channel)

    def owned_by(self, owner: str) -> Sequence[str]:
        return self._hub.owned_by(owner)

    def channels(self, kind: str) -> Sequence[str]:
        return self._hub.channels(kind)

    def known(self, kind: str) -> Sequence[str]:
        return self._hub.known(kind)

    def count(self, kind: str) -> int:
        return self._hub.count(kind)

    def listed(self, limit: int, after: Place | None) -> Sequence[PutListing]:
        return self._hub.listed(limit, after)

    def list_again(self, session: str) -> None:
        self._driver.perform(self._hub.list_again(session))

    def show(self, row: PutListing) -> None:
        self._hub.show(row)

    async def load(self, channel: str) -> JsonObject | None:
        await self._driver.ensure(channel)
        return self._hub.head(channel)

    def unload(self, channel: str) -> bool:
        return self._driver.loading.unload(channel)

    def hold(self, channel: str) -> Callable[[], None]:
        return self._driver.loading.hold(channel)

    def post(self, *changes: Change) -> None:
        if changes:
            self._driver.post(*changes)

    async def commit(self, *changes: Change, keep: bool = False) -> None:
        await self._driver.commit(*changes, keep=keep)

    async def store_all(self, channels: Iterable[str]) -> None:
        await self._driver.store_all(channels)

    def notify(self, channel: str, method: str, params: JsonObject) -> None:
        self._driver.notify(channel, method, params)

    def answer_held(self, ticket: str, answer: Admit | Refuse) -> None:
        self._driver.perform(self._hub.settle(ticket, answer))

    async def ask(self, client_id: str, method: str, params: JsonObject, *, seconds: float) -> object:
        return await self._driver.ask(client_id, method, params, seconds=seconds)

    def is_connected(self, client_id: str) -> bool:
        return bool(self._hub.client_connections(client_id))

    def is_watched(self, channel: str) -> bool:
        return self._hub.is_watched(channel)

    def is_pending(self, channel: str) -> bool:
        return self._hub.is_pending(channel)

    def enter_by(self, entering: Entering) -> None:
        self._driver.loading.enter_by(entering)

    def open_by(self, offers: Offers, opens: Opens) -> None:
        self._driver.loading.open_by(offers, opens)

    def describe_by(self, describe: Describe) -> None:
        self._hub.describe_by(describe)

    def unfinished(self) -> Sequence[str]:
        return self._hub.unfinished()

    def listing(self, session: str) -> PutListing | None:
        return self._hub.listing(session)

    def expire(self, client_id: str) -> None:
        self._driver.expire(client_id)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        return self._driver.spawn(work, name)


def act(core: Core, channel: str, *actions: Action) -> bool:
    """Post `actions` as one change; False when the channel is gone and nothing was done."""
    if not actions or core.head(channel) is None:
        return False
    core.post(*(Act(channel, action) for action in actions))
    return True
