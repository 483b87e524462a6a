"""Which message is which local command, and running it: the `LocalCommands` of a host (K13, T18).

Rules
* Only a user's own words are a command.
* Commands are asked in the order of their registration; the first that takes the text has it.
* What may not run in an archived or a read-only conversation is claimed all the same, and refused: its text must not
  reach an agent.
* An untitled conversation is called after the command that runs in it, where the command says how.
* A command that raises has said what is in the log; its turn ends as every other.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from innkeeper.host.core import Core
from innkeeper.host.faults import logged
from innkeeper.host.local_commands.words import of_user
from innkeeper.ports.ids import Ids
from innkeeper.ports.local_commands import Claim, LocalOutput, LocalRequest
from innkeeper.protocol.status import is_archived
from innkeeper.texts import text

log = logging.getLogger(__name__)


class LocalCommand(Protocol):
    """One command."""

    @property
    def name(self) -> str: ...

    @property
    def anywhere(self) -> bool:
        """Whether it may run in an archived or a read-only conversation."""
        ...

    @property
    def prefix(self) -> str | None:
        """What a client may offer while a message is written; None for nothing."""
        ...

    def takes(self, words: str) -> str | None:
        """The argument when `words` are this command. Pure."""
        ...

    def title(self, argument: str) -> str | None:
        """What an untitled conversation is called after it."""
        ...

    async def run(self, request: LocalRequest, argument: str, output: LocalOutput) -> None: ...


class CommandRegistry:
    """The commands of one host. It is their dispatcher too (`ports.local_commands`). `name_untitled` is told session,
    chat and the words that an untitled one is called after."""

    def __init__(self, core: Core, ids: Ids, name_untitled: Callable[[str, str, str], None]) -> None:
        self._core = core
        self._ids = ids
        self._name_untitled = name_untitled
        self._commands: list[LocalCommand] = []

    def register(self, command: LocalCommand) -> None:
        """Raises ValueError for a name that is taken."""
        if any(known.name == command.name for known in self._commands):
            raise ValueError(f"there is a local command {command.name} already")
        self._commands.append(command)

    def prefixes(self) -> Sequence[str]:
        """What can be offered while a message is written."""
        return [command.prefix for command in self._commands if command.prefix is not None]

    def claims(self, request: LocalRequest) -> Claim | None:
        found = self._find(request.message)
        if found is None:
            return None
        command, _ = found
        refused = None if command.anywhere else self._closed(request)
        if refused is None:
            return Claim(command.name)
        return Claim(command.name, refused={"errorType": refused, "message": text(f"error.{refused}.meaning")})

    async def run(self, request: LocalRequest, output: LocalOutput) -> None:
        found = self._find(request.message)
        if found is None:
            return
        command, argument = found
        if (title := command.title(argument)) is not None:
            self._name_untitled(request.session, request.chat, title)
        try:
            await command.run(request, argument, output)
        except Exception as error:
            reference = logged(error, f"the local command {command.name} of turn {request.turn_id}", self._ids)
            output.say(text("local.failed", reference=reference))

    def _find(self, message: Mapping[str, Any]) -> tuple[LocalCommand, str] | None:
        if not of_user(message):
            return None
        return next(self._taking(str(message.get("text") or "")), None)

    def _taking(self, words: str) -> Iterator[tuple[LocalCommand, str]]:
        for command in self._commands:
            argument = command.takes(words)
            if argument is not None:
                yield command, argument

    def _closed(self, request: LocalRequest) -> str | None:
        chat, session = self._core.head(request.chat) or {}, self._core.head(request.session) or {}
        if is_archived(session, chat):
            return "archived"
        return None if chat.get("interactivity", "full") == "full" else "readOnly"
