"""Commands that the host itself runs: the registry, `/rename` and `!command` (K13)."""

from innkeeper.host.local_commands.registry import CommandRegistry, LocalCommand
from innkeeper.host.local_commands.rename import Rename
from innkeeper.host.local_commands.shell import Shell

__all__ = ["CommandRegistry", "LocalCommand", "Rename", "Shell"]
