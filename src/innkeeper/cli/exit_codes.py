"""What the exit code of `innkeeper` says; docs/reference/cli.md shows this table."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NO_HOST: Final = 3
REFUSED: Final = 4
INTERRUPTED: Final = 130

EXIT_CODES: Final[Mapping[int, str]] = MappingProxyType(
    {
        OK: "cli.exit.ok",
        FAILED: "cli.exit.failed",
        USAGE: "cli.exit.usage",
        NO_HOST: "cli.exit.noHost",
        REFUSED: "cli.exit.refused",
        INTERRUPTED: "cli.exit.interrupted",
    }
)
"""Exit code -> text id of its meaning."""
