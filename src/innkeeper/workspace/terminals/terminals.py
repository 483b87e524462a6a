"""The adapter of `ports.terminals`: which terminals are open. What one is made of is imported with the first."""

import asyncio
import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from innkeeper.ports.terminals import Opening
from innkeeper.workspace.guarding import Guard
from innkeeper.workspace.terminals.environment import shell_environment
from innkeeper.workspace.terminals.shells import find_shell

if TYPE_CHECKING:
    from innkeeper.workspace.terminals.pty import LocalTerminal


class LocalTerminals:
    """Terminals with the shell of `environment`, guarded by `guard`. `withheld` names variables with secrets."""

    def __init__(self, guard: Guard, environment: Mapping[str, str], *, withheld: Collection[str] = ()) -> None:
        self._guard = guard
        self._environment = environment
        self._withheld = frozenset(withheld)
        self._open: set[LocalTerminal] = set()

    def shell(self, *, agent: bool) -> str | None:
        try:
            return find_shell(self._environment, agent=agent).path
        except FileNotFoundError:
            return None

    async def open(self, opening: Opening) -> "LocalTerminal":
        """Raises OSError."""
        if not os.path.isdir(opening.directory):  # noqa: ASYNC240 - one look, before anything is made
            raise NotADirectoryError(f"there is no folder {opening.directory}")
        shell = find_shell(self._environment, agent=opening.agent)
        environment = shell_environment(
            self._environment,
            directory=opening.directory,
            shell=shell.path,
            agent=opening.agent,
            withheld=self._withheld,
        )
        from innkeeper.workspace.terminals.pty import start

        self._guard.ensure()
        terminal = start(shell, environment, opening, self._guard)
        self._open.add(terminal)
        terminal.process.ended.add_done_callback(lambda _: self._open.discard(terminal))
        return terminal

    async def close(self) -> None:
        await asyncio.gather(*(terminal.close() for terminal in tuple(self._open)))
