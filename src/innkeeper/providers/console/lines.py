"""What a line to the console means. Pure; a line that cannot be understood says where."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from innkeeper.texts import text

Listing = Literal["help", "tools", "resources", "prompts", "customizations", "history"]
LISTINGS: tuple[Listing, ...] = ("help", "tools", "resources", "prompts", "customizations", "history")
COMMANDS = (*LISTINGS, "call", "read")


@dataclass(frozen=True, slots=True)
class Show:
    what: Listing


@dataclass(frozen=True, slots=True)
class Call:
    server: str
    tool: str
    arguments: Mapping[str, object]
    given: str
    """The arguments as they were written."""


@dataclass(frozen=True, slots=True)
class Read:
    uri: str


@dataclass(frozen=True, slots=True)
class Echo:
    words: str


@dataclass(frozen=True, slots=True)
class Mistake:
    """A command that cannot be done as written; `message` says why."""

    message: str


Line = Show | Call | Read | Echo | Mistake


def parse(line: str) -> Line:
    """Commands begin with `/` and a letter; everything else, paths too, is echoed."""
    stripped = line.strip()
    word, _, rest = stripped[1:].partition(" ")
    if not stripped.startswith("/") or not word.isalpha():
        return Echo(line)
    rest = rest.strip()
    match word:
        case "call":
            return _call(rest)
        case "read":
            return Read(rest) if rest else Mistake(text("console.usageRead"))
        case _:
            shown = next((listing for listing in LISTINGS if listing == word), None)
            return Show(shown) if shown is not None else Mistake(text("console.unknownCommand", command=f"/{word}"))


def _call(rest: str) -> Line:
    parts = rest.split(None, 2)
    if len(parts) < 2:
        return Mistake(text("console.usageCall"))
    given = parts[2] if len(parts) == 3 else "{}"
    try:
        arguments = json.loads(given)
    except json.JSONDecodeError as error:
        why = error.msg[:1].lower() + error.msg[1:]
        return Mistake(text("console.badJson", line=error.lineno, column=error.colno, why=why))
    except RecursionError:
        return Mistake(text("console.jsonTooDeep"))
    if not isinstance(arguments, dict):
        return Mistake(text("console.notObject"))
    return Call(parts[0], parts[1], arguments, given)
