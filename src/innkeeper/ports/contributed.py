"""Services that contributions get by the type of a constructor's parameter (K7).

Rules
* Each is registered before contributions are constructed; `HostBridge` has two members and gets no third.
* What the host itself needs too (worktrees, files, local commands, declarations, …) is a port of its own module, named
  again here so that a contribution from outside finds it through `contributions.spi.services`.
"""

from collections.abc import Coroutine, Mapping
from typing import Any, Final, Literal, Protocol

from innkeeper.ports.changes import TurnChanges
from innkeeper.ports.clock import Clock
from innkeeper.ports.customizations import Eligible
from innkeeper.ports.declarations import Declarations
from innkeeper.ports.files import Files
from innkeeper.ports.local_commands import LocalCommands
from innkeeper.ports.pull_requests import PullRequests
from innkeeper.ports.worktrees import WorktreeIsolation
from innkeeper.protocol.chat.state import Message
from innkeeper.protocol.common.state import ErrorInfo
from innkeeper.protocol.root.state import AgentInfo

__all__ = ["Channels", "Clock", "Configuration", "Customizations", "Declarations", "Files", "HostBridge", "Launch"]
__all__ += ["LocalCommands", "Providers", "PullRequests", "SessionTitles", "State", "Telemetry", "ToolCallTracker"]
__all__ += ["TurnChanges", "TurnTracker", "WorktreeIsolation"]

BACKINGS: Final = "x-innkeeper/backings"
"""In a session's `_meta`: what providers keep about its chats, by chat."""
CHAT_CONFIG: Final = "x-innkeeper/chatConfig"
"""In a session's `_meta`: what chats are configured with themselves, by chat (K15)."""
SURFACE: Final = "x-innkeeper/surface"
"""In a session's `_meta`: where it is shown, where that matters to the answer."""
State = Mapping[str, Any]
Launch = Literal["serve", "stdio", "embedded"]


class HostBridge(Protocol):
    """The way back into the host."""

    @property
    def launch_kind(self) -> Launch:
        """How this host was started."""
        ...

    def send_turn_message(self, chat: str, message: Message, *, queued: str | None = None) -> ErrorInfo | None:
        """Begin a turn with `message`, by way of admission; `queued` is the id that it has in the queue, which it
        leaves as the turn begins. The error with which admission refused it, or that a turn runs there already: no turn
        has begun then, and the queue is as it was. None when it has begun."""
        ...


class Channels(Protocol):
    """The states of all channels, and the way to change them."""

    def head(self, channel: str) -> State | None:
        """The newest state; None for a channel that is not there or not in memory."""
        ...

    async def load(self, channel: str) -> State | None:
        """The newest state, brought into memory first where it is not; None for a channel that is not there."""
        ...

    def session_of(self, chat: str) -> str | None: ...

    def dispatch(self, channel: str, *actions: Mapping[str, Any]) -> bool:
        """Reduce `actions` as one change and send them to all; False when the channel is gone."""
        ...

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run `work` beside; a failure is logged and harms nothing else. It ends with the host."""
        ...


class Configuration(Protocol):
    """Values that hold in a chat or a session, and the host's settings."""

    def value(self, channel: str, name: str) -> object:
        """The value of a property that holds in the chat `channel`, its own before its session's (K15), or in the
        session `channel`; None when there is none."""
        ...

    def setting(self, name: str) -> object:
        """A setting of `config.toml` by its dotted name; None when it is not set."""
        ...


class Customizations(Protocol):
    """What may reach the sessions' agents now."""

    def eligible(self, session: str) -> Eligible | None:
        """Everything that is on and resolved; None for a session that nobody has looked at yet."""
        ...


class Providers(Protocol):
    """The agents of the sessions."""

    def info(self, session: str) -> AgentInfo | None: ...

    def steer(self, chat: str) -> None:
        """Hand what waits as a steering message to the running turn, if there is one."""
        ...


class SessionTitles(Protocol):
    """Titles of chats and sessions; one that a person gave always wins (K18)."""

    def shown(self, session: str, chat: str) -> str:
        """The title that clients show; empty when there is none."""
        ...

    def named(self, chat: str) -> str | None:
        """The title that a person gave the chat while this host ran."""
        ...

    def renamed(self, chat: str, title: str) -> None:
        """A person named the chat: no title is made for it any more."""
        ...

    def refine(self, session: str, chat: str) -> None:
        """A turn has ended well: a better title may be made, where the one that is shown is the host's own."""
        ...


class TurnTracker(Protocol):
    """Measures turns; never ends one."""

    def blocked(self, chat: str, by: frozenset[str]) -> None:
        """What the running turn of the chat waits for now, by the ids of `inputNeeded`; empty: nothing."""
        ...


class ToolCallTracker(Protocol):
    """Measures tool calls."""

    def blocked(self, chat: str, calls: frozenset[str]) -> None:
        """The calls of the chat's running turn that wait for somebody now; empty: none does."""
        ...


class Telemetry(Protocol):
    """Counts; nothing is ever sent anywhere."""

    def count(self, name: str, **attributes: str | int | bool) -> None: ...
