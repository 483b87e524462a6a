"""What discovery reads at most (C7.3); beyond a limit an item or container is degraded and says so."""

from typing import Final

from innkeeper.limits import KIB, MIB

FILE_BYTES: Final = 1 * MIB
"""One customization file. Instructions of that size would fill a model's context several times."""

FRONT_MATTER_CHARACTERS: Final = 16 * KIB
"""A YAML reader in Python needs a quarter of a second for that much."""

FLOW_OPENINGS: Final = 200
"""Brackets and braces in front matter: its reader's time grows with the square of their depth."""

TOML_CHARACTERS: Final = 128 * KIB

LINED_CHARACTERS: Final = 256 * KIB
"""In a longer JSON text no lines are looked for."""

ENTRIES: Final = 20_000
"""Names in one directory, and names looked at for one container."""

CHILDREN: Final = 5_000
"""Items in one container."""

NAME_CHARACTERS: Final = 200
TEXT_CHARACTERS: Final = 2_000
"""Of a description, a model or a pattern; longer ones are cut."""

LIST_ITEMS: Final = 256
"""Tools or patterns of one item."""

MESSAGE_CHARACTERS: Final = 500
PROBLEMS_SHOWN: Final = 3

DEPTH: Final = 32
"""Directories below one another, where the ecosystem says nothing."""

SKILL_DEPTH: Final = 5
