"""Which words are a built-in local command, and the turns that are none of an agent's because of it (K13, K17). Pure.

Rules
* A message is a command only if it begins with it: with a blank before it, it is said to the agent. `/rename` counts in
  any case of letters. Only a user's own words are a command.
* A turn is local by its message alone, so it is one in every process: whatever reads as a built-in command was run, or
  refused, by the host.
* An agent that keeps a transcript of its own never had these turns: positions in it count without them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

PREFIX: Final = "!"
RENAME: Final = "/rename"
TITLE_CHARACTERS: Final = 200
_RENAME: Final = re.compile(r"/rename(?:\s+(.*))?\Z", re.IGNORECASE | re.DOTALL)
_SHELL: Final = re.compile(r"!\s*(\S.*)\Z", re.DOTALL)


def title_wanted(words: str) -> str | None:
    """The title that `/rename` is to give, perhaps empty; None for other words."""
    said = _RENAME.match(words)
    return None if said is None else " ".join((said.group(1) or "").split())[:TITLE_CHARACTERS].rstrip()


def shell_command(words: str) -> str | None:
    """The command line after `!`; None for other words."""
    said = _SHELL.match(words)
    return None if said is None else said.group(1).rstrip()


def of_user(message: Mapping[str, Any]) -> bool:
    """Whether the message is a user's own words."""
    return bool((message.get("origin") or {}).get("kind", "user") == "user")


def is_local(message: Mapping[str, Any]) -> bool:
    """Whether the message is a built-in local command."""
    words = str(message.get("text") or "")
    return of_user(message) and (title_wanted(words) is not None or shell_command(words) is not None)


def known_to_agent(turns: Sequence[Any]) -> tuple[Any, ...]:
    """`turns` without local ones, in order."""
    return tuple(turn for turn in turns if not is_local(turn.get("message") or {}))
