"""What can be offered while a message is written: `completions` (AHP §4).

Rules
* Best effort: what cannot be read, or is not there, offers nothing. Only an unknown chat is an error.
* At the beginning of the message the names of local commands after `/`; anywhere, after `@`, the files of the session's
  first working directory, one folder at a time, and nothing outside of it. Hidden ones only for who types the dot.
* Offsets count UTF-16 code units. Whatever is offered replaces the word it completes.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from innkeeper.host.commands import Asker, Handler
from innkeeper.host.core import Core
from innkeeper.host.faults import no_chat
from innkeeper.ports.files import Entry, FileFault, Files
from innkeeper.protocol.uris import file_uri, local_path

COMPLETION_METHODS = frozenset({"completions"})
TRIGGERS: Final = ("/", "@")
OFFERED: Final = 50
READ: Final = 5_000
"""Names of one folder that are looked at."""
COMMAND: Final = "x-innkeeper/localCommand"
_COMMAND: Final = re.compile(r"/\S*\Z")
_FILE: Final = re.compile(r"(?:\A|(?<=\s))@(\S*)\Z")

Item = dict[str, Any]


class Completing:
    """`commands` gives the local commands' prefixes; without `files` none are offered."""

    def __init__(self, core: Core, commands: Callable[[], Sequence[str]], files: Files | None) -> None:
        self._core = core
        self._commands = commands
        self._files = files

    def table(self) -> dict[str, Handler]:
        return {"completions": self.completions}

    async def completions(self, asker: Asker, params: Mapping[str, Any]) -> dict[str, Any]:
        """Raises RpcError -32008."""
        chat = params["channel"]
        if self._core.kind(chat) != "chat":
            raise no_chat(chat)
        if params["kind"] != "userMessage":
            return {"items": []}
        before = _before(params["text"], params["offset"])
        if _COMMAND.fullmatch(before):
            return {"items": self._of_commands(before)}
        if (word := _FILE.search(before)) is not None:
            return {"items": await self._of_files(chat, before, word.group(1))}
        return {"items": []}

    def _of_commands(self, typed: str) -> list[Item]:
        return [
            _item(typed, 0, f"{prefix} ", {"type": "simple", "label": prefix, "_meta": {COMMAND: prefix[1:]}})
            for prefix in self._commands()
            if prefix.startswith(typed.lower())
        ]

    async def _of_files(self, chat: str, before: str, typed: str) -> list[Item]:
        root = await self._root(chat)
        if root is None or self._files is None:
            return []
        folder, _, name = typed.rpartition("/")
        try:
            entries = await asyncio.to_thread(_listed, self._files, root, folder)
        except FileFault:
            return []
        start = len(before) - len(typed) - 1
        items: list[Item] = []
        for entry in sorted(entries, key=lambda found: (found.kind != "directory", found.name)):
            if not _matches(entry.name, name):
                continue
            path = f"{folder}/{entry.name}" if folder else entry.name
            shown = f"{path}/" if entry.kind == "directory" else path
            uri = file_uri(f"{root}/{path}")
            attachment = {"type": "resource", "label": entry.name, "uri": uri, "displayKind": _display(entry)}
            items.append(_item(before, start, f"@{shown}", attachment))
        return items[:OFFERED]

    async def _root(self, chat: str) -> str | None:
        owner = self._core.owner(chat)
        session = await self._core.load(owner) if owner is not None else None
        directories = (session or {}).get("workingDirectories") or ()
        return next((local_path(uri) for uri in directories[:1]), None)


def _listed(files: Files, root: str, folder: str) -> Sequence[Entry]:
    """Raises FileFault, also for what is outside of `root`."""
    if folder.startswith("/") or ".." in PurePosixPath(folder).parts:
        raise FileFault("denied")
    there, real = files.real(root), files.real(f"{root}/{folder}" if folder else root)
    if real != there and not real.startswith(there.rstrip("/") + "/"):
        raise FileFault("denied")
    return files.entries(real, READ)


def _matches(name: str, typed: str) -> bool:
    """Names that no text can say are not offered."""
    if name.startswith(".") and not typed.startswith("."):
        return False
    return name.lower().startswith(typed.lower()) and name.isprintable() and not any(c.isspace() for c in name)


def _display(entry: Entry) -> str:
    return "directory" if entry.kind == "directory" else "document"


def _item(before: str, start: int, text: str, attachment: Mapping[str, Any]) -> Item:
    return {
        "insertText": text,
        "rangeStart": _units(before[:start]),
        "rangeEnd": _units(before),
        "attachment": attachment,
    }


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _before(text: str, offset: int) -> str:
    return text.encode("utf-16-le", "surrogatepass")[: 2 * max(0, offset)].decode("utf-16-le", "ignore")
